"""Generative models of words and trees: bigram, Klein & Manning's; n-grams beside them."""

from __future__ import annotations

from crossarc.models.generative.arcs import log_tree_count
from crossarc.models.generative.bigram import BigramModel
from crossarc.models.generative.dmv import DMVModel

__all__ = ["BigramModel", "DMVModel", "log_tree_count"]

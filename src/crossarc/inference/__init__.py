"""Score arrays in; trees, probabilities and numbers out."""

from __future__ import annotations

from crossarc.inference.constraints import constrain
from crossarc.inference.distribution import TreeDistribution
from crossarc.inference.spanning import SpanningTrees

__all__ = ["SpanningTrees", "TreeDistribution", "constrain"]

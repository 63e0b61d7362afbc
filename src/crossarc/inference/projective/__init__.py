"""Projective trees: no arc passes over a word that its head does not dominate."""

from __future__ import annotations

from crossarc.inference.projective.distribution import ProjectiveTrees

__all__ = ["ProjectiveTrees"]

"""Non-projective trees, arc-factored: every spanning tree of the complete graph."""

from __future__ import annotations

from crossarc.inference.spanning.trees import SpanningTrees

__all__ = ["SpanningTrees"]

"""One tree: its validity and its measures."""

from __future__ import annotations

from crossarc.trees.tree import Tree
from crossarc.trees.validity import check_heads, find_cycle, head_array

__all__ = ["Tree", "check_heads", "find_cycle", "head_array"]

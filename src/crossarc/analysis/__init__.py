"""Studies of a treebank."""

from __future__ import annotations

from crossarc.analysis.profile import Profile, profile

__all__ = ["Profile", "profile"]

"""Hypothesis without deadlines: the first call of a kernel may compile."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("crossarc", deadline=None)
settings.load_profile("crossarc")

"""Learners for anything that gives scores and takes updates."""

from __future__ import annotations

__all__: list[str] = []

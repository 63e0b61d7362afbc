"""A sentence in, scores out."""

from __future__ import annotations

__all__: list[str] = []

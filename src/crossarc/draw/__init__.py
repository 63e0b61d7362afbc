"""Trees as drawings."""

from __future__ import annotations

from crossarc.draw.text import draw_text, sentence_text

__all__ = ["draw_text", "sentence_text"]

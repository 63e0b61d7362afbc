"""Trees as drawings: SVG, HTML, LaTeX and text."""

from __future__ import annotations

from crossarc.draw.terminal import text
from crossarc.draw.vector import svg

__all__ = ["svg", "text"]

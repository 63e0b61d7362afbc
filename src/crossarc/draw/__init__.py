"""Trees as drawings: SVG, HTML, LaTeX and text."""

from __future__ import annotations

from crossarc.draw.page import html
from crossarc.draw.terminal import text
from crossarc.draw.tikz import latex
from crossarc.draw.vector import svg

__all__ = ["html", "latex", "svg", "text"]

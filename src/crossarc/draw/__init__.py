"""Trees as drawings: SVG, HTML, LaTeX, text, PNG and PDF."""

from __future__ import annotations

from crossarc.draw.gallery import html
from crossarc.draw.images import pdf, png
from crossarc.draw.terminal import text
from crossarc.draw.tikz import latex
from crossarc.draw.vector import SVG, svg

__all__ = ["SVG", "html", "latex", "pdf", "png", "svg", "text"]

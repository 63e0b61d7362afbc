"""Several drawings below each other in one SVG."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from crossarc.draw.line import TAG_SIZE
from crossarc.draw.metrics import advance
from crossarc.draw.picture import Picture
from crossarc.draw.style import Theme, stylesheet
from crossarc.draw.vector import WIDTH, element
from crossarc.draw.width import printable

__all__ = ["sheet"]

_CAPTION = 26.0
_INDENT = 14


def sheet(
    captioned: Iterable[tuple[str, Picture]],
    *,
    width: float | None = WIDTH,
    theme: Theme = "auto",
) -> str:
    """One SVG of all pictures, each below its caption; a single one is drawn alone."""
    items = list(captioned)
    if len(items) == 1:
        return element(items[0][1], width=width, theme=theme, style=stylesheet(theme)).text + "\n"
    parts = []
    widest, top = 2.0 * _INDENT, 0.0
    for caption, content in items:
        shown = printable(caption)
        figure = element(content, width=width, theme=theme)
        widest = max(widest, figure.width, advance(shown) * TAG_SIZE + 2 * _INDENT)
        y = top + _CAPTION - 8
        parts.append(f'<text class="caption" x="{_INDENT}" y="{y:g}">{escape(shown)}</text>')
        parts.append(figure.text.replace("<svg ", f'<svg y="{top + _CAPTION:.1f}" ', 1))
        top += _CAPTION + figure.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="crossarc {theme}" '
        f'width="{widest:.1f}" height="{top:.1f}" viewBox="0 0 {widest:.1f} {top:.1f}">'
        f"<style>{stylesheet(theme)}</style>"
        '<rect class="paper" width="100%" height="100%" rx="6"/>' + "\n".join(parts) + "</svg>\n"
    )

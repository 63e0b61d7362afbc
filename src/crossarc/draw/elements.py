"""Small pieces of SVG."""

from __future__ import annotations

from xml.sax.saxutils import escape

__all__ = ["number", "text_element"]


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".removesuffix(".0")


def text_element(kind: str, x: float, y: float, text: str, more: str = "") -> str:
    """A text of a kind, with further attributes."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{more}>{escape(text)}</text>'

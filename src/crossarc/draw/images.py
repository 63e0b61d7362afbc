"""Drawings as images: several in one SVG, and SVG as PNG and PDF.

PNG and PDF are made by typst, an optional dependency, from the SVG.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from crossarc.draw.layout import TAG_SIZE
from crossarc.draw.picture import Picture
from crossarc.draw.style import Theme, drawing_rules
from crossarc.draw.vector import SVG, WIDTH, element
from crossarc.draw.widths import advance, printable
from crossarc.errors import CrossarcError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["pdf", "png", "require_typst", "sheet"]

_CAPTION = 26.0
_INDENT = 14
# Of CSS: a drawing of 96 pixels is an inch wide.
_PIXELS_PER_INCH = 96
_PAGE = "#set document(date: none)\n#set page(width: auto, height: auto, margin: 0pt)\n"


def sheet(
    captioned: Iterable[tuple[str, Picture]],
    *,
    width: float | None = WIDTH,
    theme: Theme = "auto",
) -> SVG:
    """One SVG of all pictures, each below its caption; a single one has none."""
    items = list(captioned)
    rules = drawing_rules(theme)
    if len(items) == 1:
        return SVG(element(items[0][1], width=width, theme=theme, style=rules).text + "\n")
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
    return SVG(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="crossarc {theme}" '
        f'width="{widest:.1f}" height="{top:.1f}" viewBox="0 0 {widest:.1f} {top:.1f}">'
        f"<style>{rules}</style>"
        '<rect class="paper" width="100%" height="100%" rx="6"/>' + "\n".join(parts) + "</svg>\n"
    )


def png(drawing: str, *, scale: float = 2.0) -> bytes:
    """An SVG that `svg` returned as PNG; needs `pip install "crossarc[images]"`.

    Args:
        drawing: with a theme of "auto", it comes out light.
        scale: pixels of the image for each one of the drawing.

    Raises:
        CrossarcError: typst is not installed.
    """
    return _compile([drawing], "png", ppi=_PIXELS_PER_INCH * scale)


def pdf(drawings: Iterable[str]) -> bytes:
    """SVGs that `svg` returned as a PDF with a page for each; text can be searched.

    Needs `pip install "crossarc[images]"`. A theme of "auto" comes out light.

    Raises:
        CrossarcError: typst is not installed.
    """
    return _compile(list(drawings), "pdf")


def require_typst() -> ModuleType:
    """The module that makes images.

    Raises:
        CrossarcError: it is not installed.
    """
    try:
        return import_module("typst")
    except ImportError:
        raise CrossarcError(
            'PNG and PDF need typst: pip install "crossarc[images]", or write SVG'
        ) from None


def _compile(drawings: list[str], format: str, ppi: float | None = None) -> bytes:
    typst = require_typst()
    with TemporaryDirectory() as folder:
        for index, drawing in enumerate(drawings):
            Path(folder, f"{index}.svg").write_text(drawing, encoding="utf-8")
        pages = (f'#image("{index}.svg")' for index in range(len(drawings)))
        main = Path(folder, "main.typ")
        main.write_text(_PAGE + "\n#pagebreak()\n".join(pages), encoding="utf-8")
        made: bytes = typst.compile(str(main), root=folder, format=format, ppi=ppi)
    return made

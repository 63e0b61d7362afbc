"""`crossarc draw`: trees as text, SVG, HTML, LaTeX, PNG or PDF."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from crossarc.app.files import (
    Format,
    OnError,
    OnErrorOption,
    OutputOption,
    SourceFormatOption,
    open_treebank,
    report_skipped,
    stdin_once,
    treebank_names,
)
from crossarc.errors import CrossarcError

if TYPE_CHECKING:
    from crossarc.app.selection import Selection
    from crossarc.draw.picture import Annotations, Picture
    from crossarc.treebank import Sentence

__all__ = ["draw"]

# A page or an image of more sentences is slow to open, and seldom what was meant.
_MOST_DRAWN = 100

_COMPRESSED = {".gz", ".bz2", ".xz"}


class Drawing(StrEnum):
    """Formats of drawings."""

    text = "text"
    svg = "svg"
    html = "html"
    tex = "tex"
    png = "png"
    pdf = "pdf"


_SUFFIXES = {f".{one}": one for one in Drawing} | {".txt": Drawing.text, ".htm": Drawing.html}


class Color(StrEnum):
    """When to use colours."""

    auto = "auto"
    always = "always"
    never = "never"


class Theme(StrEnum):
    """The surroundings that a drawing is made for."""

    auto = "auto"
    light = "light"
    dark = "dark"


def draw(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Treebank.")],
    output: OutputOption = "-",
    drawing: Annotated[
        Drawing | None,
        typer.Option("--format", help="By default the suffix of the output; text without one."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="OTHER", help="Mark where another parse of these sentences differs."),
    ] = None,
    sent_id: Annotated[
        list[str] | None,
        typer.Option("--sent-id", metavar="ID", help="Draw this sentence only; repeatable."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--number", "-n", min=1, help="Draw at most so many sentences.")
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help=f"Draw all sentences; all but text stops at {_MOST_DRAWN}."),
    ] = False,
    nonprojective: Annotated[
        bool, typer.Option("--nonprojective", help="Draw only trees that are not projective.")
    ] = False,
    multiword_tokens: Annotated[
        bool, typer.Option("--multiword-tokens", help="Show the tokens that words are parts of.")
    ] = False,
    empty_nodes: Annotated[
        bool, typer.Option("--empty-nodes", help="Show empty nodes and their enhanced arcs.")
    ] = False,
    enhanced: Annotated[
        bool, typer.Option("--enhanced", help="Show all enhanced arcs, and empty nodes.")
    ] = False,
    width: Annotated[
        int | None,
        typer.Option(min=1, help="Pixels after which words go on in another line; text: columns."),
    ] = None,
    theme: Annotated[
        Theme,
        typer.Option(help="auto is what the reader's system prefers, light in PNG and PDF."),
    ] = Theme.auto,
    color: Annotated[
        Color, typer.Option(help="Colours of text; auto is on a terminal only.")
    ] = Color.auto,
    source: SourceFormatOption = Format.conllu,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Draw trees as text, SVG, HTML, LaTeX, PNG or PDF.

    Where arcs cross, it shows, and non-projective arcs are marked.

    One file holds all drawings: svg and png put them below each other, tex and pdf on a page each.
    PNG and PDF need the extra: pip install "crossarc[images]".

    Text has a row a word. The arrow at the end of a row is the arc that enters the word, from the
    line that the row touches, else from the root. A triangle is where arcs leave the word, to words
    above it or below it. Where lines cross, they do not touch. Heavy arrows are non-projective.
    """
    from crossarc.app.selection import Selection
    from crossarc.treebank import open_output

    stdin_once(file, against)
    drawing = drawing or _by_suffix(output)
    if drawing in (Drawing.png, Drawing.pdf):
        _check_images(output)
    reader = open_treebank(file, format=source, on_error=on_error)
    other = None if against is None else open_treebank(against, format=source, on_error=on_error)
    unlimited = drawing is Drawing.text or every or sent_id
    limit = number if number is not None or unlimited else _MOST_DRAWN
    selection = Selection(reader, other, sent_id, nonprojective, limit)
    annotations: Annotations = {
        "multiword_tokens": multiword_tokens,
        "empty_nodes": empty_nodes,
        "enhanced": enhanced,
    }
    names = _names(file, against)
    writer = _Writer(selection, annotations, output, width, theme, color, names)
    with open_output(output) as write:
        for part in writer.parts(drawing):
            write(part)
        selection.check()
    report_skipped(reader)
    selection.report(stopped_by_default=number is None)


def _by_suffix(output: str) -> Drawing:
    path = PurePath(output)
    suffix = PurePath(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix
    if output == "-" or not suffix:
        return Drawing.text
    if suffix.lower() not in _SUFFIXES:
        known = ", ".join(sorted(_SUFFIXES))
        raise typer.BadParameter(f"{output}: no drawing ends in {suffix}; use {known} or --format")
    return _SUFFIXES[suffix.lower()]


def _check_images(output: str) -> None:
    """Refuse an image before anything is read."""
    from crossarc.draw.images import require_typst

    try:
        require_typst()
    except CrossarcError as error:
        raise typer.BadParameter(str(error)) from None
    if output == "-" and sys.stdout.isatty():
        raise typer.BadParameter("an image cannot be shown on the terminal; use -o FILE")


def _names(file: str, against: str | None) -> tuple[str, str]:
    """What to call the treebanks; two with the same name are called by their paths."""
    if against is None:
        return treebank_names([file])[0], ""
    names = Path(file).name, Path(against).name
    return names if names[0] != names[1] else (file, against)


class _Writer:
    """Sentences, and what each is compared with, as pieces of a file."""

    def __init__(
        self,
        selection: Selection,
        annotations: Annotations,
        output: str,
        width: int | None,
        theme: Theme,
        color: Color,
        names: tuple[str, str],
    ) -> None:
        from crossarc.draw.vector import WIDTH

        self.selection, self.annotations = selection, annotations
        self.theme: Literal["auto", "light", "dark"] = theme.value
        self.names = names
        self.on_terminal = output == "-" and sys.stdout.isatty()
        self.color = color is Color.always or (color is Color.auto and self.on_terminal)
        columns = shutil.get_terminal_size().columns if self.on_terminal else None
        self.columns = columns if width is None else width
        self.is_fixed = width is not None
        self.pixels = WIDTH if width is None else width

    def parts(self, drawing: Drawing) -> Iterator[bytes]:
        """The pieces, each as soon as it is known."""
        write = {
            Drawing.text: self._text,
            Drawing.svg: self._svg,
            Drawing.html: self._html,
            Drawing.tex: self._tex,
            Drawing.png: self._png,
            Drawing.pdf: self._pdf,
        }
        return write[drawing]()

    def _text(self) -> Iterator[bytes]:
        from crossarc.draw import text
        from crossarc.draw.terminal import LEGEND

        if self.on_terminal:
            yield f"{LEGEND}\n\n".encode()
        for sentence, other in self.selection:
            with self.selection.located(sentence):
                drawn = text(
                    sentence,
                    against=other,
                    color=self.color,
                    width=self.columns,
                    **self.annotations,
                )
            yield f"{drawn}\n\n".encode()

    def _svg(self) -> Iterator[bytes]:
        yield self._sheet(self.theme).encode()

    def _html(self) -> Iterator[bytes]:
        from crossarc.draw.gallery import NARROW, gallery

        title = self.names[0] if not self.names[1] else " and ".join(self.names)
        narrow = None if self.is_fixed else NARROW
        pictures = self._pictures()
        for part in gallery(
            pictures, title=title, width=self.pixels, narrow=narrow, theme=self.theme
        ):
            yield part.encode()

    def _tex(self) -> Iterator[bytes]:
        from crossarc.draw.tikz import document, environment

        yield document([environment(picture) for _, picture in self._pictures()]).encode()

    def _png(self) -> Iterator[bytes]:
        from crossarc.draw import png

        yield png(self._sheet(self._fixed_theme()))

    def _pdf(self) -> Iterator[bytes]:
        from crossarc.draw import pdf
        from crossarc.draw.images import sheet

        theme = self._fixed_theme()
        yield pdf(
            sheet([("", picture)], width=self.pixels, theme=theme)
            for _, picture in self._pictures()
        )

    def _fixed_theme(self) -> Literal["light", "dark"]:
        return "dark" if self.theme == "dark" else "light"

    def _sheet(self, theme: Literal["auto", "light", "dark"]) -> str:
        from crossarc.draw.annotation import caption
        from crossarc.draw.images import sheet

        captioned = [(caption(sentence), picture) for sentence, picture in self._pictures()]
        return sheet(captioned, width=self.pixels, theme=theme)

    def _pictures(self) -> Iterator[tuple[Sentence, Picture]]:
        from crossarc.draw.picture import picture

        for sentence, other in self.selection:
            with self.selection.located(sentence):
                drawn = picture(sentence, against=other, names=self.names, **self.annotations)
            yield sentence, drawn

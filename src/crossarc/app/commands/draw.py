"""`crossarc draw`: trees for the eye."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

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
)
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.draw.picture import Picture
    from crossarc.treebank import Sentence

    Pair = tuple[Sentence, Sentence | None]

__all__ = ["draw"]


class Drawing(StrEnum):
    """What to draw with."""

    text = "text"
    svg = "svg"
    html = "html"
    tex = "tex"


class Color(StrEnum):
    """When to use colours."""

    auto = "auto"
    always = "always"
    never = "never"


class Theme(StrEnum):
    """What a drawing looks good on."""

    auto = "auto"
    light = "light"
    dark = "dark"


def draw(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Treebank.")],
    output: OutputOption = "-",
    drawing: Annotated[
        Drawing | None,
        typer.Option("--format", help="By default what the name of the output ends in, else text."),
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
    nonprojective: Annotated[
        bool, typer.Option("--nonprojective", help="Draw only trees that are not projective.")
    ] = False,
    width: Annotated[
        int | None,
        typer.Option(min=1, help="Pixels after which words go on in another line; text: columns."),
    ] = None,
    theme: Annotated[
        Theme, typer.Option(help="Of svg and html; auto is what the reader's system prefers.")
    ] = Theme.auto,
    color: Annotated[
        Color, typer.Option(help="Colours of text; auto is on a terminal only.")
    ] = Color.auto,
    source: SourceFormatOption = Format.conllu,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Draw trees; where arcs cross, it shows, and non-projective arcs are marked.

    One file holds all drawings: svg puts them below each other, tex on a page each.
    """
    from crossarc.draw.picture import in_step
    from crossarc.treebank import open_output

    stdin_once(file, against)
    reader = open_treebank(file, format=source, on_error=on_error)
    other = None if against is None else open_treebank(against, format=source, on_error=on_error)
    drawn: set[str | None] = set()

    def selected() -> Iterator[Pair]:
        wanted = _Selection(sent_id, nonprojective, on_error is OnError.skip)
        for pair in islice(filter(wanted, in_step(reader, other)), number):
            drawn.add(pair[0].sent_id)
            yield pair

    writer = _Writer(output, width, theme, color, _names(file, against))
    with open_output(output) as write:
        for part in writer.parts(drawing or _by_suffix(output), selected()):
            write(part.encode())
        if missing := [name for name in sent_id or [] if name not in drawn]:
            raise TreebankError(
                f"no sentence {', '.join(missing)}; check --sent-id", source=reader.name
            )
    report_skipped(reader)
    if not drawn:
        print(f"crossarc: {reader.name}: no such sentence to draw", file=sys.stderr)


def _by_suffix(output: str) -> Drawing:
    suffixes = [suffix[1:] for suffix in PurePath(output).suffixes]
    return next((Drawing(s) for s in reversed(suffixes) if s in list(Drawing)), Drawing.text)


def _names(file: str, against: str | None) -> tuple[str, str]:
    """What to call the two treebanks: the shortest names that tell them apart."""
    names = Path(file).name, Path(against or "").name
    return names if names[0] != names[1] else (file, against or "")


class _Selection:
    """Whether a sentence is to be drawn."""

    def __init__(self, names: list[str] | None, nonprojective: bool, skip: bool) -> None:
        self.names, self.nonprojective, self.skip = names, nonprojective, skip

    def __call__(self, pair: Pair) -> bool:
        sentence = pair[0]
        if self.names and sentence.sent_id not in self.names:
            return False
        if self.skip and any(one is not None and (one.heads < 0).any() for one in pair):
            return False
        if not self.nonprojective:
            return True
        from crossarc.draw.crossings import nonprojective

        return any(nonprojective(sentence.tree.heads.tolist()))


class _Writer:
    """Turns pairs of a sentence and what it is compared with into pieces of a file."""

    def __init__(
        self, output: str, width: int | None, theme: Theme, color: Color, names: tuple[str, str]
    ) -> None:
        from crossarc.draw.vector import WIDTH

        on_terminal = output == "-" and sys.stdout.isatty()
        self.color = color is Color.always or (color is Color.auto and on_terminal)
        columns = shutil.get_terminal_size().columns if on_terminal else None
        self.columns = columns if width is None else width
        self.pixels = WIDTH if width is None else width
        self.theme, self.names = theme, names

    def parts(self, drawing: Drawing, pairs: Iterator[Pair]) -> Iterator[str]:
        """The pieces, each as soon as it is known."""
        return {
            Drawing.text: self._text,
            Drawing.svg: self._svg,
            Drawing.html: self._html,
            Drawing.tex: self._tex,
        }[drawing](pairs)

    def _text(self, pairs: Iterator[Pair]) -> Iterator[str]:
        from crossarc.draw import text

        for sentence, other in pairs:
            drawn = text(sentence, against=other, color=self.color, width=self.columns)
            yield f"{drawn}\n\n"

    def _svg(self, pairs: Iterator[Pair]) -> Iterator[str]:
        from crossarc.draw.sheet import sheet

        captioned = [
            (sentence.sent_id or "", picture) for sentence, picture in self._pictures(pairs)
        ]
        yield sheet(captioned, width=self.pixels, theme=self.theme.value)

    def _html(self, pairs: Iterator[Pair]) -> Iterator[str]:
        from crossarc.draw.page import page

        title = self.names[0] if not self.names[1] else " and ".join(self.names)
        pictures = self._pictures(pairs)
        return page(pictures, title=title, width=self.pixels, theme=self.theme.value)

    def _tex(self, pairs: Iterator[Pair]) -> Iterator[str]:
        from crossarc.draw.tikz import document, environment

        yield document([environment(picture) for _, picture in self._pictures(pairs)])

    def _pictures(self, pairs: Iterator[Pair]) -> Iterator[tuple[Sentence, Picture]]:
        from crossarc.draw.picture import picture

        for sentence, other in pairs:
            yield sentence, picture(sentence, against=other, names=self.names)

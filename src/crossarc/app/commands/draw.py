"""`crossarc draw`: trees for the eye."""

from __future__ import annotations

import shutil
import sys
from enum import StrEnum
from itertools import islice
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
)
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence

__all__ = ["draw"]


class Drawing(StrEnum):
    """What to draw with."""

    text = "text"


class Color(StrEnum):
    """When to use colours."""

    auto = "auto"
    always = "always"
    never = "never"


def draw(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Treebank.")],
    output: OutputOption = "-",
    drawing: Annotated[
        Drawing, typer.Option("--format", help="Text for the terminal.")
    ] = Drawing.text,
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
    color: Annotated[Color, typer.Option(help="Colours; auto is on a terminal only.")] = Color.auto,
    source: SourceFormatOption = Format.conllu,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Draw trees; crossings are visible and non-projective arcs heavy."""
    from crossarc.draw import sentence_text
    from crossarc.treebank import open_output

    on_terminal = output == "-" and sys.stdout.isatty()
    colored = color is Color.always or (color is Color.auto and on_terminal)
    width = shutil.get_terminal_size().columns if on_terminal else None

    reader = open_treebank(file, format=source, on_error=on_error)

    def wanted(sentence: Sentence) -> bool:
        if sent_id and sentence.sent_id not in sent_id:
            return False
        if on_error is OnError.skip and (sentence.heads < 0).any():
            return False
        return not (nonprojective and sentence.tree.is_projective)

    drawn: set[str | None] = set()
    with open_output(output) as write:
        for sentence in islice(filter(wanted, reader), number):
            drawn.add(sentence.sent_id)
            write((sentence_text(sentence, color=colored, width=width) + "\n\n").encode())
    report_skipped(reader)
    if missing := [name for name in sent_id or [] if name not in drawn]:
        raise TreebankError(
            f"no sentence {', '.join(missing)}; check --sent-id", source=reader.name
        )
    if not drawn:
        print(f"crossarc: {reader.name}: no such sentence to draw", file=sys.stderr)

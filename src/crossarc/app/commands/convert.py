"""`crossarc convert`: between CoNLL-U and CoNLL-X, compressed or not; also a validity check."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crossarc.app.files import (
    Format,
    OnError,
    OnErrorOption,
    OutputOption,
    Progress,
    SourceFormatOption,
    open_treebank,
    report_skipped,
)

__all__ = ["convert"]


def convert(
    file: Annotated[str, typer.Argument(metavar="IN", help="Treebank.")] = "-",
    output: OutputOption = "-",
    source: SourceFormatOption = Format.conllu,
    target: Annotated[Format, typer.Option("--to", help="Format of the output.")] = Format.conllu,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Convert a treebank; CoNLL-U to CoNLL-U checks it and changes not a byte."""
    from crossarc.treebank import write_conllu, write_conllx

    reader = open_treebank(file, format=source, on_error=on_error)
    if target is Format.conllx:
        lost = write_conllx(Progress(reader), output)
        if dropped := ", ".join(f"{count:,} {kind}" for kind, count in lost.items() if count):
            print(f"crossarc: CoNLL-X has no place for: {dropped}", file=sys.stderr)
    else:
        write_conllu(Progress(reader), output)
    report_skipped(reader)

"""`crossarc convert`: between CoNLL-U and CoNLL-X, compressed or not; also a validity check."""

from __future__ import annotations

import sys

import typer

from crossarc.app.files import Format, OnError, open_treebank, report_skipped, with_progress

__all__ = ["convert"]


def convert(
    file: str = typer.Argument("-", metavar="[IN]", help="Treebank; - is standard input."),
    output: str = typer.Option("-", "--output", "-o", help="Where to write; - is standard output."),
    source: Format = typer.Option(Format.conllu, "--from", help="Format of the input."),
    target: Format = typer.Option(Format.conllu, "--to", help="Format of the output."),
    on_error: OnError = typer.Option(
        OnError.stop, help="Stop at a sentence that is not valid, or skip it."
    ),
) -> None:
    """Convert a treebank; CoNLL-U to CoNLL-U checks it and changes not a byte."""
    from crossarc.treebank import write_conllu, write_conllx

    reader = open_treebank(file, format=source, on_error=on_error)
    if target is Format.conllx:
        lost = write_conllx(with_progress(reader), output)
        if dropped := ", ".join(f"{count} {kind}" for kind, count in lost.items() if count):
            print(f"crossarc: CoNLL-X has no place for: {dropped}", file=sys.stderr)
    else:
        write_conllu(with_progress(reader), output)
    report_skipped(reader)

"""`crossarc stats`: what a treebank holds and how projective its trees are."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crossarc.app.files import Format, OnError, open_treebank, report_skipped, with_progress

if TYPE_CHECKING:
    from crossarc.analysis import Profile

__all__ = ["stats"]


class Output(str, Enum):
    """How to print the figures."""

    text = "text"
    json = "json"


def stats(
    files: list[str] = typer.Argument(metavar="FILE...", help="Treebanks; - is standard input."),
    output: Output = typer.Option(Output.text, "--format", help="Table or JSON."),
    source: Format = typer.Option(Format.conllu, "--from", help="Format of the files."),
    on_error: OnError = typer.Option(
        OnError.stop, help="Stop at a sentence that is not valid, or skip it."
    ),
) -> None:
    """Count sentences and words, and measure how non-projective the trees are."""
    from crossarc.analysis import profile

    profiles = []
    for file in files:
        reader = open_treebank(file, format=source, on_error=on_error)
        profiles.append((file, profile(with_progress(reader))))
        report_skipped(reader)
    if len(profiles) > 1:
        total = profiles[0][1]
        for _, one in profiles[1:]:
            total = total + one
        profiles.append(("total", total))
    if output is Output.json:
        import json

        rows = [{"name": name, **one.to_dict()} for name, one in profiles]
        print(json.dumps({"treebanks": rows}, ensure_ascii=False, indent=1))
    else:
        print(_table(profiles))


def _table(profiles: list[tuple[str, Profile]]) -> str:
    header = (
        "treebank",
        "sentences",
        "words",
        "longest",
        "nonproj arcs %",
        "nonproj sents %",
        "ill-nested %",
        "degree",
        "gap degree",
        "multi-root",
        "MWT",
        "empty",
    )
    rows = [header]
    for name, one in profiles:
        figures = one.to_dict()
        rows.append(
            (
                _short(name),
                f"{one.sentences:,}",
                f"{one.words:,}",
                str(one.longest),
                f"{figures['nonprojective_arcs_percent']:.2f}",
                f"{figures['nonprojective_sentences_percent']:.2f}",
                f"{figures['ill_nested_sentences_percent']:.2f}",
                str(max(one.degrees, default=0)),
                str(max(one.gap_degrees, default=0)),
                f"{one.multi_root:,}",
                f"{one.multiword_tokens:,}",
                f"{one.empty_nodes:,}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    incomplete = sum(one.incomplete for _, one in profiles if _ != "total")
    if incomplete:
        lines.append(f"{incomplete:,} sentences with a word without a head were not measured")
    return "\n".join(lines)


def _short(name: str) -> str:
    """The last two parts of a path, which tell treebank and section."""
    return name if len(name) <= 40 else str(Path(*Path(name).parts[-2:]))

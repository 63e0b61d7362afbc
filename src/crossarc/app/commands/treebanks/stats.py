"""`crossarc stats`: what a treebank holds and how projective its trees are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import (
    Format,
    OnError,
    OnErrorOption,
    Output,
    OutputFormatOption,
    Progress,
    SourceFormatOption,
    counted,
    open_treebank,
    report_skipped,
    stdin_once,
)
from crossarc.app.selection import Headless
from crossarc.app.tables import text_table

if TYPE_CHECKING:
    from crossarc.analysis import Profile

__all__ = ["profile_table", "stats"]


def stats(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Treebanks.")],
    output: OutputFormatOption = Output.text,
    source: SourceFormatOption = Format.conllu,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Count sentences and words; measure non-projectivity."""
    from crossarc.analysis import Profile, profile

    stdin_once(*files)
    profiles, headless = [], list[Headless]()
    for file in files:
        reader = open_treebank(file, format=source, on_error=on_error)
        headless.append(Headless(reader.name))
        profiles.append((file, profile(headless[-1].watch(Progress(reader)))))
        report_skipped(reader)
    if len(profiles) > 1:
        profiles.append(("total", sum((one for _, one in profiles), Profile())))
    if output is Output.json:
        import json

        rows = [{"name": name, **one.to_dict()} for name, one in profiles]
        print(json.dumps({"treebanks": rows}, ensure_ascii=False, indent=1))
    else:
        print(profile_table(profiles))
        first = next((one.first for one in headless if one.first), None)
        if first is not None:
            print(f"the first: {first}")


def profile_table(profiles: list[tuple[str, Profile]]) -> str:
    """One row a profile; if there are several, the last is their sum."""
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
    lines = [text_table(rows)]
    incomplete = profiles[-1][1].incomplete
    if incomplete:
        lines.append(f"not measured: {counted(incomplete, 'sentence')} with a word without a head")
    return "\n".join(lines)


def _short(name: str) -> str:
    """The last two parts of a path, which tell treebank and section."""
    return name if len(name) <= 40 else str(Path(*Path(name).parts[-2:]))

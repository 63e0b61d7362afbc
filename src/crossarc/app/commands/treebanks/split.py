"""`crossarc split`: a treebank in parts, to learn from and to measure on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import (
    OnError,
    OnErrorOption,
    Progress,
    check_writable,
    counted,
    open_treebank,
    report_skipped,
)
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence

__all__ = ["split"]


def split(
    file: Annotated[str, typer.Argument(metavar="IN", help="Treebank.")],
    parts: Annotated[
        list[str],
        typer.Argument(metavar="OUT=SHARE...", help="As in train.conllu=80 dev.conllu=20."),
    ],
    documents: Annotated[
        bool,
        typer.Option("--documents", help="Keep documents whole: what follows a # newdoc."),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Deal at random; by default evenly, from the first on.", show_default=False
        ),
    ] = None,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Divide a treebank in parts, such as train and dev.

    Shares are of words: 80 and 20 are the same as 4 and 1. Each part keeps the order of the
    treebank, and every byte of its sentences.
    """
    from crossarc.treebank import write_conllu

    shares = [_read_share(part) for part in parts]
    paths = [path for path, _ in shares]
    _check_paths(file, paths)
    reader = open_treebank(file, on_error=on_error)
    units = _units(list(Progress(reader)), documents)
    report_skipped(reader)
    if len(units) < len(parts):
        found = counted(len(units), "document" if documents else "sentence")
        raise TreebankError(
            f"{reader.name}: {found} cannot be {len(parts)} parts: "
            + ("leave out --documents, or " if documents else "")
            + "ask for fewer parts"
        )
    chosen = _deal([sum(map(len, unit)) for unit in units], [share for _, share in shares], seed)
    for number, path in enumerate(paths):
        own = [one for unit, k in zip(units, chosen, strict=True) if k == number for one in unit]
        write_conllu(own, path)
        words = counted(sum(map(len, own)), "word")
        print(f"crossarc: {path}: {counted(len(own), 'sentence')}, {words}", file=sys.stderr)


def _read_share(text: str) -> tuple[str, float]:
    path, _, share = text.rpartition("=")
    try:
        number = float(share)
    except ValueError:
        number = 0.0
    if not path or not 0.0 < number < float("inf"):
        raise typer.BadParameter(
            f"{text!r} is no file and share, such as train.conllu=80", param_hint="OUT=SHARE"
        )
    return path, number


def _check_paths(source: str, paths: Sequence[str]) -> None:
    real = [os.path.realpath(path) for path in paths]
    if len(set(real)) < len(real):
        raise typer.BadParameter("two parts have the same name", param_hint="OUT=SHARE")
    for path, own in zip(paths, real, strict=True):
        check_writable(path, "OUT=SHARE")
        if own == os.path.realpath(source):
            raise typer.BadParameter(f"{path}: would replace the treebank", param_hint="OUT=SHARE")


def _units(sentences: Sequence[Sentence], documents: bool) -> list[list[Sentence]]:
    """What stays together: documents, or single sentences."""
    units: list[list[Sentence]] = []
    for sentence in sentences:
        if documents and units and not _begins_document(sentence):
            units[-1].append(sentence)
        else:
            units.append([sentence])
    return units


def _begins_document(sentence: Sentence) -> bool:
    return any(line[1:].split()[:1] == ["newdoc"] for line in sentence.comments)


def _deal(words: Sequence[int], shares: Sequence[float], seed: int | None) -> list[int]:
    """The part of each unit: the one that then has least of its share; no part stays empty."""
    order = list(range(len(words)))
    if seed is not None:
        import random

        random.Random(seed).shuffle(order)
    chosen, dealt = [0] * len(words), [0] * len(shares)
    for place, unit in enumerate(order):
        empty = [k for k, count in enumerate(dealt) if count == 0]
        options = empty if len(empty) == len(order) - place else range(len(shares))
        part = min(options, key=lambda k: (dealt[k] + words[unit]) / shares[k])
        dealt[part] += words[unit]
        chosen[unit] = part
    return chosen

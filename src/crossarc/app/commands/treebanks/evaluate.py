"""`crossarc evaluate`: a parsed treebank against gold, and against another parse."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import (
    Format,
    Output,
    OutputFormatOption,
    Progress,
    SourceFormatOption,
    open_treebank,
    stdin_once,
)
from crossarc.app.tables import text_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crossarc.evaluation import Calibration, Counts
    from crossarc.treebank import Sentence

__all__ = ["evaluate"]


def evaluate(
    gold: Annotated[str, typer.Argument(metavar="GOLD", help="Treebank as it should be.")],
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="The same text, parsed.")],
    output: OutputFormatOption = Output.text,
    details: Annotated[
        bool, typer.Option("--details", help="Also by label, arc length and confidence.")
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Another parse of the same words: is SYSTEM better by LAS, or only luckier?",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    source: SourceFormatOption = Format.conllu,
) -> None:
    """Score a parse against gold.

    As the CoNLL 2018 scorer does; words are aligned by characters.
    """
    from crossarc.evaluation import evaluate as score

    stdin_once(gold, system, compare)
    right: Iterable[Sentence] = Progress(open_treebank(gold, format=source))
    parsed: Iterable[Sentence] = open_treebank(system, format=source)
    if compare is not None:
        right, parsed = list(right), list(parsed)
    scores = score(right, parsed)
    figures: dict[str, int | float | None] = scores.to_dict()
    if scores.calibration is not None:
        figures |= {"ece": scores.calibration.ece, "brier": scores.calibration.brier}
    if compare is not None:
        other = list(open_treebank(compare, format=source))
        figures |= _significance(right, parsed, other, seed)
    if output is Output.json:
        print(json.dumps(figures))
        return
    print(text_table([(name, _shown(name, value)) for name, value in figures.items()]))
    if details:
        print("\n" + _counts_table("label", scores.per_label))
        print("\n" + _counts_table("arc length", scores.per_length))
        if scores.calibration is not None:
            print("\n" + _reliability_table(scores.calibration))


def _significance(
    gold: Iterable[Sentence], system: Iterable[Sentence], other: Iterable[Sentence], seed: int
) -> dict[str, int | float | None]:
    from crossarc.evaluation import paired_bootstrap, sign_test

    bootstrap = paired_bootstrap(gold, system, other, seed=seed)
    signs = sign_test(gold, system, other)
    return {
        "las_difference": bootstrap.difference,
        "las_difference_low": bootstrap.low,
        "las_difference_high": bootstrap.high,
        "bootstrap_p": bootstrap.p,
        "sentences_better": signs.better,
        "sentences_worse": signs.worse,
        "sentences_tied": signs.tied,
        "sign_test_p": signs.p,
    }


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if name.endswith("_p") or name in ("ece", "brier") else f"{value:.2f}"


def _counts_table(title: str, table: Mapping[str, Counts]) -> str:
    rows: list[tuple[str, ...]] = [
        (title, "gold", "system", "correct", "precision", "recall", "F1")
    ]
    rows += [
        (
            name,
            f"{counts.gold:,}",
            f"{counts.system:,}",
            f"{counts.correct:,}",
            *(_shown(title, value) for value in (counts.precision, counts.recall, counts.f1)),
        )
        for name, counts in table.items()
    ]
    return text_table(rows)


def _reliability_table(calibration: Calibration) -> str:
    rows = [("probability", "words", "mean probability", "right")]
    rows += [
        (
            f"{one.lower:.2f}-{one.upper:.2f}",
            f"{one.count:,}",
            f"{one.confidence:.4f}" if one.count else "-",
            f"{one.accuracy:.4f}" if one.count else "-",
        )
        for one in calibration.bins
    ]
    return text_table(rows)

"""`crossarc explain`: which features speak for a head against another one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.commands.parse import chosen_parser
from crossarc.app.files import ModelOption, open_treebank, refused_options
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence

__all__ = ["explain"]


def explain(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Treebank; its trees do not count.")],
    word: Annotated[int, typer.Option(metavar="M", help="The word, counted from 1.")],
    model: ModelOption = None,
    sentence: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The sentence, by sent_id or number from 1; needed where there are several.",
        ),
    ] = None,
    head: Annotated[
        int | None,
        typer.Option(
            metavar="H",
            help="The head, 0 for the root; by default that of the best tree.",
            show_default=False,
        ),
    ] = None,
    rival: Annotated[
        int | None,
        typer.Option(
            metavar="R",
            help="The other head; by default that of the best tree without the first.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        bool, typer.Option("--label", help="Also the relation, against the next best one.")
    ] = False,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Show so many features.")] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="All features and numbers, as JSON.")
    ] = False,
) -> None:
    """Which features speak for a head, and against it.

    They are the features of a linear model, with their weights. Differences sum to that of the two
    scores.
    """
    parser = chosen_parser(model)
    chosen = _find(file, sentence)
    with refused_options():
        explanation = parser.explain(chosen, head, word, rival=rival)
    if as_json:
        print(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1))
    else:
        print(explanation.text(top, label=label))


def _find(file: str, name: str | None) -> Sentence:
    """The sentence of a name or number; the only one where there is none."""
    found = None
    with open_treebank(file) as reader:
        for number, sentence in enumerate(reader, 1):
            if name is not None and sentence.sent_id == name:
                return sentence
            if name in (None, str(number)):
                found = sentence
            if name is None and number > 1:
                raise typer.BadParameter(
                    f"{reader.name} has several sentences: name one by its sent_id or number",
                    param_hint="--sentence",
                )
    if found is None:
        absent = "no sentence" if name is None else f"no sentence {name}; check --sentence"
        raise TreebankError(absent, source=reader.name)
    return found

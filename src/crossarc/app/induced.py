"""The models that `crossarc induce` learns."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from crossarc.app.words import UnitName

if TYPE_CHECKING:
    from crossarc.models.generative import BigramModel, DMVModel
    from crossarc.models.generative.corpus import Unit
    from crossarc.models.transition.em import EMResult
    from crossarc.treebank import Sentence
    from crossarc.trees import Tree

__all__ = ["ModelName", "StartName", "Transitions", "transition_model", "tree_model"]


class ModelName(StrEnum):
    """Models that can be induced."""

    bigram = "bigram"
    dmv = "dmv"
    transition = "transition"


class StartName(StrEnum):
    """Where EM starts."""

    harmonic = "harmonic"
    uniform = "uniform"
    random = "random"


def tree_model(
    name: ModelName, unit: UnitName, min_count: int, options: dict[str, Any]
) -> BigramModel | DMVModel:
    """The model that was asked for; wrong usage if the options do not fit it."""
    from crossarc.models.generative import BigramModel, DMVModel

    given = {key: value for key, value in options.items() if value is not None}
    if name is ModelName.dmv:
        refused = {"projective": False, "root": "multi", "direction": False, "distance": False}
        for key, value in {**refused, "stop": True}.items():
            if given.get(key) == value:
                flag = {"projective": "nonprojective", "root": "root multi"}.get(key, key)
                flag = f"no-{key}" if key in ("direction", "distance") else flag
                raise typer.BadParameter("not for dmv", param_hint=f"--{flag}")
    if unit is UnitName.form_upos:
        raise typer.BadParameter(
            "EM needs one column: form, lemma, upos or xpos", param_hint="--unit"
        )
    if given["stop"] and (given["direction"] or given["distance"]):
        raise typer.BadParameter("add --no-direction and --no-distance", param_hint="--stop")
    chosen = cast("Unit", unit.value)
    if name is ModelName.dmv:
        return DMVModel(chosen, min_count=min_count)
    return BigramModel(chosen, min_count=min_count, **given)


class Transitions:
    """The transition model of single-rooted trees, asked as the other models are."""

    kind = "transition"

    def __init__(self, unit: Literal["form", "upos", "xpos"], min_count: int) -> None:
        self.unit: Unit = unit
        self._column, self._min_count = unit, min_count
        self._learnt: EMResult

    def fit_em(self, sentences: Sequence[Sentence], **options: Any) -> EMResult:
        """Learn."""
        from crossarc.models.transition import TransitionModel

        self._learnt = TransitionModel.fit_em(
            sentences,
            unit=self._column,
            min_count=self._min_count,
            proper=True,
            root="single",
            **options,
        )
        return self._learnt

    def parse(self, words: Sequence[Sentence], *, threads: int | None = None) -> list[Tree]:
        """The trees with the most expected right arcs."""
        model = self._learnt.model
        return [model.parse(one, method="risk", root="single", threads=threads) for one in words]

    def save(self, path: str) -> None:
        """Write the model."""
        self._learnt.model.save(path)


def transition_model(unit: UnitName, min_count: int, options: dict[str, Any]) -> Transitions:
    """The transition model; wrong usage if options are given that it does not know."""
    defaults = {"direction": True, "distance": True, "stop": False}
    flags = {"direction": "no-direction", "distance": "no-distance"}
    if options.pop("root") == "multi":
        raise typer.BadParameter("not for transition", param_hint="--root multi")
    for name, value in options.items():
        if value != defaults.get(name):
            flag = flags.get(name, name)
            raise typer.BadParameter("not for transition", param_hint=f"--{flag}")
    if unit not in (UnitName.form, UnitName.upos, UnitName.xpos):
        raise typer.BadParameter("form, upos or xpos for transition", param_hint="--unit")
    return Transitions(cast('Literal["form", "upos", "xpos"]', unit.value), min_count)

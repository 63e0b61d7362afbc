"""The models that `crossarc induce` learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

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


class Standing(NamedTuple):
    """Where EM stands: its objective after each iteration."""

    objectives: tuple[float, ...]


class Transitions:
    """The transition model of single-rooted trees, asked as the other models are."""

    kind = "transition"

    def __init__(self, unit: Literal["form", "upos", "xpos"]) -> None:
        self.unit: Unit = unit
        self._column = unit
        self._learnt: EMResult

    def fit_em(
        self,
        sentences: Sequence[Sentence],
        *,
        on_iteration: Callable[[int, Standing], None],
        anneal: float,
        checkpoint: str | None,
        **options: Any,
    ) -> EMResult:
        """Learn; neither annealing nor checkpoints are known."""
        from crossarc.models.transition import TransitionModel

        made: list[float] = []

        def on_objective(restart: int, iteration: int, objective: float) -> None:
            made[iteration:] = [objective]
            on_iteration(restart, Standing(tuple(made)))

        self._learnt = TransitionModel.fit_em(
            sentences,
            unit=self._column,
            proper=True,
            root="single",
            on_iteration=on_objective,
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


def transition_model(unit: UnitName, options: dict[str, Any]) -> Transitions:
    """The transition model; wrong usage if options are given that it does not know."""
    defaults = {"direction": True, "distance": True, "stop": False, "min-count": 1, "anneal": 1.0}
    flags = {"direction": "no-direction", "distance": "no-distance"}
    if options.pop("root") == "multi":
        raise typer.BadParameter("not for transition", param_hint="--root multi")
    if options.pop("start") is StartName.harmonic:
        raise typer.BadParameter("uniform or random for transition", param_hint="--start")
    for name, value in options.items():
        if value != defaults.get(name):
            flag = flags.get(name, name)
            raise typer.BadParameter("not for transition", param_hint=f"--{flag}")
    if unit not in (UnitName.form, UnitName.upos, UnitName.xpos):
        raise typer.BadParameter("form, upos or xpos for transition", param_hint="--unit")
    return Transitions(cast('Literal["form", "upos", "xpos"]', unit.value))

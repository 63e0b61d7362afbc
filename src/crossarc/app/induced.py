"""The models that `crossarc induce` learns."""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from crossarc.app.words import UnitName
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.models.generative import BigramModel, DMVModel
    from crossarc.models.generative.corpus import Unit, Vocabulary
    from crossarc.models.generative.model import GenerativeModel
    from crossarc.models.transition import EMResult, TransitionModel
    from crossarc.treebank import Sentence
    from crossarc.trees import Tree

__all__ = [
    "ModelName",
    "StartName",
    "Transitions",
    "load_induced",
    "new_model",
]


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


def new_model(
    name: ModelName,
    unit: UnitName,
    min_count: int,
    options: dict[str, Any],
    start_trees: str | None,
) -> BigramModel | DMVModel | Transitions:
    """The model that was asked for; wrong usage if the options do not fit it."""
    if name is ModelName.transition:
        return _transition_model(unit, min_count, {**options, "start-trees": start_trees})
    return _tree_model(name, unit, min_count, options)


def _tree_model(
    name: ModelName, unit: UnitName, min_count: int, options: dict[str, Any]
) -> BigramModel | DMVModel:
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
        self._model: TransitionModel

    @classmethod
    def load(cls, path: str) -> Transitions:
        """The model of a file."""
        from crossarc.models.transition import TransitionModel

        model = TransitionModel.load(path)
        found = cls(model.symbols.unit, 1)
        found._model = model
        return found

    @property
    def vocabularies(self) -> tuple[Vocabulary, ...]:
        """As of the other models."""
        from crossarc.models.generative.corpus import UNKNOWN, Vocabulary

        known = (word for word in self._model.vocabulary if word != UNKNOWN)
        return (Vocabulary([UNKNOWN, *known]),)

    def fit_em(self, sentences: Sequence[Sentence], **options: Any) -> EMResult:
        """Learn."""
        from crossarc.models.generative.corpus import UNKNOWN
        from crossarc.models.transition import TransitionModel

        found = TransitionModel.fit_em(
            sentences,
            unit=self._column,
            min_count=self._min_count,
            unknown=UNKNOWN,
            proper=True,
            root="single",
            **options,
        )
        self._model = found.model
        return found

    def check_lengths(self, sentences: Sequence[Sentence], words: Sequence[Sized]) -> None:
        """Refuse to parse what is too long for the model, before it has learnt."""
        from crossarc.inference.transition.attardi import MAX_WORDS

        for sentence, own in zip(sentences, words, strict=True):
            if len(own) > MAX_WORDS:
                raise TreebankError(
                    f"{len(own)} words, the transition model parses {MAX_WORDS} at most: leave the "
                    "sentence out",
                    source=sentence.source,
                    line=sentence.line,
                    sent_id=sentence.sent_id,
                )

    def parse(self, words: Sequence[Sentence], *, threads: int | None = None) -> list[Tree]:
        """The trees with the most expected right arcs."""
        parse = partial(self._model.parse, method="risk", root="single", threads=threads)
        return [parse(one) for one in words]

    def log_prob_given_length(
        self, sentences: Sequence[Sentence], *, threads: int | None = None
    ) -> list[float]:
        """log p(w | n) of each sentence, over all its computations."""
        lengths = self._model.length_probs(max(map(len, sentences), default=0))
        logs = [self._model.log_prob(one, threads=threads) for one in sentences]
        return [
            log - math.log(lengths[len(one)]) if log > -math.inf else log
            for one, log in zip(sentences, logs, strict=True)
        ]

    def save(self, path: str) -> None:
        """Write the model."""
        self._model.save(path)


def load_induced(path: str) -> GenerativeModel | Transitions:
    """The model of a file that `crossarc induce` has written."""
    from crossarc.models.generative.model import GenerativeModel
    from crossarc.models.storage import read_model

    if read_model(path)[1].get("kind") == Transitions.kind:
        return Transitions.load(path)
    return GenerativeModel.load(path)


def _transition_model(unit: UnitName, min_count: int, options: dict[str, Any]) -> Transitions:
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

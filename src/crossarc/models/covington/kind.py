"""The kind "covington": one tree, by a transition for each pair of words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from crossarc.models.kinds import Kind, OptionError, TrainOptions, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.covington.model import CovingtonModel
    from crossarc.treebank import Sentence

__all__ = ["KIND", "CovingtonOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CovingtonOptions(TrainOptions):
    """How to train a Covington parser; see `TrainOptions` for the others.

    Attributes:
        learner: always the perceptron.
        max_degree: of non-projectivity; None for any, 0 for projective trees.
        beam: how many partial trees to keep; 1 is greedy.
        batch, patience: as in `run_passes`.
        exploring: how often a wrong transition is followed, from the second pass on.
        max_weights: the weights of largest magnitude are kept, at most so many.
    """

    learner: str = option("perceptron", "How transitions are learnt.", choices=("perceptron",))
    max_degree: int | None = option(
        None, "Largest degree of an arc; any by default.", type=int, minimum=0, metavar="K"
    )
    beam: int = option(
        1, "Partial trees to keep; 1, greedy, by default.", type=int, minimum=1, metavar="B"
    )
    passes: int = field(default=12, metadata={"minimum": 1})
    batch: int = 64
    patience: int = 3
    exploring: float = 0.9
    max_weights: int = 2_000_000

    def __post_init__(self) -> None:
        # Not super(): a dataclass with slots is made anew, and super() would know the old one.
        TrainOptions.__post_init__(self)
        if None not in (self.projective, self.max_degree) and self.projective != (
            self.max_degree == 0
        ):
            raise OptionError(
                "projective trees have degree 0: give one of them", "projective", "max_degree"
            )

    def resolved(self, sentences: Sequence[Sentence]) -> Self:
        """Without an option arcs may cross, whatever the treebank."""
        projective = bool(self.projective) or self.max_degree == 0
        own = dataclasses.replace(
            self, projective=projective, max_degree=0 if projective else self.max_degree
        )
        return TrainOptions.resolved(own, sentences)


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: CovingtonOptions,
    progress: Callable[[Progress], None] | None,
) -> CovingtonModel:
    from crossarc.models.covington.training import train_covington

    return train_covington(sentences, dev, options=options, progress=progress)


def _restore(tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> CovingtonModel:
    from crossarc.models.covington.model import CovingtonModel

    return CovingtonModel.restore(tensors, metadata)


KIND = Kind(
    "covington",
    "one pair of words after the other: one tree without probabilities, in about linear time",
    CovingtonOptions,
    _train,
    _restore,
)

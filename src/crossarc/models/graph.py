"""The kind "graph": the best of all trees by the scores of arcs, from a linear model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossarc.models.kinds import Kind, TrainOptions, Variants, option

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crossarc.learning import Progress
    from crossarc.models.linear import LinearModel
    from crossarc.treebank import Sentence

__all__ = ["KIND", "GraphOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions(TrainOptions):
    """How to train a linear model of arcs; see `TrainOptions` for the others.

    Attributes:
        learner: what arcs are trained by; labels are log-linear always.
        batch, patience: as in `run_passes`.
        rate, inertia, l1, l2: as in `AdaGrad`.
        max_weights: the weights of largest magnitude are kept, at most so many a table.
    """

    learner: str = option(
        "loglinear", "How the scores of arcs are learnt.", choices=("loglinear", "perceptron")
    )
    batch: int = 8
    patience: int = 2
    rate: float = 0.1
    inertia: float = 1.0
    l1: float = 0.3
    l2: float = 0.0
    max_weights: int = 1_000_000


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: GraphOptions,
    progress: Callable[[Progress], None] | None,
) -> LinearModel:
    from crossarc.models.training import train_linear

    return train_linear(sentences, dev, options=options, progress=progress)


def _restore(tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> LinearModel:
    from crossarc.models.linear import LinearModel

    return LinearModel.restore(tensors, metadata)


def _variants(options: GraphOptions, fixed: frozenset[str]) -> Variants:
    """Projective trees or all trees first."""
    projective = bool(options.projective)
    families = [projective] if "projective" in fixed else [projective, not projective]
    for family in families:
        yield {"projective": family}, 1.0


KIND = Kind(
    "graph",
    "the best of all trees by the scores of arcs, with probabilities",
    GraphOptions,
    _train,
    _restore,
    _variants,
)

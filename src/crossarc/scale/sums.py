"""Sums over a corpus as map and reduce: the E-step of EM, the gradient of log-linear training.

The corpus is cut into pieces whatever the number of workers, each piece is summed by itself, and
their sums are added in order: the result is the same to the last digit wherever pieces are summed.
A map is any function that gives `[piece(argument) for piece in pieces]`: `in_this_process`, or
`crossarc.scale.cluster.ClusterMap`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.learning import GROUPS, WeightTable, learnable_heads, log_linear
from crossarc.models.encode import Encoded
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.scorers import ArcScorer
from crossarc.models.generative.bigram_em import BigramProblem
from crossarc.models.generative.expectations import ArcExpectations, ShardSums
from crossarc.treebank import Sentence

__all__ = [
    "ArcGradient",
    "arc_gradients",
    "distribute_e_step",
    "in_this_process",
    "log_linear_gradient",
]

A = TypeVar("A")
R = TypeVar("R")
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Pieces = Sequence[Callable[[A], R]]

_SENTENCES = 256


class in_this_process(Generic[A, R]):  # noqa: N801  # a function with data
    """The map over pieces as it is without workers."""

    def __init__(self, pieces: Pieces[A, R]) -> None:
        self._pieces = pieces

    def __call__(self, argument: A) -> list[R]:
        """The results of all pieces."""
        return [piece(argument) for piece in self._pieces]


# EM.


@dataclass(frozen=True)
class _ArcSums:
    """A piece of the E-step."""

    arcs: ArcExpectations

    def __call__(self, scores: Floats) -> ShardSums:
        return self.arcs.summed(scores)


class _Elsewhere(ArcExpectations):
    """Expectations whose sums are made by a map."""

    def __init__(self, arcs: ArcExpectations, make_map: Callable[[Any], Any]) -> None:
        self.__dict__.update(arcs.__dict__)
        self._map = make_map([_ArcSums(shard) for shard in arcs.shards()])

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        return self.combined(self._map(scores))


def distribute_e_step(
    problem: BigramProblem, make_map: Callable[[Pieces[Floats, ShardSums]], Any]
) -> None:
    """Have the E-step of EM for a bigram model done by a map, with the same result.

    distribute_e_step(problem, lambda pieces: ClusterMap(ray, pieces))
    state = run_em(problem, problem.harmonic_start())
    """
    problem.arcs = _Elsewhere(problem.arcs, make_map)


# Log-linear training.


@dataclass(frozen=True)
class ArcGradient:
    """Loss and gradient of some sentences: minus the log-probability of their trees.

    Attributes:
        scorer: the templates of the model; its weights are given in each call.
        sentences: encoded, with gold heads.
    """

    scorer: ArcScorer
    sentences: Encoded
    projective: bool
    root: Any

    def __call__(self, weights: Singles) -> tuple[float, NDArray[np.uint32], Singles]:
        """The loss, the weights that it depends on, and the derivatives in them."""
        # What comes from an object store is read-only, which the kernels do not take.
        weights = weights if weights.flags.writeable else weights.copy()
        self.scorer.weights, self.scorer.scale = weights, 1.0
        encoded = self.sentences
        heads = [
            learnable_heads(encoded.gold_heads(s), projective=self.projective, root=self.root)
            for s in range(len(encoded))
        ]
        scores = encoded.split_arcs(self.scorer.scores(encoded, 1))
        trees: Any = ProjectiveTrees if self.projective else SpanningTrees
        loss, gradients = log_linear(trees, scores, heads, self.root, 1)
        flat = np.concatenate([one.ravel() for one in gradients])
        table = WeightTable(weights)
        self.scorer.gather(encoded, flat, table, 1)
        slots = np.concatenate([table.touched(group) for group in range(GROUPS)])
        return loss, slots, table.gradient[slots]


def arc_gradients(
    model: LinearModel, sentences: Sequence[Sentence], *, projective: bool, root: Any = "single"
) -> list[ArcGradient]:
    """The pieces of the gradient over a treebank."""
    scorer = copy.copy(model.arcs)
    scorer.weights = np.empty(0, np.float32)  # they come with each call
    parts = [sentences[k : k + _SENTENCES] for k in range(0, len(sentences), _SENTENCES)]
    return [
        ArcGradient(copy.copy(scorer), model.encode(part, gold=True), projective, root)
        for part in parts
    ]


def log_linear_gradient(
    results: Sequence[tuple[float, NDArray[np.uint32], Singles]], size: int
) -> tuple[float, Floats]:
    """The loss of a treebank and its gradient in all weights, from those of its pieces."""
    gradient = np.zeros(size)
    loss = 0.0
    for own, slots, values in results:
        loss += own
        gradient[slots] += values
    return loss, gradient

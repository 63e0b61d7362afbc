"""What is learnt: weights of arcs, from sentences with heads, for trees of one kind.

The problem knows scores, losses and gradients in the weights; how the weights change is a
learner's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import TreeDistribution
from crossarc.learning import (
    Objective,
    Rule,
    WeightTable,
    learnable_heads,
    nearest_heads,
)
from crossarc.models.encode import Encoded
from crossarc.models.first_order.scorers import ArcScorer
from crossarc.models.kinds import RootRule

__all__ = ["ArcProblem", "FullObjective", "Trees"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees to learn: their family and their root rule."""

    family: type[TreeDistribution[Any]]
    projective: bool
    root: RootRule
    threads: int | None = None

    def best(self, scores: Sequence[Floats]) -> list[Ints]:
        """The heads of the best trees."""
        found = self.family(list(scores), root=self.root, threads=self.threads).argmax()
        return [tree.heads for tree in found]

    def learnable(self, data: Encoded) -> list[Ints]:
        """The gold heads, -1 where no such tree could have them."""
        return [
            learnable_heads(data.gold_heads(s), projective=self.projective, root=self.root)
            for s in range(len(data))
        ]


@dataclass(frozen=True, slots=True)
class ArcProblem:
    """Sentences, their gold heads (-1 where there is none), the trees, and the weights."""

    scorer: ArcScorer
    data: Encoded
    heads: list[Ints]
    trees: Trees

    @classmethod
    def of(cls, scorer: ArcScorer, data: Encoded, trees: Trees) -> ArcProblem:
        """The problem of some sentences."""
        return cls(scorer, data, trees.learnable(data), trees)

    def whole(self) -> ArcProblem:
        """The sentences with all heads, each with the nearest tree of the kind that is learnt."""
        kept = [s for s in range(len(self.data)) if (self.data.gold_heads(s) >= 0).all()]
        family, root = self.trees.family, self.trees.root
        heads = [
            self.heads[s]
            if (self.heads[s] >= 0).all()
            else nearest_heads(family, self.data.gold_heads(s), root)
            for s in kept
        ]
        return replace(self, data=self.data.select(np.array(kept, np.int64)), heads=heads)

    def scores(self, sentences: Ints) -> list[Floats]:
        """The scores [h, m] of some sentences under the weights as they are."""
        batch = self.data.select(sentences)
        return batch.split_arcs(self.scorer.scores(batch, self.trees.threads))

    def loss(self, objective: Objective, sentences: Ints) -> tuple[float, Floats]:
        """The loss of some sentences, and its gradient in the scores of their arcs, flat."""
        heads = [self.heads[s] for s in sentences.tolist()]
        trees = self.trees
        scores = self.scores(sentences)
        loss, gradients = objective(trees.family, scores, heads, trees.root, trees.threads)
        return loss, flat(gradients)

    def update(self, sentences: Ints, gradient: Floats, rule: Rule, least: float) -> None:
        """Change the weights by a gradient in the scores of some sentences' arcs."""
        batch = self.data.select(sentences)
        self.scorer.update(batch, gradient, rule, self.trees.threads, least)

    def gather(self, sentences: Ints, gradient: Floats, table: WeightTable) -> None:
        """Add to the table the gradient in the weights, without leaving any out."""
        batch = self.data.select(sentences)
        self.scorer.gather(batch, gradient, table, self.trees.threads, least=0.0)


def flat(gradients: Sequence[Floats]) -> Floats:
    """Gradients of several sentences as one array."""
    return np.concatenate([gradient.ravel() for gradient in gradients])


class FullObjective:
    """C times the loss of all sentences, plus |w|^2 / 2, as a function of all weights."""

    def __init__(self, problem: ArcProblem, objective: Objective, c: float) -> None:
        self._problem, self._objective, self._c = problem, objective, c
        self._everything = np.arange(len(problem.data))
        self._table = WeightTable(problem.scorer.thaw())

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Value and gradient; the weights of the problem are those given, afterwards."""
        self._problem.scorer.thaw()[:] = weights
        loss, gradient = self._problem.loss(self._objective, self._everything)
        gradient *= self._c
        self._problem.gather(self._everything, gradient, self._table)
        total = weights + self._table.gradient
        self._table.gradient[:] = 0.0
        return self._c * loss + float(weights @ weights) / 2.0, total

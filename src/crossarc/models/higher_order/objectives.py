"""Objectives of higher order: the loss of a batch and its gradient in scores of arcs and parts.

Like those of `crossarc.learning.objectives`, for distributions with factors. Heads may be missing
(-1): the best tree with the given heads is gold then, or the sum over all trees that have them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import HigherOrderTrees, ProjectiveTrees, SpanningTrees
from crossarc.inference.factors import Factor, Parts
from crossarc.inference.higher.problem import FACTORS
from crossarc.learning.expectations import allowed_arcs
from crossarc.models.higher_order.model import FactoredScores
from crossarc.models.higher_order.parts import PartList
from crossarc.models.kinds import RootRule

__all__ = ["Gradient", "Trees", "log_linear", "max_margin"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Factors = Mapping[str, Sequence[Parts]]

_FACTORS: dict[str, Factor] = {one.name: one for one in FACTORS}


@dataclass(frozen=True, slots=True)
class Gradient:
    """Of a loss: in the scores of all arcs, flat, and in those of some parts of each factor.

    Attributes:
        violation: for the margin, by how much the batch misses it.
    """

    arcs: Floats
    parts: dict[str, tuple[PartList, Floats]]
    violation: float = 0.0


@dataclass(frozen=True, slots=True)
class Trees:
    """The trees to learn.

    Attributes:
        bp_tolerance, bp_iterations: of `HigherOrderTrees`.
    """

    projective: bool
    root: RootRule
    threads: int | None = None
    bp_tolerance: float = 1e-4
    bp_iterations: int = 50

    def of(self, arcs: Sequence[Floats], factors: Factors) -> Any:
        """Their distribution, or its approximation."""
        options: dict[str, Any] = {"root": self.root, "threads": self.threads, **factors}
        if self.projective:
            return ProjectiveTrees(list(arcs), **options)
        options |= {"bp_tolerance": self.bp_tolerance, "bp_iterations": self.bp_iterations}
        return HigherOrderTrees(list(arcs), **options)

    def cooled(self, arcs: Sequence[Floats], factors: Factors, temperature: float) -> Any:
        """The distribution at a temperature."""
        parts = {
            name: [Parts(one.index, one.score / temperature) for one in given]
            for name, given in factors.items()
        }
        return self.of([one / temperature for one in arcs], parts)

    def best(self, arcs: Sequence[Floats], factors: Factors) -> list[Ints]:
        """The heads of the best trees."""
        return [tree.heads for tree in self.of(arcs, factors).argmax()]

    def good(self, arcs: Sequence[Floats], factors: Factors) -> list[Ints]:
        """The heads of trees that are nearly always the best: for learning, which needs many.

        Projective trees are the best; of others, those of a few iterations of dual decomposition.
        """
        if self.projective:
            return self.best(arcs, factors)
        trees = self.of(arcs, factors)

        found: list[Ints] = trees._first_heads()
        return found

    def agreeing(self, arcs: Floats, heads: Ints) -> Floats | None:
        """The scores of arcs of trees with the given heads; None where there is none."""
        given = {m: [int(h)] for m, h in enumerate(heads, 1) if h >= 0}
        fixed = np.where(allowed_arcs(arcs.shape, given), arcs, -np.inf)
        family: Any = ProjectiveTrees if self.projective else SpanningTrees
        return (
            fixed if family(fixed, root=self.root, threads=1).log_partition() > -math.inf else None
        )


def max_margin(
    trees: Trees, scores: FactoredScores, heads: Sequence[Ints], cost: float
) -> tuple[float, Gradient]:
    """The number of wrong heads in the trees with the highest score plus cost, and the gradient.

    Args:
        cost: of each wrong head; 0 for the perceptron.
    """
    factors = scores.factors
    augmented = [_augmented(one, gold, cost) for one, gold in zip(scores.arcs, heads, strict=True)]
    guesses = trees.good(augmented, factors)
    golds = [
        _completed(trees, scores, factors, index, gold, guesses[index])
        for index, gold in enumerate(heads)
    ]
    loss, violation, tables = 0, 0.0, []
    for one, guess, gold in zip(augmented, guesses, golds, strict=True):
        words = np.arange(1, len(gold) + 1)
        table = np.zeros(one.shape)
        table[guess, words] += 1.0
        table[gold, words] -= 1.0
        tables.append(table.ravel())
        loss += int(np.count_nonzero(guess != gold))
        violation += float(one[guess, words].sum() - one[gold, words].sum())
    parts = {}
    for name in factors:
        parts[name] = listed, values = _difference(_FACTORS[name], guesses, golds)
        violation += float(values @ scores.part_scores(name, listed))
    return float(loss), Gradient(np.concatenate(tables), parts, violation)


def _augmented(arcs: Floats, heads: Ints, cost: float) -> Floats:
    """Scores plus the cost of arcs that are wrong; words without a head cost nothing."""
    known = np.flatnonzero(heads >= 0) + 1
    raised = arcs.copy()
    raised[:, known] += cost
    raised[heads[known - 1], known] -= cost
    return raised


def _completed(
    trees: Trees,
    scores: FactoredScores,
    factors: Factors,
    index: int,
    heads: Ints,
    guess: Ints,
) -> Ints:
    """The gold tree: the best one with the heads that are given; the guess without any."""
    if (heads >= 0).all():
        return heads
    fixed = trees.agreeing(scores.arcs[index], heads) if (heads >= 0).any() else None
    if fixed is None:
        return guess
    [found] = trees.good([fixed], {name: [parts[index]] for name, parts in factors.items()})
    return found


def _difference(
    factor: Factor, guesses: Sequence[Ints], golds: Sequence[Ints]
) -> tuple[PartList, Floats]:
    """The parts that only one of two trees has: 1 for those of the first, -1 of the second."""
    starts = np.cumsum([1, *(len(heads) + 1 for heads in golds)])
    more, less = (_parts_of(factor, trees, starts) for trees in (guesses, golds))
    shape = factor.shape(int(starts[-1]))
    more_cells = np.ravel_multi_index(tuple(more.T), shape)
    less_cells = np.ravel_multi_index(tuple(less.T), shape)
    more, less = more[~np.isin(more_cells, less_cells)], less[~np.isin(less_cells, more_cells)]
    parts, values = np.concatenate([more, less]), np.repeat([1.0, -1.0], [len(more), len(less)])
    owner = np.searchsorted(starts, parts[:, -1], "right") - 1
    order = np.argsort(owner, kind="stable")
    index = (parts - starts[owner][:, None])[order].astype(np.int32)
    offsets = np.searchsorted(owner[order], np.arange(len(starts)))
    return PartList(index, offsets), values[order]


def _parts_of(factor: Factor, trees: Sequence[Ints], starts: Ints) -> Ints:
    """The parts of all trees, whose roots have the numbers `starts`.

    Trees are made one: their roots are modifiers of a node 0, in parts that are left out.
    """
    pairs = zip(trees, starts[:-1], strict=True)
    heads = np.concatenate([np.concatenate([[0], own + start]) for own, start in pairs])
    parts = factor.parts_of(heads)
    return parts[parts[:, 0] > 0]


def log_linear(
    trees: Trees, scores: FactoredScores, heads: Sequence[Ints]
) -> tuple[float, Gradient]:
    """Minus the log-probability of the gold trees, and its gradient.

    The derivative in the score of an arc or a part is its probability, minus its probability given
    the gold heads. For trees that may cross, both are approximated by belief propagation.
    """
    factors = scores.factors
    golds = [
        trees.agreeing(arcs, gold) if (gold >= 0).any() else None
        for arcs, gold in zip(scores.arcs, heads, strict=True)
    ]
    used = [index for index, gold in enumerate(golds) if gold is not None]
    arcs = [np.zeros(one.shape) for one in scores.arcs]
    values = {name: [np.zeros(len(one)) for one in parts] for name, parts in factors.items()}
    loss = 0.0
    for sign in (1.0, -1.0) if used else ():
        own = [scores.arcs[index] if sign > 0.0 else golds[index] for index in used]
        some = {name: [parts[index] for index in used] for name, parts in factors.items()}
        distribution = trees.of([one for one in own if one is not None], some)
        loss += sign * math.fsum(distribution.log_partition())
        for index, table in zip(used, distribution.marginals(), strict=True):
            arcs[index] += sign * table
        for name in factors:
            for index, table in zip(used, distribution.marginals(name), strict=True):
                values[name][index] += sign * table
    parts = {name: (scores.part_lists[name], np.concatenate(values[name])) for name in factors}
    return loss, Gradient(np.concatenate([one.ravel() for one in arcs]), parts)

"""Losses that are expectations over trees: the cost of a random tree, and trees that are hidden.

Both are functions of score arrays, labelled or not, with gradients in their shape. A sentence
that has no tree (all arcs of a word forbidden, say) counts nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import TreeDistribution
from crossarc.inference.distribution import Root

__all__ = ["allowed_arcs", "hidden_trees", "minimum_risk", "wrong_arcs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def minimum_risk(
    trees: type[TreeDistribution[Any]],
    scores: Sequence[Floats],
    costs: Sequence[Floats],
    root: Root = "single",
    threads: int | None = None,
) -> tuple[float, list[Floats]]:
    """The expected cost of a tree whose arcs have costs, summed over sentences.

    The sum over arcs of probability times cost. Its derivative in an arc's score is the covariance
    of the arc with the cost of the tree, a Hessian-vector product (Li & Eisner 2009, section 6).

    Args:
        costs: in the shape of the scores; `wrong_arcs` makes those that count errors.
    """
    distribution = trees(list(scores), root=root, threads=threads)
    feasible = np.flatnonzero(np.array(distribution.log_partition()) > -np.inf).tolist()
    gradients = [np.zeros(one.shape) for one in scores]
    if not feasible:
        return 0.0, gradients
    if len(feasible) < len(scores):
        distribution = trees([scores[index] for index in feasible], root=root, threads=threads)
    used = [np.where(scores[index] > -np.inf, costs[index], 0.0) for index in feasible]
    loss = 0.0
    for table, cost in zip(distribution.marginals(), used, strict=True):
        loss += float(np.sum(table[:, 1:] * cost[:, 1:], where=table[:, 1:] > 0.0))
    for index, gradient in zip(feasible, distribution.hessian_product(used), strict=True):
        gradients[index] = gradient
    return loss, gradients


def hidden_trees(
    trees: type[TreeDistribution[Any]],
    scores: Sequence[Floats],
    allowed: Sequence[Bools],
    root: Root = "single",
    threads: int | None = None,
) -> tuple[float, list[Floats]]:
    """Minus the log-probability that all arcs of the tree are allowed ones.

    log Z minus log Z of the trees that agree with what was observed. The derivative in an arc's
    score is the difference of its two probabilities. A sentence without an allowed tree counts
    nothing.

    Args:
        allowed: in the shape of the scores: which (labelled) arcs agree with the observation;
            `allowed_arcs` makes it from sets of heads and labels.
    """
    kept = [np.where(some, one, -np.inf) for one, some in zip(scores, allowed, strict=True)]
    gradients = [np.zeros(one.shape) for one in scores]
    agreeing = trees(kept, root=root, threads=threads).log_partition()
    used = [index for index, total in enumerate(agreeing) if total > -np.inf]
    whole = trees([scores[index] for index in used], root=root, threads=threads)
    fixed = trees([kept[index] for index in used], root=root, threads=threads)
    pairs = zip(used, whole.marginals(), fixed.marginals(), strict=True)
    for index, free, bound in pairs:
        gradients[index] = free - bound
    totals = zip(whole.log_partition(), (agreeing[index] for index in used), strict=True)
    return math.fsum(free - bound for free, bound in totals), gradients


def wrong_arcs(heads: Ints, labels: Ints | None = None, *, label_count: int = 0) -> Floats:
    """Costs that count errors: 1 for each arc that is not gold, by head or by label.

    Args:
        heads: the gold heads, -1 for a word that does not count.
        labels: the gold labels, numbers from 0, for costs [h, m, l]; -1 where any is right.
        label_count: how many labels there are.
    """
    n = len(heads)
    words = np.arange(1, n + 1)
    costs = np.ones((n + 1, n + 1) if labels is None else (n + 1, n + 1, label_count))
    known = heads >= 0
    costs[:, words[~known]] = 0.0
    if labels is None:
        costs[heads[known], words[known]] = 0.0
        return costs
    is_any = known & (labels < 0)
    costs[heads[is_any], words[is_any]] = 0.0
    exact = known & (labels >= 0)
    costs[heads[exact], words[exact], labels[exact]] = 0.0
    return costs


def allowed_arcs(
    shape: tuple[int, ...],
    heads: Mapping[int, Iterable[int]],
    labels: Mapping[int, Iterable[int]] | None = None,
) -> Bools:
    """Which arcs agree with an observation, in the shape of the scores.

    Args:
        heads: {m: heads that word m may have}; words that are not named may have any.
        labels: {m: labels that the arc into m may have}, where there are labels.
    """
    allowed: Any = np.ones(shape, np.bool_)
    for m, some in heads.items():
        allowed[:, m] &= _members(shape[0], some).reshape(-1, *[1] * (len(shape) - 2))
    for m, some in (labels or {}).items():
        allowed[:, m] &= _members(shape[2], some)
    return np.asarray(allowed)


def _members(count: int, some: Iterable[int]) -> Bools:
    flags = np.zeros(count, np.bool_)
    flags[list(some)] = True
    return flags

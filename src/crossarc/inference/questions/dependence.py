"""How the heads of words depend on each other: what follows when some of them are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.constraints import constrain
from crossarc.inference.runtime.batch import Batch

if TYPE_CHECKING:
    from crossarc.inference.hooks import TreeHooks

__all__ = [
    "conditional",
    "entropy_drop",
    "given",
    "head_entropies",
    "information_of_word",
    "joint",
    "joint_by_constraints",
    "mutual_information_by_constraints",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Distribution = TypeVar("Distribution", bound="TreeHooks")

# How many constrained copies of a sentence are one batch.
_COPIES = 64


def given(trees: Distribution, heads: Any, labels: Any) -> Distribution:
    """`TreeDistribution.given`."""
    batch, some = trees._batch, trees._given(heads, Mapping)
    names = [None] * len(some) if labels is None else trees._given(labels, Mapping)
    arrays = [
        constrain(batch.scores(index), heads=own, labels=names[index])
        for index, own in enumerate(some)
    ]
    scores = arrays if batch.is_batch else arrays[0]
    return trees._with_scores(scores, range(len(arrays)), trees._threads)


def joint(trees: TreeHooks, first: Any, second: Any) -> float | Floats:
    """`TreeDistribution.joint`."""
    left, right = _read_arcs(trees._batch, first), _read_arcs(trees._batch, second)
    return trees._in_parallel(lambda index: _joint(trees, index, left[index], right[index]))


def conditional(trees: TreeHooks, arc: Any, given: Any) -> float | Floats:
    """`TreeDistribution.conditional`."""
    left, right = _read_arcs(trees._batch, arc), _read_arcs(trees._batch, given)

    def share(index: int) -> float | Floats:
        both = _joint(trees, index, left[index], right[index])
        condition = _joint(trees, index, right[index], right[index])
        with np.errstate(invalid="ignore"):
            return _float_if_scalar(np.minimum(np.divide(both, condition), 1.0))

    return trees._in_parallel(share)


def entropy_drop(trees: TreeHooks, index: int, labels: bool) -> Floats:
    """The entropy of each word's head, or of head and label."""
    table = trees._feasible_marginals(index, False)
    if table.ndim == 3 and not labels:
        table = table.sum(axis=2)
    return _entropies(np.moveaxis(table, 1, 0)[1:].reshape(len(table) - 1, -1))


def head_entropies(trees: TreeHooks, index: int) -> Floats:
    """The entropy of each word's head, labels summed over."""
    return _entropies(trees._head_probabilities(index)[:, 1:].T)


def _entropies(rows: Floats) -> Floats:
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0.0)
    return cast(Floats, np.maximum(0.0, -(rows * logs).sum(axis=1)))


# Sums over constrained trees, which any distribution has.


def joint_by_constraints(trees: TreeHooks, index: int, left: Ints, right: Ints) -> Floats:
    """The probability of each pair of arcs of two words, rows (h, m); O(n^3) for a new arc."""
    distinct, kinds = np.unique(right, axis=0, return_inverse=True)
    tables = _conditionals(trees, index, distinct)
    probabilities = trees._head_probabilities(index)[distinct[:, 0], distinct[:, 1]]
    found = tables[kinds.reshape(-1), left[:, 0], left[:, 1]]
    return found * probabilities[kinds.reshape(-1)]


def mutual_information_by_constraints(trees: TreeHooks, index: int, negligible: float) -> Floats:
    """What each word's head says about each other word's, (n, n); entropies on the diagonal."""
    n = int(trees._batch.sizes[index])
    table = np.diag(head_entropies(trees, index))
    for m in range(1, n):
        rest = information_of_word(trees, index, m, negligible)[m:]
        table[m - 1, m:] = table[m:, m - 1] = rest
    return table


def information_of_word(trees: TreeHooks, index: int, m: int, negligible: float) -> Floats:
    """What the head of word m says about those of words 1..n."""
    probabilities = trees._head_probabilities(index)
    heads = np.flatnonzero(probabilities[:, m] > negligible)
    arcs = np.stack([heads, np.full(len(heads), m)], axis=1)
    given = _conditionals(trees, index, arcs)[:, :, 1:]
    free = np.broadcast_to(probabilities[:, 1:], given.shape)
    used = (given > 0.0) & (free > 0.0)
    logs = np.log(np.divide(given, free, out=np.ones_like(given), where=used))
    # p log(p / q) - p + q is never negative.
    gains = (given * logs - given + free).sum(axis=1)
    return cast(Floats, probabilities[heads, m] @ gains)


def _conditionals(trees: TreeHooks, index: int, arcs: Ints) -> Floats:
    """Marginals [h, m], labels summed over, given each of some arcs; 0 if impossible."""
    scores = trees._batch.scores(index)
    out = np.zeros((len(arcs), *scores.shape[:2]))
    possible = np.flatnonzero(trees._head_probabilities(index)[arcs[:, 0], arcs[:, 1]] > 0.0)
    for begin in range(0, len(possible), _COPIES):
        some = possible[begin : begin + _COPIES]
        arrays = [constrain(scores, heads={int(m): int(h)}) for h, m in arcs[some]]
        constrained = trees._with_scores(arrays, [index] * len(some), 1)
        for copy, row in enumerate(some):
            out[row] = constrained._head_probabilities(copy)
    return out


# Arcs as users name them: (h, m), or (h, m, l) with a label.


def _joint(trees: TreeHooks, index: int, left: Ints, right: Ints) -> float | Floats:
    probabilities = trees._head_probabilities(index)
    shape = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
    first = np.broadcast_to(left, (*shape, left.shape[-1])).reshape(-1, left.shape[-1])
    second = np.broadcast_to(right, (*shape, right.shape[-1])).reshape(-1, right.shape[-1])
    found = np.zeros(len(first))
    two_words = first[:, 1] != second[:, 1]
    same = (first[:, :2] == second[:, :2]).all(axis=1)
    found[same] = probabilities[first[same, 0], first[same, 1]]
    if two_words.any():
        left_arcs, right_arcs = first[two_words, :2], second[two_words, :2]
        found[two_words] = trees._joint_heads(index, left_arcs, right_arcs)
    labels = _label_probabilities(trees._batch, index, first, second, same)
    return _float_if_scalar((found * labels).reshape(shape))


def _read_arcs(batch: Batch, arcs: Any) -> list[Ints]:
    listed = list(arcs) if batch.is_batch else [arcs]
    if len(listed) != len(batch):
        raise ScoreError(f"arcs for {len(listed)} sentences were given, there are {len(batch)}")
    return [
        _checked_arcs(own, batch.scores(i).shape, batch.name(i)) for i, own in enumerate(listed)
    ]


def _checked_arcs(arcs: Any, shape: tuple[int, ...], name: str) -> Ints:
    """An array of arcs whose last axis is (h, m) or (h, m, l), checked against scores."""
    array = np.asarray(arcs)
    columns = (2,) if len(shape) == 2 else (2, 3)
    if array.ndim == 0 or array.shape[-1] not in columns or array.dtype.kind not in "iu":
        expected = "(h, m)" if len(shape) == 2 else "(h, m) or (h, m, l)"
        raise ScoreError(f"{name}an arc is {expected}, whole numbers: got {arcs!r:.60}")
    array = array.astype(np.int64)
    h, m = array[..., 0], array[..., 1]
    n = shape[0] - 1
    bad = (h < 0) | (h > n) | (m < 1) | (m > n) | (h == m)
    if array.shape[-1] == 3:
        bad |= (array[..., 2] < 0) | (array[..., 2] >= shape[2])
    if bad.any():
        arc = tuple(array[bad][0].tolist())
        labels = f", labels 0..{shape[2] - 1}" if array.shape[-1] == 3 else ""
        raise ScoreError(f"{name}no such arc: {arc}. Heads are 0..{n}, modifiers 1..{n}{labels}")
    return array


def _label_probabilities(
    batch: Batch, index: int, first: Ints, second: Ints, same: NDArray[np.bool_]
) -> Floats:
    """The probability of the labels in pairs of arcs, given the arcs; `same` where they are one."""
    left, right = (_label_shares(batch, index, arcs) for arcs in (first, second))
    if first.shape[1] == second.shape[1] == 3:
        agree = (first[:, 2] == second[:, 2]).astype(np.float64)
        return np.where(same, left * agree, left * right)
    return left * right


def _label_shares(batch: Batch, index: int, arcs: Ints) -> Floats:
    """Each label's share of the weight of its arc; 1 where no label is named."""
    if arcs.shape[1] == 2:
        return np.ones(len(arcs))
    h, m, label = arcs.T
    scores, best = batch.labelled[index][h, m, label], batch.square(index)[h, m]
    used = best > -np.inf
    shares = np.exp(np.where(used, scores, -np.inf) - np.where(used, best, 0.0))
    out: Floats = shares / np.where(used, batch.label_sum(index)[h, m], 1.0)
    return out


def _float_if_scalar(values: Floats) -> float | Floats:
    return float(values) if np.ndim(values) == 0 else values

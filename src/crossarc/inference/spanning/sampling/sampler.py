"""Random spanning trees of one sentence: the method by which they are drawn, labels and scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_sum
from crossarc.inference.arithmetic.rng import State, below, uniform
from crossarc.kernels import kernel
from crossarc.trees import Tree

__all__ = ["Sampler"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_READ2_INT = types.Array(types.int64, 2, "C", readonly=True)

# From so many draws a word it pays to find out how long walks are; they are used if they have so
# few expected steps a word. Both from measurements (benchmarks/sampling.py).
_WORTH_ASKING = 8
_FEW_STEPS = 4.0
# Draws whose trees are nearly all known find few new ones.
_FEWEST_DRAWS = 32
_LEAST_NEW = 1 / 8


@kernel(types.void(_READ3, _READ2_INT, types.uint64[::1], types.int64[:, ::1]))
def draw_labels(scores: Floats, heads: Ints, state: State, out: Ints) -> None:
    """A label for each arc, in proportion to exp(score); heads and labels are rows.

    What is needed of an arc's labels is computed when the arc first comes: O(labels) for each arc,
    then O(log labels) a draw.
    """
    width, labels = scores.shape[0], scores.shape[2]
    sums = np.empty((width, width, labels))
    known = np.zeros((width, width), np.bool_)
    for row in range(heads.shape[0]):
        for word in range(width - 1):
            h, m = heads[row, word], word + 1
            if not known[h, m]:
                top, passed = scores[h, m].max(), 0.0
                for label in range(labels):
                    passed += math.exp(scores[h, m, label] - top)
                    sums[h, m, label] = passed
                known[h, m] = True
            out[row, word] = below(sums[h, m], 0, labels, uniform(state))


@kernel(types.void(_READ3, _READ2_INT, _READ2_INT, types.float64[::1]))
def score_rows(scores: Floats, heads: Ints, labels: Ints, out: Floats) -> None:
    """The score of each tree, one a row; what rounding takes is added up beside it."""
    for row in range(heads.shape[0]):
        total, lost = 0.0, 0.0
        for word in range(heads.shape[1]):
            x = scores[heads[row, word], word + 1, labels[row, word]]
            total, error = two_sum(total, x)
            lost += error
        out[row] = total + lost


class Sampler:
    """Draws trees of a sentence that has some.

    Args:
        scores: of arcs, those of labelled arcs being of their best label; forbidden ones -inf.
        label_sums: as `Batch.label_sums`, empty without labels.
        labelled: scores of labels, or None.
        single: whether the root has one modifier.
        source: seeds of random numbers.
    """

    def __init__(
        self,
        scores: Floats,
        label_sums: Floats,
        labelled: Floats | None,
        single: bool,
        source: np.random.SeedSequence,
    ) -> None:
        self._arcs = scores, label_sums, single
        self._labelled = labelled
        draws, self._gumbels = source.spawn(2)
        self._state: State = draws.generate_state(1, np.uint64).astype(np.uint64)

    def draw(self, k: int) -> list[Tree]:
        """k independent trees."""
        return self._trees(*self._rows(k))

    def draw_distinct(self, k: int) -> list[Tree]:
        """k different trees, each drawn from those that are left; fewer when there are fewer.

        The first occurrences among independent draws are in that order. When these bring little
        that is new, trees are drawn word by word, and those already known are passed over: the
        others come in the right order, too.
        """
        found: dict[bytes, Ints] = {}
        many = True
        while many and len(found) < k:
            count, known = max(k - len(found), _FEWEST_DRAWS), len(found)
            for row in np.concatenate(self._rows(count), axis=1):
                found.setdefault(row.tobytes(), row)
            many = len(found) - known >= count * _LEAST_NEW
        if len(found) < k:
            for row in self._word_by_word():
                found.setdefault(row.tobytes(), row)
                if len(found) == k:
                    break
        rows = np.array(list(islice(found.values(), k)))
        n = self._arcs[0].shape[0] - 1
        return self._trees(rows[:, :n], rows[:, n:])

    def _rows(self, k: int) -> tuple[Ints, Ints]:
        """Heads and labels of k trees; without labels, these have no columns."""
        from crossarc.inference.spanning.sampling.insertion import draw_by_insertion

        heads = np.empty((k, self._arcs[0].shape[0] - 1), np.int64)
        roots = self._short_walks(k)
        if roots is None:
            draw_by_insertion(*self._arcs, self._state, heads)
        else:
            from crossarc.inference.spanning.sampling.wilson import draw_by_walks

            draw_by_walks(*self._arcs, roots, self._state, heads)
        if self._labelled is None:
            return heads, heads[:, :0]
        labels = np.empty_like(heads)
        draw_labels(self._labelled, heads, self._state, labels)
        return heads, labels

    def _short_walks(self, k: int) -> Floats | None:
        """The probabilities of single roots, if walks are short enough; else None."""
        n = self._arcs[0].shape[0] - 1
        if k < _WORTH_ASKING * n:
            return None
        from crossarc.inference.spanning.sampling.wilson import expected_steps

        roots = np.zeros(n)
        return roots if expected_steps(*self._arcs, roots) <= _FEW_STEPS * n else None

    def _word_by_word(self) -> Iterator[Ints]:
        from crossarc.inference.spanning.sampling.without_replacement import (
            trees_without_replacement,
        )

        scores, label_sums, single = self._arcs
        rng = np.random.Generator(np.random.PCG64(self._gumbels))
        found = trees_without_replacement(scores, label_sums, self._labelled, single, rng)
        return (row.astype(np.int64) for row in found)

    def _trees(self, heads: Ints, labels: Ints) -> list[Tree]:
        scores = self._arcs[0][:, :, None] if self._labelled is None else self._labelled
        named = np.zeros_like(heads) if self._labelled is None else np.ascontiguousarray(labels)
        totals = np.empty(len(heads))
        score_rows(np.ascontiguousarray(scores), np.ascontiguousarray(heads), named, totals)
        heads.flags.writeable = named.flags.writeable = False
        trees = []
        for row, (own, score) in enumerate(zip(heads, totals.tolist(), strict=True)):
            tree = Tree._trusted(own, None if self._labelled is None else named[row])
            tree.score = score
            trees.append(tree)
        return trees

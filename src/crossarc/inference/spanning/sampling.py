"""Random spanning trees of one sentence: which way they are drawn, their labels and scores."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.rng import State
from crossarc.trees import Tree

__all__ = ["Sampler"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Walks are tried for so many draws a word, beyond which it pays to find out how long they are; and
# taken if they have so few expected steps a word. Both from measurements (benchmarks/sampling.py).
_WORTH_ASKING = 8
_FEW_STEPS = 4.0
# Draws whose trees are nearly all known are no way to find new ones.
_FEWEST_DRAWS = 32
_LEAST_NEW = 1 / 8


class Sampler:
    """Draws trees of a sentence that has some.

    Args:
        scores: of arcs, those of labelled arcs being of their best label; forbidden ones -inf.
        label_sums: as `Batch.mass`, empty without labels.
        labelled: scores of labels, or None.
        single: whether the root has one modifier.
        source: of chance.
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
        from crossarc.inference.spanning.insertion import draw_by_insertion

        heads = np.empty((k, self._arcs[0].shape[0] - 1), np.int64)
        roots = self._short_walks(k)
        if roots is None:
            draw_by_insertion(*self._arcs, self._state, heads)
        else:
            from crossarc.inference.spanning.wilson import draw_by_walks

            draw_by_walks(*self._arcs, roots, self._state, heads)
        if self._labelled is None:
            return heads, heads[:, :0]
        from crossarc.inference.spanning.labels import draw_labels

        labels = np.empty_like(heads)
        draw_labels(self._labelled, heads, self._state, labels)
        return heads, labels

    def _short_walks(self, k: int) -> Floats | None:
        """The chances of single roots, if walks are worth their while; else None."""
        n = self._arcs[0].shape[0] - 1
        if k < _WORTH_ASKING * n:
            return None
        from crossarc.inference.spanning.wilson import expected_steps

        roots = np.zeros(n)
        return roots if expected_steps(*self._arcs, roots) <= _FEW_STEPS * n else None

    def _word_by_word(self) -> Iterator[Ints]:
        from crossarc.inference.spanning.distinct import heads_distinct

        scores, label_sums, single = self._arcs
        chance = np.random.Generator(np.random.PCG64(self._gumbels))
        found = heads_distinct(scores, label_sums, self._labelled, single, chance)
        return (row.astype(np.int64) for row in found)

    def _trees(self, heads: Ints, labels: Ints) -> list[Tree]:
        from crossarc.inference.spanning.labels import score_rows

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

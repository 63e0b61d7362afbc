"""Weights and templates together: scores of arcs and of labels, and updates of their weights.

Kernels of updates are loaded by the first update: whoever parses does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import GROUPS, Rule
from crossarc.models.arcs import score_arcs
from crossarc.models.encode import Encoded
from crossarc.models.features import Plan
from crossarc.models.labels import ALIGNMENT, score_labels
from crossarc.parallel import over_ranges

__all__ = ["ArcScorer", "Arcs", "LabelScorer"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
T = TypeVar("T")

# Arcs are labelled in pieces of this size, so that threads have work to share.
_PIECE = 256


class ArcScorer:
    """Scores of all arcs of sentences.

    Args:
        bits: the table has 2**bits weights.
        tag: the atom whose values between two words count, and how many it has.
    """

    def __init__(self, plan: Plan, *, bits: int, tag: tuple[int, int]) -> None:
        self.plan, self.tag = plan, tag
        self.bits = bits - (GROUPS.bit_length() - 1)
        self.weights: Singles = np.zeros(1 << bits, np.float32)

    def _on(self, kernel: Callable[..., T], encoded: Encoded) -> Callable[..., T]:
        """A kernel with its first arguments filled in."""
        words = encoded.codes, encoded.sizes, encoded.starts, encoded.squares
        return partial(kernel, *words, self.plan.atoms, self.plan.bounds, *self.tag, self.bits)

    def scores(self, encoded: Encoded, threads: int | None = None) -> Floats:
        """(n + 1)^2 scores a sentence, one sentence after the other; unusable ones are 0."""
        score = self._on(score_arcs, encoded)
        out = np.zeros(int(encoded.squares[-1]))

        def work(begin: int, end: int) -> None:
            score(self.weights, out, begin, end)

        over_ranges(work, (encoded.sizes**2 + 20).tolist(), threads)
        return out

    def update(
        self, encoded: Encoded, slopes: Floats, rule: Rule, threads: int | None = None
    ) -> None:
        """Change the weights by the slopes of all arcs' scores, laid out as the scores."""
        from crossarc.models.arc_gradients import gather_arcs

        gather = self._on(gather_arcs, encoded)
        rule.table.update(partial(gather, slopes), rule.step, threads)
        rule.advance()


class Arcs:
    """Single arcs of sentences: the row of each one's root, its head, its modifier."""

    def __init__(self, codes: Ints, rows: Ints, heads: Ints, modifiers: Ints) -> None:
        self.codes, self.rows, self.heads, self.modifiers = codes, rows, heads, modifiers

    @classmethod
    def of_trees(cls, encoded: Encoded, heads: Ints) -> Arcs:
        """One arc a word, given the heads of all sentences end to end."""
        ends = np.cumsum(encoded.sizes)
        numbers = np.arange(len(heads)) - np.repeat(ends - encoded.sizes, encoded.sizes) + 1
        rows = np.repeat(encoded.starts, encoded.sizes)
        return cls(encoded.codes, rows, np.ascontiguousarray(heads), numbers)

    @classmethod
    def of_sentence(cls, encoded: Encoded, sentence: int) -> Arcs:
        """All arcs [h, m] of one sentence, m from 1 on, row by row; h = m included."""
        n = int(encoded.sizes[sentence])
        heads, modifiers = np.divmod(np.arange((n + 1) * n), n)
        rows = np.full(len(heads), encoded.starts[sentence])
        return cls(encoded.codes, rows, heads, modifiers + 1)

    def only(self, chosen: NDArray[np.bool_]) -> Arcs:
        """Some of the arcs."""
        return Arcs(self.codes, self.rows[chosen], self.heads[chosen], self.modifiers[chosen])

    def __len__(self) -> int:
        return len(self.heads)


class LabelScorer:
    """Scores of all labels for given arcs.

    Args:
        bits: the table has 2**bits weights, and in each part a window's more.
    """

    def __init__(self, plan: Plan, *, bits: int, tag: tuple[int, int], labels: int) -> None:
        self.plan, self.tag, self.labels = plan, tag, labels
        self.bits = bits - (GROUPS.bit_length() - 1)
        window = -(-labels >> ALIGNMENT) << ALIGNMENT
        self.weights: Singles = np.zeros(GROUPS * ((1 << self.bits) + window), np.float32)

    def _on(self, kernel: Callable[..., T], arcs: Arcs) -> Callable[..., T]:
        """A kernel with its first arguments filled in."""
        words = arcs.codes, arcs.rows, arcs.heads, arcs.modifiers
        return partial(kernel, *words, self.plan.atoms, self.plan.bounds, *self.tag, self.bits)

    def scores(self, arcs: Arcs, threads: int | None = None) -> Floats:
        """(arcs, labels)."""
        score = self._on(score_labels, arcs)
        out = np.empty((len(arcs), self.labels))

        def work(begin: int, end: int) -> None:
            last = min(end * _PIECE, len(arcs))
            score(self.weights, out, begin * _PIECE, last)

        over_ranges(work, [1.0] * -(-len(arcs) // _PIECE), threads)
        return out

    def update(self, arcs: Arcs, slopes: Floats, rule: Rule, threads: int | None = None) -> None:
        """Change the weights by the slopes of label scores (arcs, labels)."""
        from crossarc.models.label_gradients import gather_labels

        gather = self._on(gather_labels, arcs)
        rule.table.update(partial(gather, slopes), rule.step, threads)
        rule.advance()

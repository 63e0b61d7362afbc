"""Parameters of many symbols: counts of what was seen, and coarser contexts elsewhere."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.transition.attardi import TransitionScores
from crossarc.models.transition.symbols import ROOT, WORDS

__all__ = ["BackoffTables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Seen:
    """Counts [context, outcome] of the contexts that occur."""

    def __init__(self, contexts: Ints, outcomes: Ints, count: int) -> None:
        self._keys, rows = np.unique(contexts, return_inverse=True)
        self._counts = np.zeros((len(self._keys), count))
        np.add.at(self._counts, (rows, outcomes), 1.0)

    def smoothed(self, contexts: Ints, below: Floats, strength: float) -> Floats:
        """(count + s q) / (total + s) for each context, q being `below`."""
        at = np.searchsorted(self._keys, contexts)
        known = self._keys.take(at, mode="clip") == contexts if len(self._keys) else at < 0
        counts = np.zeros((*contexts.shape, below.shape[-1]))
        counts[known] = self._counts[at[known]]
        total = counts.sum(axis=-1, keepdims=True) + strength
        with np.errstate(invalid="ignore"):
            return np.where(total > 0.0, (counts + strength * below) / total, below)


class BackoffTables:
    """`Tables` from counts; memory and time follow what was observed, not the vocabulary's cube.

    Args:
        rows: table, b3, b2, b1 of each transition, as `estimation.transitions` has them.
        sentences: how many there were.
        size: of the symbols.
        strength: as of `normalised`, with the same coarser contexts.
    """

    def __init__(
        self, rows: Ints, sentences: int, size: int, strength: float, proper: bool
    ) -> None:
        self._size, self._strength, self._proper = size, strength, proper
        table, b3, b2, b1 = rows.T
        shifts, ones, twos = table == 0, table > 0, table > 2
        # Of a shift, b2 is the top of the stack and b1 the word.
        tops = np.concatenate([b2[shifts], b1[ones], np.full(sentences * proper, ROOT)])
        reductions = tops[shifts.sum() :]
        self._top_totals = np.bincount(tops, minlength=size).astype(np.float64)
        self._top_reductions = np.bincount(reductions, minlength=size).astype(np.float64)
        pooled = np.append(np.bincount(b1[shifts], minlength=size)[WORDS:], len(reductions))
        self._pooled = (pooled + strength / len(pooled)) / (len(tops) + strength)
        self._events, counts = np.unique(b2[shifts] * size + b1[shifts], return_counts=True)
        self._event_counts = counts.astype(np.float64)
        outcome = np.minimum(table - 1, 2)
        self._one = [
            _Seen(key[ones], outcome[ones], 3) for key in (b2 * size + b1, b1, np.zeros_like(b1))
        ]
        keys = ((b3 * size + b2) * size + b1, b2 * size + b1, b1, np.zeros_like(b1))
        self._two = [_Seen(key[twos], table[twos] - 3, 2) for key in keys]

    def scores(self, ids: Ints) -> TransitionScores:
        """See `Tables`."""
        size = self._size
        pair = ids[:, None] * size + ids
        rd = self._reduction(ids)
        one = self._chained(self._one, (pair, ids, np.zeros_like(ids)), 3)
        triple = (ids[:, None, None] * size + ids[:, None]) * size + ids
        two = self._chained(self._two, (triple, pair, ids, np.zeros_like(ids)), 2)
        if self._proper:
            one[0], two[0] = [0.0, 1.0, 0.0], [0.0, 1.0]
        rd2 = rd * one[..., 2]
        tables = (
            self._shift(ids),
            rd * one[..., 0],
            rd * one[..., 1],
            rd2 * two[..., 0],
            rd2 * two[..., 1],
        )
        with np.errstate(divide="ignore"):
            return TransitionScores(*map(np.log, tables))

    def _chained(self, levels: list[_Seen], contexts: tuple[Ints, ...], outcomes: int) -> Floats:
        below: Floats = np.full(outcomes, 1.0 / outcomes)
        for level, context in zip(reversed(levels), reversed(contexts), strict=True):
            below = level.smoothed(context, below, self._strength)
        return below

    def _reduction(self, tops: Ints) -> Floats:
        """rd[b1]."""
        total = self._top_totals[tops] + self._strength
        with np.errstate(invalid="ignore"):
            own = (self._top_reductions[tops] + self._strength * self._pooled[-1]) / total
        found: Floats = np.where(total > 0.0, own, self._pooled[-1])
        return found

    def _shift(self, ids: Ints) -> Floats:
        """sh[b1, b]."""
        keys = ids[:, None] * self._size + ids
        at = np.minimum(np.searchsorted(self._events, keys), len(self._events) - 1)
        counts = np.where(self._events[at] == keys, self._event_counts[at], 0.0)
        below = self._pooled[np.maximum(ids - WORDS, 0)]
        total = self._top_totals[ids][:, None] + self._strength
        with np.errstate(invalid="ignore"):
            own = (counts + self._strength * below) / total
        return np.where(total > 0.0, own, below)

    @property
    def start(self) -> float:
        """See `Tables`."""
        return 0.0

    @property
    def stop(self) -> float:
        """See `Tables`."""
        rd = float(self._reduction(np.array([ROOT]))[0])
        return math.log(rd) if rd > 0.0 else -math.inf

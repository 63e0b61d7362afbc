"""Scores by kind of arc: by label, and by the distance between a word and its head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.evaluation.comparison import Comparison, Side

__all__ = ["LENGTHS", "Counts", "Table", "arc_lengths", "share"]

LENGTHS = ("root", "1", "2", "3-6", "7-14", "15+")
_LENGTH_STARTS = np.array([1, 2, 3, 7, 15])


def share(part: int, whole: int) -> float | None:
    """`part` in percent of `whole`, None if there is nothing to divide by."""
    return 100 * (part / whole) if whole else None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many arcs of one kind gold has, the system has, and both have; percentages of these.

    A percentage is None where there is nothing to divide by.
    """

    gold: int
    system: int
    correct: int

    @property
    def precision(self) -> float | None:
        """Percentage of the system's arcs that are right."""
        return share(self.correct, self.system)

    @property
    def recall(self) -> float | None:
        """Percentage of the gold arcs that were found."""
        return share(self.correct, self.gold)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return share(2 * self.correct, self.gold + self.system)


class Table:
    """Running Counts of kinds that are numbered 0, 1, ...; more may turn up at any time."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, 0), dtype=np.int64)

    def add(
        self,
        gold: NDArray[np.int64],
        system: NDArray[np.int64],
        correct: NDArray[np.bool_],
    ) -> None:
        """Count words by their kind in gold and in the system; `correct` ones have it in both."""
        columns = (gold, system, gold[correct])
        kinds = max([self._counts.shape[1], *(int(c.max()) + 1 for c in columns if len(c))])
        counts = np.stack([np.bincount(column, minlength=kinds) for column in columns])
        counts[:, : self._counts.shape[1]] += self._counts
        self._counts = counts

    def rows(self, names: Iterable[str]) -> Mapping[str, Counts]:
        """The Counts of each kind under its name; kinds that never turned up count nothing."""
        rows = self._counts.T.tolist()
        return {
            name: Counts(*rows[kind]) if kind < len(rows) else Counts(0, 0, 0)
            for kind, name in enumerate(names)
        }


def arc_lengths(comparison: Comparison, side: Side) -> NDArray[np.int64]:
    """Index in LENGTHS of each word's arc: 0 for the root, else by |head - word|."""
    distance = np.where(side.heads > 0, np.abs(side.heads - comparison.position), 0)
    return np.searchsorted(_LENGTH_STARTS, distance, side="right")

"""Trees that may cross, under factors of all orders: every tree with its score, by definition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.higher_order import ORDERS, PARTS
from support.trees import all_trees

__all__ = ["EnumeratedTrees", "drawn_case"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@cache
def _trees(n: int) -> Ints:
    return np.array(list(all_trees(n)))


@cache
def _cells(name: str, n: int) -> Ints:
    """The indices of each tree's parts in the flat factor, filled up with the one behind it."""
    shape = (n + 1,) * ORDERS[name]
    rows = []
    for heads in _trees(n).tolist():
        cells = [int(np.ravel_multi_index(part, shape)) for part in PARTS[name](tuple(heads))]
        rows.append(cells + [int(np.prod(shape))] * (n - len(cells)))
    return np.array(rows)


class EnumeratedTrees:
    """All trees that are possible, and their scores: of arcs, and of the parts of each factor."""

    def __init__(
        self, scores: Floats, root: str, factors: Mapping[str, Floats], limits: Any = None
    ) -> None:
        n = len(scores) - 1
        self.heads, words = _trees(n), np.arange(1, n + 1)
        values = scores[self.heads, words].sum(axis=1)
        for name, factor in factors.items():
            values = values + np.append(factor.ravel(), 0.0)[_cells(name, n)].sum(axis=1)
        possible = np.isfinite(values)
        if root == "single":
            possible &= (self.heads == 0).sum(axis=1) == 1
        if limits is not None:
            counts = (self.heads[:, :, None] == np.arange(n + 1)).sum(axis=1)
            possible &= (counts <= limits).all(axis=1)
        self.heads, self.values = self.heads[possible], values[possible]
        self._n, self._possible, self._factors = n, possible, factors

    def __len__(self) -> int:
        return len(self.values)

    @property
    def best(self) -> float:
        return float(self.values.max())

    def score(self, heads: Any) -> float:
        """Of one tree, which must be possible."""
        (index,) = np.flatnonzero((self.heads == np.asarray(heads)).all(axis=1))
        return float(self.values[index])

    def log_partition(self) -> float:
        return float(np.logaddexp.reduce(self.values))

    def _probabilities(self) -> Floats:
        return np.exp(self.values - self.log_partition())

    def marginals(self) -> Floats:
        table = np.zeros((self._n + 1,) * 2)
        for heads, p in zip(self.heads, self._probabilities(), strict=True):
            table[heads, np.arange(1, self._n + 1)] += p
        return table

    def part_marginals(self, name: str) -> Floats:
        shape = (self._n + 1,) * ORDERS[name]
        cells = _cells(name, self._n)[self._possible]
        weights = np.repeat(self._probabilities(), self._n)
        return np.bincount(cells.ravel(), weights, int(np.prod(shape)) + 1)[:-1].reshape(shape)


def drawn_case(
    rng: np.random.Generator, n: int, names: Any, scale: float = 1.0, forbidden: float = 0.0
) -> tuple[Floats, dict[str, Floats]]:
    """Normal scores of arcs and factors; some arcs are forbidden, but none of 0 -> 1 -> 2 ..."""
    scores = rng.normal(size=(n + 1, n + 1))
    lost = rng.random(scores.shape) < forbidden
    lost[np.arange(n), np.arange(1, n + 1)] = False
    scores[lost] = -np.inf
    return scores, {name: rng.normal(0, scale, (n + 1,) * ORDERS[name]) for name in names}

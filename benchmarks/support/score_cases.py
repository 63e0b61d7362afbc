"""Scores on which sums over spanning trees are easy, hard, or out of reach of plain floats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Case", "all_cases"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Named scores, -inf in column 0 and on the diagonal, for at least one tree."""

    name: str
    scores: Floats
    bits: int  # a guess at the precision that a reference needs

    @property
    def n(self) -> int:
        """The number of words."""
        return len(self.scores) - 1


def gaussian(sd: float, n: int) -> Case:
    scores = np.random.default_rng([int(sd), n]).normal(scale=sd, size=(n + 1, n + 1))
    return Case(f"sd {sd:g}", _usable(scores), min(192 + int(9 * sd), 4000))


def drifting_chain(n: int, step: float = 10.0) -> Case:
    """Arcs between neighbours, each step to the right better than the one to the left."""
    scores = np.full((n + 1, n + 1), -np.inf)
    words = np.arange(1, n)
    scores[words, words + 1] = step
    scores[words + 1, words] = 0.0
    scores[0, 1:] = 0.0
    return Case(f"chain +{step:g} a step", scores, 192 + int(1.7 * step * n))


def rising_chain(n: int, step: float = 10.0) -> Case:
    """All arcs, better the further to the right both ends are: weights leave every float."""
    places = np.arange(n + 1)
    noise = np.random.default_rng(n).normal(size=(n + 1, n + 1))
    scores = step * (places[:, None] + places[None, :]) + noise
    return Case(f"rising +{step:g} a word", _usable(scores), 192 + int(4 * step * n))


def nested_cycles(levels: int, gap: float = 40.0) -> Case:
    """Words love their neighbour, pairs the next pair, and so on; the root is furthest of all."""
    n = 2**levels
    words = np.arange(n)
    scores = np.zeros((n + 1, n + 1))
    apart = words[:, None] ^ words[None, :]
    scores[1:, 1:] = -gap * np.ceil(np.log2(apart + 1.0))
    scores[0, 1:] = -gap * (levels + 1)
    scores += np.random.default_rng(levels).normal(size=scores.shape)
    return Case(f"nested cycles, {gap:g} a level", _usable(scores), 4000 + int(gap * n * 0.8))


def forbidden(sd: float, n: int, share: float = 0.9) -> Case:
    """Random scores, most arcs forbidden, one random tree kept."""
    chance = np.random.default_rng([int(sd), n, 9])
    scores = chance.normal(scale=sd, size=(n + 1, n + 1))
    kept = np.zeros(scores.shape, dtype=bool)
    order = chance.permutation(np.arange(1, n + 1))
    kept[0, order[0]] = True
    for place in range(1, n):
        kept[order[chance.integers(place)], order[place]] = True
    scores[(chance.random(scores.shape) < share) & ~kept] = -np.inf
    return Case(f"sd {sd:g}, {share:.0%} forbidden", _usable(scores), 256 + int(4 * sd))


def _usable(scores: Floats) -> Floats:
    scores[:, 0] = -np.inf
    np.fill_diagonal(scores, -np.inf)
    return scores


def all_cases() -> Iterator[Case]:
    for sd in (1.0, 10.0, 50.0, 200.0, 1000.0):
        yield gaussian(sd, 20)
        yield gaussian(sd, 200)
    yield drifting_chain(100)
    yield drifting_chain(200)
    yield rising_chain(100)
    yield nested_cycles(5)
    yield nested_cycles(7)
    yield forbidden(10.0, 200)
    yield forbidden(1000.0, 100)

"""Sibling factors for laws that know scores alone: one for each length of sentence."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc import Parts
from support.brute_force import sibling_parts
from support.trees import all_trees

Floats = NDArray[np.float64]


@cache
def usable_parts(n: int) -> frozenset[tuple[int, ...]]:
    """The parts that some tree of n words has."""
    return frozenset(part for heads in all_trees(n) for part in sibling_parts(heads))


@cache
def mirrored_factor(n: int, scale: float = 1.0) -> Floats:
    """Multiples of scale / 4, zero for every other part, the same read from right to left.

    Where no tree has a part there is NaN: it must not be read.
    """
    chance = np.random.default_rng(n)
    order = np.array([0, *range(n, 0, -1)])
    values = chance.integers(-8, 9, size=(n + 1,) * 3) / 4.0
    values[chance.random(values.shape) < 0.5] = 0.0
    roots = values[0] + values[0].T[order][:, order]
    values += values[order][:, order][:, :, order]
    # The root stays on the left, so that its modifiers come in the opposite order.
    values[0], values[0, 0] = roots, 0.5
    factor = np.full(values.shape, np.nan)
    for part in usable_parts(n):
        factor[part] = values[part] * scale
    return factor


def as_parts(factor: Floats) -> Parts:
    """The parts that do not score 0, in no particular order."""
    index = np.argwhere(factor != 0.0)
    np.random.default_rng(len(index)).shuffle(index)
    return Parts(index, factor[tuple(index.T)])


def factor_for(scores: Any, scale: float = 1.0) -> Any:
    """What goes with one array of scores: an array for odd lengths, Parts for even ones."""
    n = len(scores) - 1
    factor = mirrored_factor(n, scale)
    return factor if n % 2 else as_parts(factor)

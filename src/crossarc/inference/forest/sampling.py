"""Derivations drawn at random, each with its probability.

From the goal down, an item takes the instance e with probability p(e | v) = w(e) inside(left)
inside(right) / inside(v): the product of these choices is the probability of the derivation.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import narrowed
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.inside import instance_weights, most_instances, weights_within
from crossarc.kernels import kernel, subkernel

__all__ = ["largest_derivation", "sample"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_READ2 = types.Array(types.float64, 2, "C", readonly=True)


@kernel(types.int64(FOREST))
def largest_derivation(forest: Forest) -> int:
    """The most instances that a derivation has; 0 when there is none."""
    items = forest.first.shape[0] - 1
    sizes = np.zeros(items + 1, np.int64)
    for v in range(items):
        for e in range(forest.first[v], forest.first[v + 1]):
            # A tail of -1 reads the last entry, which stays 0.
            sizes[v] = max(sizes[v], 1 + sizes[forest.left[e]] + sizes[forest.right[e]])
    return int(sizes[items - 1]) if items > 0 else 0


@subkernel()
def _chosen(
    weights: Floats, exponents: Ints, count: int, total: float, power: int, chance: float
) -> int:
    """The instance whose share of the total covers `chance`, in [0, 1)."""
    passed, last = 0.0, 0
    for i in range(count):
        share = narrowed(weights[i] / total, exponents[i] - power)
        passed += share
        if chance < passed:
            return i
        if share > 0.0:
            last = i
    # Rounding has left the sum below the chance.
    return last


@kernel(types.void(FOREST, _READ2, types.int32[:, ::1]))
def _draw(forest: Forest, chances: Floats, out: Shorts) -> None:
    """One derivation a row: its parts, then -1. `chances` has a number for each instance."""
    inside, powers = weights_within(forest)
    items, most = inside.shape[0], most_instances(forest)
    weights, exponents = np.empty(most), np.empty(most, np.int64)
    agenda = np.empty(chances.shape[1] + 2, np.int32)
    for row in range(out.shape[0]):
        agenda[0], waiting, step, found = items - 1, 1, 0, 0
        out[row, :] = -1
        while waiting > 0:
            waiting -= 1
            v = agenda[waiting]
            count = instance_weights(forest, inside, powers, v, weights, exponents)
            e = forest.first[v]
            if count > 1:
                e += _chosen(weights, exponents, count, inside[v], powers[v], chances[row, step])
            step += 1
            if forest.part[e] >= 0:
                out[row, found] = forest.part[e]
                found += 1
            for tail in (forest.right[e], forest.left[e]):
                if tail >= 0:
                    agenda[waiting] = tail
                    waiting += 1


def sample(forest: Forest, count: int, chance: np.random.Generator) -> list[Shorts]:
    """The parts of `count` derivations, drawn independently of each other; O(n^2) each."""
    steps = largest_derivation(forest)
    out = np.empty((count, steps), np.int32)
    _draw(forest, chance.random((count, steps)), out)
    return [row[row >= 0] for row in out]

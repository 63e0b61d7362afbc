"""Derivations drawn at random, with or without replacement.

From the goal down, an item is built by instance e with probability p(e | v) = w(e) inside(left)
inside(right) / inside(v): the product of these choices is the probability of the derivation. Draws
without replacement perturb the choices, in depth-first order (`arithmetic.gumbel`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.gumbel import Found, draw_distinct, perturb
from crossarc.inference.arithmetic.wide import log_of, narrowed
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.inside import (
    inside_weights,
    instance_weights,
    most_instances,
    weights_within,
)
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["sample", "sample_distinct"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_F2, _S1, _S2 = types.float64[:, ::1], types.int32[::1], types.int32[:, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ_SHORT = types.Array(types.int32, 1, "C", readonly=True)


@kernel(types.int64(FOREST))
def _largest_derivation(forest: Forest) -> int:
    """The most instances that a derivation has; 0 when there is none."""
    items = forest.first.shape[0] - 1
    sizes = np.zeros(items + 1, np.int64)
    for v in range(items):
        for e in range(forest.first[v], forest.first[v + 1]):
            # A tail of -1 reads the last entry, which stays 0.
            sizes[v] = max(sizes[v], 1 + sizes[forest.left[e]] + sizes[forest.right[e]])
    return int(sizes[items - 1]) if items > 0 else 0


@subkernel()
def _select(
    weights: Floats, exponents: Ints, count: int, total: float, power: int, uniform: float
) -> int:
    """The instance at which the cumulative probability exceeds `uniform`, in [0, 1)."""
    cumulative, last = 0.0, 0
    for i in range(count):
        probability = narrowed(weights[i] / total, exponents[i] - power)
        cumulative += probability
        if uniform < cumulative:
            return i
        if probability > 0.0:
            last = i
    # Rounding has left the sum below `uniform`.
    return last


@kernel(types.void(FOREST, _READ2, _S2))
def _draw(forest: Forest, uniform: Floats, out: Shorts) -> None:
    """One derivation a row: its parts, then -1. `uniform` has a number for each instance."""
    inside, powers = weights_within(forest)
    items, most = inside.shape[0], most_instances(forest)
    weights, exponents = np.empty(most), np.empty(most, np.int64)
    agenda = np.empty(uniform.shape[1] + 2, np.int32)
    for row in range(out.shape[0]):
        agenda[0], waiting, step, found = items - 1, 1, 0, 0
        out[row, :] = -1
        while waiting > 0:
            waiting -= 1
            v = agenda[waiting]
            count = instance_weights(forest, inside, powers, v, weights, exponents)
            e = forest.first[v]
            if count > 1:
                e += _select(weights, exponents, count, inside[v], powers[v], uniform[row, step])
            step += 1
            if forest.part[e] >= 0:
                out[row, found] = forest.part[e]
                found += 1
            for tail in (forest.right[e], forest.left[e]):
                if tail >= 0:
                    agenda[waiting] = tail
                    waiting += 1


def sample(forest: Forest, count: int, rng: np.random.Generator) -> list[Shorts]:
    """The parts of `count` derivations, drawn independently of each other; O(n^2) each."""
    steps = _largest_derivation(forest)
    out = np.empty((count, steps), np.int32)
    _draw(forest, rng.random((count, steps)), out)
    return [row[row >= 0] for row in out]


@kernel(types.int64(FOREST))
def _most_choices(forest: Forest) -> int:
    """The most instances that the items of one derivation have in all."""
    items = forest.first.shape[0] - 1
    count = np.zeros(items + 1, np.int64)
    for v in range(items):
        begin, end = forest.first[v], forest.first[v + 1]
        for e in range(begin, end):
            # A tail of -1 reads the last entry, which stays 0.
            below = count[forest.left[e]] + count[forest.right[e]]
            count[v] = max(count[v], end - begin + below)
    return int(count[items - 1]) if items > 0 else 0


@kernel(
    types.UniTuple(types.int64, 2)(
        FOREST,
        READ_FLOAT,
        READ_INT,
        _READ_SHORT,
        types.float64,
        types.float64,
        READ_FLOAT,
        _S1,
        _S2,
        _F2,
    )
)
def _descend(
    forest: Forest,
    inside: Floats,
    powers: Ints,
    prefix: Shorts,
    log: float,
    top: float,
    noise: Floats,
    choices: Shorts,
    alternatives: Shorts,
    values: Floats,
) -> tuple[int, int]:
    """From a prefix to the derivation with the largest G, with the alternatives on the way.

    Args:
        prefix: the first choices; `log` its log-probability, `top` its G.
        noise: standard exponential variables, enough of them.
        choices: becomes all choices of the derivation.
        alternatives: becomes (step, instance) of each, `values` its (log p, G).

    Returns:
        The numbers of choices and of alternatives.
    """
    most = most_instances(forest)
    weights, exponents = np.empty(most), np.empty(most, np.int64)
    logs, perturbed = np.empty(most), np.empty(most)
    agenda, waiting, step, found, drawn = np.empty(choices.shape[0] + 2, np.int32), 1, 0, 0, 0
    agenda[0] = inside.shape[0] - 1
    while waiting > 0:
        waiting -= 1
        v = agenda[waiting]
        begin, count = forest.first[v], forest.first[v + 1] - forest.first[v]
        if step < prefix.shape[0]:
            e = prefix[step]
        elif count == 1:
            e = begin
        else:
            instance_weights(forest, inside, powers, v, weights, exponents)
            for i in range(count):
                logs[i] = log + log_of(weights[i] / inside[v], exponents[i] - powers[v])[0]
            best = perturb(logs, noise[drawn:], count, top, perturbed)
            drawn += count
            for i in range(count):
                if i != best:
                    alternatives[found, 0], alternatives[found, 1] = step, begin + i
                    values[found, 0], values[found, 1] = logs[i], perturbed[i]
                    found += 1
            log, e = logs[best], begin + best
        choices[step] = e
        step += 1
        for tail in (forest.right[e], forest.left[e]):
            if tail >= 0:
                agenda[waiting] = tail
                waiting += 1
    return step, found


def sample_distinct(forest: Forest, rng: np.random.Generator) -> Iterator[Shorts]:
    """The parts of all derivations, in the order of draws without replacement; O(n^2) each."""
    if forest.items == 0:
        return
    inside, powers = inside_weights(forest)
    steps, most = _largest_derivation(forest), _most_choices(forest)

    def descend(prefix: Shorts, log: float, top: float) -> Found:
        choices, alternatives = np.empty(steps, np.int32), np.empty((most, 2), np.int32)
        values, noise = np.empty((most, 2)), rng.standard_exponential(most)
        used, found = _descend(
            forest, inside, powers, prefix, log, top, noise, choices, alternatives, values
        )
        return choices[:used], alternatives[:found], values[:found]

    for choices in draw_distinct(descend, rng):
        parts = forest.part[choices]
        yield parts[parts >= 0]

"""Derivations drawn without replacement: choices in depth-first order (`inference.distinct`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.gumbel import Found, draw_distinct, perturb
from crossarc.inference.arithmetic.wide import log_of
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.inside import inside_weights, instance_weights, most_instances
from crossarc.inference.forest.sampling import largest_derivation
from crossarc.kernels import READ_FLOAT, READ_INT, kernel

__all__ = ["sample_distinct"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_F2, _S1, _S2 = types.float64[:, ::1], types.int32[::1], types.int32[:, ::1]
_READ_SHORT = types.Array(types.int32, 1, "C", readonly=True)


@kernel(types.int64(FOREST))
def _most_seen(forest: Forest) -> int:
    """The most instances that the items of one derivation have in all."""
    items = forest.first.shape[0] - 1
    seen = np.zeros(items + 1, np.int64)
    for v in range(items):
        begin, end = forest.first[v], forest.first[v + 1]
        for e in range(begin, end):
            # A tail of -1 reads the last entry, which stays 0.
            below = seen[forest.left[e]] + seen[forest.right[e]]
            seen[v] = max(seen[v], end - begin + below)
    return int(seen[items - 1]) if items > 0 else 0


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
    places: Shorts,
    values: Floats,
) -> tuple[int, int]:
    """From a prefix to the derivation with the largest G, noting what was passed by.

    Args:
        prefix: the first choices; `log` its log-probability, `top` its G.
        noise: standard exponential variables, enough of them.
        choices: becomes all choices of the derivation.
        places: becomes (step, instance) of each alternative, `values` its (log p, G).

    Returns:
        The numbers of choices and of alternatives.
    """
    most = most_instances(forest)
    weights, exponents = np.empty(most), np.empty(most, np.int64)
    logs, moved = np.empty(most), np.empty(most)
    agenda, waiting, step, passed, drawn = np.empty(choices.shape[0] + 2, np.int32), 1, 0, 0, 0
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
            best = perturb(logs, noise[drawn:], count, top, moved)
            drawn += count
            for i in range(count):
                if i != best:
                    places[passed, 0], places[passed, 1] = step, begin + i
                    values[passed, 0], values[passed, 1] = logs[i], moved[i]
                    passed += 1
            log, e = logs[best], begin + best
        choices[step] = e
        step += 1
        for tail in (forest.right[e], forest.left[e]):
            if tail >= 0:
                agenda[waiting] = tail
                waiting += 1
    return step, passed


def sample_distinct(forest: Forest, chance: np.random.Generator) -> Iterator[Shorts]:
    """The parts of all derivations, in the order of draws without replacement; O(n^2) each."""
    if forest.items == 0:
        return
    inside, powers = inside_weights(forest)
    steps, seen = largest_derivation(forest), _most_seen(forest)

    def descend(prefix: Shorts, log: float, top: float) -> Found:
        choices, places = np.empty(steps, np.int32), np.empty((seen, 2), np.int32)
        values, noise = np.empty((seen, 2)), chance.standard_exponential(seen)
        taken, passed = _descend(
            forest, inside, powers, prefix, log, top, noise, choices, places, values
        )
        return choices[:taken], places[:passed], values[:passed]

    for choices in draw_distinct(descend, chance):
        parts = forest.part[choices]
        yield parts[parts >= 0]

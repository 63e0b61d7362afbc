"""Entropies of labels, from their scores, without a table of probabilities."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    exponential,
    fma,
    load_vector,
    splat,
    store_vector,
)
from crossarc.kernels import READ_INT, kernel

__all__ = ["label_entropies"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# exp(x) is computed for x from here on. A label that is less probable adds nothing.
_LEAST = -700.0
_SCORES = types.Array(types.float64, 2, "C", readonly=True)
_PERMITTED = types.Array(types.boolean, 2, "C", readonly=True)


@kernel(types.void(_SCORES, READ_INT, _PERMITTED, types.float64, types.float64[::1]))
def label_entropies(
    scores: Floats, heads: Ints, permitted: Bools, temperature: float, out: Floats
) -> None:
    """out[a] = H(l | h, m) in nats, p(l | h, m) ~ exp(scores[a, l] / temperature).

    Args:
        heads: of the arcs.
        permitted: (2, labels): which labels arcs of the root may have, and others.
    """
    labels = scores.shape[1]
    cells = -(-labels // LANES)
    x, sums = np.full(cells * LANES, _LEAST), np.empty(2 * LANES)
    zero = splat(0.0)
    for a in range(scores.shape[0]):
        allowed = permitted[0 if heads[a] == 0 else 1]
        maximum = -np.inf
        for k in range(labels):
            if allowed[k]:
                maximum = max(maximum, scores[a, k])
        for k in range(labels):
            difference = (scores[a, k] - maximum) / temperature
            x[k] = max(difference, _LEAST) if allowed[k] else _LEAST
        # H = log Z - E[x] with Z = sum exp(x)
        total, weighted = zero, zero
        for i in range(0, cells * LANES, LANES):
            difference = load_vector(x, i)
            weight = exponential(difference, difference, zero)
            total, weighted = total + weight, fma(weight, difference, weighted)
        store_vector(sums, 0, total)
        store_vector(sums, LANES, weighted)
        normaliser = sums[:LANES].sum()
        out[a] = max(0.0, math.log(normaliser) - sums[LANES:].sum() / normaliser)

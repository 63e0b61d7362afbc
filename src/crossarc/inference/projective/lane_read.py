"""Marginals of arcs, from the products in lanes to the arrays of their sentences."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    AnyCells,
    minimum,
    read_lane,
    splat,
    store_vector,
    transpose,
)
from crossarc.inference.arithmetic.wide import power_of_two
from crossarc.inference.runtime.exchange import arc_entry, common_words, eight_cells
from crossarc.inference.runtime.quantities import MARGINALS
from crossarc.kernels import subkernel

__all__ = ["read_arcs", "read_marginals", "read_product"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LN2 = 0.6931471805599453


@subkernel()
def read_product(product: float, headroom: int, quantity: int) -> float:
    """A marginal or its logarithm, from mu 2^headroom."""
    share = product * power_of_two(-headroom)
    if quantity == MARGINALS:
        return min(1.0, share)
    if product == 0.0:
        return -np.inf
    return min(0.0, math.log(share)) if share > 2.0**-1000 else math.log(product) - headroom * _LN2


@subkernel()
def read_arcs(
    mu: AnyCells,
    lane: int,
    scores: Floats,
    n: int,
    nodes: int,
    headroom: int,
    quantity: int,
    out: Floats,
) -> float:
    """Marginals of the arcs of a lane; the smallest product of an arc that is allowed."""
    least = np.inf
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h != m:
                product = read_lane(mu, h * nodes + m, lane)
                at = h * (n + 1) + m
                least = min(least, product if scores[at] > -np.inf else np.inf)
                out[at] = read_product(product, headroom, quantity)
    return least


@subkernel()
def read_marginals(
    mu: AnyCells,
    headrooms: Ints,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    nodes: int,
    out: Floats,
) -> None:
    """Marginals of the arcs of eight sentences at once."""
    shared = common_words(sizes, members)
    scales = np.empty(LANES)
    for lane in range(LANES):
        scales[lane] = power_of_two(-headrooms[lane])
    one = splat(1.0)
    for h in range(nodes):
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_cells(mu, h * nodes + m + 1))
            for lane in range(LANES):
                share = minimum(eight[lane] * splat(scales[lane]), one)
                store_vector(out, arc_entry(sizes, offsets, members[lane], h, m), share)
        for lane in range(LANES):
            n = sizes[members[lane]]
            for m in range(common + 1, n + 1 if h <= n else 0):
                product = read_lane(mu, h * nodes + m, lane)
                out[offsets[members[lane]] + h * (n + 1) + m] = min(1.0, product * scales[lane])

"""From the gradient in the scores of arcs to that in the weights of their features."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_FLOAT, kernel, subkernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.first_order.arcs import SENTENCES, arc_workspace, sentence_keys
from crossarc.models.slots import (
    ARC_KEYS,
    arc_key,
    count_tags,
    first_of_group,
    key_hashes,
    key_range,
    table_slot,
    word_halves,
)

__all__ = ["gather_arcs"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64


@subkernel()
def _gather_words(
    halves: Halves,
    i: int,
    sums: Floats,
    least: float,
    bounds: Ints,
    bits: int,
    group: int,
    gradient: Singles,
    touched: Halves,
    known: int,
) -> int:
    for key in range(ARC_KEYS):
        if abs(sums[key]) > least:
            for t in range(first_of_group(bounds[2], group), bounds[3], GROUPS):
                slot = table_slot(halves[i, t], np.uint32(0), key, t, bits)
                known = add_gradient(gradient, touched, known, slot, sums[key])
    return known


@kernel(types.int64(*SENTENCES, READ_FLOAT, types.float64, _INT, types.float32[::1], TOUCHED))
def gather_arcs(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    tags: int,
    bits: int,
    score_gradient: Floats,
    least: float,
    group: int,
    gradient: Singles,
    touched: Halves,
) -> int:
    """The gradient of one group's weights, from that in the scores of all arcs.

    Derivatives of `least` and below are left out. Returns the number of slots that are not zero;
    the first arguments are those of `score_arcs`.
    """
    longest = sizes.max() if sizes.shape[0] else 0
    heads, modifiers, counts, sums, found = arc_workspace(longest, plan)
    hashes, flat = key_hashes(), codes.reshape(-1)
    known = 0
    for s in range(sizes.shape[0]):
        row, width = starts[s], sizes[s] + 1
        count_tags(codes, row, sizes[s], tag, counts)
        for i in range(width):
            word_halves(flat, (row + i) * codes.shape[1], plan, 0, group, GROUPS, heads, i)
            word_halves(flat, (row + i) * codes.shape[1], plan, 1, group, GROUPS, modifiers, i)
        sums[:width] = 0.0
        for h in range(width):
            for m in range(1, width):
                value = score_gradient[squares[s] + h * width + m]
                if h == m or abs(value) <= least:
                    continue
                sums[h, 0, arc_key(h, m)] += value
                sums[m, 1, arc_key(h, m)] += value
                for k in range(sentence_keys(h, m, counts, tags, found)):
                    begin, end = key_range(k, bounds)
                    for t in range(first_of_group(begin, group), end, GROUPS):
                        half = np.uint32(heads[h, t] ^ hashes[found[k] >> 4])
                        slot = table_slot(half, modifiers[m, t], found[k], t, bits)
                        known = add_gradient(gradient, touched, known, slot, value)
        for i in range(width):
            for side in range(2):
                known = _gather_words(
                    heads if side == 0 else modifiers,
                    i,
                    sums[i, side],
                    least,
                    bounds,
                    bits,
                    group,
                    gradient,
                    touched,
                    known,
                )
    return known

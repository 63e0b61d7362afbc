"""The members' square arrays in cells, and the results back in their arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    broadcast,
    read_lane,
    store,
    store_vector,
    transpose,
    write_lane,
)
from crossarc.inference.runtime.exchange import arc_entry, common_words, eight_cells, eight_rows
from crossarc.inference.spanning.plain.layout import Layout
from crossarc.kernels import subkernel

__all__ = ["gather", "scatter"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def gather(
    cells: Cells,
    at: Layout,
    flat: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    target: int,
    missing: float,
) -> None:
    """The members' square arrays as a block w[m, h] from cell `target`."""
    width, row = at.width, at.width + 1
    filling = broadcast(cells, missing)
    shared = common_words(sizes, members)
    for m in range(width):
        for place in range(shared if m < shared else 0, row):
            store(cells, target + m * row + place, filling)
    for h in range(row):
        place = target + (width if h == 0 else h - 1)
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_rows(flat, sizes, offsets, members, h, m))
            for x in range(LANES):
                store_vector(cells, (place + (m + x) * row) * LANES, eight[x])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            source = offsets[members[lane]] + h * (n + 1) + 1
            for m in range(common, n if h <= n else 0):
                write_lane(cells, place + m * row, lane, flat[source + m])


@subkernel()
def scatter(
    cells: Cells, at: Layout, sizes: Ints, offsets: Ints, members: Ints, out: Floats
) -> None:
    """The results of each member, from cells [h, m] to its square array; 0 in column 0."""
    shared = common_words(sizes, members)
    for h in range(at.width + 1):
        source = at.roots if h == 0 else at.reach + (h - 1) * at.width
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_cells(cells, source + m))
            for lane in range(LANES):
                store_vector(out, arc_entry(sizes, offsets, members[lane], h, m), eight[lane])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            target = offsets[members[lane]] + h * (n + 1) + 1
            if h <= n:
                out[target - 1] = 0.0
            for m in range(common, n if h <= n else 0):
                out[target + m] = read_lane(cells, source + m, lane)

"""The way of numbers from sentences to cells and back.

Eights of words go through registers, in which eight times eight numbers change rows and columns;
the last eight begins early enough to be whole. A single sentence has nothing to change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.lanes import (
    LANES,
    AnyCells,
    Cells,
    Eight,
    load_entries,
    read_lane,
    spread,
    store,
    store_entries,
    transpose,
    write_lane,
)
from crossarc.inference.spanning.plain.layout import Layout
from crossarc.kernels import subkernel

__all__ = ["arc_entry", "common_words", "eight_cells", "eight_rows", "gather", "scatter"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def common_words(sizes: Ints, members: Ints) -> int:
    """How many words each of eight sentences has; 0 if there are not eight of them."""
    if members.shape[0] < LANES:
        return 0
    shortest = int(sizes[members[0]])
    for lane in range(1, LANES):
        shortest = min(shortest, int(sizes[members[lane]]))
    return shortest


@subkernel()
def arc_entry(sizes: Ints, offsets: Ints, member: int, h: int, m: int) -> int:
    """Where a sentence has arc (h, m + 1)."""
    return int(offsets[member] + h * (sizes[member] + 1) + m + 1)


@subkernel()
def eight_rows(flat: Floats, sizes: Ints, offsets: Ints, members: Ints, h: int, m: int) -> Eight:
    """Of each sentence, eight neighbours in row h."""
    return (
        load_entries(flat, arc_entry(sizes, offsets, members[0], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[1], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[2], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[3], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[4], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[5], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[6], h, m)),
        load_entries(flat, arc_entry(sizes, offsets, members[7], h, m)),
    )


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
    filling = spread(cells, missing)
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
                store_entries(cells, (place + (m + x) * row) * LANES, eight[x])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            source = offsets[members[lane]] + h * (n + 1) + 1
            for m in range(common, n if h <= n else 0):
                write_lane(cells, place + m * row, lane, flat[source + m])


@subkernel()
def eight_cells(cells: AnyCells, first: int) -> Eight:
    """Eight cells, as they follow each other."""
    return (
        load_entries(cells, first * LANES),
        load_entries(cells, (first + 1) * LANES),
        load_entries(cells, (first + 2) * LANES),
        load_entries(cells, (first + 3) * LANES),
        load_entries(cells, (first + 4) * LANES),
        load_entries(cells, (first + 5) * LANES),
        load_entries(cells, (first + 6) * LANES),
        load_entries(cells, (first + 7) * LANES),
    )


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
                store_entries(out, arc_entry(sizes, offsets, members[lane], h, m), eight[lane])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            target = offsets[members[lane]] + h * (n + 1) + 1
            if h <= n:
                out[target - 1] = 0.0
            for m in range(common, n if h <= n else 0):
                out[target + m] = read_lane(cells, source + m, lane)

"""The way of numbers from sentences to cells and back.

Eights of words go through registers, in which eight times eight numbers change rows and columns;
the last eight begins early enough to be whole. A single sentence has nothing to change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES, AnyCells, Eight, load_vector
from crossarc.kernels import subkernel

__all__ = ["arc_entry", "common_words", "eight_cells", "eight_rows"]

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
        load_vector(flat, arc_entry(sizes, offsets, members[0], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[1], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[2], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[3], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[4], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[5], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[6], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[7], h, m)),
    )


@subkernel()
def eight_cells(cells: AnyCells, first: int) -> Eight:
    """Eight cells, as they follow each other."""
    return (
        load_vector(cells, first * LANES),
        load_vector(cells, (first + 1) * LANES),
        load_vector(cells, (first + 2) * LANES),
        load_vector(cells, (first + 3) * LANES),
        load_vector(cells, (first + 4) * LANES),
        load_vector(cells, (first + 5) * LANES),
        load_vector(cells, (first + 6) * LANES),
        load_vector(cells, (first + 7) * LANES),
    )

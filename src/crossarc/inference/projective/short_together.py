"""Sums over the trees of short sentences, in lockstep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.lanes import LANES, bare
from crossarc.inference.projective.short_solve import (
    SIGNATURE,
    solve_room,
    solve_short,
)
from crossarc.inference.spanning.grouping import longest_of
from crossarc.inference.spanning.plain.layout import aligned
from crossarc.kernels import kernel

__all__ = ["short_together"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel(SIGNATURE)
def short_together(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    order: Ints,
    groups: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    totals: Floats,
    begin: int,
    end: int,
    space: Floats,
) -> int:
    """Groups begin..end-1, in `space` if that is large enough; returns how many floats it had."""
    needed = solve_room(longest_of(sizes, order, groups, begin, end) + 1, LANES)
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells = bare(aligned(space))
    for g in range(begin, end):
        members = order[groups[g] : groups[g + 1]]
        solve_short(cells, scores, masses, sizes, offsets, members, single, wanted, out, totals)
    return int(space.shape[0])  # and so `space` is kept until here

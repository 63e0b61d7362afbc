"""Sums over the trees of short sentences, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import data_pointer
from crossarc.inference.projective.short_solve import (
    SIGNATURE,
    solve_room,
    solve_short,
)
from crossarc.inference.runtime.groups import longest_of
from crossarc.kernels import kernel

__all__ = ["short_alone"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel(SIGNATURE)
def short_alone(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    order: Ints,
    groups: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    begin: int,
    end: int,
    space: Floats,
) -> int:
    """Groups begin..end-1, in `space` if that is large enough; returns how many floats it had."""
    needed = solve_room(longest_of(sizes, order, groups, begin, end) + 1, 1)
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells = data_pointer(space)
    for g in range(begin, end):
        members = order[groups[g] : groups[g + 1]]
        solve_short(
            cells, scores, label_sums, sizes, offsets, members, single, quantity, out, totals
        )
    return int(space.shape[0])  # and so `space` is kept until here

"""Sums over the trees of sentences with sibling factors, in lockstep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.projective.sibling_solve import SIGNATURE, solve_room, solving
from crossarc.inference.runtime.groups import longest_of
from crossarc.inference.runtime.workspace import aligned
from crossarc.kernels import kernel

__all__ = ["sum_together"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_solve = solving(LANES)


@kernel(SIGNATURE)
def sum_together(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    rows: Floats,
    starts: Ints,
    largest: Floats,
    order: Ints,
    groups: Ints,
    single: bool,
    quantity: int,
    firsts: Ints,
    heads: Ints,
    siblings: Ints,
    out: Floats,
    out_parts: Floats,
    totals: Floats,
    begin: int,
    end: int,
    space: Floats,
) -> int:
    """Groups begin..end-1; returns how many floats of space are enough to work in."""
    batch = (scores, label_sums, sizes, offsets, rows, starts, largest)
    trees = (firsts, heads, siblings)
    needed = solve_room(longest_of(sizes, order, groups, begin, end) + 1, LANES)
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells = aligned(space)
    for g in range(begin, end):
        members = order[groups[g] : groups[g + 1]]
        _solve(cells, batch, members, single, quantity, trees, out, out_parts, totals)
    return needed

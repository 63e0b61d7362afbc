"""Sentences of a batch in lockstep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.lanes import LANES
from crossarc.inference.spanning.plain.infer import SIGNATURE, infer_group, longest_of
from crossarc.inference.spanning.plain.layout import aligned, room
from crossarc.kernels import kernel

__all__ = ["infer_together"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel(SIGNATURE)
def infer_together(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    order: Ints,
    starts: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    totals: Floats,
    done: NDArray[np.bool_],
    begin: int,
    end: int,
    space: Floats,
) -> int:
    """`infer_group` for groups begin..end-1 of up to LANES: g is order[starts[g]:starts[g + 1]].

    Works in `space` if that is large enough; returns how many floats are.
    """
    needed = room(longest_of(sizes, order, starts, begin, end), LANES)
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells = aligned(space)
    for g in range(begin, end):
        members = order[starts[g] : starts[g + 1]]
        infer_group(
            cells, scores, masses, sizes, offsets, members, single, wanted, out, totals, done
        )
    return needed

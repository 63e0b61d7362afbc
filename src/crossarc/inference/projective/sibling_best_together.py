"""Best trees of sentences with sibling factors, in lockstep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.projective.sibling_best import SIGNATURE, best_room, finding
from crossarc.inference.runtime.groups import longest_of
from crossarc.inference.runtime.workspace import aligned
from crossarc.kernels import kernel

__all__ = ["best_together"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_find = finding(LANES)


@kernel(SIGNATURE)
def best_together(
    scores: Floats,
    sizes: Ints,
    offsets: Ints,
    rows: Floats,
    starts: Ints,
    order: Ints,
    groups: Ints,
    single: bool,
    firsts: Ints,
    out_heads: Ints,
    out_siblings: Ints,
    out_scores: Floats,
    begin: int,
    end: int,
    space: Floats,
) -> int:
    """Groups begin..end-1; returns how many floats of space are enough to work in."""
    longest = longest_of(sizes, order, groups, begin, end)
    needed = best_room(longest + 1, LANES)
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells, stack = aligned(space), np.empty(12 * longest + 24, np.int64)
    for g in range(begin, end):
        _find(
            cells,
            stack,
            scores,
            sizes,
            offsets,
            rows,
            starts,
            order[groups[g] : groups[g + 1]],
            single,
            firsts,
            out_heads,
            out_siblings,
            out_scores,
        )
    return needed

"""Sentences of a batch one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import data_pointer
from crossarc.inference.runtime.groups import longest_of
from crossarc.inference.runtime.work_queue import finish, take
from crossarc.inference.spanning.plain.infer import SIGNATURE, infer_group
from crossarc.inference.spanning.plain.layout import room
from crossarc.kernels import kernel

__all__ = ["infer_alone"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel(SIGNATURE)
def infer_alone(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    order: Ints,
    starts: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    done: NDArray[np.bool_],
    progress: Ints,
    space: Floats,
) -> int:
    """`infer_group` for groups of one sentence, in turns: g is order[starts[g]:starts[g + 1]].

    Works in `space` if that is large enough; returns how many floats it had.
    """
    needed = room(longest_of(sizes, order, starts, 0, starts.shape[0] - 1), 1)
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells = data_pointer(space)
    g = take(progress)
    while g < starts.shape[0] - 1:
        members = order[starts[g] : starts[g + 1]]
        infer_group(
            cells, scores, label_sums, sizes, offsets, members, single, quantity, out, totals, done
        )
        finish(progress)
        g = take(progress)
    return int(space.shape[0])  # and so `space` is kept until here

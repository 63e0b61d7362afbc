"""Slopes of label scores back to the weights of their features."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import kernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.labels import ARCS, label_room, label_window, prepare_arc
from crossarc.models.slots import first_of_group, key_hashes, key_range

__all__ = ["gather_labels"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
# Labels whose score has a smaller slope change no weight.
_LEAST_SLOPE = 1e-4


@kernel(types.int64(*ARCS, _READ2, _INT, types.float32[::1], TOUCHED))
def gather_labels(
    codes: Ints,
    rows: Ints,
    heads: Ints,
    modifiers: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    tags: int,
    bits: int,
    slopes: Floats,
    group: int,
    gradient: Singles,
    touched: Halves,
) -> int:
    """The gradient of one group's weights, from the slopes of label scores.

    Slopes below 1e-4 are left out. Returns how many slots are not zero; the first arguments are
    those of `score_labels`.
    """
    known = 0
    part = gradient.shape[0] // GROUPS
    room = label_room(plan)
    kept = np.empty(slopes.shape[1] + 1, np.int64)
    hashes = key_hashes()
    for a in range(heads.shape[0]):
        used = 0
        for label in range(slopes.shape[1]):
            kept[used] = label
            used += abs(slopes[a, label]) >= _LEAST_SLOPE
        if used == 0:
            continue
        count = prepare_arc(
            codes, rows[a], heads[a], modifiers[a], plan, group, GROUPS, tag, tags, room
        )
        for k in range(count):
            first, last = key_range(k, bounds)
            for t in range(first_of_group(first, group), last, GROUPS):
                at = label_window(room[0], hashes[room[2][k]], t, bits, part)
                for i in range(used):
                    slot = np.uint32(at + kept[i])
                    known = add_gradient(gradient, touched, known, slot, slopes[a, kept[i]])
    return known

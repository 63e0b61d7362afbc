"""From the gradient in label scores to that in the weights of their features."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import kernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.first_order.labels import ARCS, label_window, label_workspace, prepare_arc
from crossarc.models.slots import first_of_group, key_hashes, key_range

__all__ = ["gather_labels"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
# Labels with a smaller derivative change no weight.
_MIN_DERIVATIVE = 1e-3


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
    score_gradient: Floats,
    group: int,
    gradient: Singles,
    touched: Halves,
) -> int:
    """The gradient of one group's weights, from that in label scores.

    Derivatives below 1e-3 are left out. Returns the number of slots that are not zero; the first
    arguments are those of `score_labels`.
    """
    known = 0
    part = gradient.shape[0] // GROUPS
    workspace = label_workspace(plan)
    kept = np.empty(score_gradient.shape[1], np.int64)
    hashes = key_hashes()
    for a in range(heads.shape[0]):
        used = 0
        for label in range(score_gradient.shape[1]):
            kept[used] = label
            used += abs(score_gradient[a, label]) >= _MIN_DERIVATIVE
        if used == 0:
            continue
        count = prepare_arc(
            codes, rows[a], heads[a], modifiers[a], plan, group, GROUPS, tag, tags, workspace
        )
        for k in range(count):
            first, last = key_range(k, bounds)
            for t in range(first_of_group(first, group), last, GROUPS):
                offset = label_window(workspace[0], hashes[workspace[2][k]], t, bits, part)
                for i in range(used):
                    slot = np.uint32(offset + kept[i])
                    known = add_gradient(gradient, touched, known, slot, score_gradient[a, kept[i]])
    return known

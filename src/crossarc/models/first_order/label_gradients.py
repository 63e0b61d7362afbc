"""From the gradient in label scores to that in the weights of their features."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import kernel, subkernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.first_order.labels import ARCS, label_slot
from crossarc.models.slots import (
    MOST_KEYS,
    TAGS,
    arc_keys,
    first_of_group,
    key_hashes,
    key_range,
    word_halves,
)

__all__ = ["gather_labels"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
# Labels with a smaller derivative change no weight.
_MIN_DERIVATIVE = 1e-3


@subkernel()
def _workspace(plan: Ints) -> tuple[Halves, Ints, Ints]:
    """Arrays for one arc: halves of its two words, counts of tags between them, keys."""
    return (
        np.empty((2, plan.shape[0]), np.uint32),
        np.zeros((2, TAGS), np.int64),
        np.empty(MOST_KEYS, np.int64),
    )


@subkernel()
def _prepare_arc(
    codes: Ints,
    row: int,
    h: int,
    m: int,
    plan: Ints,
    first: int,
    step: int,
    tag: int,
    tags: int,
    workspace: tuple[Halves, Ints, Ints],
) -> int:
    """Fill in the halves and keys of an arc; returns how many keys it has."""
    halves, counts, found = workspace
    flat, width = codes.reshape(-1), codes.shape[1]
    word_halves(flat, (row + h) * width, plan, 0, first, step, halves, 0)
    word_halves(flat, (row + m) * width, plan, 1, first, step, halves, 1)
    counts[1, :] = 0
    for i in range(min(h, m) + 1, max(h, m)):
        counts[1, codes[row + i, tag] % TAGS] += 1
    return arc_keys(h, m, counts, 0, 1, tags, found)


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
    workspace = _workspace(plan)
    kept = np.empty(score_gradient.shape[1], np.int64)
    hashes = key_hashes()
    for a in range(heads.shape[0]):
        used = 0
        for label in range(score_gradient.shape[1]):
            kept[used] = label
            used += abs(score_gradient[a, label]) >= _MIN_DERIVATIVE
        if used == 0:
            continue
        count = _prepare_arc(
            codes, rows[a], heads[a], modifiers[a], plan, group, GROUPS, tag, tags, workspace
        )
        for k in range(count):
            first, last = key_range(k, bounds)
            for t in range(first_of_group(first, group), last, GROUPS):
                halves, key = workspace[0], hashes[workspace[2][k]]
                offset = (t % GROUPS) * part + label_slot(halves[0, t], halves[1, t], key, bits)
                for i in range(used):
                    slot = np.uint32(offset + kept[i])
                    known = add_gradient(gradient, touched, known, slot, score_gradient[a, kept[i]])
    return known

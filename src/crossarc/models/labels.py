"""Label scores of given arcs from hashed features, and gradients back to the weights.

A feature's slot is the beginning of a window with one weight a label, so that an arc's label scores
are sums of windows. Windows begin at multiples of eight weights and may overlap, as any two hashed
features may.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.hashing import pair_slot
from crossarc.models.slots import (
    MOST_KEYS,
    READ_CODES,
    READ_PLAN,
    READ_WEIGHTS,
    TAGS,
    arc_keys,
    first_of_group,
    key_hashes,
    key_range,
    word_halves,
)

__all__ = ["ALIGNMENT", "gather_labels", "log_softmax", "score_labels"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_F2 = types.float64[:, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_ARCS = (READ_CODES, READ_INT, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, _INT, _INT)
#: Windows begin at multiples of 2**ALIGNMENT.
ALIGNMENT = 3
_LEAST_SLOPE = 1e-4


@subkernel()
def _room(plan: Ints) -> tuple[Halves, Ints, Halves]:
    """Space for one arc: halves of its two words, counts of tags between them, keys."""
    return (
        np.empty((2, plan.shape[0]), np.uint32),
        np.zeros((2, TAGS), np.int64),
        np.empty(MOST_KEYS, np.uint32),
    )


@subkernel()
def _arc(
    codes: Ints,
    row: int,
    h: int,
    m: int,
    plan: Ints,
    first: int,
    step: int,
    tag: int,
    tags: int,
    hashes: Halves,
    room: tuple[Halves, Ints, Halves],
) -> int:
    """Fill in the halves and keys of an arc; returns how many keys it has."""
    halves, counts, found = room
    flat, width = codes.reshape(-1), codes.shape[1]
    word_halves(flat, (row + h) * width, plan, 0, first, step, halves, 0)
    word_halves(flat, (row + m) * width, plan, 1, first, step, halves, 1)
    counts[1, :] = 0
    for i in range(min(h, m) + 1, max(h, m)):
        counts[1, codes[row + i, tag] % TAGS] += 1
    return arc_keys(h, m, counts, 0, 1, tags, hashes, found)


@subkernel()
def _window(halves: Halves, key: np.uint32, t: int, bits: int, part: int) -> int:
    """Where the weights of template t's feature begin."""
    slot = pair_slot(np.uint32(halves[0, t] ^ key), halves[1, t], bits - ALIGNMENT)
    return int((t % GROUPS) * part + (np.int64(slot) << ALIGNMENT))


@subkernel(reorder=True)
def _add_window(weights: Singles, at: int, sums: Singles) -> None:
    for k in range(sums.shape[0]):
        sums[k] += weights[at + k]


@kernel(types.void(*_ARCS, READ_WEIGHTS, _F2, _INT, _INT))
def score_labels(
    codes: Ints,
    rows: Ints,
    heads: Ints,
    modifiers: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    tags: int,
    bits: int,
    weights: Singles,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """out[a, l]: the score of label l for arcs a in begin..end-1, O(templates labels) each.

    Args:
        codes: (rows, atoms), see `Encoded`; `rows` has the row of the root for each arc.
        plan, bounds: the templates, see `Plan`.
        tag, tags: the atom whose values between two words count, and how many it has.
        bits: windows begin in the first 2**bits weights of each part.
    """
    part = weights.shape[0] // GROUPS
    room = _room(plan)
    sums = np.empty(out.shape[1], np.float32)
    hashes = key_hashes()
    for a in range(begin, end):
        count = _arc(codes, rows[a], heads[a], modifiers[a], plan, 0, 1, tag, tags, hashes, room)
        sums[:] = 0.0
        for k in range(count):
            first, last = key_range(k, bounds)
            for t in range(first, last):
                _add_window(weights, _window(room[0], room[2][k], t, bits, part), sums)
        out[a, :] = sums


@kernel(types.float64(_F2, READ_INT))
def log_softmax(scores: Floats, gold: Ints) -> float:
    """Scores to log-probabilities in place; returns minus the sum of those of gold labels."""
    loss = 0.0
    for a in range(scores.shape[0]):
        row = scores[a]
        top = row.max()
        total = 0.0
        for k in range(row.shape[0]):
            total += math.exp(row[k] - top)
        shift = top + math.log(total)
        for k in range(row.shape[0]):
            row[k] -= shift
        if gold[a] >= 0:
            loss -= row[gold[a]]
    return loss


@kernel(types.int64(*_ARCS, _READ2, _INT, types.float32[::1], TOUCHED))
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
    room = _room(plan)
    kept = np.empty(slopes.shape[1] + 1, np.int64)
    hashes = key_hashes()
    for a in range(heads.shape[0]):
        used = 0
        for label in range(slopes.shape[1]):
            kept[used] = label
            used += abs(slopes[a, label]) >= _LEAST_SLOPE
        if used == 0:
            continue
        count = _arc(
            codes, rows[a], heads[a], modifiers[a], plan, group, GROUPS, tag, tags, hashes, room
        )
        for k in range(count):
            first, last = key_range(k, bounds)
            for t in range(first_of_group(first, group), last, GROUPS):
                at = _window(room[0], room[2][k], t, bits, part)
                for i in range(used):
                    slot = np.uint32(at + kept[i])
                    known = add_gradient(gradient, touched, known, slot, slopes[a, kept[i]])
    return known

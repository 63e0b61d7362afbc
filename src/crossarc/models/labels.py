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
from crossarc.models.slots import (
    READ_CODES,
    READ_PLAN,
    READ_WEIGHTS,
    direct_slots,
    key_hashes,
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
_BOUNDS = types.Array(types.int64, 2, "C", readonly=True)
_ARCS = (READ_CODES, READ_INT, READ_INT, READ_INT, READ_PLAN, _BOUNDS, _INT)
#: Windows begin at multiples of 2**ALIGNMENT.
ALIGNMENT = 3
_LEAST_SLOPE = 1e-4


@subkernel(reorder=True)
def _add_window(window: Singles, out: Floats) -> None:
    for k in range(out.shape[0]):
        out[k] += window[k]


@kernel(types.void(*_ARCS, READ_WEIGHTS, _F2, _INT, _INT))
def score_labels(
    codes: Ints,
    rows: Ints,
    heads: Ints,
    modifiers: Ints,
    plan: Ints,
    bounds: Ints,
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
        bits: windows begin in the first 2**bits weights of each part.
    """
    labels, part = out.shape[1], weights.shape[0] // GROUPS
    halves = np.empty((2, 2, plan.shape[0]), np.uint32)
    slots = np.empty(2 * plan.shape[0], np.uint32)
    keys = key_hashes()
    for a in range(begin, end):
        h, m = heads[a], modifiers[a]
        word_halves(codes, rows[a] + h, plan, 0, plan.shape[0], halves[0])
        word_halves(codes, rows[a] + m, plan, 0, plan.shape[0], halves[1])
        out[a, :] = 0.0
        for group in range(GROUPS):
            count = direct_slots(
                halves[0, 0], halves[1, 1], h, m, bounds[group], keys, bits - ALIGNMENT, slots
            )
            for k in range(count):
                at = group * part + (np.int64(slots[k]) << ALIGNMENT)
                _add_window(weights[at : at + labels], out[a])


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
    bits: int,
    slopes: Floats,
    group: int,
    gradient: Singles,
    touched: Halves,
) -> int:
    """The gradient in one part of the table, from the slopes of label scores.

    Slopes below 1e-4 are left out. Returns how many slots are not zero; the first arguments are
    those of `score_labels`.
    """
    known = 0
    own = bounds[group]
    halves = np.empty((2, 2, plan.shape[0]), np.uint32)
    slots = np.empty(2 * plan.shape[0], np.uint32)
    kept = np.empty(slopes.shape[1], np.int64)
    keys = key_hashes()
    for a in range(heads.shape[0]):
        h, m = heads[a], modifiers[a]
        used = 0
        for k in range(slopes.shape[1]):
            kept[used] = k
            used += abs(slopes[a, k]) >= _LEAST_SLOPE
        if used == 0:
            continue
        word_halves(codes, rows[a] + h, plan, own[0], own[4], halves[0])
        word_halves(codes, rows[a] + m, plan, own[0], own[4], halves[1])
        count = direct_slots(halves[0, 0], halves[1, 1], h, m, own, keys, bits - ALIGNMENT, slots)
        for k in range(count):
            for i in range(used):
                slot = np.uint32((slots[k] << ALIGNMENT) + kept[i])
                known = add_gradient(gradient, touched, known, slot, slopes[a, kept[i]])
    return known

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

from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel
from crossarc.learning.tables import GROUPS, add_gradient
from crossarc.models.hashing import half, hash_code, hash_start, pair_slot
from crossarc.models.words import DISTANCES, READ_PLAN, READ_WEIGHTS, distance_class, word_halves

__all__ = ["gather_labels", "log_softmax", "score_labels"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_F2 = types.float64[:, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_ALIGN = 3
_BELOW = 1e-5


@subkernel()
def _keys(h: int, m: int) -> tuple[np.uint32, np.uint32]:
    """Hashes of an arc's direction, and of direction and distance."""
    side = 0 if h < m else 1
    key = 2 + side * DISTANCES + distance_class(abs(h - m))
    return half(hash_code(hash_start(-1), side)), half(hash_code(hash_start(-1), key))


@subkernel()
def _window(head: np.uint32, modifier: np.uint32, t: int, bits: int, part: int) -> int:
    """Where the weights of template t's feature begin."""
    return (t % GROUPS) * part + (np.int64(pair_slot(head, modifier, bits - _ALIGN)) << _ALIGN)


@kernel(
    types.void(
        READ_INT, _INT, READ_INT, READ_INT, READ_INT, READ_PLAN, _INT, READ_WEIGHTS, _INT, _INT, _F2, _INT, _INT
    ),
    reorder=True,
)
def score_labels(
    codes: Ints,
    width: int,
    rows: Ints,
    heads: Ints,
    modifiers: Ints,
    plan: Ints,
    with_distance: int,
    weights: Singles,
    bits: int,
    part: int,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """out[a, l]: the score of label l for arcs a in begin..end-1.

    Args:
        rows: the row of the root of each arc's sentence.
        bits: windows begin within the first 2**bits weights of each part.
        part: the size of a part.
    """
    labels = out.shape[1]
    halves = np.empty((2, 2, plan.shape[0]), np.uint32)
    for a in range(begin, end):
        h, m = heads[a], modifiers[a]
        word_halves(codes, width, rows[a] + h, plan, 0, 1, halves[0])
        word_halves(codes, width, rows[a] + m, plan, 0, 1, halves[1])
        head, modifier = halves[0, 0], halves[1, 1]
        direction, distance = _keys(h, m)
        result = out[a]
        result[:] = 0.0
        for t in range(plan.shape[0]):
            for again in range(2 if t < with_distance else 1):
                key = distance if again else direction
                at = _window(head[t] ^ key, modifier[t], t, bits, part)
                window = weights[at : at + labels]
                for k in range(labels):
                    result[k] += window[k]


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


@kernel(
    types.int64(
        READ_INT, _INT, READ_INT, READ_INT, READ_INT, READ_PLAN, _INT, _READ2, _INT, _INT, _INT,
        types.float32[::1], types.int64[::1],
    )
)
def gather_labels(
    codes: Ints,
    width: int,
    rows: Ints,
    heads: Ints,
    modifiers: Ints,
    plan: Ints,
    with_distance: int,
    slopes: Floats,
    bits: int,
    part: int,
    group: int,
    gradient: Singles,
    touched: Ints,
) -> int:
    """The gradient in one part of the table, from those of label scores; counts its slots.

    Labels whose slope is below 1e-5 are left out. Other arguments as of `score_labels`.
    """
    count = 0
    halves = np.empty((2, 2, plan.shape[0]), np.uint32)
    kept = np.empty(slopes.shape[1], np.int64)
    for a in range(heads.shape[0]):
        h, m = heads[a], modifiers[a]
        used = 0
        for k in range(slopes.shape[1]):
            if abs(slopes[a, k]) >= _BELOW:
                kept[used] = k
                used += 1
        if used == 0:
            continue
        word_halves(codes, width, rows[a] + h, plan, group, GROUPS, halves[0])
        word_halves(codes, width, rows[a] + m, plan, group, GROUPS, halves[1])
        head, modifier = halves[0, 0], halves[1, 1]
        direction, distance = _keys(h, m)
        for t in range(group, plan.shape[0], GROUPS):
            for again in range(2 if t < with_distance else 1):
                key = distance if again else direction
                at = _window(head[t] ^ key, modifier[t], t, bits, part)
                for i in range(used):
                    k = kept[i]
                    count = add_gradient(gradient, touched, count, at + k, slopes[a, k])
    return count

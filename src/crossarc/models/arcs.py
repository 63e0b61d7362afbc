"""Scores of all arcs of sentences, and gradients of scores back to the weights."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.slots import (
    ARC_KEYS,
    READ_CODES,
    READ_PLAN,
    READ_WEIGHTS,
    TAGS,
    arc_key,
    between_slots,
    direct_slots,
    key_hashes,
    tags_between,
    word_halves,
    word_slots,
)

__all__ = ["gather_arcs", "score_arcs"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_BOUNDS = types.Array(types.int64, 2, "C", readonly=True)
_SENTENCES = (READ_CODES, READ_INT, READ_INT, READ_INT, READ_PLAN, _BOUNDS, _INT, _INT)
# Arcs whose score has a smaller slope change no weight: most arcs, after a pass or two.
_LEAST_SLOPE = 1e-4


@subkernel()
def _room(longest: int, plan: Ints) -> tuple[Halves, Ints, Ints, Floats, Halves]:
    """Space for one sentence: halves, tag counts, tag sets, sums over words, slots of an arc."""
    return (
        np.empty((longest + 1, 2, plan.shape[0]), np.uint32),
        np.empty((longest + 2, TAGS), np.int64),
        np.empty((longest + 1) * (longest + 1), np.int64),
        np.empty((longest + 1, 2, ARC_KEYS)),
        np.empty(2 * plan.shape[0] * (TAGS + 1), np.uint32),
    )


@subkernel(reorder=True)
def _sum_weights(weights: Singles, slots: Halves, count: int) -> float:
    total = np.float32(0.0)
    for k in range(count):
        total += weights[slots[k]]
    return float(total)


@subkernel()
def _word_scores(
    halves: Halves,
    n: int,
    bounds: Ints,
    keys: Halves,
    weights: Singles,
    bits: int,
    slots: Halves,
    sums: Floats,
) -> None:
    """sums[i, side, key]: the summed weights of a word's own features."""
    sums[: n + 1] = 0.0
    for group in range(GROUPS):
        part = weights[group << bits : (group + 1) << bits]
        for i in range(n + 1):
            for side in range(2):
                for key in range(ARC_KEYS):
                    count = word_slots(halves[i, side], keys[key], bounds[group], bits, slots)
                    sums[i, side, key] += _sum_weights(part, slots, count)


@subkernel()
def _arc_slots(
    head: Halves,
    modifier: Halves,
    h: int,
    m: int,
    bounds: Ints,
    counts: Ints,
    tags: int,
    keys: Halves,
    bits: int,
    slots: Halves,
) -> int:
    """Slots of all features of two words that an arc has in one group; returns how many."""
    count = direct_slots(head, modifier, h, m, bounds, keys, bits, slots)
    return count + between_slots(
        head, modifier, h, m, bounds, counts, tags, keys, bits, slots[count:]
    )


@kernel(types.void(*_SENTENCES, READ_WEIGHTS, types.float64[::1], _INT, _INT))
def score_arcs(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    bits: int,
    weights: Singles,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Scores of all arcs of sentences begin..end-1, O(n^2) sums over templates.

    Args:
        codes: (rows, atoms), see `Encoded`; `starts` are the rows of the roots.
        squares: where each sentence's (n + 1)^2 scores begin in `out`.
        plan, bounds: the templates, see `Plan`.
        tag: the atom whose values between two words count.
        bits: each part of the table has 2**bits weights.
    """
    longest = sizes[begin:end].max() if begin < end else 0
    halves, counts, space, sums, slots = _room(longest, plan)
    keys = key_hashes()
    for s in range(begin, end):
        n, row, width = sizes[s], starts[s], sizes[s] + 1
        sets = space[: width * width].reshape(width, width)
        tags_between(codes, row, n, tag, counts, sets)
        for i in range(width):
            word_halves(codes, row + i, plan, 0, plan.shape[0], halves[i])
        _word_scores(halves, n, bounds, keys, weights, bits, slots, sums)
        for h in range(width):
            scores = out[squares[s] + h * width : squares[s] + (h + 1) * width]
            for m in range(1, width):
                if h == m:
                    continue
                key = arc_key(h, m)
                total = sums[h, 0, key] + sums[m, 1, key]
                for group in range(GROUPS):
                    count = _arc_slots(
                        halves[h, 0],
                        halves[m, 1],
                        h,
                        m,
                        bounds[group],
                        counts,
                        sets[h, m],
                        keys,
                        bits,
                        slots,
                    )
                    total += _sum_weights(
                        weights[group << bits : (group + 1) << bits], slots, count
                    )
                scores[m] = total


@subkernel()
def _gather_words(
    halves: Halves,
    n: int,
    bounds: Ints,
    keys: Halves,
    bits: int,
    sums: Floats,
    slots: Halves,
    gradient: Singles,
    touched: Ints,
    known: int,
) -> int:
    for i in range(n + 1):
        for side in range(2):
            for key in range(ARC_KEYS):
                slope = sums[i, side, key]
                if abs(slope) >= _LEAST_SLOPE:
                    count = word_slots(halves[i, side], keys[key], bounds, bits, slots)
                    for k in range(count):
                        known = add_gradient(gradient, touched, known, slots[k], slope)
    return known


@kernel(types.int64(*_SENTENCES, READ_FLOAT, _INT, types.float32[::1], TOUCHED))
def gather_arcs(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    bits: int,
    slopes: Floats,
    group: int,
    gradient: Singles,
    touched: Ints,
) -> int:
    """The gradient in one part of the table, from the slopes of all arcs' scores.

    Slopes below 1e-4 are left out. Returns how many slots are not zero; the first arguments are
    those of `score_arcs`.
    """
    longest = sizes.max() if sizes.shape[0] else 0
    halves, counts, space, sums, slots = _room(longest, plan)
    keys = key_hashes()
    own = bounds[group]
    known = 0
    for s in range(sizes.shape[0]):
        n, row, width = sizes[s], starts[s], sizes[s] + 1
        sets = space[: width * width].reshape(width, width)
        tags_between(codes, row, n, tag, counts, sets)
        for i in range(width):
            word_halves(codes, row + i, plan, own[0], own[4], halves[i])
        sums[:width] = 0.0
        for h in range(width):
            for m in range(1, width):
                slope = slopes[squares[s] + h * width + m]
                if h == m or abs(slope) < _LEAST_SLOPE:
                    continue
                sums[h, 0, arc_key(h, m)] += slope
                sums[m, 1, arc_key(h, m)] += slope
                count = _arc_slots(
                    halves[h, 0], halves[m, 1], h, m, own, counts, sets[h, m], keys, bits, slots
                )
                for k in range(count):
                    known = add_gradient(gradient, touched, known, slots[k], slope)
        known = _gather_words(halves, n, own, keys, bits, sums, slots, gradient, touched, known)
    return known

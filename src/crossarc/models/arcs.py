"""Scores of all arcs of sentences, and gradients of scores back to the weights."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.slots import (
    ARC_KEYS,
    MOST_KEYS,
    READ_CODES,
    READ_PLAN,
    READ_WEIGHTS,
    TAGS,
    arc_key,
    arc_keys,
    count_tags,
    first_of_group,
    key_hashes,
    key_range,
    table_slot,
    word_halves,
)

__all__ = ["gather_arcs", "score_arcs"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_SENTENCES = (READ_CODES, READ_INT, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, _INT, _INT)
_NO_KEY = np.uint32(0)
# Arcs whose score has a smaller slope change no weight: most arcs, after a pass or two.
_LEAST_SLOPE = 1e-4


@subkernel()
def _room(longest: int, plan: Ints) -> tuple[Halves, Halves, Ints, Floats, Halves]:
    """Space for one sentence: halves of heads and modifiers, tag counts, sums, an arc's keys."""
    return (
        np.empty((longest + 1, plan.shape[0]), np.uint32),
        np.empty((longest + 1, plan.shape[0]), np.uint32),
        np.empty((longest + 2, TAGS), np.int64),
        np.empty((longest + 1, 2, ARC_KEYS)),
        np.empty(MOST_KEYS, np.uint32),
    )


@subkernel()
def _keys(h: int, m: int, counts: Ints, tags: int, hashes: Halves, found: Halves) -> int:
    return arc_keys(h, m, counts, min(h, m) + 1, max(h, m), tags, hashes, found)


@subkernel(reorder=True)
def _sum_pairs(
    heads: Halves,
    modifiers: Halves,
    h: int,
    m: int,
    key: np.uint32,
    span: tuple[int, int],
    weights: Singles,
    bits: int,
) -> float:
    """The summed weights of some templates' features of two words, with one key."""
    total = np.float32(0.0)
    for t in range(span[0], span[1]):
        total += weights[table_slot(np.uint32(heads[h, t] ^ key), modifiers[m, t], t, bits)]
    return float(total)


@subkernel(reorder=True)
def _sum_word(
    halves: Halves, i: int, key: np.uint32, span: tuple[int, int], weights: Singles, bits: int
) -> float:
    """The summed weights of one word's features, with one key."""
    total = np.float32(0.0)
    for t in range(span[0], span[1]):
        total += weights[table_slot(halves[i, t], key, t, bits)]
    return float(total)


@kernel(types.void(*_SENTENCES, READ_WEIGHTS, types.float64[::1], _INT, _INT))
def score_arcs(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
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
    """Scores of all arcs of sentences begin..end-1, O(n^2) sums over templates.

    Args:
        codes: (rows, atoms), see `Encoded`; `starts` are the rows of the roots.
        squares: where each sentence's (n + 1)^2 scores begin in `out`.
        plan, bounds: the templates, see `Plan`.
        tag, tags: the atom whose values between two words count, and how many it has.
        bits: each part of the table has 2**bits weights.
    """
    longest = sizes[begin:end].max() if begin < end else 0
    heads, modifiers, counts, sums, found = _room(longest, plan)
    hashes, flat = key_hashes(), codes.reshape(-1)
    for s in range(begin, end):
        row, width = starts[s], sizes[s] + 1
        count_tags(codes, row, sizes[s], tag, counts)
        for i in range(width):
            word_halves(flat, (row + i) * codes.shape[1], plan, 0, 0, 1, heads, i)
            word_halves(flat, (row + i) * codes.shape[1], plan, 1, 0, 1, modifiers, i)
            for key in range(ARC_KEYS):
                span = bounds[2], bounds[3]
                sums[i, 0, key] = _sum_word(heads, i, hashes[key], span, weights, bits)
                sums[i, 1, key] = _sum_word(modifiers, i, hashes[key], span, weights, bits)
        for h in range(width):
            for m in range(1, width):
                if h == m:
                    continue
                key = arc_key(h, m)
                total = sums[h, 0, key] + sums[m, 1, key]
                for k in range(_keys(h, m, counts, tags, hashes, found)):
                    span = key_range(k, bounds)
                    total += _sum_pairs(heads, modifiers, h, m, found[k], span, weights, bits)
                out[squares[s] + h * width + m] = total


@subkernel()
def _gather_words(
    halves: Halves,
    i: int,
    sums: Floats,
    hashes: Halves,
    bounds: Ints,
    bits: int,
    group: int,
    gradient: Singles,
    touched: Halves,
    known: int,
) -> int:
    for key in range(ARC_KEYS):
        if abs(sums[key]) >= _LEAST_SLOPE:
            for t in range(first_of_group(bounds[2], group), bounds[3], GROUPS):
                slot = table_slot(halves[i, t], hashes[key], t, bits)
                known = add_gradient(gradient, touched, known, slot, sums[key])
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
    tags: int,
    bits: int,
    slopes: Floats,
    group: int,
    gradient: Singles,
    touched: Halves,
) -> int:
    """The gradient of one group's weights, from the slopes of all arcs' scores.

    Slopes below 1e-4 are left out. Returns how many slots are not zero; the first arguments are
    those of `score_arcs`.
    """
    longest = sizes.max() if sizes.shape[0] else 0
    heads, modifiers, counts, sums, found = _room(longest, plan)
    hashes, flat = key_hashes(), codes.reshape(-1)
    known = 0
    for s in range(sizes.shape[0]):
        row, width = starts[s], sizes[s] + 1
        count_tags(codes, row, sizes[s], tag, counts)
        for i in range(width):
            word_halves(flat, (row + i) * codes.shape[1], plan, 0, group, GROUPS, heads, i)
            word_halves(flat, (row + i) * codes.shape[1], plan, 1, group, GROUPS, modifiers, i)
        sums[:width] = 0.0
        for h in range(width):
            for m in range(1, width):
                slope = slopes[squares[s] + h * width + m]
                if h == m or abs(slope) < _LEAST_SLOPE:
                    continue
                sums[h, 0, arc_key(h, m)] += slope
                sums[m, 1, arc_key(h, m)] += slope
                for k in range(_keys(h, m, counts, tags, hashes, found)):
                    begin, end = key_range(k, bounds)
                    for t in range(first_of_group(begin, group), end, GROUPS):
                        half = np.uint32(heads[h, t] ^ found[k])
                        slot = table_slot(half, modifiers[m, t], t, bits)
                        known = add_gradient(gradient, touched, known, slot, slope)
        for i in range(width):
            for side in range(2):
                known = _gather_words(
                    heads if side == 0 else modifiers,
                    i,
                    sums[i, side],
                    hashes,
                    bounds,
                    bits,
                    group,
                    gradient,
                    touched,
                    known,
                )
    return known

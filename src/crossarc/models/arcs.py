"""Scores of all arcs of a sentence from hashed features, and gradients back to the weights.

A table of weights has GROUPS parts of equal size; template t has its slots in part t modulo GROUPS.
Gradients of one part are gathered by one thread, over all sentences of a batch in order, so that
the sum does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.learning.tables import GROUPS, add_gradient
from crossarc.models.hashing import hash_code, hash_start, half, pair_slot
from crossarc.models.words import distance_class, DISTANCES, READ_PLAN, READ_WEIGHTS, word_halves

__all__ = ["gather_arcs", "score_arcs"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
# UPOS codes beyond this share what lies between with smaller ones.
_TAGS = 32
_MOST = 3
_KEYS = 2 * DISTANCES
_NO_KEY = np.uint32(0)
_ALONE = np.int64(1 << 30)
_BELOW = np.float64(1e-6)


@subkernel()
def _arc_key(h: int, m: int) -> int:
    """Direction and distance of an arc as one number below 2 * DISTANCES."""
    return distance_class(m - h) if h < m else DISTANCES + distance_class(h - m)


@subkernel()
def _key_hashes() -> Halves:
    """Hashes of directions, of directions with distances, of tags between, of their counts."""
    keys = np.empty(2 + _KEYS + _TAGS * (_MOST + 1), np.uint32)
    for k in range(keys.shape[0]):
        keys[k] = half(hash_code(hash_start(_ALONE), k))
    return keys


@subkernel()
def _count_tags(codes: Ints, width: int, n: int, row: int, upos: int, counts: Ints, sets: Ints) -> None:
    """counts[i, b]: words before i with tag b; sets[i, j]: the tags strictly between i and j."""
    for b in range(_TAGS):
        counts[0, b] = 0
    for i in range(n + 1):
        tag = codes[(row + i) * width + upos] % _TAGS
        for b in range(_TAGS):
            counts[i + 1, b] = counts[i, b]
        counts[i + 1, tag] += 1
    for i in range(n + 1):
        seen = 0
        sets[i, i] = 0
        for j in range(i + 1, n + 1):
            sets[i, j] = sets[j, i] = seen
            seen |= 1 << (codes[(row + j) * width + upos] % _TAGS)


@subkernel()
def _slot(head: np.uint32, modifier: np.uint32, t: int, bits: int) -> int:
    """The slot of template t: within its part of the table."""
    return ((t % GROUPS) << bits) + np.int64(pair_slot(head, modifier, bits))


@subkernel()
def _word_scores(
    halves: Halves, n: int, first: int, end: int, keys: Halves, weights: Singles, bits: int, out: Floats
) -> None:
    """out[i, side, key]: the summed weights of a word's own features."""
    for i in range(n + 1):
        for side in range(2):
            row, result = halves[i, side], out[i, side]
            for key in range(_KEYS):
                total = 0.0
                for t in range(first, end):
                    total += weights[_slot(row[t], keys[2 + key], t, bits)]
                result[key] = total


@subkernel()
def _pair_score(
    head: Halves, modifier: Halves, direction: np.uint32, distance: np.uint32,
    with_distance: int, pairs: int, weights: Singles, bits: int
) -> float:
    total = np.float32(0.0)
    for t in range(pairs):
        total += weights[_slot(head[t] ^ direction, modifier[t], t, bits)]
    for t in range(with_distance):
        total += weights[_slot(head[t] ^ distance, modifier[t], t, bits)]
    return total


@subkernel()
def _between_score(
    head: Halves, modifier: Halves, direction: np.uint32, tags: int, low: Ints, high: Ints,
    first: int, end: int, keys: Halves, weights: Singles, bits: int
) -> float:
    total = 0.0
    b = 0
    while tags >> b:
        if (tags >> b) & 1:
            many = min(high[b] - low[b], _MOST)
            for t in range(first, end):
                x = head[t] ^ direction
                total += weights[_slot(x ^ keys[2 + _KEYS + b * (_MOST + 1)], modifier[t], t, bits)]
                total += weights[_slot(x ^ keys[2 + _KEYS + b * (_MOST + 1) + many], modifier[t], t, bits)]
        b += 1
    return total


@subkernel()
def _score_sentence(
    n: int, shape: Ints, halves: Halves, counts: Ints, sets: Ints, words: Floats, keys: Halves,
    weights: Singles, bits: int, out: Floats
) -> None:
    with_distance, pairs, between, end = shape[0], shape[1], shape[2], shape[3]
    _word_scores(halves, n, between, end, keys, weights, bits, words)
    for h in range(n + 1):
        head, result = halves[h, 0], out[h]
        for m in range(1, n + 1):
            if h == m:
                continue
            key = _arc_key(h, m)
            direction = keys[0] if h < m else keys[1]
            modifier = halves[m, 1]
            total = words[h, 0, key] + words[m, 1, key]
            total += _pair_score(head, modifier, direction, keys[2 + key], with_distance, pairs, weights, bits)
            if sets[h, m]:
                total += _between_score(
                    head, modifier, direction, sets[h, m], counts[min(h, m) + 1], counts[max(h, m)],
                    pairs, between, keys, weights, bits)
            result[m] = total


_SIGNATURE = types.void(
    READ_INT, _INT, READ_INT, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, READ_WEIGHTS, _INT,
    types.float64[::1], _INT, _INT)


@kernel(_SIGNATURE, reorder=True)
def score_arcs(
    codes: Ints,
    width: int,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
    plan: Ints,
    shape: Ints,
    upos: int,
    weights: Singles,
    bits: int,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Scores of all arcs of sentences begin..end-1, O(n^2 templates).

    Args:
        codes: flat, `width` codes a row.
        starts: the rows of the roots.
        squares: where each sentence's (n + 1)^2 scores begin in `out`.
        plan: templates of two words, of what lies between two words, and of one word.
        shape: where those with distance, of two words, with words between, and all, end.
        upos: the place of the tag whose values between two words count.
        bits: each part of the table has 2**bits weights.
    """
    longest = sizes[begin:end].max() if begin < end else 0
    halves = np.empty((longest + 1, 2, plan.shape[0]), np.uint32)
    counts = np.empty((longest + 2, _TAGS), np.int64)
    words = np.empty((longest + 1, 2, _KEYS))
    space = np.empty((longest + 1) * (longest + 1), np.int64)
    keys = _key_hashes()
    for s in range(begin, end):
        n, row = sizes[s], starts[s]
        square = (n + 1) * (n + 1)
        sets = space[:square].reshape(n + 1, n + 1)
        _count_tags(codes, width, n, row, upos, counts, sets)
        for i in range(n + 1):
            word_halves(codes, width, row + i, plan, 0, 1, halves[i])
        result = out[squares[s] : squares[s] + square].reshape(n + 1, n + 1)
        _score_sentence(n, shape, halves, counts, sets, words, keys, weights, bits, result)


@subkernel()
def _gather_words(
    halves: Halves, n: int, first: int, end: int, keys: Halves, bits: int, sums: Floats,
    gradient: Singles, touched: Ints, count: int
) -> int:
    for i in range(n + 1):
        for side in range(2):
            row, mine = halves[i, side], sums[i, side]
            for key in range(_KEYS):
                if abs(mine[key]) > _BELOW:
                    for t in range(first, end, GROUPS):
                        count = add_gradient(gradient, touched, count, _slot(row[t], keys[2 + key], t, bits), mine[key])
    return count


@subkernel()
def _gather_pair(
    head: Halves, modifier: Halves, direction: np.uint32, distance: np.uint32, group: int,
    with_distance: int, pairs: int, bits: int, value: float, gradient: Singles, touched: Ints, count: int
) -> int:
    for t in range(group, pairs, GROUPS):
        count = add_gradient(gradient, touched, count, _slot(head[t] ^ direction, modifier[t], t, bits), value)
    for t in range(group, with_distance, GROUPS):
        count = add_gradient(gradient, touched, count, _slot(head[t] ^ distance, modifier[t], t, bits), value)
    return count


@subkernel()
def _gather_between(
    head: Halves, modifier: Halves, direction: np.uint32, tags: int, low: Ints, high: Ints,
    first: int, end: int, keys: Halves, bits: int, value: float, gradient: Singles, touched: Ints, count: int
) -> int:
    b = 0
    while tags >> b:
        if (tags >> b) & 1:
            many = min(high[b] - low[b], _MOST)
            for t in range(first, end, GROUPS):
                x = head[t] ^ direction
                count = add_gradient(gradient, touched, count, _slot(x ^ keys[2 + _KEYS + b * (_MOST + 1)], modifier[t], t, bits), value)
                count = add_gradient(gradient, touched, count, _slot(x ^ keys[2 + _KEYS + b * (_MOST + 1) + many], modifier[t], t, bits), value)
        b += 1
    return count


@subkernel()
def _first(start: int, group: int) -> int:
    """The first template from `start` on that belongs to a group."""
    return start + (group - start) % GROUPS


@subkernel()
def _gather_sentence(
    n: int, shape: Ints, group: int, halves: Halves, counts: Ints, sets: Ints, words: Floats, keys: Halves,
    bits: int, slopes: Floats, gradient: Singles, touched: Ints, count: int
) -> int:
    with_distance, pairs, between, end = shape[0], shape[1], shape[2], shape[3]
    words[: n + 1] = 0.0
    for h in range(n + 1):
        head = halves[h, 0]
        for m in range(1, n + 1):
            value = slopes[h, m]
            if h == m or abs(value) < _BELOW:
                continue
            key = _arc_key(h, m)
            direction = keys[0] if h < m else keys[1]
            modifier = halves[m, 1]
            words[h, 0, key] += value
            words[m, 1, key] += value
            count = _gather_pair(head, modifier, direction, keys[2 + key], group, with_distance, pairs, bits, value, gradient, touched, count)
            if sets[h, m]:
                count = _gather_between(
                    head, modifier, direction, sets[h, m], counts[min(h, m) + 1], counts[max(h, m)],
                    _first(pairs, group), between, keys, bits, value, gradient, touched, count)
    return _gather_words(halves, n, _first(between, group), end, keys, bits, words, gradient, touched, count)


@kernel(types.int64(
    READ_INT, _INT, READ_INT, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, types.Array(types.float64, 1, "C", readonly=True), _INT, _INT,
    types.float32[::1], types.int64[::1]))
def gather_arcs(
    codes: Ints,
    width: int,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
    plan: Ints,
    shape: Ints,
    upos: int,
    slopes: Floats,
    bits: int,
    group: int,
    gradient: Singles,
    touched: Ints,
) -> int:
    """The gradient in one part of the table, from those of all arcs' scores; counts its slots.

    Arcs whose slope is below 1e-6 are left out. Other arguments as of `score_arcs`.
    """
    longest = sizes.max() if sizes.shape[0] else 0
    halves = np.empty((longest + 1, 2, plan.shape[0]), np.uint32)
    counts = np.empty((longest + 2, _TAGS), np.int64)
    words = np.empty((longest + 1, 2, _KEYS))
    space = np.empty((longest + 1) * (longest + 1), np.int64)
    keys = _key_hashes()
    count = 0
    for s in range(sizes.shape[0]):
        n, row = sizes[s], starts[s]
        square = (n + 1) * (n + 1)
        sets = space[:square].reshape(n + 1, n + 1)
        _count_tags(codes, width, n, row, upos, counts, sets)
        for i in range(n + 1):
            word_halves(codes, width, row + i, plan, group, GROUPS, halves[i])
        mine = slopes[squares[s] : squares[s] + square].reshape(n + 1, n + 1)
        count = _gather_sentence(n, shape, group, halves, counts, sets, words, keys, bits, mine, gradient, touched, count)
    return count

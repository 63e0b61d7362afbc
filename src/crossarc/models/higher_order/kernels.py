"""Scores of parts from hashed features, and the gradient in the weights of these features.

As for arcs, each word's share of a feature is hashed once a word, role and template. Shares meet by
an exclusive or with the hash of the part's key, a multiplication and a shift. Template t has its
slots in part t modulo GROUPS of the table.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel
from crossarc.learning.tables import GROUPS, TOUCHED, add_gradient
from crossarc.models.features import MISSING
from crossarc.models.hashing import half, hash_code, hash_start, pair_slot
from crossarc.models.slots import READ_CODES, READ_PLAN, READ_WEIGHTS, first_of_group

__all__ = ["gather_parts", "score_parts"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Weights = NDArray[np.float32 | np.int16]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Halves = NDArray[np.uint32]

_INT, _FLOAT = types.int64, types.float64
_READ_PARTS = types.Array(types.int32, 2, "C", readonly=True)
# Types of the arguments that say what sentences, templates and parts there are.
_PARTS = (READ_CODES, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, _READ_PARTS, READ_INT)
# Parts with a smaller derivative change no weight.
_MIN_DERIVATIVE = 1e-4
# Seeds of templates and of keys.
_TEMPLATE, _KEY = 1 << 33, 1 << 34


@subkernel()
def _distance_class(a: int, b: int) -> int:
    """0 or 1, 2, 3 to 5, and more."""
    gap = abs(a - b)
    return max(min(gap, 3) - 1, 0) if gap <= 5 else 3


@subkernel()
def _part_keys(part: Shorts, is_upward: bool) -> tuple[int, int]:
    """The order of a part's words as a number, and that with classes of distances.

    Args:
        is_upward: whether the first word is a grandparent, and the second the head.
    """
    first, last = part[0], part[part.shape[0] - 1]
    if is_upward:
        h = part[1]
        order = 4 * int(first < h) + 2 * int(h < last) + int(first < last)
        inner = part[part.shape[0] - 2] if part.shape[0] == 4 else h
        order = 2 * order + int(inner == h)
        distances = 4 * _distance_class(first, h) + _distance_class(inner, last)
    else:
        s = part[part.shape[0] - 2]
        order = 2 * int(first < last) + int(s == first)
        distances = 4 * _distance_class(s, last) + _distance_class(part[part.shape[0] - 3], s)
    return order, 16 + 16 * order + distances


@subkernel()
def _key_hash(key: int) -> np.uint32:
    return half(hash_code(hash_start(_KEY), key))


@subkernel()
def _hash_words(codes: Ints, row: int, n: int, plan: Ints, first: int, out: Halves) -> None:
    """out[k, i + 1, t]: the share of word i in role k, i = -1 for no word, of templates t.

    Args:
        first: -1 for all templates, or the group of which templates are hashed.
    """
    flat, width = codes.reshape(-1), codes.shape[1]
    begin, step = (0, 1) if first < 0 else (first, GROUPS)
    for k in range(plan.shape[1]):
        for i in range(-1, n + 1):
            start = (row + i) * width
            for t in range(begin, plan.shape[0], step):
                x = hash_start(_TEMPLATE + 4 * t + k)
                a = 0
                while plan[t, k, a] != MISSING:
                    x = hash_code(x, flat[start + plan[t, k, a]])
                    a += 1
                out[k, i + 1, t] = half(x)


@subkernel()
def _word_of(part: Shorts, k: int, is_upward: bool) -> int:
    """The row in the hashes of the word in role k; that of no word for an inner sibling s = h."""
    head = 1 if is_upward else 0
    is_missing = k == part.shape[0] - 2 and k > head and part[k] == part[head]
    return 0 if is_missing else part[k] + 1


@subkernel()
def _mixed(
    halves: Halves, part: Shorts, is_upward: bool, first: int, step: int, out: Halves
) -> None:
    """out[t]: the shares of all words of a part in every step-th template."""
    i, j = _word_of(part, 0, is_upward), _word_of(part, 1, is_upward)
    k = _word_of(part, 2, is_upward)
    for t in range(first, out.shape[0], step):
        out[t] = halves[0, i, t] ^ halves[1, j, t] ^ halves[2, k, t]
    if part.shape[0] == 4:
        last = _word_of(part, 3, is_upward)
        for t in range(first, out.shape[0], step):
            out[t] ^= halves[3, last, t]


@subkernel()
def _slot(mixed: Halves, key: np.uint32, t: int, bits: int) -> np.uint32:
    part = np.uint32(np.uint32(t % GROUPS) << np.uint32(bits))
    return np.uint32(part | pair_slot(mixed[t], key, bits))


@subkernel(reorder=True)
def _summed(mixed: Halves, key: np.uint32, end: int, weights: Weights, bits: int) -> float:
    """The summed weights of the first templates with one key."""
    total = np.float32(0.0)
    for t in range(end):
        total += np.float32(weights[_slot(mixed, key, t, bits)])
    return float(total)


def _score_parts(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    plan: Ints,
    bounds: Ints,
    bits: int,
    index: Shorts,
    offsets: Ints,
    is_upward: bool,
    weights: Weights,
    scale: float,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Scores of the parts of sentences begin..end-1, O(templates) each.

    Args:
        codes: (rows, atoms), see `Encoded`; `starts` are the rows of the roots.
        plan, bounds: the templates, see `part_plan`.
        bits: each part of the table has 2**bits weights.
        index: (parts, words of a part), sentence after sentence; those of sentence s are
            offsets[s], ..., offsets[s + 1] - 1.
        is_upward: whether the first word of a part is a grandparent.
        scale: what weights are multiplied by.
    """
    longest = 0
    for s in range(begin, end):
        longest = max(longest, sizes[s])
    halves = np.empty((plan.shape[1], longest + 2, plan.shape[0]), np.uint32)
    mixed = np.empty(plan.shape[0], np.uint32)
    for s in range(begin, end):
        if offsets[s] == offsets[s + 1]:
            continue
        _hash_words(codes, starts[s], sizes[s], plan, -1, halves)
        for p in range(offsets[s], offsets[s + 1]):
            _mixed(halves, index[p], is_upward, 0, 1, mixed)
            order, distances = _part_keys(index[p], is_upward)
            total = _summed(mixed, _key_hash(order), bounds[1], weights, bits)
            total += _summed(mixed, _key_hash(distances), bounds[0], weights, bits)
            out[p] = total * scale


#: `_score_parts` for each type of weights, as in `crossarc.models.first_order.arcs`.
score_parts = {
    kind: kernel(
        types.void(*_PARTS, types.boolean, weights, _FLOAT, types.float64[::1], _INT, _INT)
    )(_score_parts)
    for kind, weights in READ_WEIGHTS.items()
}


@kernel(types.int64(*_PARTS, types.boolean, READ_FLOAT, _INT, types.float32[::1], TOUCHED))
def gather_parts(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    plan: Ints,
    bounds: Ints,
    bits: int,
    index: Shorts,
    offsets: Ints,
    is_upward: bool,
    values: Floats,
    group: int,
    gradient: Singles,
    touched: Halves,
) -> int:
    """The gradient of one group's weights, from that in the scores of parts.

    Derivatives below 1e-4 are left out. Returns the number of slots that are not zero; the first
    arguments are those of `score_parts`.
    """
    longest = sizes.max() if sizes.shape[0] else 0
    halves = np.empty((plan.shape[1], longest + 2, plan.shape[0]), np.uint32)
    mixed = np.empty(plan.shape[0], np.uint32)
    known = 0
    for s in range(sizes.shape[0]):
        is_hashed = False
        for p in range(offsets[s], offsets[s + 1]):
            if abs(values[p]) < _MIN_DERIVATIVE:
                continue
            if not is_hashed:
                _hash_words(codes, starts[s], sizes[s], plan, group, halves)
                is_hashed = True
            _mixed(halves, index[p], is_upward, group, GROUPS, mixed)
            keys = _part_keys(index[p], is_upward)
            for k in range(2):
                key = _key_hash(keys[k])
                for t in range(first_of_group(0, group), bounds[1 - k], GROUPS):
                    slot = _slot(mixed, key, t, bits)
                    known = add_gradient(gradient, touched, known, slot, values[p])
    return known

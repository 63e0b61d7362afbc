"""Scores of all arcs of sentences from hashed features."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_BOOL, READ_INT, kernel, subkernel
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
    key_hashes,
    key_range,
    table_slot,
    word_halves,
)

__all__ = ["SENTENCES", "arc_workspace", "score_arcs", "sentence_keys"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Weights = NDArray[np.float32 | np.int16]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT, _FLOAT, _OUT = types.int64, types.float64, types.float64[::1]
#: Types of the arguments that say what the sentences and the templates are.
SENTENCES = (READ_CODES, READ_INT, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, _INT, _INT)


@subkernel()
def arc_workspace(longest: int, plan: Ints) -> tuple[Halves, Halves, Ints, Floats, Ints]:
    """Arrays for one sentence: halves of heads and modifiers, tag counts, sums, an arc's keys."""
    return (
        np.empty((longest + 1, plan.shape[0]), np.uint32),
        np.empty((longest + 1, plan.shape[0]), np.uint32),
        np.empty((longest + 2, TAGS), np.int64),
        np.empty((longest + 1, 2, ARC_KEYS)),
        np.empty(MOST_KEYS, np.int64),
    )


@subkernel()
def sentence_keys(h: int, m: int, counts: Ints, tags: int, found: Ints) -> int:
    """The keys of an arc, given the counts of tags before each word; returns how many."""
    return arc_keys(h, m, counts, min(h, m) + 1, max(h, m), tags, found)


@subkernel(reorder=True)
def _sum_pairs(
    heads: Halves,
    modifiers: Halves,
    h: int,
    m: int,
    key: int,
    block_hash: np.uint32,
    span: tuple[int, int],
    weights: Weights,
    bits: int,
) -> float:
    """The summed weights of some templates' features of two words, with one key.

    Args:
        block_hash: the hash of the block of sixteen keys that it is one of.
    """
    total = np.float32(0.0)
    for t in range(span[0], span[1]):
        slot = table_slot(np.uint32(heads[h, t] ^ block_hash), modifiers[m, t], key, t, bits)
        total += np.float32(weights[slot])
    return float(total)


@subkernel(reorder=True)
def _sum_word(
    halves: Halves, i: int, key: int, span: tuple[int, int], weights: Weights, bits: int
) -> float:
    """The summed weights of one word's features, with one key."""
    total = np.float32(0.0)
    for t in range(span[0], span[1]):
        total += np.float32(weights[table_slot(halves[i, t], np.uint32(0), key, t, bits)])
    return float(total)


def _score_arcs(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    squares: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    tags: int,
    bits: int,
    allowed: Bools,
    weights: Weights,
    scale: float,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """Scores of the arcs of sentences begin..end-1, O(n^2) sums over templates.

    Args:
        codes: (rows, atoms), see `Encoded`; `starts` are the rows of the roots.
        squares: where each sentence's (n + 1)^2 scores begin in `out`.
        plan, bounds: the templates, see `Plan`.
        tag, tags: the atom whose values between two words count, and how many it has.
        bits: each part of the table has 2**bits weights.
        allowed: which arcs are scored, laid out as `out`; empty for all of them.
        scale: what weights are multiplied by.
    """
    are_all = allowed.shape[0] == 0
    longest = 0
    for s in range(begin, end):
        longest = max(longest, sizes[s])
    heads, modifiers, counts, sums, found = arc_workspace(longest, plan)
    hashes, flat = key_hashes(), codes.reshape(-1)
    for s in range(begin, end):
        row, width = starts[s], sizes[s] + 1
        count_tags(codes, row, sizes[s], tag, counts)
        for i in range(width):
            word_halves(flat, (row + i) * codes.shape[1], plan, 0, 0, 1, heads, i)
            word_halves(flat, (row + i) * codes.shape[1], plan, 1, 0, 1, modifiers, i)
            for key in range(ARC_KEYS):
                span = bounds[2], bounds[3]
                sums[i, 0, key] = _sum_word(heads, i, key, span, weights, bits)
                sums[i, 1, key] = _sum_word(modifiers, i, key, span, weights, bits)
        for h in range(width):
            for m in range(1, width):
                if h == m or not (are_all or allowed[squares[s] + h * width + m]):
                    continue
                key = arc_key(h, m)
                total = sums[h, 0, key] + sums[m, 1, key]
                for k in range(sentence_keys(h, m, counts, tags, found)):
                    span = key_range(k, bounds)
                    total += _sum_pairs(
                        heads, modifiers, h, m, found[k], hashes[found[k] >> 4], span, weights, bits
                    )
                out[squares[s] + h * width + m] = total * scale


#: `_score_arcs` for each type of weights: parsing does not wait for the kernel of learning.
score_arcs = {
    kind: kernel(types.void(*SENTENCES, READ_BOOL, weights, _FLOAT, _OUT, _INT, _INT))(_score_arcs)
    for kind, weights in READ_WEIGHTS.items()
}

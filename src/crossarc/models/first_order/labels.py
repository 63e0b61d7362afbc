"""Label scores of given arcs from hashed features.

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
from crossarc.learning.tables import GROUPS
from crossarc.models.features import MISSING
from crossarc.models.first_order.windows import add_windows
from crossarc.models.hashing import pair_slot
from crossarc.models.slots import (
    MOST_KEYS,
    READ_CODES,
    READ_PLAN,
    READ_WEIGHTS,
    TAGS,
    arc_keys,
    key_hashes,
    word_halves,
)

__all__ = [
    "ALIGNMENT",
    "ARCS",
    "label_slot",
    "log_softmax",
    "score_labels",
]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Weights = NDArray[np.float32 | np.int16]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

_INT = types.int64
_F2 = types.float64[:, ::1]
#: Types of the arguments that say what the arcs and the templates are.
ARCS = (READ_CODES, READ_INT, READ_INT, READ_INT, READ_PLAN, READ_INT, _INT, _INT, _INT)
#: Windows begin at multiples of 2**ALIGNMENT.
ALIGNMENT = 3


@subkernel()
def label_slot(head: np.uint32, modifier: np.uint32, key: np.uint32, bits: int) -> int:
    """Where the weights of a feature begin in its part, given the halves of words and the key."""
    slot = pair_slot(np.uint32(head ^ key), modifier, bits - ALIGNMENT)
    return int(np.int64(slot) << ALIGNMENT)


@subkernel()
def _ordered_templates(plan: Ints, bounds: Ints) -> tuple[Ints, Ints]:
    """The templates that read the modifier alone, then those that read the head too.

    Returns:
        Templates in that order, and where runs of them end: those with distance, the others of two
        words and those of tags between, first of the modifier's own, then of those of pairs.
    """
    order, ends = np.empty(bounds[2], np.int64), np.empty(6, np.int64)
    known = 0
    for reads_head in range(2):
        t = 0
        for group in range(3):
            while t < bounds[group]:
                if (plan[t, 0, 0] != MISSING) == (reads_head == 1):
                    order[known] = t
                    known += 1
                t += 1
            ends[3 * reads_head + group] = known
    return order, ends


@subkernel()
def _run(k: int, reads_head: int, ends: Ints) -> tuple[int, int]:
    """The run of ordered templates that the k-th key of an arc is conjoined with."""
    begin = ends[2] if reads_head else 0
    own = 3 * reads_head
    if k == 0:
        return begin, ends[own + 1]
    return (begin, ends[own]) if k == 1 else (ends[own + 1], ends[own + 2])


@subkernel()
def _ordered_halves(
    codes: Ints,
    start: int,
    plan: Ints,
    side: int,
    order: Ints,
    scratch: Halves,
    out: Halves,
    i: int,
) -> None:
    """out[i, j]: a word's half of the j-th template in an order, as `word_halves`."""
    word_halves(codes, start, plan, side, 0, 1, scratch, 0)
    for j in range(order.shape[0]):
        out[i, j] = scratch[0, order[j]]


@subkernel()
def _find_windows(
    heads: Halves,
    h: int,
    modifier: Halves,
    key: np.uint32,
    run: tuple[int, int],
    parts: Ints,
    bits: int,
    windows: Ints,
    known: int,
) -> int:
    """Append where the windows of a run of templates begin; returns how many there are then."""
    first = run[0]
    for j in range(first, run[1]):
        slot = label_slot(heads[h, j], modifier[0, j], key, bits)
        windows[known + j - first] = parts[j] + slot
    return known + run[1] - first


def _score_labels(
    codes: Ints,
    rows: Ints,
    heads: Ints,
    modifiers: Ints,
    plan: Ints,
    bounds: Ints,
    tag: int,
    tags: int,
    bits: int,
    weights: Weights,
    scale: float,
    out: Floats,
    begin: int,
    end: int,
) -> None:
    """out[a - begin, l]: the score of label l for arcs a in begin..end-1, O(templates labels) each.

    Fastest where arcs to the same modifier follow each other: what depends on it alone is summed
    once for each key.

    Args:
        codes: (rows, atoms), see `Encoded`; `rows` has the row of the root for each arc.
        plan, bounds: the templates, see `Plan`.
        tag, tags: the atom whose values between two words count, and how many it has.
        bits: windows begin in the first 2**bits weights of each part.
        scale: what weights are multiplied by.
    """
    flat, atoms = codes.reshape(-1), codes.shape[1]
    order, ends = _ordered_templates(plan, bounds)
    parts = (order % GROUPS) * (weights.shape[0] // GROUPS)
    longest = 0
    for a in range(begin, end):
        longest = max(longest, heads[a])
    of_heads = np.empty((longest + 1, order.shape[0]), np.uint32)
    of_modifier = np.empty((1, order.shape[0]), np.uint32)
    scratch = np.empty((1, plan.shape[0]), np.uint32)
    hashes, found = key_hashes(), np.empty(MOST_KEYS, np.int64)
    windows, of_keys = np.empty(MOST_KEYS * order.shape[0], np.int64), np.empty(MOST_KEYS, np.int64)
    width = -(-out.shape[1] >> ALIGNMENT) << ALIGNMENT
    # Sums of the modifier's own windows by key, and of which modifier; of which row heads are.
    own, sums = np.empty(hashes.shape[0] * width, np.float32), np.empty(width, np.float32)
    summed, hashed = np.full(hashes.shape[0], -1), np.full(longest + 1, -1)
    counts = np.zeros((2, TAGS), np.int64)
    last = -1
    for a in range(begin, end):
        row, h, m = rows[a], heads[a], modifiers[a]
        if row + m != last:
            last = row + m
            _ordered_halves(flat, last * atoms, plan, 1, order, scratch, of_modifier, 0)
        if hashed[h] != row:
            hashed[h] = row
            _ordered_halves(flat, (row + h) * atoms, plan, 0, order, scratch, of_heads, h)
        counts[1, :] = 0
        for i in range(min(h, m) + 1, max(h, m)):
            counts[1, codes[row + i, tag] % TAGS] += 1
        keys = arc_keys(h, m, counts, 0, 1, tags, found)
        for k in range(keys):
            key = found[k]
            of_keys[k] = key * width
            if summed[key] != last:
                summed[key] = last
                known = _find_windows(
                    of_heads, h, of_modifier, hashes[key], _run(k, 0, ends), parts, bits, windows, 0
                )
                own[key * width : (key + 1) * width] = 0.0
                add_windows(weights, windows, known, own, key * width, width)
        known = 0
        for k in range(keys):
            known = _find_windows(
                of_heads,
                h,
                of_modifier,
                hashes[found[k]],
                _run(k, 1, ends),
                parts,
                bits,
                windows,
                known,
            )
        sums[:] = 0.0
        add_windows(own, of_keys, keys, sums, 0, width)
        add_windows(weights, windows, known, sums, 0, width)
        for k in range(out.shape[1]):
            out[a - begin, k] = sums[k] * scale


#: `_score_labels` for each type of weights, as in `arcs`.
score_labels = {
    kind: kernel(types.void(*ARCS, weights, types.float64, _F2, _INT, _INT))(_score_labels)
    for kind, weights in READ_WEIGHTS.items()
}


@kernel(types.float64(_F2, READ_INT))
def log_softmax(scores: Floats, gold: Ints) -> float:
    """Scores to log-probabilities in place; returns minus the sum of those of gold labels."""
    loss = 0.0
    for a in range(scores.shape[0]):
        row = scores[a]
        maximum = row[0]
        for k in range(1, row.shape[0]):
            maximum = max(maximum, row[k])
        total = 0.0
        for k in range(row.shape[0]):
            total += math.exp(row[k] - maximum)
        shift = maximum + math.log(total)
        for k in range(row.shape[0]):
            row[k] -= shift
        if gold[a] >= 0:
            loss -= row[gold[a]]
    return loss

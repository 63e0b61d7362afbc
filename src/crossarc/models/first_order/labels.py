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
from crossarc.models.hashing import pair_slot
from crossarc.models.slots import (
    MOST_KEYS,
    READ_CODES,
    READ_PLAN,
    READ_WEIGHTS,
    TAGS,
    arc_keys,
    key_hashes,
    key_range,
    word_halves,
)

__all__ = [
    "ALIGNMENT",
    "ARCS",
    "label_window",
    "label_workspace",
    "log_softmax",
    "prepare_arc",
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
def label_workspace(plan: Ints) -> tuple[Halves, Ints, Ints]:
    """Arrays for one arc: halves of its two words, counts of tags between them, keys."""
    return (
        np.empty((2, plan.shape[0]), np.uint32),
        np.zeros((2, TAGS), np.int64),
        np.empty(MOST_KEYS, np.int64),
    )


@subkernel()
def prepare_arc(
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


@subkernel()
def label_window(halves: Halves, key: np.uint32, t: int, bits: int, part: int) -> int:
    """Where the weights of template t's feature begin."""
    slot = pair_slot(np.uint32(halves[0, t] ^ key), halves[1, t], bits - ALIGNMENT)
    return int((t % GROUPS) * part + (np.int64(slot) << ALIGNMENT))


@subkernel(reorder=True)
def _add_window(weights: Weights, offset: int, sums: Singles) -> None:
    # A slice, because its indices cannot be negative: with offset + k there are no vectors.
    window = weights[offset : offset + sums.shape[0]]
    for k in range(sums.shape[0]):
        sums[k] += np.float32(window[k])


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
    """out[a, l]: the score of label l for arcs a in begin..end-1, O(templates labels) each.

    Args:
        codes: (rows, atoms), see `Encoded`; `rows` has the row of the root for each arc.
        plan, bounds: the templates, see `Plan`.
        tag, tags: the atom whose values between two words count, and how many it has.
        bits: windows begin in the first 2**bits weights of each part.
        scale: what weights are multiplied by.
    """
    part = weights.shape[0] // GROUPS
    workspace = label_workspace(plan)
    sums = np.empty(out.shape[1], np.float32)
    hashes = key_hashes()
    for a in range(begin, end):
        count = prepare_arc(
            codes, rows[a], heads[a], modifiers[a], plan, 0, 1, tag, tags, workspace
        )
        sums[:] = 0.0
        for k in range(count):
            first, last = key_range(k, bounds)
            for t in range(first, last):
                _add_window(
                    weights,
                    label_window(workspace[0], hashes[workspace[2][k]], t, bits, part),
                    sums,
                )
        for k in range(out.shape[1]):
            out[a, k] = sums[k] * scale


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

"""The rounds of training of the perceptron over tags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.models.tagging.perceptron import (
    FEATURES,
    READ_HASHES,
    READ_PARTS,
    best_class,
    score_parts,
    word_slots,
)
from crossarc.models.tagging.words import HISTORY_FEATURES

__all__ = ["train_epoch"]

Array = NDArray[Any]


@subkernel()
def _correct(
    weights: Array, sums: Array, kept: Array, slots: Array, p: int, change: int, step: int
) -> None:
    for k in range(FEATURES):
        index = slots[k] + p
        if kept[index]:
            weights[index] += change
            sums[index] += step * change


@kernel(
    types.int64(
        READ_INT,
        READ_INT,
        READ_HASHES,
        READ_HASHES,
        READ_INT,
        READ_PARTS,
        READ_INT,
        types.int64,
        types.int32[::1],
        types.float64[::1],
        types.boolean[::1],
        types.int64,
        types.int64,
        READ_INT,
        types.int64[::1],
    )
)
def train_epoch(
    order: Array,
    firsts: Array,
    atoms: Array,
    hashes: Array,
    coarse: Array,
    parts: Array,
    shared: Array,
    part_count: int,
    weights: Array,
    sums: Array,
    kept: Array,
    bits: int,
    step: int,
    gold: Array,
    tags: Array,
) -> int:
    """One round of the perceptron over sentences in the given order; returns the next step.

    After step t, the average of the weights is `weights - sums / t` (Daume 2006, figure 2.3).
    """
    row = np.empty(HISTORY_FEATURES, np.uint64)
    slots = np.empty(FEATURES, np.int64)
    scores = np.empty(part_count, np.int32)
    partial = np.empty(parts.shape[1], np.int64)
    change = np.zeros(part_count, np.int32)
    for s in order:
        first, end = firsts[s], firsts[s + 1]
        for w in range(first, end):
            word_slots(atoms, hashes, tags, coarse, w, first, end, bits, row, slots)
            score_parts(weights, slots, scores)
            guess = best_class(scores, parts, shared, partial)
            tags[w] = guess
            step += 1
            if guess == gold[w]:
                continue
            for c, sign in ((gold[w], 1), (guess, -1)):
                for p in parts[c]:
                    if p >= 0:
                        change[p] += sign
            for c in (gold[w], guess):
                for p in parts[c]:
                    if p >= 0 and change[p] != 0:
                        _correct(weights, sums, kept, slots, p, change[p], step)
                        change[p] = 0
    return step

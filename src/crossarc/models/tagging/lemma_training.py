"""The rounds of training of the perceptron over rules for lemmas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel
from crossarc.models.tagging.lemma_kernels import LEMMA_FEATURES, READ_HASHES, best_rule

__all__ = ["train_rules"]

Array = NDArray[Any]


@kernel(
    types.int64(
        READ_INT,
        READ_HASHES,
        READ_INT,
        READ_INT,
        READ_INT,
        types.int32[::1],
        types.float64[::1],
        types.boolean[::1],
        types.int64,
        types.int64,
    )
)
def train_rules(
    order: Array,
    hashes: Array,
    fit_ends: Array,
    fits: Array,
    gold: Array,
    weights: Array,
    sums: Array,
    kept: Array,
    bits: int,
    step: int,
) -> int:
    """One round of the perceptron over forms in the given order; returns the next step."""
    slots = np.empty(LEMMA_FEATURES, np.int64)
    for w in order:
        first = fit_ends[w - 1] if w else 0
        guess = best_rule(hashes[w], fits, first, fit_ends[w], weights, bits, slots)
        step += 1
        if guess == gold[w]:
            continue
        for k in range(LEMMA_FEATURES):
            for rule, sign in ((gold[w], 1), (guess, -1)):
                place = slots[k] + rule
                if kept[place]:
                    weights[place] += sign
                    sums[place] += step * sign
    return step

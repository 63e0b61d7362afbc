"""The rounds of training of the perceptron over rules for lemmas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel
from crossarc.models.tagging.lemma_kernels import (
    KNOWN_FEATURES,
    LEMMA_FEATURES,
    READ_HASHES,
    READ_KNOWN,
    best_rule,
    lemma_slots,
    rule_slot,
)

__all__ = ["train_rules"]

Array = NDArray[Any]


@kernel(
    types.int64(
        READ_INT,
        READ_HASHES,
        READ_INT,
        READ_INT,
        READ_KNOWN,
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
    known: Array,
    gold: Array,
    weights: Array,
    sums: Array,
    kept: Array,
    bits: int,
    step: int,
) -> int:
    """One round of the perceptron over forms in the given order; returns the next step.

    Args:
        gold: the index of each form's right rule in `fits`.
    """
    slots = np.empty(hashes.shape[1], np.int64)
    for w in order:
        first = fit_ends[w - 1] if w else 0
        lemma_slots(hashes[w], bits, slots)
        guess = best_rule(slots, fits, known, first, fit_ends[w], weights)
        step += 1
        if guess == gold[w]:
            continue
        for k in range(LEMMA_FEATURES + KNOWN_FEATURES):
            for j, sign in ((gold[w], 1), (guess, -1)):
                index = rule_slot(slots, k, fits[j], known[j])
                if kept[index]:
                    weights[index] += sign
                    sums[index] += step * sign
    return step

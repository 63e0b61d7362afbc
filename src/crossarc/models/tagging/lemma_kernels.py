"""Choose the rule that makes a lemma: an averaged perceptron over the rules that fit a form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.models.hashing import hash_code, hash_start, slot
from crossarc.models.tagging.words import AFFIX, EXACT, FOLDED, PREFIX, SHAPE, SUFFIX, mixed

__all__ = ["LEMMA_FEATURES", "READ_HASHES", "best_rule", "choose_rules", "lemma_features"]

Array = NDArray[Any]

LEMMA_FEATURES = 2 * AFFIX + 9

READ_HASHES = types.Array(types.uint64, 2, "C", readonly=True)
_READ_WEIGHTS = types.Array(types.int16, 1, "C", readonly=True)
_HASHES = types.uint64[:, ::1]


@kernel(types.void(READ_HASHES, READ_INT, READ_INT, _HASHES))
def lemma_features(atoms: Array, tags: Array, coarse: Array, hashes: Array) -> None:
    """What a lemma depends on: the form's ends, with the whole tag and with its UPOS."""
    for w in range(len(tags)):
        here, row = atoms[w], hashes[w]
        tag: Any = np.uint64(tags[w])
        upos: Any = np.uint64(coarse[tags[w]])
        for k in range(AFFIX):
            row[k] = mixed(80 + k, here[SUFFIX + 1 + k], tag)
            row[AFFIX + k] = mixed(90 + k, here[SUFFIX + 1 + k], upos)
        k = 2 * AFFIX
        row[k] = mixed(100, here[FOLDED], tag)
        row[k + 1] = mixed(101, here[FOLDED], upos)
        row[k + 2] = mixed(102, here[EXACT], upos)
        row[k + 3] = mixed(103, here[SHAPE], tag)
        row[k + 4] = mixed(104, here[PREFIX + 2], tag)
        row[k + 5] = mixed(105, here[PREFIX + 4], upos)
        row[k + 6] = hash_code(mixed(106, here[PREFIX + 2], here[SUFFIX + 2]), upos)
        row[k + 7] = hash_code(hash_start(107), tag)
        row[k + 8] = mixed(108, here[SHAPE], here[SUFFIX + 1])


@subkernel()
def best_rule(
    hashes: Array, fits: Array, first: int, end: int, weights: Array, bits: int, slots: Array
) -> int:
    """The rule that scores best of those that fit; the first of equals, -1 if none fits."""
    for k in range(LEMMA_FEATURES):
        slots[k] = slot(hashes[k], bits)
    best, best_score = -1, np.int64(-(1 << 62))
    for j in range(first, end):
        total = np.int64(0)
        for k in range(LEMMA_FEATURES):
            total += weights[slots[k] + fits[j]]
        if total > best_score:
            best, best_score = fits[j], total
    return best


@kernel(types.void(READ_HASHES, READ_INT, READ_INT, _READ_WEIGHTS, types.int64, types.int64[::1]))
def choose_rules(
    hashes: Array, fit_ends: Array, fits: Array, weights: Array, bits: int, chosen: Array
) -> None:
    """The best rule of each form; `fits` lists the rules that fit each, up to its end."""
    slots = np.empty(LEMMA_FEATURES, np.int64)
    first = 0
    for w in range(len(chosen)):
        chosen[w] = best_rule(hashes[w], fits, first, fit_ends[w], weights, bits, slots)
        first = fit_ends[w]

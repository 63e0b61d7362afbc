"""Choose the rule that makes a lemma: an averaged perceptron over the rules that fit a form.

A rule's score is the sum of weights of features of the word with the rule, and of features of
whether the treebank has the lemma that the rule makes, with and without the rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.models.hashing import hash_code, hash_start, slot
from crossarc.models.tagging.words import AFFIX, EXACT, FOLDED, PREFIX, SHAPE, SUFFIX, mixed

__all__ = [
    "KNOWN_FEATURES",
    "LEMMA_FEATURES",
    "READ_HASHES",
    "READ_KNOWN",
    "best_rule",
    "choose_rules",
    "lemma_features",
    "lemma_slots",
    "rule_slot",
]

Array = NDArray[Any]

LEMMA_FEATURES = 2 * AFFIX + 9
KNOWN_FEATURES = 3  # of whether a lemma is known; the last one with the rule

READ_KNOWN = types.Array(types.uint8, 1, "C", readonly=True)
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
        k = LEMMA_FEATURES
        for known in range(2):
            row[k] = mixed(110, np.uint64(known), upos)
            row[k + 1] = mixed(111, np.uint64(known), tag)
            row[k + 2] = mixed(112, np.uint64(known), upos)
            k += KNOWN_FEATURES


@subkernel()
def lemma_slots(hashes: Array, bits: int, slots: Array) -> None:
    """Where the weights of a word's features begin."""
    for k in range(len(slots)):
        slots[k] = slot(hashes[k], bits)


@subkernel()
def rule_slot(slots: Array, k: int, rule: int, known: int) -> int:
    """The weight of feature k for a rule whose lemma is known or not."""
    if k < LEMMA_FEATURES:
        return int(slots[k] + rule)
    own = slots[k + known * KNOWN_FEATURES]
    return int(own + rule if k == LEMMA_FEATURES + KNOWN_FEATURES - 1 else own)


@subkernel()
def best_rule(slots: Array, fits: Array, known: Array, first: int, end: int, weights: Array) -> int:
    """The index in `fits` of the rule that scores best; the first of equals, -1 if none fits."""
    best, best_score = -1, np.int64(-(1 << 62))
    for j in range(first, end):
        total = np.int64(0)
        for k in range(LEMMA_FEATURES + KNOWN_FEATURES):
            total += weights[rule_slot(slots, k, fits[j], known[j])]
        if total > best_score:
            best, best_score = j, total
    return best


@kernel(
    types.void(
        READ_HASHES,
        READ_INT,
        READ_INT,
        READ_KNOWN,
        _READ_WEIGHTS,
        types.int64,
        types.int64[::1],
    )
)
def choose_rules(
    hashes: Array,
    fit_ends: Array,
    fits: Array,
    known: Array,
    weights: Array,
    bits: int,
    chosen: Array,
) -> None:
    """The best rule of each form, -1 if none fits.

    Args:
        fits, known: the rules that fit each form, up to its end, and whether the treebank has the
            lemmas that they make.
    """
    slots = np.empty(hashes.shape[1], np.int64)
    first = 0
    for w in range(len(chosen)):
        lemma_slots(hashes[w], bits, slots)
        best = best_rule(slots, fits, known, first, fit_ends[w], weights)
        chosen[w] = fits[best] if best >= 0 else -1
        first = fit_ends[w]

"""Choose one of many classes by the scores of their parts: an averaged perceptron.

A class is a set of parts: a tag is its UPOS, its XPOS, each of its features, and itself as a whole.
A part's score is the sum, over a word's features, of the weight of the pair of feature and part;
a class's score is the sum over its parts (Collins 2002; parts as in Mueller, Schmid & Schuetze
2013). Words are tagged from left to right, each seeing the tags chosen before.

The weights of one feature stand side by side, from its slot on, one a part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.models.hashing import slot
from crossarc.models.tagging.words import HISTORY_FEATURES, WORD_FEATURES, history_features

__all__ = [
    "BITS",
    "FEATURES",
    "READ_HASHES",
    "READ_PARTS",
    "best_class",
    "score_parts",
    "tag_words",
    "word_slots",
]

Array = NDArray[Any]

READ_HASHES = types.Array(types.uint64, 2, "C", readonly=True)
READ_PARTS = types.Array(types.int64, 2, "C", readonly=True)
_READ_WEIGHTS = types.Array(types.int16, 1, "C", readonly=True)
FEATURES = WORD_FEATURES + HISTORY_FEATURES
BITS = 22  # of a hash, that are its slot


@subkernel()
def word_slots(
    atoms: Array,
    hashes: Array,
    tags: Array,
    coarse: Array,
    w: int,
    first: int,
    end: int,
    bits: int,
    row: Array,
    slots: Array,
) -> None:
    """Where the weights of word w's features begin."""
    tag = tags[w - 1] if w - 1 >= first else -1
    tag2 = tags[w - 2] if w - 2 >= first else -1
    tag3 = tags[w - 3] if w - 3 >= first else -1
    three = 0
    for t in (tag3, tag2, tag):
        three = three * 64 + (coarse[t] + 1 if t >= 0 else 0)
    history_features(atoms, w, first, end, tag, tag2, three, row)
    own = hashes[w]
    for k in range(WORD_FEATURES):
        slots[k] = slot(own[k], bits)
    for k in range(HISTORY_FEATURES):
        slots[WORD_FEATURES + k] = slot(row[k], bits)


@subkernel()
def score_parts(weights: Array, slots: Array, scores: Array) -> None:
    """The score of every part: the sum of its weights over the features at `slots`."""
    for p in range(len(scores)):
        scores[p] = 0
    for k in range(FEATURES):
        own = weights[slots[k] : slots[k] + len(scores)]
        for p in range(len(scores)):
            scores[p] += own[p]


@subkernel()
def best_class(scores: Array, parts: Array, shared: Array, sums: Array) -> int:
    """The class whose parts score best; the first of equals.

    `sums[k]` is the score of the first k parts of the class at hand; the next class shares some.
    """
    best, best_score = 0, np.int64(-(1 << 62))
    sums[0] = 0
    for c in range(len(shared)):
        own = parts[c]
        k = shared[c]
        total = sums[k]
        while own[k] >= 0:
            total += scores[own[k]]
            k += 1
            sums[k] = total
        if total > best_score:
            best, best_score = c, total
    return best


@kernel(
    types.void(
        READ_INT,
        READ_HASHES,
        READ_HASHES,
        READ_INT,
        READ_PARTS,
        READ_INT,
        types.int64,
        _READ_WEIGHTS,
        types.int64,
        types.int64[::1],
    )
)
def tag_words(
    firsts: Array,
    atoms: Array,
    hashes: Array,
    coarse: Array,
    parts: Array,
    shared: Array,
    part_count: int,
    weights: Array,
    bits: int,
    tags: Array,
) -> None:
    """The best class of every word, greedily from left to right, into `tags`."""
    row = np.empty(HISTORY_FEATURES, np.uint64)
    slots = np.empty(FEATURES, np.int64)
    scores = np.empty(part_count, np.int32)
    sums = np.empty(parts.shape[1], np.int64)
    for s in range(len(firsts) - 1):
        first, end = firsts[s], firsts[s + 1]
        for w in range(first, end):
            word_slots(atoms, hashes, tags, coarse, w, first, end, bits, row, slots)
            score_parts(weights, slots, scores)
            tags[w] = best_class(scores, parts, shared, sums)

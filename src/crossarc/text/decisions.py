"""Ends of tokens and sentences in arrays of characters.

What a pair of character classes does is looked up first: most pairs never part, or always do. Only
the pairs that do either are asked of the learned weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.text.characters import BREAK, CLASSES, CLOSE, JOINER, MARK, OPEN, REGIONAL
from crossarc.text.features import (
    BOUNDARY_FEATURES,
    END_FEATURES,
    boundary_features,
    describe_token,
    end_features,
    split_features,
)
from crossarc.text.linear import READ_WEIGHTS, score

__all__ = [
    "ASK",
    "JOINED",
    "NOTHING",
    "PARAGRAPH",
    "PARTED",
    "READ_CODES",
    "READ_HASHES",
    "READ_KINDS",
    "ROWS",
    "SPACED",
    "UNLIKE",
    "describe_tokens",
    "find_sentences",
    "find_tokens",
    "known_decision",
    "next_state",
    "paragraph_end",
    "split_rows",
]

Array = NDArray[Any]

# What two characters that touch do, by their classes; UNLIKE parts all but equal characters.
JOINED, PARTED, UNLIKE, ASK = range(4)
# What follows a token.
NOTHING, SPACED, PARAGRAPH = range(3)
LONGEST_TOKEN = 4096
LONGEST_SENTENCE = 512

READ_CODES = types.Array(types.int32, 1, "C", readonly=True)
READ_KINDS = types.Array(types.uint8, 1, "C", readonly=True)
READ_HASHES = types.Array(types.uint64, 1, "C", readonly=True)
_HASHES = types.uint64[::1]
ROWS = types.uint64[:, ::1]
_INTS = types.int64[::1]
_QUOTE = 34


@subkernel()
def known_decision(
    folded: Array, kinds: Array, i: int, start: int, pairs: Array, gaps: Array
) -> Any:
    """What is known of the place after character i without asking: JOINED, PARTED or ASK."""
    n = len(kinds)
    if i + 1 >= n or i + 1 - start >= LONGEST_TOKEN:
        return PARTED
    kind, after = np.int64(kinds[i]), np.int64(kinds[i + 1])
    if after <= BREAK:
        if after == BREAK or i + 2 >= n or kinds[i + 2] <= BREAK:
            return PARTED
        return ASK if gaps[kind * CLASSES + np.int64(kinds[i + 2])] == ASK else PARTED
    # Marks and joiners belong to what they stand beside; two regional letters are a flag.
    if after in (MARK, JOINER) or kind == JOINER:
        return JOINED
    if kind == REGIONAL and after == REGIONAL:
        return JOINED if i == start else PARTED
    decision = np.int64(pairs[kind * CLASSES + after])
    if decision == UNLIKE:
        return JOINED if folded[i] == folded[i + 1] else PARTED
    return decision


@kernel(
    types.int64(
        READ_CODES,
        READ_KINDS,
        types.int64,
        READ_KINDS,
        READ_KINDS,
        READ_WEIGHTS,
        types.int64,
        _INTS,
        _INTS,
    )
)
def find_tokens(
    folded: Array,
    kinds: Array,
    begin: int,
    pairs: Array,
    gaps: Array,
    weights: Array,
    bits: int,
    starts: Array,
    ends: Array,
) -> int:
    """Tokens from character `begin` on, into `starts` and `ends`; returns how many. O(length)."""
    row = np.empty(BOUNDARY_FEATURES, np.uint64)
    count = 0
    i, n = begin, len(kinds)
    while i < n:
        if kinds[i] <= BREAK:
            i += 1
            continue
        start = i
        while True:
            decision = known_decision(folded, kinds, i, start, pairs, gaps)
            if decision == ASK:
                boundary_features(folded, kinds, i, start, row)
                decision = PARTED if score(weights, bits, row) > 0 else JOINED
            if decision == PARTED:
                break
            i += 2 if kinds[i + 1] <= BREAK else 1
        i += 1
        starts[count], ends[count] = start, i
        count += 1
    return count


@kernel(types.void(READ_CODES, READ_KINDS, READ_INT, READ_INT, _HASHES, _HASHES, _HASHES, _INTS))
def describe_tokens(
    folded: Array,
    kinds: Array,
    starts: Array,
    ends: Array,
    forms: Array,
    shapes: Array,
    lasts: Array,
    marks: Array,
) -> None:
    """Hashes of each token's form, shape and last character; whether it is a bracket or quote."""
    for t in range(len(starts)):
        forms[t], shapes[t], lasts[t] = describe_token(folded, kinds, starts[t], ends[t])
        marks[t] = 0
        if ends[t] == starts[t] + 1:
            kind = kinds[starts[t]]
            if kind == OPEN:
                marks[t] = 1
            elif kind == CLOSE:
                marks[t] = 2
            elif folded[starts[t]] == _QUOTE:
                marks[t] = 3


@subkernel()
def next_state(state: int, mark: int) -> int:
    """What is open after a bracket or quotation mark: depth of brackets up to 2, and one bit."""
    if mark == 1:
        return state + 2 if state < 4 else state
    if mark == 2:
        return state - 2 if state >= 2 else state
    return state ^ 1 if mark == 3 else state


@subkernel()
def paragraph_end(breaks: Array, t: int) -> int:
    """The token after the paragraph of t."""
    while t < len(breaks) - 1 and breaks[t] != PARAGRAPH:
        t += 1
    return t + 1


@kernel(
    types.void(
        READ_HASHES,
        READ_HASHES,
        READ_HASHES,
        READ_INT,
        READ_INT,
        READ_WEIGHTS,
        types.int64,
        types.boolean[::1],
    )
)
def find_sentences(
    forms: Array,
    shapes: Array,
    lasts: Array,
    marks: Array,
    breaks: Array,
    weights: Array,
    bits: int,
    finals: Array,
) -> None:
    """Mark the last token of every sentence; the first token begins one. O(tokens).

    Args:
        breaks: what follows each token: NOTHING, SPACED or PARAGRAPH, which always ends a sentence.
    """
    row = np.empty(END_FEATURES, np.uint64)
    n = len(forms)
    first, t = 0, 0
    while t < n:
        limit = paragraph_end(breaks, t)
        state = 0
        while t < limit:
            state = next_state(state, marks[t])
            if t == limit - 1 or t + 1 - first >= LONGEST_SENTENCE:
                end = True
            else:
                end_features(forms[:limit], shapes[:limit], lasts, breaks, t, first, state, row)
                end = score(weights, bits, row) > 0
            finals[t] = end
            t += 1
            if end:
                first, state = t, 0


@kernel(types.void(READ_HASHES, READ_HASHES, READ_INT, types.boolean[::1], READ_INT, ROWS))
def split_rows(
    forms: Array, shapes: Array, breaks: Array, finals: Array, asked: Array, rows: Array
) -> None:
    """The features of the tokens `asked`, which are in order."""
    n = len(forms)
    first, limit, k = 0, 0, 0
    for t in range(n):
        if t >= limit:
            limit = paragraph_end(breaks, t)
        if k < len(asked) and asked[k] == t:
            split_features(forms[:limit], shapes[:limit], t, first, rows[k])
            k += 1
        if finals[t]:
            first = t + 1

"""Ends of tokens and sentences in arrays of characters.

Addresses are one token. Elsewhere, what a pair of character classes does is looked up first: most
pairs never part, or always do. Only the pairs that do either are decided by the learned weights.
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
    LINE,
    LINE_FEATURES,
    PARAGRAPH,
    SHORT_LINE,
    boundary_features,
    describe_token,
    end_features,
    line_features,
    split_features,
)
from crossarc.text.linear import READ_WEIGHTS, WEIGHT_SCALE, score, table_bits
from crossarc.text.spans import EMAIL

__all__ = [
    "ASK",
    "ASK_UNLIKE",
    "JOINED",
    "PARTED",
    "READ_CODES",
    "READ_HASHES",
    "READ_KINDS",
    "READ_SPANS",
    "ROWS",
    "UNLIKE",
    "describe_tokens",
    "find_sentences",
    "find_tokens",
    "known_decision",
    "next_state",
    "paragraph_end",
    "span_decision",
    "split_rows",
]

Array = NDArray[Any]

# What two characters that touch do, by their classes; UNLIKE parts all but equal characters,
# ASK_UNLIKE asks about them.
JOINED, PARTED, UNLIKE, ASK, ASK_UNLIKE = range(5)
LONGEST_TOKEN = 4096
LONGEST_SENTENCE = 512

READ_CODES = types.Array(types.int32, 1, "C", readonly=True)
READ_KINDS = types.Array(types.uint8, 1, "C", readonly=True)
READ_SPANS = types.Array(types.int64, 2, "C", readonly=True)
READ_HASHES = types.Array(types.uint64, 1, "C", readonly=True)
_HASHES = types.uint64[::1]
ROWS = types.uint64[:, ::1]
_INTS = types.int64[::1]
_QUOTE = 34
# Ends of lines are learned as often inside as at the end of sentences. In a text more of them end
# a sentence, and most of those of short lines, as in lists: log-odds.
_LINE_PRIOR, _SHORT_LINE_PRIOR = int(1.5 * WEIGHT_SCALE), int(3.5 * WEIGHT_SCALE)


@subkernel()
def span_decision(i: int, start: int, span_start: int, span_end: int, kind: int) -> Any:
    """What an address around or beside character i decides: JOINED, PARTED or ASK for nothing."""
    if i + 1 - start >= LONGEST_TOKEN:
        return PARTED
    if span_start <= i and i + 1 < span_end:
        return JOINED
    # Names may have a clitic, as in `@name's`.
    if i + 1 == span_start or (i + 1 == span_end and kind <= EMAIL):
        return PARTED
    return ASK


@subkernel()
def known_decision(
    folded: Array, kinds: Array, i: int, start: int, pairs: Array, gaps: Array
) -> Any:
    """What is known after character i, outside of addresses: JOINED, PARTED or ASK."""
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
    if decision in (UNLIKE, ASK_UNLIKE):
        if folded[i] == folded[i + 1]:
            return JOINED
        return PARTED if decision == UNLIKE else ASK
    return decision


@kernel(
    types.int64(
        READ_CODES,
        READ_KINDS,
        types.int64,
        READ_SPANS,
        READ_KINDS,
        READ_KINDS,
        READ_WEIGHTS,
        types.int64[:, ::1],
    )
)
def find_tokens(
    folded: Array,
    kinds: Array,
    begin: int,
    spans: Array,
    pairs: Array,
    gaps: Array,
    weights: Array,
    tokens: Array,
) -> int:
    """Tokens from character `begin` on; returns how many. O(length).

    Args:
        spans: start, end and kind of addresses, in order; the last lies after the text.
        tokens: gets the start and end of each token, and the kind of address that it is, or 0.
    """
    row = np.empty(BOUNDARY_FEATURES, np.uint64)
    bits = table_bits(weights)
    count, p = 0, 0
    span_start, span_end, kind = spans[0, 0], spans[0, 1], spans[0, 2]
    i, n = begin, len(kinds)
    while i < n:
        if kinds[i] <= BREAK:
            i += 1
            continue
        start = i
        while True:
            while span_end <= i:
                p += 1
                span_start, span_end, kind = spans[p, 0], spans[p, 1], spans[p, 2]
            decision = ASK
            if span_start <= i + 1:
                decision = span_decision(i, start, span_start, span_end, kind)
            if decision == ASK:
                decision = known_decision(folded, kinds, i, start, pairs, gaps)
            if decision == ASK:
                boundary_features(folded, kinds, i, start, row)
                decision = PARTED if score(weights, bits, row) > 0 else JOINED
            if decision == PARTED:
                break
            i += 2 if kinds[i + 1] <= BREAK else 1
        i += 1
        tokens[count, 0], tokens[count, 1], tokens[count, 2] = start, i, 0
        if span_start == start and span_end == i:
            tokens[count, 2] = kind
        count += 1
    return count


@kernel(types.void(READ_CODES, READ_KINDS, READ_SPANS, _HASHES, _HASHES, _HASHES, _INTS))
def describe_tokens(
    folded: Array,
    kinds: Array,
    tokens: Array,
    forms: Array,
    shapes: Array,
    lasts: Array,
    marks: Array,
) -> None:
    """Hashes of each token's form, shape and last character; whether it is a bracket or quote."""
    for t in range(len(tokens)):
        start, end, address = tokens[t, 0], tokens[t, 1], tokens[t, 2]
        forms[t], shapes[t], lasts[t] = describe_token(folded, kinds, start, end, address)
        marks[t] = 0
        if end == start + 1:
            kind = kinds[start]
            if kind == OPEN:
                marks[t] = 1
            elif kind == CLOSE:
                marks[t] = 2
            elif folded[start] == _QUOTE:
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
def _holds(values: Array, value: Any) -> bool:
    """Whether a value is among sorted ones."""
    at = np.searchsorted(values, value)
    return bool(at < len(values) and values[at] == value)


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
        READ_WEIGHTS,
        READ_HASHES,
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
    line_weights: Array,
    inner: Array,
    certain: int,
    finals: Array,
) -> None:
    """Mark the last token of every sentence; the first token begins one. O(tokens).

    A sentence that grows to `LONGEST_SENTENCE` tokens ends in its second half, where the score of
    an end is highest.

    Args:
        breaks: what follows each token; a PARAGRAPH always ends a sentence.
        inner: forms after which the end of a line counts as white space.
        certain: tokens that no further text can change; no long sentence is cut after them.
    """
    row = np.empty(LINE_FEATURES, np.uint64)
    running = row[:END_FEATURES]
    bits, line_bits = table_bits(weights), table_bits(line_weights)
    n = len(forms)
    first, t = 0, 0
    while t < n:
        limit = paragraph_end(breaks, t)
        state = 0
        best, best_score = t, np.int64(-(1 << 62))
        while t < limit:
            state = next_state(state, marks[t])
            length = t + 1 - first
            end = t == limit - 1
            if not end:
                end_features(forms[:limit], shapes[:limit], lasts, breaks, t, first, state, running)
                total = score(weights, bits, running)
                if breaks[t] >= LINE and not _holds(inner, forms[t]):
                    line_features(shapes[:limit], t, first, total // WEIGHT_SCALE, row)
                    total = score(line_weights, line_bits, row)
                    total += _SHORT_LINE_PRIOR if breaks[t] == SHORT_LINE else _LINE_PRIOR
                end = total > 0
                if 2 * length > LONGEST_SENTENCE and total >= best_score:
                    best, best_score = t, total
            if not end and length >= LONGEST_SENTENCE:
                if t >= certain:
                    return
                t, end = best, True
            finals[t] = end
            t += 1
            if end:
                first, state = t, 0
                best_score = np.int64(-(1 << 62))


@kernel(
    types.void(
        READ_CODES,
        READ_SPANS,
        READ_HASHES,
        READ_HASHES,
        READ_INT,
        types.boolean[::1],
        READ_SPANS,
        ROWS,
    )
)
def split_rows(
    folded: Array,
    tokens: Array,
    forms: Array,
    shapes: Array,
    breaks: Array,
    finals: Array,
    queries: Array,
    rows: Array,
) -> None:
    """The features of candidates, in order of tokens.

    Args:
        queries: token, rule, class of the evidence, and whether the form is known, of each.
    """
    n = len(forms)
    first, limit, k = 0, 0, 0
    starts, ends = tokens[:, 0], tokens[:, 1]
    for t in range(n):
        if t >= limit:
            limit = paragraph_end(breaks, t)
        while k < len(queries) and queries[k, 0] == t:
            split_features(
                folded,
                starts,
                ends,
                forms[:limit],
                shapes[:limit],
                t,
                first,
                queries[k, 1],
                queries[k, 2],
                queries[k, 3],
                rows[k],
            )
            k += 1
        if finals[t]:
            first = t + 1

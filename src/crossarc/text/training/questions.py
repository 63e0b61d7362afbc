"""The questions that a tokeniser asks, with the answers of a text whose tokens are known."""

from __future__ import annotations

from typing import Any

from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel
from crossarc.text.characters import BREAK
from crossarc.text.decisions import (
    ASK,
    READ_CODES,
    READ_HASHES,
    READ_KINDS,
    READ_SPANS,
    ROWS,
    known_decision,
    next_state,
    paragraph_end,
    span_decision,
)
from crossarc.text.features import (
    END_FEATURES,
    LINE,
    boundary_features,
    end_features,
    line_features,
)
from crossarc.text.linear import READ_WEIGHTS, WEIGHT_SCALE, score, table_bits

__all__ = ["boundary_rows", "end_rows", "line_rows"]

Array = NDArray[Any]


@kernel(
    types.int64(
        READ_CODES,
        READ_KINDS,
        READ_SPANS,
        READ_SPANS,
        READ_KINDS,
        READ_KINDS,
        types.boolean[::1],
        ROWS,
    )
)
def boundary_rows(
    folded: Array,
    kinds: Array,
    tokens: Array,
    spans: Array,
    pairs: Array,
    gaps: Array,
    labels: Array,
    rows: Array,
) -> int:
    """The questions that `find_tokens` would ask about the given tokens; returns how many.

    If `rows` is empty, only counts them.
    """
    count, p = 0, 0
    for t in range(len(tokens)):
        start, end = tokens[t, 0], tokens[t, 1]
        i = start
        while i < end:
            while spans[p, 1] <= i:
                p += 1
            decision = span_decision(i, start, spans[p, 0], spans[p, 1], spans[p, 2])
            if decision == ASK:
                decision = known_decision(folded, kinds, i, start, pairs, gaps)
            if decision == ASK:
                if count < len(rows):
                    boundary_features(folded, kinds, i, start, rows[count])
                    labels[count] = i + 1 == end
                count += 1
            i += 2 if i + 1 < end and kinds[i + 1] <= BREAK else 1
    return count


@kernel(
    types.int64(
        READ_HASHES,
        READ_HASHES,
        READ_HASHES,
        READ_INT,
        READ_INT,
        types.boolean[::1],
        types.boolean[::1],
        ROWS,
    )
)
def end_rows(
    forms: Array,
    shapes: Array,
    lasts: Array,
    marks: Array,
    breaks: Array,
    finals: Array,
    labels: Array,
    rows: Array,
) -> int:
    """The questions of `find_sentences` but for line ends, and their answers; returns how many."""
    n = len(forms)
    count, first, t = 0, 0, 0
    while t < n:
        limit = paragraph_end(breaks, t)
        state = 0
        while t < limit:
            state = next_state(state, marks[t])
            if t < limit - 1:
                end_features(
                    forms[:limit], shapes[:limit], lasts, breaks, t, first, state, rows[count]
                )
                labels[count] = finals[t]
                count += 1
            t += 1
            if finals[t - 1]:
                first, state = t, 0
    return count


@kernel(
    types.void(
        READ_HASHES,
        READ_HASHES,
        READ_HASHES,
        READ_INT,
        READ_INT,
        types.boolean[::1],
        READ_WEIGHTS,
        ROWS,
    )
)
def line_rows(
    forms: Array,
    shapes: Array,
    lasts: Array,
    marks: Array,
    breaks: Array,
    finals: Array,
    weights: Array,
    rows: Array,
) -> None:
    """The questions of `find_sentences` after each token that ends a line, one paragraph in all.

    Args:
        weights: of the ends of sentences in running text.
    """
    bits = table_bits(weights)
    first, state, count = 0, 0, 0
    for t in range(len(forms)):
        state = next_state(state, marks[t])
        if breaks[t] == LINE:
            row = rows[count]
            running = row[:END_FEATURES]
            end_features(forms, shapes, lasts, breaks, t, first, state, running)
            level = score(weights, bits, running) // WEIGHT_SCALE
            line_features(shapes, t, first, level, row)
            count += 1
        if finals[t]:
            first, state = t + 1, 0

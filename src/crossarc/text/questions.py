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
    ROWS,
    known_decision,
    next_state,
    paragraph_end,
)
from crossarc.text.features import boundary_features, end_features

__all__ = ["boundary_rows", "end_rows"]

Array = NDArray[Any]


@kernel(
    types.int64(
        READ_CODES,
        READ_KINDS,
        READ_INT,
        READ_INT,
        READ_KINDS,
        READ_KINDS,
        types.boolean[::1],
        ROWS,
    )
)
def boundary_rows(
    folded: Array,
    kinds: Array,
    starts: Array,
    ends: Array,
    pairs: Array,
    gaps: Array,
    labels: Array,
    rows: Array,
) -> int:
    """The questions that `find_tokens` would ask about the given tokens; returns how many.

    With no room in `rows`, only counts them.
    """
    count = 0
    for t in range(len(starts)):
        i = starts[t]
        while i < ends[t]:
            if known_decision(folded, kinds, i, starts[t], pairs, gaps) == ASK:
                if count < len(rows):
                    boundary_features(folded, kinds, i, starts[t], rows[count])
                    labels[count] = i + 1 == ends[t]
                count += 1
            i += 2 if i + 1 < ends[t] and kinds[i + 1] <= BREAK else 1
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
    """The questions that `find_sentences` would ask, and their answers; returns how many."""
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

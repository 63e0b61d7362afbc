"""All that a tokeniser knows, and how its decisions about sentences see tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.text.characters import Characters
from crossarc.text.decisions import describe_tokens
from crossarc.text.linear import Weights
from crossarc.text.multiword import Splitter
from crossarc.text.spans import Span

__all__ = ["Described", "Learned", "Table", "Tokens", "describe", "span_table"]

Table = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Tokens = NDArray[np.int64]  # (tokens, 3): start, end, and the kind of address or 0

_SENTINEL = 1 << 62


class Learned(NamedTuple):
    """All that a tokeniser knows: tables of pairs, weights, rules of split tokens, addresses."""

    pairs: Table
    gaps: Table
    boundary: Weights
    end: Weights
    line: Weights
    inner: Hashes  # forms that never end a sentence at the end of a line, sorted
    split: Weights
    splitter: Splitter
    protected: frozenset[int]  # kinds of addresses that are one token


class Described(NamedTuple):
    """Tokens as the decisions about sentences see them."""

    forms: Hashes
    shapes: Hashes
    lasts: Hashes
    marks: NDArray[np.int64]


def describe(chars: Characters, tokens: Tokens) -> Described:
    """Hashes of tokens; O(characters)."""
    n = len(tokens)
    forms, shapes, lasts = (np.empty(n, np.uint64) for _ in range(3))
    marks = np.empty(n, np.int64)
    describe_tokens(chars.folded, chars.kinds, tokens, forms, shapes, lasts, marks)
    return Described(forms, shapes, lasts, marks)


def span_table(spans: Iterable[Span]) -> NDArray[np.int64]:
    """Spans as kernels read them, with a sentinel after any text."""
    return np.array([*spans, (_SENTINEL, _SENTINEL, 0)], np.int64)

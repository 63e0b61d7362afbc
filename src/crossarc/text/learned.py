"""All that a tokeniser knows, and how its decisions about sentences see tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.text.characters import Characters
from crossarc.text.decisions import describe_tokens
from crossarc.text.linear import Weights
from crossarc.text.multiword import Splitter

__all__ = ["Described", "Learned", "Table", "describe"]

Table = NDArray[np.uint8]
Hashes = NDArray[np.uint64]


class Learned(NamedTuple):
    """All that a tokeniser knows: tables of pairs, weights, and the rules of split tokens."""

    pairs: Table
    gaps: Table
    boundary: Weights
    end: Weights
    split: Weights
    splitter: Splitter


class Described(NamedTuple):
    """Tokens as the decisions about sentences see them."""

    forms: Hashes
    shapes: Hashes
    lasts: Hashes
    marks: NDArray[np.int64]


def describe(chars: Characters, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Described:
    """Hashes of tokens; O(characters)."""
    n = len(starts)
    forms, shapes, lasts = (np.empty(n, np.uint64) for _ in range(3))
    marks = np.empty(n, np.int64)
    describe_tokens(chars.folded, chars.kinds, starts, ends, forms, shapes, lasts, marks)
    return Described(forms, shapes, lasts, marks)

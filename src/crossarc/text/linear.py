"""Yes or no by a sum of hashed weights.

A row holds the hashes of one decision's features; the upper bits of a hash are its slot in a table
of weights. Trained weights are rounded to 16-bit integers, so a decision is a sum of integers and
comes out the same on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["READ_WEIGHTS", "WEIGHT_SCALE", "Rows", "Weights", "score", "scores", "table_bits"]

Weights = NDArray[np.int16]
Rows = NDArray[np.uint64]

#: units of a rounded weight in one unit of log-odds
WEIGHT_SCALE = 1024
READ_WEIGHTS = types.Array(types.int16, 1, "C", readonly=True)


@subkernel()
def score(weights: NDArray[Any], bits: int, row: NDArray[Any]) -> Any:
    """The sum of a row's weights; yes if above 0."""
    shift = np.uint64(64 - bits)
    total = np.int64(0)
    for k in range(len(row)):
        total += weights[np.int64(row[k] >> shift)]
    return total


@subkernel()
def table_bits(weights: NDArray[Any]) -> int:
    """How many upper bits of a hash are its slot in this table."""
    bits = 0
    while len(weights) >> (bits + 1):
        bits += 1
    return bits


def scores(weights: Weights, rows: Rows) -> NDArray[np.int64]:
    """The score of each row."""
    bits = len(weights).bit_length() - 1
    slots = (rows >> np.uint64(64 - bits)).astype(np.int64)
    totals: NDArray[np.int64] = weights[slots].sum(axis=1, dtype=np.int64)
    return totals

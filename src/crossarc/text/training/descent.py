"""Learn hashed weights: logistic regression on rows of features."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_BOOL, READ_INT, kernel
from crossarc.text.linear import WEIGHT_SCALE, Rows, Weights

__all__ = ["rounded", "train"]

_READ_ROWS = types.Array(types.uint64, 2, "C", readonly=True)

_SETTLED = 0.01  # an error in probability that needs no correction
_RUNS = 3


def train(
    rows: Rows,
    labels: NDArray[np.bool_],
    *,
    bits: int,
    epochs: int,
    seed: int,
    rate: float = 0.3,
) -> Weights:
    """Weights by stochastic gradients with a step size for each weight (AdaGrad).

    Duchi, Hazan & Singer (2011). The mean of three runs, which see the rows in different orders.
    O(runs x epochs x rows x features); the same for the same seed.
    """
    total = np.zeros(1 << bits)
    rng = np.random.default_rng(seed)
    for _ in range(_RUNS if len(rows) else 0):
        weights = np.zeros(1 << bits)
        squares = np.full(1 << bits, 1e-3)
        for _ in range(epochs):
            _descend(rows, labels, rng.permutation(len(rows)), bits, rate, weights, squares)
        total += weights
    return rounded(total / _RUNS * WEIGHT_SCALE)


def rounded(weights: NDArray[np.float64]) -> Weights:
    """Weights in units of `WEIGHT_SCALE` as 16-bit integers."""
    largest = np.iinfo(np.int16).max
    return np.clip(np.rint(weights), -largest, largest).astype(np.int16)


@kernel(
    types.void(
        _READ_ROWS,
        READ_BOOL,
        READ_INT,
        types.int64,
        types.float64,
        types.float64[::1],
        types.float64[::1],
    )
)
def _descend(
    rows: Rows,
    labels: NDArray[np.bool_],
    order: NDArray[np.int64],
    bits: int,
    rate: float,
    weights: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> None:
    """One round over all rows, in the given order."""
    shift = np.uint64(64 - bits)
    features = rows.shape[1]
    for r in order:
        total = 0.0
        for k in range(features):
            total += weights[np.int64(rows[r, k] >> shift)]
        error = (1.0 if labels[r] else 0.0) - 1.0 / (1.0 + math.exp(-total))
        if abs(error) < _SETTLED:
            continue
        for k in range(features):
            w = np.int64(rows[r, k] >> shift)
            squares[w] += error * error
            weights[w] += rate * error / math.sqrt(squares[w])

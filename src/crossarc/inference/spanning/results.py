"""Results in their final form: logarithms of marginals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["log_marginals", "square_of"]

Floats = NDArray[np.float64]


@subkernel()
def square_of(flat: Floats, at: int, width: int) -> Floats:
    """A sentence's part of a flat array; nothing of an empty one."""
    if flat.shape[0] == 0:
        return flat.reshape(0, 0)
    return flat[at : at + width * width].reshape(width, width)


@subkernel()
def log_marginals(
    scores: Floats,
    label_sums: Floats,
    n: int,
    single: bool,
    column_max: Floats,
    shift: float,
    out: Floats,
) -> None:
    """log mu = log weight + log lift, from the lift in `out`; no product that could underflow."""
    for h in range(n + 1):
        out[h, 0] = -np.inf
        for m in range(1, n + 1):
            if scores[h, m] == -np.inf or out[h, m] == 0.0:
                out[h, m] = -np.inf
                continue
            lift = out[h, m] * label_sums[h, m] if label_sums.shape[0] > 0 else out[h, m]
            log_weight = scores[h, m] - column_max[m]
            if h == 0 and single:
                log_weight -= shift
            out[h, m] = min(0.0, log_weight + math.log(lift))

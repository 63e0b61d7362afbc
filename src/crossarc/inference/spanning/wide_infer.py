"""log Z and marginals of all spanning trees in wide numbers, sentence after sentence."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import compensated_sum, log_partition
from crossarc.inference.runtime.quantities import LOG_MARGINALS
from crossarc.inference.spanning.results import square_of
from crossarc.inference.spanning.wide import solve_wide
from crossarc.inference.spanning.wide_steps import column_tops
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer_wide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean


@subkernel()
def _infer_one(
    scores: Floats, label_sums: Floats, single: bool, quantity: int, out: Floats
) -> tuple[float, float]:
    n = scores.shape[0] - 1
    nothing = -np.inf if quantity == LOG_MARGINALS else 0.0
    for h in range(out.shape[0]):
        for m in range(n + 1):
            out[h, m] = nothing
    column_max = np.empty(n + 1)
    if not column_tops(scores, n, single, column_max):
        return np.nan, np.nan
    for m in range(1, n + 1):
        if column_max[m] == -np.inf:
            return -np.inf, 0.0
    mantissa, exponent = solve_wide(scores, label_sums, n, single, column_max, quantity, out)
    if mantissa == 0.0:
        return -np.inf, 0.0
    high, rest = compensated_sum(column_max[1:])
    return log_partition(high, rest, 0.0, mantissa, exponent)


@kernel(
    types.void(
        READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, READ_INT, _BOOL, _INT, _F1, _F2, _INT, _INT
    )
)
def infer_wide(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    begin: int,
    end: int,
) -> None:
    """Sentences members[begin:end] of a batch; arguments as those of `infer_group`.

    log Z is NaN where scores are too large, and -inf where there is no tree.
    """
    for place in range(begin, end):
        s = members[place]
        at, width = offsets[s], sizes[s] + 1
        totals[0, s], totals[1, s] = _infer_one(
            square_of(scores, at, width),
            square_of(label_sums, at, width),
            single,
            quantity,
            square_of(out, at, width),
        )

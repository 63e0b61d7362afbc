"""log Z and marginals of all spanning trees of one or more sentences in lockstep."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import log_partition, two_sum
from crossarc.inference.arithmetic.lanes import Cells, broadcast, load, read_lane, select, store
from crossarc.inference.runtime.quantities import LOG_MARGINALS, LOG_PARTITION
from crossarc.inference.runtime.work_queue import PROGRESS
from crossarc.inference.spanning.plain.exchange import scatter
from crossarc.inference.spanning.plain.layout import Layout, lay_out
from crossarc.inference.spanning.plain.solve import solve_plain
from crossarc.inference.spanning.results import log_marginals, square_of
from crossarc.kernels import READ_FLOAT, READ_INT, subkernel

__all__ = ["SIGNATURE", "infer_group"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Of the kernels `infer_together` and `infer_alone`, which differ in their cells.
SIGNATURE = types.int64(
    READ_FLOAT,
    READ_FLOAT,
    READ_INT,
    READ_INT,
    READ_INT,
    READ_INT,
    types.boolean,
    types.int64,
    types.float64[::1],
    types.float64[:, ::1],
    types.boolean[::1],
    PROGRESS,
    types.float64[::1],
)


@subkernel()
def _total(
    cells: Cells,
    at: Layout,
    lane: int,
    scores: Floats,
    label_sums: Floats,
    single: bool,
    quantity: int,
    mantissa: float,
    exponent: int,
    out: Floats,
) -> tuple[float, float]:
    """log Z of a lane; where logarithms are quantity, `out` becomes them."""
    n = scores.shape[0] - 1
    shift = read_lane(cells, at.shift, lane)
    if quantity == LOG_MARGINALS:
        column_max = np.empty(n + 1)
        for m in range(n):
            column_max[m + 1] = read_lane(cells, at.column_max + m, lane)
        log_marginals(scores, label_sums, n, single, column_max, shift, out)
    tops_sum, rest = read_lane(cells, at.tops_sum, lane), read_lane(cells, at.tops_sum + 1, lane)
    return log_partition(tops_sum, rest, shift, mantissa, exponent)


@subkernel()
def _sum_tops(cells: Cells, at: Layout) -> None:
    """The sum of each lane's column_max and what rounding took from it."""
    zero = broadcast(cells, 0.0)
    high, low = zero, zero
    for m in range(at.width):
        top = select(zero, load(cells, at.ghosts + m), zero, load(cells, at.column_max + m))
        high, error = two_sum(high, top)
        low = low + error
    store(cells, at.tops_sum, high)
    store(cells, at.tops_sum + 1, low)


@subkernel()
def infer_group(
    cells: Cells,
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    done: Bools,
) -> None:
    """Sentences in lockstep, the longest first, of a batch that lies flat in memory.

    Args:
        cells: to work in.
        scores: (n + 1)^2 a sentence, -inf where an arc is forbidden, on the diagonal and in
            column 0.
        label_sums: for labelled arcs, whose score is that of their best label: the weights of all
            labels over that of the best; empty when there are no labels.
        quantity: LOG_PARTITION, MARGINALS or LOG_MARGINALS.
        out: marginals or their logarithms.
        totals: (2, sentences): log Z as the sum of two floats.
        done: becomes true where it is certain that plain floats are good enough.
    """
    at = lay_out(sizes[members[0]])
    count = members.shape[0]
    mantissas, exponents = np.empty(count), np.empty(count, np.int64)
    solve_plain(
        cells,
        at,
        scores,
        label_sums,
        sizes,
        offsets,
        members,
        single,
        quantity,
        mantissas,
        exponents,
    )
    _sum_tops(cells, at)
    if quantity != LOG_PARTITION:
        scatter(cells, at, sizes, offsets, members, out)
    for lane in range(count):
        s = members[lane]
        done[s] = read_lane(cells, at.status, lane) == 1.0
        if done[s]:
            totals[0, s], totals[1, s] = _total(
                cells,
                at,
                lane,
                square_of(scores, offsets[s], sizes[s] + 1),
                square_of(label_sums, offsets[s], sizes[s] + 1),
                single,
                quantity,
                mantissas[lane],
                exponents[lane],
                square_of(out, offsets[s], sizes[s] + 1),
            )

"""log Z and marginals of a batch: in float64 where that is enough, else in wide numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import log_partition
from crossarc.inference.arithmetic.lanes import (
    Cells,
    data_pointer,
    float64_cells,
    is_wide,
    read_lane,
)
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import (
    LOG_MARGINALS,
    LOG_PARTITION,
    WEIGHT_GRADIENTS,
    cells_for,
    claim,
    complete,
    lockstep_instances,
    new_queue,
    run_in_lockstep,
)
from crossarc.inference.spanning.matrix_tree.layout import (
    Layout,
    layout_of,
    regions,
    workspace_size,
)
from crossarc.inference.spanning.matrix_tree.results import fill, scatter, take_logs
from crossarc.inference.spanning.matrix_tree.solve import solve
from crossarc.inference.spanning.matrix_tree.weights import find_weights
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["KERNELS", "WeightGradients", "sum_over_trees", "weight_gradients"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Mantissas and exponents of weights, then of weight gradients.
WeightGradients = tuple[Floats, Ints, Floats, Ints]


@subkernel()
def _part(flat: Floats, offset: int, n: int) -> Floats:
    """A sentence's part of a flat array; nothing of an empty one."""
    return flat[offset : offset + (n + 1) * (n + 1)] if flat.shape[0] > 0 else flat[:0]


@subkernel()
def _log_total(
    cells: Cells, layout: Layout, lane: int, mantissa: float, exponent: int
) -> tuple[float, float]:
    """log Z of a lane, as a sum of two floats; NaN where scores are too large."""
    floats = float64_cells(cells)
    if read_lane(floats, layout.too_large, lane) == 1.0:
        return np.nan, np.nan
    if read_lane(floats, layout.status, lane) != 1.0:
        return -np.inf, 0.0
    return log_partition(
        read_lane(floats, layout.column_max_sum, lane),
        read_lane(floats, layout.column_max_sum + 1, lane),
        read_lane(floats, layout.shift, lane),
        mantissa,
        exponent,
    )


@subkernel()
def _solve_group(
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
) -> None:
    """One or up to LANES sentences, the longest first; arguments as of `sum_groups`."""
    layout = layout_of(cells, sizes[members[0]])
    count = members.shape[0]
    mantissas, exponents = np.empty(count), np.empty(count, np.int64)
    # Logarithms of wide marginals are exact; in float64 a rare arc's marginal might underflow.
    weighted = quantity < LOG_MARGINALS or (quantity == LOG_MARGINALS and is_wide(cells))
    forbidden = find_weights(cells, layout, scores, label_sums, sizes, offsets, members, single)
    solve(cells, layout, forbidden, single, quantity, weighted, mantissas, exponents)
    if out.shape[0] > 0:
        scatter(cells, layout, sizes, offsets, members, quantity, out)
    for lane in range(count):
        s = members[lane]
        n, first = sizes[s], offsets[s]
        solved = read_lane(float64_cells(cells), layout.status, lane) == 1.0
        totals[0, s], totals[1, s] = np.inf, 0.0
        if solved or is_wide(cells):
            totals[0, s], totals[1, s] = _log_total(
                cells, layout, lane, mantissas[lane], exponents[lane]
            )
        if solved and quantity == LOG_MARGINALS and not weighted:
            own, sums = _part(scores, first, n), _part(label_sums, first, n)
            take_logs(cells, layout, lane, n, own, sums, single, _part(out, first, n))
        if not solved and is_wide(cells) and out.shape[0] > 0:
            fill(out, first, (n + 1) * (n + 1), quantity)


def sum_groups(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    order: Ints,
    starts: Ints,
    progress: Ints,
    workspace: NDArray[Any],
) -> None:
    """Groups of sentences from a work queue.

    Args:
        scores: (n + 1)^2 a sentence, -inf where an arc is forbidden, on the diagonal and in
            column 0.
        label_sums: for labelled arcs, whose score is that of their best label: the weights of all
            labels over that of the best; empty when there are no labels.
        sizes, offsets: words of each sentence, and where its scores begin.
        quantity: LOG_PARTITION, MARGINALS, LOG_MARGINALS or WEIGHT_GRADIENTS.
        out: marginals or their logarithms; else empty.
        totals: (2, sentences): log Z as the sum of two floats; NaN where scores are too large, and
            infinite where float64 is not certain to be enough.
        order, starts, progress, workspace: as in `run_in_lockstep`.
    """
    cells = data_pointer(workspace)
    g = claim(progress)
    while g < starts.shape[0] - 1:
        members = order[starts[g] : starts[g + 1]]
        _solve_group(
            cells, scores, label_sums, sizes, offsets, members, single, quantity, out, totals
        )
        complete(progress)
        g = claim(progress)


_BATCH = READ_FLOAT, READ_FLOAT, READ_INT, READ_INT
_RESULTS = types.float64[::1], types.float64[:, ::1]

_ARGUMENTS = *_BATCH, types.boolean, types.int64, *_RESULTS
#: By lanes and whether numbers are wide.
KERNELS = {
    kind: kernel(signature, name=name)(sum_groups)
    for kind, name, signature in lockstep_instances("sum_groups", *_ARGUMENTS)
}

# Groups of longer sentences would need much memory.
_LONGEST_GROUP = 256


def sum_over_trees(
    batch: Batch, single: bool, quantity: int, threads: int | None
) -> tuple[Floats, Floats]:
    """log Z as a sum of two floats, (2, sentences), and marginals, flat as the scores are.

    log Z is NaN where scores are too large.
    """
    totals = np.empty((2, len(batch)))
    out = np.empty(0 if quantity == LOG_PARTITION else batch.arcs.shape[0])
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets)

    def run(members: Ints, wide: bool) -> None:
        run_in_lockstep(
            KERNELS,
            batch.sizes,
            members,
            (*arrays, single, quantity, out, totals),
            workspace_size=lambda nodes: workspace_size(nodes - 1),
            longest_group=_LONGEST_GROUP,
            wide=wide,
            threads=threads,
        )

    run(np.arange(len(batch)), False)
    unsafe = np.flatnonzero(np.isposinf(totals[0]))
    if len(unsafe):
        run(unsafe, True)
    return totals, out


def weight_gradients(scores: Floats, label_sums: Floats, single: bool) -> WeightGradients:
    """Weights relative to column_max, and d log Z / d w[h, m], of a sentence that has trees.

    In wide numbers, O(n^3). The gradient is E[h, m] / s_m, s_m = sum over h of w[h, m] E[h, m]: so
    w[h, m] times it is the marginal of an arc, and that of [0, m] is the entry [m, m] of the
    inverse of the Laplacian. It exists for forbidden arcs, too.

    Tables are (n, n + 1): row m is word m + 1, column h is word h + 1, and the last is the root. A
    single root's weights are scaled (`weights`).

    Args:
        scores, label_sums: (n + 1, n + 1), as of the kernels; label_sums may be empty.
    """
    n = len(scores) - 1
    cells, zero = cells_for(workspace_size(n), 1, True), np.zeros(1, np.int64)
    KERNELS[1, True](
        scores.reshape(-1),
        label_sums.reshape(-1),
        np.array([n]),
        zero,
        single,
        WEIGHT_GRADIENTS,
        np.empty(0),
        np.empty((2, 1)),
        zero,
        np.array([0, 1]),
        new_queue(),
        cells,
    )
    layout = regions(n, 2)
    width = layout.width
    words = [*range(n), width]

    def tables(part: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        block = part[layout.blocks : layout.blocks + width * (width + 1)]
        escapes = part[layout.escapes : layout.roots].reshape(width, width)[:n, :n]
        roots = part[layout.roots : layout.roots + n]
        weights = block.reshape(width, width + 1)[:n, words]
        gradients = np.vstack((escapes, roots)).T
        return np.ascontiguousarray(weights), np.ascontiguousarray(gradients)

    mantissas = tables(cells.view(np.float64)[::2])
    exponents = tables(cells.view(np.int64)[1::2])
    return mantissas[0], exponents[0], mantissas[1], exponents[1]

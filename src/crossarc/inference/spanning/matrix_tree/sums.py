"""log Z and marginals of a batch: in float64 where that is enough, else in wide numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import log_partition
from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    data_pointer,
    float64_cells,
    is_wide,
    read_lane,
)
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.groups import in_groups
from crossarc.inference.runtime.quantities import LOG_MARGINALS, LOG_PARTITION, WEIGHT_GRADIENTS
from crossarc.inference.runtime.work_queue import PROGRESS, finish, in_turns, take
from crossarc.inference.runtime.workspace import cells_for
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
Bools = NDArray[np.bool_]
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
    done: Bools,
) -> None:
    """One or up to LANES sentences, the longest first; arguments as of `_solve_groups`."""
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
        done[s] = solved or is_wide(cells)
        if done[s]:
            totals[0, s], totals[1, s] = _log_total(
                cells, layout, lane, mantissas[lane], exponents[lane]
            )
        if solved and quantity == LOG_MARGINALS and not weighted:
            own, sums = _part(scores, first, n), _part(label_sums, first, n)
            take_logs(cells, layout, lane, n, own, sums, single, _part(out, first, n))
        if not solved and is_wide(cells) and out.shape[0] > 0:
            fill(out, first, (n + 1) * (n + 1), quantity)


def _solve_groups(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    order: Ints,
    starts: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    done: Bools,
    progress: Ints,
    workspace: NDArray[Any],
) -> None:
    """Groups of sentences from a work queue; group g is order[starts[g]:starts[g + 1]].

    Args:
        scores: (n + 1)^2 a sentence, -inf where an arc is forbidden, on the diagonal and in
            column 0.
        label_sums: for labelled arcs, whose score is that of their best label: the weights of all
            labels over that of the best; empty when there are no labels.
        sizes, offsets: words of each sentence, and where its scores begin.
        quantity: LOG_PARTITION, MARGINALS, LOG_MARGINALS or WEIGHT_GRADIENTS.
        out: marginals or their logarithms; else empty.
        totals: (2, sentences): log Z as the sum of two floats; NaN where scores are too large.
        done: becomes true where it is certain that the cells' numbers are good enough.
        workspace: cells, whose kind says how many sentences are in a group, and in which numbers.
    """
    cells = data_pointer(workspace)
    g = take(progress)
    while g < starts.shape[0] - 1:
        members = order[starts[g] : starts[g + 1]]
        _solve_group(
            cells, scores, label_sums, sizes, offsets, members, single, quantity, out, totals, done
        )
        finish(progress)
        g = take(progress)


def _signature(workspace: Any) -> Any:
    return types.void(
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
        workspace,
    )


#: By lanes and whether numbers are wide.
KERNELS = {
    (1, False): kernel(_signature(types.float64[::1]), name="solve_one_float64")(_solve_groups),
    (LANES, False): kernel(_signature(types.float64[:, ::1]), name="solve_eight_float64")(
        _solve_groups
    ),
    (1, True): kernel(_signature(types.complex128[::1]), name="solve_one_wide")(_solve_groups),
    (LANES, True): kernel(_signature(types.complex128[:, ::1]), name="solve_eight_wide")(
        _solve_groups
    ),
}


def sum_over_trees(
    batch: Batch, single: bool, quantity: int, threads: int | None
) -> tuple[Floats, Floats]:
    """log Z as a sum of two floats, (2, sentences), and marginals, flat as the scores are.

    log Z is NaN where scores are too large.
    """
    totals = np.empty((2, len(batch)))
    out = np.empty(0 if quantity == LOG_PARTITION else batch.arcs.shape[0])
    done = np.zeros(len(batch), np.bool_)

    def run(lanes: int, wide: bool, order: Ints, starts: Ints) -> None:
        size = workspace_size(int(batch.sizes[order[0]]))
        solve_groups = KERNELS[lanes, wide]

        def work(progress: Ints) -> None:
            solve_groups(
                batch.arcs,
                batch.label_sums,
                batch.sizes,
                batch.offsets,
                order,
                starts,
                single,
                quantity,
                out,
                totals,
                done,
                progress,
                cells_for(size, lanes, wide),
            )

        in_turns(work, len(starts) - 1, threads)

    def run_all(sizes: Ints, members: Ints | None, wide: bool) -> None:
        lockstep, starts, single_ones = in_groups(sizes)
        if members is not None:
            lockstep, single_ones = members[lockstep], members[single_ones]
        if len(lockstep):
            run(LANES, wide, lockstep, starts)
        if len(single_ones):
            run(1, wide, single_ones, np.arange(len(single_ones) + 1))

    run_all(batch.sizes, None, False)
    if not done.all():
        members = np.flatnonzero(~done)
        run_all(batch.sizes[members], members, True)
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
    cells = cells_for(workspace_size(n), 1, True)

    def work(progress: Ints) -> None:
        KERNELS[1, True](
            scores.reshape(-1),
            label_sums.reshape(-1),
            np.array([n]),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.array([0, 1]),
            single,
            WEIGHT_GRADIENTS,
            np.empty(0),
            np.empty((2, 1)),
            np.empty(1, np.bool_),
            progress,
            cells,
        )

    in_turns(work, 1, 1)
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

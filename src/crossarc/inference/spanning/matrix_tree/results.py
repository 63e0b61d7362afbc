"""Marginals from cells to the sentences' arrays, in their final form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    float64_cells,
    is_wide,
    read_lane,
    read_number,
    store_vector,
    transpose,
)
from crossarc.inference.arithmetic.wide import log_of, narrowed
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, arc_entry, common_words, eight_cells
from crossarc.inference.spanning.matrix_tree.layout import Layout
from crossarc.inference.spanning.matrix_tree.weights import VANISHED
from crossarc.kernels import subkernel

__all__ = ["fill", "scatter", "take_logs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def _read_result(cells: Cells, i: int, lane: int, quantity: int) -> float:
    """A number as float64, or its logarithm where it is wide and that is asked for."""
    mantissa, exponent = read_number(cells, i, lane)
    if not is_wide(cells):
        return mantissa
    possible = mantissa > 0.0 and exponent >= VANISHED
    if quantity == LOG_MARGINALS:
        return min(0.0, log_of(mantissa, exponent)[0]) if possible else -np.inf
    return narrowed(mantissa, exponent) if possible else 0.0


@subkernel()
def scatter(
    cells: Cells,
    layout: Layout,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    quantity: int,
    out: Floats,
) -> None:
    """The results of each member, from cells [h, m] to its square array; nothing in column 0."""
    shared = 0 if is_wide(cells) else common_words(sizes, members)
    nothing = -np.inf if quantity == LOG_MARGINALS else 0.0
    for h in range(layout.width + 1):
        source = layout.roots if h == 0 else layout.escapes + (h - 1) * layout.width
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_cells(float64_cells(cells), source + m))
            for lane in range(LANES):
                store_vector(out, arc_entry(sizes, offsets, members[lane], h, m), eight[lane])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            target = offsets[members[lane]] + h * (n + 1) + 1
            if h <= n:
                out[target - 1] = nothing
            for m in range(common, n if h <= n else 0):
                out[target + m] = _read_result(cells, source + m, lane, quantity)


@subkernel()
def take_logs(
    cells: Cells,
    layout: Layout,
    lane: int,
    n: int,
    scores: Floats,
    label_sums: Floats,
    single: bool,
    out: Floats,
) -> None:
    """log mu = log w + log(d log Z / d w), from the gradient in `out`: no product underflows.

    Args:
        scores, label_sums, out: a sentence's part, flat.
    """
    floats = float64_cells(cells)
    shift = read_lane(floats, layout.shift, lane) if single else 0.0
    for h in range(n + 1):
        for m in range(n):
            arc = h * (n + 1) + m + 1
            if scores[arc] == -np.inf or out[arc] == 0.0:
                out[arc] = -np.inf
                continue
            gradient = out[arc] * label_sums[arc] if label_sums.shape[0] > 0 else out[arc]
            log_weight = scores[arc] - read_lane(floats, layout.column_max + m, lane)
            if h == 0:
                log_weight -= shift
            out[arc] = min(0.0, log_weight + math.log(gradient))


@subkernel()
def fill(out: Floats, first: int, count: int, quantity: int) -> None:
    """Marginals where there is no tree."""
    for i in range(first, first + count):
        out[i] = -np.inf if quantity == LOG_MARGINALS else 0.0

"""Z, escape probabilities and marginals of sentences in lockstep, all in cells.

Lanes do not see each other, and what padding adds is exactly zero: a sentence's result is the same
whatever its neighbours are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    Cells,
    broadcast,
    float64_cells,
    fma,
    is_wide,
    load,
    read_number,
    select,
    store,
    write_lane,
)
from crossarc.inference.arithmetic.wide import ZERO, normalised
from crossarc.inference.runtime.lockstep import LOG_PARTITION
from crossarc.inference.spanning.matrix_tree.elimination import eliminate
from crossarc.inference.spanning.matrix_tree.escape import last_pivot, solve_four, substitute
from crossarc.inference.spanning.matrix_tree.layout import (
    SOLVE_FOUR,
    SUBSTITUTE,
    Layout,
    schedule,
)
from crossarc.inference.spanning.matrix_tree.underflow import (
    SMALLEST_PRODUCT,
    require_large_products,
    start_watching,
    watch_elimination,
    watch_substitution,
)
from crossarc.inference.spanning.matrix_tree.weights import ROOT_SCALE, VANISHED
from crossarc.kernels import subkernel

__all__ = ["solve"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LARGEST = 2.0**900


@subkernel()
def _multiply_pivots(
    cells: Cells, layout: Layout, single: bool, mantissas: Floats, exponents: Ints
) -> None:
    """Z of each lane as mantissa and exponent; no tree, or a pivot that is too large, fails."""
    floats = float64_cells(cells)
    for lane in range(mantissas.shape[0]):
        mantissa, exponent = 1.0, 0
        for k in range(layout.width):
            pivot, power = read_number(cells, layout.pivots + k, lane)
            if not is_wide(cells) and not 0.0 < pivot <= _LARGEST:
                write_lane(floats, layout.status, lane, 0.0)
            mantissa, exponent = normalised(mantissa * pivot, max(exponent + power, ZERO))
        if is_wide(cells) and single:
            exponent -= ROOT_SCALE
        if is_wide(cells) and exponent < VANISHED:
            write_lane(floats, layout.status, lane, 0.0)
        mantissas[lane], exponents[lane] = mantissa, exponent


@subkernel()
def _fill_escapes(
    cells: Cells,
    layout: Layout,
    single: bool,
    watched: bool,
    quantity: int,
    mantissas: Floats,
    exponents: Ints,
) -> None:
    """Fill E by `schedule`. Z is known when the lowest four nodes are all that is left."""
    # In wide numbers a single root is one with tiny weights.
    limit = single and not is_wide(cells)
    steps = schedule(layout.width)
    for step in range(steps.shape[0]):
        kind, low, middle, high, upper, block = steps[step]
        block += layout.blocks
        if kind == SOLVE_FOUR:
            for half in range(2):
                solve_four(cells, layout, block, low, half == 1, limit)
                if watched:
                    watch_elimination(cells, layout, low, high, middle, half == 1)
                    watch_substitution(cells, layout, low, high, middle, half == 1)
                if low == 0 and half == 0:
                    last_pivot(cells, layout, block)
                    _multiply_pivots(cells, layout, single, mantissas, exponents)
                    if quantity == LOG_PARTITION:
                        return
        elif kind == SUBSTITUTE:
            substitute(cells, layout, low, high, middle, upper != 0)
            if watched:
                watch_substitution(cells, layout, low, high, middle, upper != 0)
        else:
            eliminate(cells, layout, block, low, high, middle, upper != 0, limit)
            if watched:
                watch_elimination(cells, layout, low, high, middle, upper != 0)


@subkernel()
def _normalise_columns(cells: Cells, layout: Layout, weighted: bool) -> None:
    """E[h, m] / s_m: weight gradients d log Z / d w[h, m]; times w[h, m] if `weighted`, marginals.

    s_m = sum over h of w[h, m] E[h, m].
    """
    floats = float64_cells(cells)
    nothing, one, zero = broadcast(cells, 0.0), broadcast(cells, 1.0), broadcast(floats, 0.0)
    low, high, infinite = (
        broadcast(cells, SMALLEST_PRODUCT),
        broadcast(cells, _LARGEST),
        broadcast(cells, np.inf),
    )
    status = load(floats, layout.status)
    for m in range(layout.width):
        weights, escapes = layout.blocks + m * (layout.width + 1), layout.escapes + m
        padding = load(cells, layout.padding + m)
        root_weight = load(cells, weights + layout.width)
        total = root_weight + padding
        limit = select(nothing, padding, infinite, high)
        for h in range(layout.width):
            e = load(cells, escapes + h * layout.width)
            total = fma(load(cells, weights + h), e, total)
            if not is_wide(cells):
                status = select(e, limit, status, zero)
        if not is_wide(cells):
            status = select(low, total, select(total, high, status, zero), zero)
        inverse = one / total
        store(cells, layout.roots + m, root_weight * inverse if weighted else inverse)
        for h in range(layout.width):
            x = load(cells, escapes + h * layout.width) * inverse
            if weighted:
                x = x * load(cells, weights + h)
            store(cells, escapes + h * layout.width, x)
    store(floats, layout.status, status)


@subkernel()
def solve(
    cells: Cells,
    layout: Layout,
    forbidden: bool,
    single: bool,
    quantity: int,
    weighted: bool,
    mantissas: Floats,
    exponents: Ints,
) -> None:
    """Z, relative to column_max, of up to eight sentences, and marginals or weight gradients.

    Weights are in the first block, from `find_weights`. Results stay in the cells: row 0 in
    `roots`, the others in `escapes`. `status` is 1 in lanes that have trees, in float64 only in
    those whose results are certain (`underflow`).

    Args:
        forbidden: whether some arc is.
        quantity: LOG_PARTITION if Z is enough.
        weighted: marginals rather than weight gradients.
        mantissas, exponents: become Z.
    """
    watched = forbidden and not is_wide(cells)
    start_watching(cells, layout)
    _fill_escapes(cells, layout, single, watched, quantity, mantissas, exponents)
    if quantity != LOG_PARTITION:
        _normalise_columns(cells, layout, weighted)
    if watched:
        require_large_products(cells, layout)

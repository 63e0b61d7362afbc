"""Matrix-tree inference in float64: log Z and marginals of sentences in lockstep.

Read w[h, m] as a walk that steps from m to h and ends at the root. Eliminating node k,

    d_k = sum over the remaining h of w[h, k],      w[h, m] += w[h, k] w[k, m] / d_k,

leaves the same tree weight times d_k, so Z is the product of the d_k (for a single root, the root
counts in d_k only for the last node; Koo et al. 2007, section 3.2, is the same limit). With E from
`schedule`,

    mu[h, m] = w[h, m] E[h, m] / s_m,      s_m = sum over h of w[h, m] E[h, m].

Only sums, products and quotients of non-negative numbers occur, so every result has a relative
error of a few n rounding units, *provided that no product that matters underflows*. That is
certain in two cases (docs/numerics.md):

1. No arc is forbidden and every weight is at least 2^-894 of its column's largest. Elimination only
   adds to an entry, so all entries stay above that, and a product that underflows, being below
   2^-1022, cannot change a digit of the entry it is added to.
2. Some arcs are forbidden, weights are as above, and in every update the smallest factors that are
   not zero have a product of at least 2^-960. Then no product underflows at all.

Otherwise, or when a single-root quantity overflows, the caller uses `wide`. Lanes do not see each
other, and what padding adds is exactly zero: a sentence's result is the same whatever its
neighbours are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    Cells,
    broadcast,
    fma,
    load,
    read_lane,
    select,
    store,
    write_lane,
)
from crossarc.inference.arithmetic.wide import LOWEST_WEIGHT, normalised
from crossarc.inference.runtime.quantities import LOG_MARGINALS, LOG_PARTITION
from crossarc.inference.spanning.plain.base import last_pivot, solve_base
from crossarc.inference.spanning.plain.elimination import eliminate
from crossarc.inference.spanning.plain.exchange import gather
from crossarc.inference.spanning.plain.layout import FOUR, Layout
from crossarc.inference.spanning.plain.substitution import substitute
from crossarc.inference.spanning.plain.watch import watch_elimination, watch_substitution
from crossarc.inference.spanning.plain.weights import exponentiate, find_tops
from crossarc.inference.spanning.schedule import BACK, BASE, schedule
from crossarc.kernels import subkernel

__all__ = ["solve_plain"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SMALLEST_PRODUCT = 2.0**-960
_LARGEST = 2.0**900


@subkernel()
def _prepare(
    cells: Cells,
    at: Layout,
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
) -> bool:
    """Weights in the first block; returns whether some arc is forbidden.

    Lanes that do not fit float64 are noted in `status`.
    """
    zero, one = broadcast(cells, 0.0), broadcast(cells, 1.0)
    for m in range(at.width):
        store(cells, at.ghosts + m, one)
        for lane in range(members.shape[0]):
            if m < sizes[members[lane]]:
                write_lane(cells, at.ghosts + m, lane, 0.0)
    store(cells, at.status, one)
    store(cells, at.smallest, broadcast(cells, np.inf))
    # Below what padding can have in E, so that the rule does not hang on it.
    store(cells, at.least_reach, broadcast(cells, 0.25))
    gather(cells, at, scores, sizes, offsets, members, at.blocks, -np.inf)
    find_tops(cells, at, single)
    count, lowest = exponentiate(cells, at, single)
    store(
        cells,
        at.status,
        select(broadcast(cells, LOWEST_WEIGHT), lowest, load(cells, at.status), zero),
    )
    store(cells, at.forbidden, count)
    forbidden = False
    for lane in range(members.shape[0]):
        n = sizes[members[lane]]
        missing = read_lane(cells, at.forbidden, lane) < n * n
        forbidden = forbidden or missing
        write_lane(cells, at.forbidden, lane, 1.0 if missing else 0.0)
    if label_sums.shape[0] > 0:
        gather(cells, at, label_sums, sizes, offsets, members, at.shares, 1.0)
        for cell in range(at.width * (at.width + 1)):
            weight = load(cells, at.blocks + cell) * load(cells, at.shares + cell)
            store(cells, at.blocks + cell, weight)
    return forbidden


@subkernel()
def _multiply_pivots(cells: Cells, at: Layout, mantissas: Floats, exponents: Ints) -> None:
    """Z of each lane as mantissa and exponent; a pivot that is too large fails."""
    for lane in range(mantissas.shape[0]):
        mantissa, exponent = 1.0, 0
        for k in range(at.width):
            pivot = read_lane(cells, at.pivots + k, lane)
            if not 0.0 < pivot <= _LARGEST:
                write_lane(cells, at.status, lane, 0.0)
            mantissa, exponent = normalised(mantissa * pivot, exponent)
        mantissas[lane], exponents[lane] = mantissa, exponent


@subkernel()
def _walk(
    cells: Cells,
    at: Layout,
    single: bool,
    forbidden: bool,
    quantity: int,
    mantissas: Floats,
    exponents: Ints,
) -> None:
    """Fill E by `schedule`. Z is known when the lowest four nodes are all that is left."""
    steps = schedule(at.width, FOUR, True)
    for step in range(steps.shape[0]):
        kind, low, middle, high, upper, block, root = steps[step]
        block += at.blocks + root
        if kind == BASE:
            for half in range(2):
                solve_base(cells, at, block, low, half == 1, single)
                if forbidden:
                    watch_elimination(cells, at, low, high, middle, half == 1)
                    watch_substitution(cells, at, low, high, middle, half == 1)
                if low == 0 and half == 0:
                    last_pivot(cells, at, block)
                    _multiply_pivots(cells, at, mantissas, exponents)
                    if quantity == LOG_PARTITION:
                        return
        elif kind == BACK:
            substitute(cells, at, low, high, middle, upper != 0)
            if forbidden:
                watch_substitution(cells, at, low, high, middle, upper != 0)
        else:
            eliminate(cells, at, block, low, high, middle, upper != 0, single)
            if forbidden:
                watch_elimination(cells, at, low, high, middle, upper != 0)


@subkernel()
def _finish(cells: Cells, at: Layout, lift: bool) -> None:
    """mu[h, m] = w[h, m] E[h, m] / sum over h of the same; if `lift`, without the first factor."""
    zero, one = broadcast(cells, 0.0), broadcast(cells, 1.0)
    low, high, infinite = (
        broadcast(cells, _SMALLEST_PRODUCT),
        broadcast(cells, _LARGEST),
        broadcast(cells, np.inf),
    )
    status = load(cells, at.status)
    for m in range(at.width):
        weights, reach = at.blocks + m * (at.width + 1), at.reach + m
        ghost = load(cells, at.ghosts + m)
        limit = select(zero, ghost, infinite, high)
        total = load(cells, weights + at.width) + ghost
        for h in range(at.width):
            e = load(cells, reach + h * at.width)
            total = fma(load(cells, weights + h), e, total)
            status = select(e, limit, status, zero)
        status = select(low, total, select(total, high, status, zero), zero)
        inverse = one / total
        store(cells, at.roots + m, inverse if lift else load(cells, weights + at.width) * inverse)
        for h in range(at.width):
            x = load(cells, reach + h * at.width) * inverse
            store(cells, reach + h * at.width, x if lift else x * load(cells, weights + h))
    store(cells, at.status, status)


@subkernel()
def solve_plain(
    cells: Cells,
    at: Layout,
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
    quantity: int,
    mantissas: Floats,
    exponents: Ints,
) -> None:
    """Z, relative to the columns' column_max, of up to eight sentences, and marginals or lifts.

    Results stay in the cells, for `scatter`; `status` is 1 in the lanes that are certain.
    """
    forbidden = _prepare(cells, at, scores, label_sums, sizes, offsets, members, single)
    _walk(cells, at, single, forbidden, quantity, mantissas, exponents)
    if quantity != LOG_PARTITION:
        _finish(cells, at, quantity == LOG_MARGINALS)
    if forbidden:
        zero = broadcast(cells, 0.0)
        sure = select(
            load(cells, at.smallest),
            broadcast(cells, _SMALLEST_PRODUCT),
            zero,
            load(cells, at.status),
        )
        is_forbidden = load(cells, at.forbidden)
        store(cells, at.status, select(zero, is_forbidden, sure, load(cells, at.status)))

"""Matrix-tree inference in numbers with a wide exponent: the same elimination as `plain`.

Nothing over- or underflows, whatever the scores. A single root is the limit of a root whose weights
are scaled by t -> 0: here t = 2^ROOT_SCALE with an exponent so low that trees with two roots vanish
beside trees with one, yet are still seen when there is no other tree, which then counts as none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import ZERO, normalised, power_of_two, times_ln2
from crossarc.inference.runtime.quantities import LOG_PARTITION, MARGINALS
from crossarc.inference.spanning.schedule import BACK, BASE, schedule
from crossarc.inference.spanning.wide_slopes import (
    Slopes,
    copy_slope,
    cut_slopes,
    settle,
    slopes_like,
)
from crossarc.inference.spanning.wide_steps import (
    ROOT_SCALE,
    VANISHED,
    eliminate_wide,
    substitute_wide,
    wide_weights,
)
from crossarc.kernels import subkernel

__all__ = ["solve_wide", "walk_wide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BIAS = 1023


@subkernel()
def walk_wide(
    weights: Floats,
    weight_powers: Ints,
    n: int,
    reach: Floats,
    reach_powers: Ints,
    pivots: Floats,
    pivot_powers: Ints,
    slopes: Slopes = None,
    reach_slopes: Slopes = None,
) -> bool:
    """Fill E and the pivots by `schedule`; False when there is no tree.

    Args:
        slopes, reach_slopes: of the weights and of E, where they are quantity.
    """
    # A block of r nodes has r rows of r + 1 entries, the root's last.
    room = 2 * n * n + 8 * n + 80
    blocks, block_powers = np.empty(room), np.empty(room, np.int64)
    block_slopes = slopes_like(blocks, slopes)
    for m in range(n):
        for h in range(n + 1):
            blocks[m * (n + 1) + h] = weights[m, h]
            block_powers[m * (n + 1) + h] = weight_powers[m, h]
            copy_slope(block_slopes, m * (n + 1) + h, slopes, m, h)
    shares, share_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    share_slopes = slopes_like(shares, slopes)
    spare, spare_powers = np.empty(n), np.empty(n, np.int64)
    steps = schedule(n, 1, False)
    for step in range(steps.shape[0]):
        kind, low, middle, high, upper, at, root_at = steps[step]
        # Blocks here carry their root weights with them.
        at += root_at
        size, half = high - low, middle - low
        if kind == BASE:
            reach[low, low], reach_powers[low, low] = 0.0, ZERO
            settle(reach, reach_powers, reach_slopes, low, low)
            if low == 0:
                pivots[0], pivot_powers[0] = normalised(blocks[at + 1], block_powers[at + 1])
        elif kind == BACK:
            count = half if upper else size - half
            for place in range(count):
                k = low + half - 1 - place if upper else low + half + place
                first, last = (k + 1, high) if upper else (low, k)
                a, b = (low + half, high) if upper else (low, low + half)
                substitute_wide(
                    reach,
                    reach_powers,
                    shares,
                    share_powers,
                    k,
                    first,
                    last,
                    a,
                    b,
                    n,
                    reach_slopes,
                    share_slopes,
                )
        else:
            entries = size * (size + 1)
            block = blocks[at : at + entries].copy().reshape(size, size + 1)
            powers = block_powers[at : at + entries].copy().reshape(size, size + 1)
            own_slopes = cut_slopes(block_slopes, at, size, size + 1)
            count = half if upper else size - half
            on_path = low == 0 and not upper
            feasible = eliminate_wide(
                block,
                powers,
                count,
                upper != 0,
                shares,
                share_powers,
                low,
                n,
                pivots if on_path else spare,
                pivot_powers if on_path else spare_powers,
                own_slopes,
                share_slopes,
            )
            if not feasible:
                return False
            kept, start = size - count, half if upper else 0
            for i in range(kept):
                for h in range(kept + 1):
                    place = size if h == kept else start + h
                    target = at + entries + i * (kept + 1) + h
                    blocks[target] = block[start + i, place]
                    block_powers[target] = powers[start + i, place]
                    copy_slope(block_slopes, target, own_slopes, start + i, place)
    return True


@subkernel(reorder=True)
def _column(
    weights: Floats,
    powers: Ints,
    reach: Floats,
    reach_powers: Ints,
    n: int,
    m: int,
    quantity: int,
    out: Floats,
) -> None:
    """mu[h, m] = w[h, m] E[h, m] / sum over h of the same, for one m; E[0, m] = 1."""
    terms, exponents = np.empty(n + 1), np.empty(n + 1, np.int64)
    highest = ZERO
    for h in range(n + 1):
        if h == n:
            terms[h], exponents[h] = weights[m, n], powers[m, n]
        else:
            terms[h], exponents[h] = normalised(
                weights[m, h] * reach[h, m], powers[m, h] + reach_powers[h, m]
            )
        highest = max(highest, exponents[h])
    total = 0.0
    for h in range(n + 1):
        total += terms[h] * power_of_two(exponents[h] - highest)
    for h in range(n + 1):
        row = 0 if h == n else h + 1
        exponent = exponents[h] - highest
        if terms[h] == 0.0 or exponent < VANISHED:
            out[row, m + 1] = 0.0 if quantity == MARGINALS else -np.inf
        elif quantity == MARGINALS:
            # In two steps, so that a subnormal result is rounded once, at the end.
            half = max(exponent // 2, -_BIAS)
            scaled = terms[h] / total * power_of_two(half)
            out[row, m + 1] = scaled * power_of_two(max(exponent - half, -_BIAS))
        else:
            high, low = times_ln2(float(exponent))
            out[row, m + 1] = min(0.0, (math.log(terms[h] / total) + low) + high)


@subkernel()
def solve_wide(
    scores: Floats,
    label_sums: Floats,
    n: int,
    single: bool,
    column_max: Floats,
    quantity: int,
    out: Floats,
) -> tuple[float, int]:
    """Z relative to the columns' column_max, as mantissa (0: no tree) and exponent; fills `out`.

    Args:
        quantity: LOG_PARTITION, MARGINALS or LOG_MARGINALS.
    """
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    wide_weights(scores, label_sums, n, single, column_max, weights, powers)
    reach, reach_powers = np.empty((n, n)), np.empty((n, n), np.int64)
    pivots, pivot_powers = np.empty(n), np.empty(n, np.int64)
    if not walk_wide(weights, powers, n, reach, reach_powers, pivots, pivot_powers):
        return 0.0, 0
    mantissa, exponent = 1.0, 0
    for k in range(n):
        mantissa, exponent = normalised(mantissa * pivots[k], exponent + pivot_powers[k])
    if single:
        exponent -= ROOT_SCALE
    if mantissa == 0.0 or exponent < VANISHED:
        return 0.0, 0
    if quantity != LOG_PARTITION:
        for m in range(n):
            _column(weights, powers, reach, reach_powers, n, m, quantity, out)
    return mantissa, exponent

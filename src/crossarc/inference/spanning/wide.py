"""Matrix-tree inference in numbers with a wide exponent: the same elimination as `plain`.

Nothing over- or underflows, whatever the scores. A single root is the limit of a root whose weights
are scaled by t -> 0: here t = 2^ROOT_SCALE with an exponent so low that trees with two roots vanish
beside trees with one, yet are still seen when there is no other tree, which then counts as none.
"""

from __future__ import annotations

import math

import numpy as np

from crossarc.inference.extended import (
    ZERO,
    exp_parts_wide,
    narrowed,
    normalised,
    power_of_two,
    times_ln2,
)
from crossarc.inference.spanning.wanted import MARGINALS, TOTAL
from crossarc.inference.spanning.wide_elimination import walk
from crossarc.inference.spanning.wide_tables import Floats, Ints, Slopes, slopes_like
from crossarc.kernels import subkernel

__all__ = ["solve_wide"]

_ROOT_SCALE = -(1 << 56)
_VANISHED = -(1 << 55)


@subkernel()
def _wide_weights(
    scores: Floats,
    masses: Floats,
    n: int,
    single: bool,
    tops: Floats,
    direction: Slopes,
    values: Floats,
    powers: Ints,
    slopes: Slopes,
) -> None:
    """Weights w[m, h] relative to their column's top, the root's in column n."""
    for h in range(n + 1):
        place = n if h == 0 else h - 1
        for m in range(n):
            x = scores[h, m + 1]
            values[m, place], powers[m, place] = 0.0, ZERO
            if x > -np.inf:
                top = tops[m + 1]
                d = x - top
                back = d + top
                mantissa, exponent = exp_parts_wide(d, (x - back) - (top - (back - d)))
                if masses.shape[0] > 0:
                    mantissa *= masses[h, m + 1]
                if h == 0 and single:
                    exponent += _ROOT_SCALE
                values[m, place], powers[m, place] = normalised(mantissa, exponent)
            if direction is not None and slopes is not None:
                slopes[m, place] = values[m, place] * direction[h, m + 1]


@subkernel(reorder=True)
def _terms(
    weights: Floats,
    powers: Ints,
    reach: Floats,
    reach_powers: Ints,
    n: int,
    m: int,
    terms: Floats,
    exponents: Ints,
) -> tuple[float, int]:
    """w[h, m] E[h, m] for one m, and their sum; E[0, m] = 1."""
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
    return total, highest


@subkernel()
def _column(
    terms: Floats,
    exponents: Ints,
    total: float,
    highest: int,
    n: int,
    m: int,
    wanted: int,
    out: Floats,
) -> None:
    """mu[h, m] = w[h, m] E[h, m] / sum over h of the same, for one m."""
    for h in range(n + 1):
        row = 0 if h == n else h + 1
        exponent = exponents[h] - highest
        if terms[h] == 0.0 or exponent < _VANISHED:
            out[row, m + 1] = 0.0 if wanted == MARGINALS else -np.inf
        elif wanted == MARGINALS:
            out[row, m + 1] = narrowed(terms[h] / total, exponent)
        else:
            high, low = times_ln2(float(exponent))
            out[row, m + 1] = min(0.0, (math.log(terms[h] / total) + low) + high)


@subkernel()
def _slope_column(
    weights: Floats,
    powers: Ints,
    slopes: Slopes,
    reach: Floats,
    reach_powers: Ints,
    reach_slopes: Slopes,
    total: float,
    highest: int,
    n: int,
    m: int,
    out: Floats,
) -> None:
    """The slopes of mu[h, m]: (x / s)' = (x' - (x / s) s') / s."""
    if slopes is None or reach_slopes is None:
        return
    total_slope = 0.0
    for again in range(2):
        for h in range(n + 1):
            term, slope, power = weights[m, h], slopes[m, h], powers[m, h]
            if h < n:
                slope = slope * reach[h, m] + term * reach_slopes[h, m]
                term *= reach[h, m]
                power += reach_powers[h, m]
            if again:
                change = (slope - term / total * total_slope) / total
                out[0 if h == n else h + 1, m + 1] = narrowed(change, power - highest)
            else:
                total_slope += slope * power_of_two(power - highest)


@subkernel()
def solve_wide(
    scores: Floats,
    masses: Floats,
    n: int,
    single: bool,
    tops: Floats,
    wanted: int,
    direction: Slopes,
    out: Floats,
) -> tuple[float, int]:
    """Z relative to the columns' tops, as mantissa (0: no tree) and exponent; fills `out`.

    Args:
        wanted: TOTAL, MARGINALS or LOG_MARGINALS.
        direction: None, or (n + 1)^2 as the scores: then `out` gets the slopes of the marginals.
    """
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    slopes = slopes_like(weights, direction)
    _wide_weights(scores, masses, n, single, tops, direction, weights, powers, slopes)
    reach, reach_powers = np.empty((n, n)), np.empty((n, n), np.int64)
    reach_slopes = slopes_like(reach, direction)
    pivots, pivot_powers = np.empty(n), np.empty(n, np.int64)
    if not walk(
        weights, powers, slopes, n, reach, reach_powers, reach_slopes, pivots, pivot_powers
    ):
        return 0.0, 0
    mantissa, exponent = 1.0, 0
    for k in range(n):
        mantissa, exponent = normalised(mantissa * pivots[k], exponent + pivot_powers[k])
    if single:
        exponent -= _ROOT_SCALE
    if mantissa == 0.0 or exponent < _VANISHED:
        return 0.0, 0
    terms, exponents = np.empty(n + 1), np.empty(n + 1, np.int64)
    for m in range(n if wanted != TOTAL else 0):
        total, highest = _terms(weights, powers, reach, reach_powers, n, m, terms, exponents)
        if direction is None:
            _column(terms, exponents, total, highest, n, m, wanted, out)
        else:
            _slope_column(
                weights,
                powers,
                slopes,
                reach,
                reach_powers,
                reach_slopes,
                total,
                highest,
                n,
                m,
                out,
            )
    return mantissa, exponent

"""Slopes of numbers with a wide exponent: derivatives along one direction of the scores.

A slope shares its number's exponent: it is at most as many times larger as the direction is long,
so that what rounding takes from it is small beside the number. Where no slopes are quantity there is
None in place of their array, and Numba leaves out what concerns them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import (
    add_product_along,
    narrowed,
    normalised,
    normalised_along,
    power_of_two,
)
from crossarc.kernels import subkernel

__all__ = [
    "Slopes",
    "add_slopes",
    "column_slopes",
    "copy_slope",
    "cut_slopes",
    "fill_slopes",
    "settle",
    "share_slopes_of",
    "slopes_like",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slopes = Floats | None


@subkernel()
def slopes_like(values: Floats, slopes: Slopes) -> Slopes:
    """Room for the slopes of some numbers, if slopes are quantity at all."""
    return None if slopes is None else np.empty(values.shape)


@subkernel()
def cut_slopes(slopes: Slopes, at: int, rows: int, columns: int) -> Slopes:
    """A copy of a part of flat slopes, as a matrix."""
    if slopes is None:
        return None
    return slopes[at : at + rows * columns].copy().reshape(rows, columns)


@subkernel()
def copy_slope(target: Slopes, at: int, source: Slopes, i: int, j: int) -> None:
    """Flat target[at] = source[i, j]."""
    if target is not None and source is not None:
        target[at] = source[i, j]


@subkernel()
def fill_slopes(slopes: Slopes, i: int, a: int, b: int, source: Slopes, k: int, x: int) -> None:
    """slopes[i, j] = source[k, x], for j from a to b - 1."""
    if slopes is not None and source is not None:
        for j in range(a, b):
            slopes[i, j] = source[k, x]


@subkernel()
def settle(values: Floats, powers: Ints, slopes: Slopes, i: int, j: int) -> None:
    """Bring a mantissa back to [1, 2)."""
    if slopes is None:
        values[i, j], powers[i, j] = normalised(values[i, j], powers[i, j])
    else:
        values[i, j], slopes[i, j], powers[i, j] = normalised_along(
            values[i, j], slopes[i, j], powers[i, j]
        )


@subkernel()
def share_slopes_of(
    block: Floats,
    powers: Ints,
    slopes: Slopes,
    k: int,
    a: int,
    b: int,
    share_powers: Ints,
    share_slopes: Slopes,
    low: int,
    root: int,
    inverse: float,
    highest: int,
) -> None:
    """Slopes of the shares of node k, which are w / d: (w' - (w / d) d') / d."""
    if slopes is None or share_slopes is None:
        return
    size = block.shape[0]
    d_slope = slopes[k, size] * power_of_two(powers[k, size] - highest)
    for h in range(a, b):
        d_slope += slopes[k, h] * power_of_two(powers[k, h] - highest)
    for h in range(a, b + 1):
        place, target = (size, root) if h == b else (h, low + h)
        share_slopes[low + k, target] = 0.0
        if block[k, place] > 0.0:
            change = (slopes[k, place] - block[k, place] * inverse * d_slope) * inverse
            shift = powers[k, place] - highest - share_powers[low + k, target]
            share_slopes[low + k, target] = change * power_of_two(shift)


@subkernel()
def add_slopes(
    values: Floats,
    powers: Ints,
    slopes: Floats,
    i: int,
    a: int,
    b: int,
    terms: Floats,
    term_powers: Ints,
    term_slopes: Floats,
    k: int,
    c: int,
    factor: float,
    factor_slope: float,
    factor_power: int,
) -> None:
    """values[i, j] += terms[k, j - a + c] factor, for j from a to b - 1, and their slopes."""
    end = c + b - a
    add_product_along(
        values[i, a:b],
        slopes[i, a:b],
        powers[i, a:b],
        terms[k, c:end],
        term_slopes[k, c:end],
        term_powers[k, c:end],
        factor,
        factor_slope,
        factor_power,
    )


@subkernel()
def column_slopes(
    weights: Floats,
    powers: Ints,
    slopes: Floats,
    reach: Floats,
    reach_powers: Ints,
    reach_slopes: Floats,
    n: int,
    m: int,
    out: Floats,
) -> None:
    """The slopes of mu[h, m] = x / s, where x = w[h, m] E[h, m]: (x' - (x / s) s') / s."""
    terms, changes, exponents = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, np.int64)
    for h in range(n + 1):
        term, slope, power = weights[m, h], slopes[m, h], powers[m, h]
        if h < n:  # E[0, m] = 1
            slope = slope * reach[h, m] + term * reach_slopes[h, m]
            term, power = term * reach[h, m], power + reach_powers[h, m]
        terms[h], changes[h], exponents[h] = normalised_along(term, slope, power)
    highest = exponents.max()
    total, total_slope = 0.0, 0.0
    for h in range(n + 1):
        scale = power_of_two(exponents[h] - highest)
        total += terms[h] * scale
        total_slope += changes[h] * scale
    for h in range(n + 1):
        change = (changes[h] - terms[h] / total * total_slope) / total
        out[0 if h == n else h + 1, m + 1] = narrowed(change, exponents[h] - highest)

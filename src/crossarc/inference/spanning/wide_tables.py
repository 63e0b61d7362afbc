"""Matrices of numbers with a wide exponent and, where they are wanted, their slopes.

A slope is the derivative along one direction of the scores. It shares its number's exponent: it is
at most as many times larger as the direction is long, so that what rounding takes from it is small
beside the number.

A matrix is three arrays: mantissas, exponents, and slopes or None. For None, what concerns slopes
is not compiled at all. Functions take the arrays one by one: to hand on a tuple counts references
to each of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import (
    add_product,
    add_product_along,
    normalised,
    normalised_along,
)
from crossarc.kernels import subkernel

__all__ = ["Floats", "Ints", "Slopes", "add_row", "block_of", "copy_row", "settle", "slopes_like"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Slopes = Floats | None


@subkernel()
def slopes_like(values: Floats, slopes: Slopes) -> Slopes:
    """Room for the slopes of a matrix, if there are slopes at all."""
    if slopes is None:
        return None
    return np.empty(values.shape)


@subkernel()
def block_of(slopes: Slopes, at: int, rows: int, columns: int) -> Slopes:
    """A copy of some slopes of a matrix with one row, as a matrix of its own."""
    if slopes is None:
        return None
    return slopes[0, at : at + rows * columns].copy().reshape(rows, columns)


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
def copy_row(
    values: Floats,
    powers: Ints,
    slopes: Slopes,
    i: int,
    a: int,
    terms: Floats,
    term_powers: Ints,
    term_slopes: Slopes,
    k: int,
    c: int,
    count: int,
    step: int,
) -> None:
    """values[i, a], values[i, a + 1] ... = terms[k, c], terms[k, c + step] ..."""
    for x in range(count):
        values[i, a + x] = terms[k, c + x * step]
        powers[i, a + x] = term_powers[k, c + x * step]
    if slopes is not None and term_slopes is not None:
        for x in range(count):
            slopes[i, a + x] = term_slopes[k, c + x * step]


@subkernel()
def add_row(
    values: Floats,
    powers: Ints,
    slopes: Slopes,
    i: int,
    a: int,
    b: int,
    terms: Floats,
    term_powers: Ints,
    term_slopes: Slopes,
    k: int,
    c: int,
    factors: Floats,
    factor_powers: Ints,
    factor_slopes: Slopes,
    m: int,
    x: int,
) -> None:
    """values[i, j] += terms[k, j - a + c] factors[m, x], for j from a to b - 1."""
    end = c + b - a
    if slopes is None or term_slopes is None or factor_slopes is None:
        add_product(
            values[i, a:b],
            powers[i, a:b],
            terms[k, c:end],
            term_powers[k, c:end],
            factors[m, x],
            factor_powers[m, x],
        )
    else:
        add_product_along(
            values[i, a:b],
            slopes[i, a:b],
            powers[i, a:b],
            terms[k, c:end],
            term_slopes[k, c:end],
            term_powers[k, c:end],
            factors[m, x],
            factor_slopes[m, x],
            factor_powers[m, x],
        )

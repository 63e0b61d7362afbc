"""Steps of matrix-tree inference in numbers with a wide exponent.

A block holds a graph: row m has the weights w[h, m] of the arcs into word m, with words counted
from 0 and the root in the column behind the last word. A single root is a root with weights scaled
by 2^ROOT_SCALE (see `wide`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import (
    LARGEST_SCORE,
    ZERO,
    add_product,
    exp_parts_wide,
    normalised,
    power_of_two,
)
from crossarc.inference.spanning.wide_slopes import (
    Slopes,
    add_slopes,
    fill_slopes,
    settle,
    share_slopes_of,
)
from crossarc.kernels import subkernel

__all__ = [
    "ROOT_SCALE",
    "VANISHED",
    "column_tops",
    "eliminate_wide",
    "substitute_wide",
    "wide_weights",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Weights of a single root are scaled by two to this power.
ROOT_SCALE = -(1 << 56)
#: Exponents below are those of trees with more than one root, beside trees with one.
VANISHED = -(1 << 55)


@subkernel()
def column_tops(scores: Floats, n: int, single: bool, column_max: Floats) -> bool:
    """The best score into each word; the root's own scores only where they are the only ones.

    Returns whether all scores are small enough to be summed over.
    """
    fit = True
    for m in range(1, n + 1):
        column_max[m] = -np.inf if single else scores[0, m]
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            column_max[m] = max(column_max[m], scores[h, m])
            fit &= (abs(scores[h, m]) <= LARGEST_SCORE) | (scores[h, m] == -np.inf)
    for m in range(1, n + 1):
        fit &= (abs(scores[0, m]) <= LARGEST_SCORE) | (scores[0, m] == -np.inf)
        if column_max[m] == -np.inf:
            column_max[m] = scores[0, m]
    return fit


@subkernel()
def wide_weights(
    scores: Floats,
    label_sums: Floats,
    n: int,
    single: bool,
    column_max: Floats,
    mantissas: Floats,
    exponents: Ints,
) -> None:
    """Weights w[m, h] relative to their column's top, the root's in column n."""
    for h in range(n + 1):
        place = n if h == 0 else h - 1
        for m in range(n):
            x = scores[h, m + 1]
            if x == -np.inf:
                mantissas[m, place], exponents[m, place] = 0.0, ZERO
                continue
            top = column_max[m + 1]
            d = x - top
            back = d + top
            mantissa, exponent = exp_parts_wide(d, (x - back) - (top - (back - d)))
            if label_sums.shape[0] > 0:
                mantissa *= label_sums[h, m + 1]
            if h == 0 and single:
                exponent += ROOT_SCALE
            mantissas[m, place], exponents[m, place] = normalised(mantissa, exponent)


@subkernel(reorder=True)
def _pivot(
    block: Floats,
    powers: Ints,
    k: int,
    a: int,
    b: int,
    shares: Floats,
    share_powers: Ints,
    low: int,
    root: int,
    slopes: Slopes,
    share_slopes: Slopes,
) -> tuple[float, int]:
    """d_k, the root included, and node k's shares; the root's stands in column `root`."""
    size = block.shape[0]
    highest = ZERO
    for h in range(a, b + 1):
        place = size if h == b else h
        settle(block, powers, slopes, k, place)
        highest = max(highest, powers[k, place])
    if highest == ZERO:
        return 0.0, ZERO
    d = block[k, size] * power_of_two(powers[k, size] - highest)
    for h in range(a, b):
        d += block[k, h] * power_of_two(powers[k, h] - highest)
    inverse = 1.0 / d
    for h in range(a, b + 1):
        place, target = (size, root) if h == b else (h, low + h)
        shares[low + k, target], share_powers[low + k, target] = normalised(
            block[k, place] * inverse, powers[k, place] - highest
        )
    share_slopes_of(
        block, powers, slopes, k, a, b, share_powers, share_slopes, low, root, inverse, highest
    )
    return d, highest


@subkernel()
def eliminate_wide(
    block: Floats,
    powers: Ints,
    count: int,
    upper: bool,
    shares: Floats,
    share_powers: Ints,
    low: int,
    root: int,
    pivots: Floats,
    pivot_powers: Ints,
    slopes: Slopes = None,
    share_slopes: Slopes = None,
) -> bool:
    """Eliminate `count` nodes from the end that is not kept; False when there is no tree."""
    size = block.shape[0]
    for done in range(count):
        k = done if upper else size - 1 - done
        a, b = (k + 1, size) if upper else (0, k)
        d, power = _pivot(
            block, powers, k, a, b, shares, share_powers, low, root, slopes, share_slopes
        )
        if d == 0.0:
            return False
        pivots[low + k], pivot_powers[low + k] = d, power
        share = shares[low + k, low + a : low + b]
        share_power = share_powers[low + k, low + a : low + b]
        root_share = shares[low + k, root : root + 1]
        root_power = share_powers[low + k, root : root + 1]
        for m in range(a, b):
            settle(block, powers, slopes, m, k)
            factor, factor_power = block[m, k], powers[m, k]
            if factor == 0.0:
                continue
            # w[h, m] += w[k, m] w[h, k] / d_k, and the same for the root
            if slopes is None or share_slopes is None:
                add_product(block[m, a:b], powers[m, a:b], share, share_power, factor, factor_power)
                add_product(
                    block[m, size:], powers[m, size:], root_share, root_power, factor, factor_power
                )
            else:
                for first, end, at in ((a, b, low + a), (size, size + 1, root)):
                    add_slopes(
                        block,
                        powers,
                        slopes,
                        m,
                        first,
                        end,
                        shares,
                        share_powers,
                        share_slopes,
                        low + k,
                        at,
                        factor,
                        slopes[m, k],
                        factor_power,
                    )
    return True


@subkernel()
def substitute_wide(
    reach: Floats,
    reach_powers: Ints,
    shares: Floats,
    share_powers: Ints,
    k: int,
    first: int,
    last: int,
    a: int,
    b: int,
    root: int,
    reach_slopes: Slopes = None,
    share_slopes: Slopes = None,
) -> None:
    """E[k, m] = share_k(0) + sum over x of share_k(x) E[x, m], m in a..b-1."""
    for m in range(a, b):
        reach[k, m], reach_powers[k, m] = shares[k, root], share_powers[k, root]
    fill_slopes(reach_slopes, k, a, b, share_slopes, k, root)
    for x in range(first, last):
        if shares[k, x] == 0.0:
            continue
        if reach_slopes is None or share_slopes is None:
            add_product(
                reach[k, a:b],
                reach_powers[k, a:b],
                reach[x, a:b],
                reach_powers[x, a:b],
                shares[k, x],
                share_powers[k, x],
            )
        else:
            add_slopes(
                reach,
                reach_powers,
                reach_slopes,
                k,
                a,
                b,
                reach,
                reach_powers,
                reach_slopes,
                x,
                a,
                shares[k, x],
                share_slopes[k, x],
                share_powers[k, x],
            )
    for m in range(a, b):
        settle(reach, reach_powers, reach_slopes, k, m)

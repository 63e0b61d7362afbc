"""Matrix-tree inference in numbers with a wide exponent: the same elimination as `plain`.

Nothing over- or underflows, whatever the scores. A single root is the limit of a root whose weights
are scaled by t -> 0: here t = 2^ROOT_SCALE with an exponent so low that trees with two roots vanish
beside trees with one, yet are still seen when there is no other tree, which then counts as none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import (
    ZERO,
    add_product,
    exp_parts_wide,
    normalised,
    power_of_two,
    times_ln2,
)
from crossarc.inference.spanning.schedule import BACK, BASE, schedule
from crossarc.inference.spanning.wanted import MARGINALS, TOTAL
from crossarc.kernels import subkernel

__all__ = ["solve_wide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROOT_SCALE = -(1 << 56)
_VANISHED = -(1 << 55)
_BIAS = 1023


@subkernel()
def _wide_weights(
    scores: Floats,
    masses: Floats,
    n: int,
    single: bool,
    tops: Floats,
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
            top = tops[m + 1]
            d = x - top
            back = d + top
            mantissa, exponent = exp_parts_wide(d, (x - back) - (top - (back - d)))
            if masses.shape[0] > 0:
                mantissa *= masses[h, m + 1]
            if h == 0 and single:
                exponent += _ROOT_SCALE
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
) -> tuple[float, int]:
    """d_k, the root included, and node k's shares; the root's stands in column `root`."""
    size = block.shape[0]
    highest = ZERO
    for h in range(a, b + 1):
        place = size if h == b else h
        block[k, place], powers[k, place] = normalised(block[k, place], powers[k, place])
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
    return d, highest


@subkernel()
def _eliminate(
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
) -> bool:
    """Eliminate `count` nodes from the end that is not kept; False when there is no tree."""
    size = block.shape[0]
    for done in range(count):
        k = done if upper else size - 1 - done
        a, b = (k + 1, size) if upper else (0, k)
        d, power = _pivot(block, powers, k, a, b, shares, share_powers, low, root)
        if d == 0.0:
            return False
        pivots[low + k], pivot_powers[low + k] = d, power
        share = shares[low + k, low + a : low + b]
        share_power = share_powers[low + k, low + a : low + b]
        root_share = shares[low + k, root : root + 1]
        root_power = share_powers[low + k, root : root + 1]
        for m in range(a, b):
            factor, factor_power = normalised(block[m, k], powers[m, k])
            if factor > 0.0:
                # w[h, m] += w[k, m] w[h, k] / d_k, and the same for the root
                add_product(block[m, a:b], powers[m, a:b], share, share_power, factor, factor_power)
                add_product(
                    block[m, size:], powers[m, size:], root_share, root_power, factor, factor_power
                )
    return True


@subkernel()
def _substitute(
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
) -> None:
    """E[k, m] = share_k(0) + sum over x of share_k(x) E[x, m], m in a..b-1."""
    for m in range(a, b):
        reach[k, m], reach_powers[k, m] = shares[k, root], share_powers[k, root]
    for x in range(first, last):
        if shares[k, x] > 0.0:
            add_product(
                reach[k, a:b],
                reach_powers[k, a:b],
                reach[x, a:b],
                reach_powers[x, a:b],
                shares[k, x],
                share_powers[k, x],
            )
    for m in range(a, b):
        reach[k, m], reach_powers[k, m] = normalised(reach[k, m], reach_powers[k, m])


@subkernel()
def _walk(
    weights: Floats,
    weight_powers: Ints,
    n: int,
    reach: Floats,
    reach_powers: Ints,
    pivots: Floats,
    pivot_powers: Ints,
) -> bool:
    """Fill E and the pivots by `schedule`; False when there is no tree."""
    # A block of r nodes has r rows of r + 1 entries, the root's last.
    room = 2 * n * n + 8 * n + 80
    blocks, block_powers = np.empty(room), np.empty(room, np.int64)
    for m in range(n):
        for h in range(n + 1):
            blocks[m * (n + 1) + h] = weights[m, h]
            block_powers[m * (n + 1) + h] = weight_powers[m, h]
    shares, share_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    spare, spare_powers = np.empty(n), np.empty(n, np.int64)
    steps = schedule(n, 1, False)
    for step in range(steps.shape[0]):
        kind, low, middle, high, upper, at, root_at = steps[step]
        # Blocks here carry their root weights with them.
        at += root_at
        size, half = high - low, middle - low
        if kind == BASE:
            reach[low, low], reach_powers[low, low] = 0.0, ZERO
            if low == 0:
                pivots[0], pivot_powers[0] = normalised(blocks[at + 1], block_powers[at + 1])
        elif kind == BACK:
            count = half if upper else size - half
            for place in range(count):
                k = low + half - 1 - place if upper else low + half + place
                first, last = (k + 1, high) if upper else (low, k)
                a, b = (low + half, high) if upper else (low, low + half)
                _substitute(reach, reach_powers, shares, share_powers, k, first, last, a, b, n)
        else:
            entries = size * (size + 1)
            block = blocks[at : at + entries].copy().reshape(size, size + 1)
            powers = block_powers[at : at + entries].copy().reshape(size, size + 1)
            count = half if upper else size - half
            on_path = low == 0 and not upper
            feasible = _eliminate(
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
    return True


@subkernel(reorder=True)
def _column(
    weights: Floats,
    powers: Ints,
    reach: Floats,
    reach_powers: Ints,
    n: int,
    m: int,
    wanted: int,
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
        if terms[h] == 0.0 or exponent < _VANISHED:
            out[row, m + 1] = 0.0 if wanted == MARGINALS else -np.inf
        elif wanted == MARGINALS:
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
    masses: Floats,
    n: int,
    single: bool,
    tops: Floats,
    wanted: int,
    out: Floats,
) -> tuple[float, int]:
    """Z relative to the columns' tops, as mantissa (0: no tree) and exponent; fills `out`.

    Args:
        wanted: TOTAL, MARGINALS or LOG_MARGINALS.
    """
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    _wide_weights(scores, masses, n, single, tops, weights, powers)
    reach, reach_powers = np.empty((n, n)), np.empty((n, n), np.int64)
    pivots, pivot_powers = np.empty(n), np.empty(n, np.int64)
    if not _walk(weights, powers, n, reach, reach_powers, pivots, pivot_powers):
        return 0.0, 0
    mantissa, exponent = 1.0, 0
    for k in range(n):
        mantissa, exponent = normalised(mantissa * pivots[k], exponent + pivot_powers[k])
    if single:
        exponent -= _ROOT_SCALE
    if mantissa == 0.0 or exponent < _VANISHED:
        return 0.0, 0
    if wanted != TOTAL:
        for m in range(n):
            _column(weights, powers, reach, reach_powers, n, m, wanted, out)
    return mantissa, exponent

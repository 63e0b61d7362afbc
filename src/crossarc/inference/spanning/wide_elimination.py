"""The elimination in wide numbers: every E[h, m] and the pivots, by the order of `schedule`."""

from __future__ import annotations

import numpy as np

from crossarc.inference.extended import ZERO, power_of_two
from crossarc.inference.spanning.schedule import BACK, BASE, schedule
from crossarc.inference.spanning.wide_tables import (
    Floats,
    Ints,
    Slopes,
    add_row,
    block_of,
    copy_row,
    settle,
    slopes_like,
)
from crossarc.kernels import subkernel

__all__ = ["walk"]


@subkernel(reorder=True)
def _pivot(
    block: Floats,
    powers: Ints,
    slopes: Slopes,
    k: int,
    a: int,
    b: int,
    shares: Floats,
    share_powers: Ints,
    share_slopes: Slopes,
    low: int,
    root: int,
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
        shares[low + k, target] = block[k, place] * inverse
        share_powers[low + k, target] = powers[k, place] - highest
    if slopes is not None and share_slopes is not None:
        d_slope = slopes[k, size] * power_of_two(powers[k, size] - highest)
        for h in range(a, b):
            d_slope += slopes[k, h] * power_of_two(powers[k, h] - highest)
        for h in range(a, b + 1):
            place, target = (size, root) if h == b else (h, low + h)
            # (w / d)' = (w' - (w / d) d') / d
            change = slopes[k, place] - shares[low + k, target] * d_slope
            share_slopes[low + k, target] = change * inverse
    for h in range(a, b + 1):
        settle(shares, share_powers, share_slopes, low + k, root if h == b else low + h)
    return d, highest


@subkernel()
def _eliminate(
    block: Floats,
    powers: Ints,
    slopes: Slopes,
    count: int,
    upper: bool,
    shares: Floats,
    share_powers: Ints,
    share_slopes: Slopes,
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
        d, power = _pivot(
            block, powers, slopes, k, a, b, shares, share_powers, share_slopes, low, root
        )
        if d == 0.0:
            return False
        pivots[low + k], pivot_powers[low + k] = d, power
        for m in range(a, b):
            settle(block, powers, slopes, m, k)
            if block[m, k] == 0.0:
                continue
            # w[h, m] += w[k, m] w[h, k] / d_k, and the same for the root
            add_row(
                block,
                powers,
                slopes,
                m,
                a,
                b,
                shares,
                share_powers,
                share_slopes,
                low + k,
                low + a,
                block,
                powers,
                slopes,
                m,
                k,
            )
            add_row(
                block,
                powers,
                slopes,
                m,
                size,
                size + 1,
                shares,
                share_powers,
                share_slopes,
                low + k,
                root,
                block,
                powers,
                slopes,
                m,
                k,
            )
    return True


@subkernel()
def _substitute(
    reach: Floats,
    reach_powers: Ints,
    reach_slopes: Slopes,
    shares: Floats,
    share_powers: Ints,
    share_slopes: Slopes,
    k: int,
    first: int,
    last: int,
    a: int,
    b: int,
    root: int,
) -> None:
    """E[k, m] = share_k(0) + sum over x of share_k(x) E[x, m], m in a..b-1."""
    copy_row(
        reach,
        reach_powers,
        reach_slopes,
        k,
        a,
        shares,
        share_powers,
        share_slopes,
        k,
        root,
        b - a,
        0,
    )
    for x in range(first, last):
        if shares[k, x] > 0.0:
            add_row(
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
                shares,
                share_powers,
                share_slopes,
                k,
                x,
            )
    for m in range(a, b):
        settle(reach, reach_powers, reach_slopes, k, m)


@subkernel()
def _keep(
    blocks: Floats,
    block_powers: Ints,
    block_slopes: Slopes,
    at: int,
    block: Floats,
    powers: Ints,
    slopes: Slopes,
    start: int,
    kept: int,
) -> None:
    """Nodes start..start + kept - 1 of a block, and the root, as a block of their own."""
    size = block.shape[0]
    for i in range(kept):
        for is_root in range(2):
            target = at + i * (kept + 1) + (kept if is_root else 0)
            copy_row(
                blocks,
                block_powers,
                block_slopes,
                0,
                target,
                block,
                powers,
                slopes,
                start + i,
                size if is_root else start,
                1 if is_root else kept,
                1,
            )


@subkernel()
def walk(
    weights: Floats,
    weight_powers: Ints,
    weight_slopes: Slopes,
    n: int,
    reach: Floats,
    reach_powers: Ints,
    reach_slopes: Slopes,
    pivots: Floats,
    pivot_powers: Ints,
) -> bool:
    """Fill E and the pivots from the weights w[m, h]; False when there is no tree."""
    # A block of r nodes has r rows of r + 1 entries, the root's last.
    room = (1, 2 * n * n + 8 * n + 80)
    blocks, block_powers = np.empty(room), np.empty(room, np.int64)
    block_slopes = slopes_like(blocks, weight_slopes)
    _keep(blocks, block_powers, block_slopes, 0, weights, weight_powers, weight_slopes, 0, n)
    shares, share_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    share_slopes = slopes_like(shares, weight_slopes)
    spare, spare_powers = np.empty(n), np.empty(n, np.int64)
    steps = schedule(n, 1, False)
    for step in range(steps.shape[0]):
        kind, low, middle, high, upper, at, root_at = steps[step]
        # Blocks here carry their root weights with them.
        at += root_at
        size, half = high - low, middle - low
        count = half if upper else size - half
        if kind == BASE:
            reach[low, low], reach_powers[low, low] = 0.0, ZERO
            settle(reach, reach_powers, reach_slopes, low, low)
            if low == 0:
                settle(blocks, block_powers, block_slopes, 0, at + 1)
                pivots[0], pivot_powers[0] = blocks[0, at + 1], block_powers[0, at + 1]
        elif kind == BACK:
            for place in range(count):
                k = low + half - 1 - place if upper else low + half + place
                first, last = (k + 1, high) if upper else (low, k)
                a, b = (low + half, high) if upper else (low, low + half)
                _substitute(
                    reach,
                    reach_powers,
                    reach_slopes,
                    shares,
                    share_powers,
                    share_slopes,
                    k,
                    first,
                    last,
                    a,
                    b,
                    n,
                )
        else:
            entries = size * (size + 1)
            block = blocks[0, at : at + entries].copy().reshape(size, size + 1)
            powers = block_powers[0, at : at + entries].copy().reshape(size, size + 1)
            slopes = block_of(block_slopes, at, size, size + 1)
            on_path = low == 0 and not upper
            feasible = _eliminate(
                block,
                powers,
                slopes,
                count,
                upper != 0,
                shares,
                share_powers,
                share_slopes,
                low,
                n,
                pivots if on_path else spare,
                pivot_powers if on_path else spare_powers,
            )
            if not feasible:
                return False
            start, kept = half if upper else 0, size - count
            _keep(
                blocks, block_powers, block_slopes, at + entries, block, powers, slopes, start, kept
            )
    return True

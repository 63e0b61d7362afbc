"""Matrix-tree inference in float64, subtraction-free, with a proof that nothing was lost.

Read w[h, m] as a walk that steps from m to h and ends at the root. Eliminating node k,

    d_k = sum over the remaining h of w[h, k],      w[h, m] += w[h, k] w[k, m] / d_k,

leaves the same tree weight times d_k, so Z is the product of the d_k (for a single root, the root
counts in d_k only for the last node; Koo et al. 2007, section 3.2, is the same limit). With E from
`schedule`,

    mu[h, m] = w[h, m] E[h, m] / s_m,      s_m = sum over h of w[h, m] E[h, m].

Only sums, products and quotients of non-negative numbers occur, so every result has a relative
error of a few n rounding units, *provided that no product that matters underflows*. That is
certain in two cases, which `_product` checks (docs/numerics.md):

1. No arc is forbidden and every weight is at least 2^-900 of its column's largest. Elimination only
   adds to an entry, so all entries stay above that, and a product that underflows, being below
   2^-1022, cannot change a digit of the entry it is added to.
2. Some arcs are forbidden, weights are as above, and in every update the smallest factors that are
   not zero have a product of at least 2^-960. Then no product underflows at all.

Otherwise, or when a single-root quantity overflows, the caller uses `wide`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import normalised
from crossarc.inference.spanning.elimination import (
    PAD,
    eliminate,
    least_share,
    solve_base,
    substitute,
)
from crossarc.inference.spanning.schedule import BACK, BASE, schedule
from crossarc.kernels import subkernel

__all__ = ["LARGEST", "SMALLEST_PRODUCT", "room_plain", "solve_plain", "total_plain"]

Floats = NDArray[np.float64]

SMALLEST_PRODUCT = 2.0**-960
LARGEST = 2.0**900


@subkernel()
def room_plain(n: int) -> int:
    """How many floats `solve_plain` and `total_plain` work in."""
    return 5 * n * n + (3 * PAD + 16) * n + 80


@subkernel()
def _cut(space: Floats, size: int) -> tuple[Floats, Floats]:
    """The first `size` floats of a workspace, and the rest."""
    return space[:size], space[size:]


@subkernel()
def _cut_square(space: Floats, n: int) -> tuple[Floats, Floats]:
    """A padded square from a workspace, and the rest."""
    size = n * (n + PAD)
    return space[:size].reshape(n, n + PAD), space[size:]


@subkernel()
def _load(
    block: Floats, root: Floats, blocks: Floats, roots: Floats, at: int, root_at: int
) -> None:
    """Take a block out of the store, to work on."""
    size = root.shape[0]
    for m in range(size):
        root[m] = roots[root_at + m]
        row = block[m]
        for h in range(size):
            row[h] = blocks[at + m * size + h]


@subkernel()
def _keep(
    block: Floats,
    root: Floats,
    blocks: Floats,
    roots: Floats,
    at: int,
    root_at: int,
    gone: int,
    start: int,
) -> None:
    """Store the nodes that are left of a block behind it."""
    size = block.shape[0]
    kept = size - gone
    place = at + size * size
    for i in range(kept):
        roots[root_at + size + i] = root[start + i]
        row = block[start + i]
        for h in range(kept):
            blocks[place + i * kept + h] = row[start + h]


@subkernel()
def _walk(
    weights: Floats,
    n: int,
    single: bool,
    forbidden: bool,
    reach: Floats,
    shares: Floats,
    pivots: Floats,
    space: Floats,
) -> float:
    """Fill E and the pivots by `schedule`; returns the smallest product of two factors.

    The products in E are looked at only if an arc is forbidden: otherwise E is at least a root
    share, beside which what underflows is nothing.
    """
    blocks, rest = _cut(space, 2 * n * n + 4 * n)
    scratch, rest = _cut(rest, n * (n + PAD))
    roots, rest = _cut(rest, 2 * n + 80)
    root_shares, rest = _cut(rest, n)
    least_shares, rest = _cut(rest, n)
    spare, rest = _cut(rest, n)
    root_scratch, rest = _cut(rest, n)
    for m in range(n):
        roots[m] = weights[0, m + 1]
        for h in range(n):
            blocks[m * n + h] = weights[h + 1, m + 1]
    steps = schedule(n, 3, False)
    smallest, least_reach = np.inf, np.inf
    for step in range(steps.shape[0]):
        kind, low, middle, high, upper, at, root_at = steps[step]
        size, half = high - low, middle - low
        count = half if upper else size - half
        if kind == BACK:
            for place in range(count):
                k = low + half - 1 - place if upper else low + half + place
                first, last = (k + 1, high) if upper else (low, k)
                a, b = (low + half, high) if upper else (low, low + half)
                least = substitute(reach, shares, root_shares, k, first, last, a, b)
                if forbidden:
                    smallest = min(smallest, least_shares[k] * least_reach)
                    least_reach = min(least_reach, least)
            continue
        block = scratch[: size * (size + PAD)].reshape(size, size + PAD)
        root = root_scratch[:size]
        _load(block, root, blocks, roots, at, root_at)
        if kind == BASE:
            product, least = solve_base(block, root, single, reach, low)
            smallest, least_reach = min(smallest, product), min(least_reach, least)
            if low == 0 and product > 0.0:
                product = eliminate(
                    block, root, size - 1, False, single, shares, root_shares, 0, pivots
                )
                smallest = min(smallest, product)
                pivots[0] = root[0]
        else:
            # Z is the product of the pivots on the way down to node 0.
            seen = pivots if low == 0 and not upper else spare
            product = eliminate(
                block, root, count, upper != 0, single, shares, root_shares, low, seen
            )
            smallest = min(smallest, product)
            _keep(block, root, blocks, roots, at, root_at, count, half if upper else 0)
            for place in range(count if forbidden else 0):
                k = low + (place if upper else size - 1 - place)
                least_shares[k] = least_share(shares, k, low, high, upper != 0)
        if product == 0.0:
            return 0.0
    return smallest


@subkernel()
def _product(pivots: Floats, forbidden: bool, smallest: float) -> tuple[bool, float, int]:
    """Z as mantissa and exponent, and whether it is certain that nothing was lost."""
    mantissa, exponent = 1.0, 0
    certain = smallest > 0.0 and not (forbidden and smallest < SMALLEST_PRODUCT)
    for k in range(pivots.shape[0]):
        certain = certain and 0.0 < pivots[k] <= LARGEST
        mantissa, exponent = normalised(mantissa * pivots[k], exponent)
    return certain, mantissa, exponent


@subkernel()
def total_plain(
    weights: Floats, n: int, single: bool, forbidden: bool, space: Floats
) -> tuple[bool, float, int]:
    """Z of scaled weights, without marginals: (certain, mantissa, exponent), n^3 / 3 steps."""
    block, rest = _cut_square(space, n)
    shares, rest = _cut_square(rest, n)
    roots, rest = _cut(rest, n)
    root_shares, rest = _cut(rest, n)
    pivots, rest = _cut(rest, n)
    for m in range(n):
        roots[m] = weights[0, m + 1]
        for h in range(n):
            block[m, h] = weights[h + 1, m + 1]
    smallest = eliminate(block, roots, n - 1, False, single, shares, root_shares, 0, pivots)
    pivots[0] = roots[0]
    return _product(pivots, forbidden, smallest)


@subkernel()
def solve_plain(
    weights: Floats, n: int, single: bool, forbidden: bool, lift: Floats, space: Floats
) -> tuple[bool, float, int]:
    """Z of scaled weights and lift[h, m] = E[h, m] / s_m, so that mu = weights * lift.

    Args:
        weights: (n + 1, n + 1), the largest of a column about 1, forbidden ones 0; those not 0 are
            at least 2^-900.
        forbidden: whether any arc is.
        space: at least room_plain(n) floats to work in.

    Returns:
        Whether the result is certain, and Z as mantissa and exponent.
    """
    reach, rest = _cut_square(space, n)
    shares, rest = _cut_square(rest, n)
    pivots, rest = _cut(rest, n)
    smallest = _walk(weights, n, single, forbidden, reach, shares, pivots, rest)
    certain, mantissa, exponent = _product(pivots, forbidden, smallest)
    if not certain:
        return False, mantissa, exponent
    totals = weights[0, 1:].copy()
    for h in range(n):
        for m in range(n):
            totals[m] += weights[h + 1, m + 1] * reach[h, m]
    for m in range(n):
        certain = certain and SMALLEST_PRODUCT <= totals[m] <= LARGEST
        lift[0, m + 1] = totals[m] = 1.0 / totals[m]
    for h in range(n):
        for m in range(n):
            certain = certain and reach[h, m] <= LARGEST
            usable = weights[h + 1, m + 1] > 0.0
            lift[h + 1, m + 1] = reach[h, m] * totals[m] if usable else 0.0
    return certain, mantissa, exponent

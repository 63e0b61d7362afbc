"""The steps of the elimination in float64; `plain` says what they add up to and when they are safe.

A block of nodes holds w[m, h] in its rows, transposed, so that the inner loops run along memory.
Nodes are eliminated two at a time, which halves the passes over the block. Loops over columns run
on to a multiple of PAD, so that they are vector instructions to the end; what they do behind their
range touches only padding, nodes that are gone, and entries of E that are written later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["PAD", "eliminate", "least_share", "solve_base", "substitute"]

Floats = NDArray[np.float64]

#: Columns are padded to a multiple of this.
PAD = 16


@subkernel(reorder=True)
def _pivot(
    block: Floats,
    roots: Floats,
    k: int,
    a: int,
    b: int,
    single: bool,
    shares: Floats,
    root_shares: Floats,
    low: int,
    pivots: Floats,
) -> float:
    """d_k and node k's shares w[h, k] / d_k, h in a..b-1; returns the smallest that is not 0."""
    row = block[k, a:b]
    share = shares[low + k, low + a : low + b]
    d = 0.0
    for h in range(b - a):
        d += row[h]
    if not single:
        d += roots[k]
    pivots[low + k] = d
    if d == 0.0:
        return 0.0
    inverse = 1.0 / d
    smallest = np.inf
    for h in range(b - a):
        share[h] = row[h] * inverse
        smallest = min(smallest, share[h] if share[h] > 0.0 else np.inf)
    root_shares[low + k] = roots[k] * inverse
    if roots[k] > 0.0:
        smallest = min(smallest, root_shares[low + k])
    return smallest


@subkernel(reorder=True)
def _update(
    block: Floats,
    roots: Floats,
    k: int,
    j: int,
    a: int,
    b: int,
    shares: Floats,
    root_shares: Floats,
    low: int,
) -> tuple[float, float]:
    """w[h, m] += w[k, m] share_k(h) + w[j, m] share_j(h) for m, h in a..b-1; j = -1 is none.

    Returns the smallest factors w[k, m] and w[j, m] that are not 0.
    """
    least_k = least_j = np.inf
    width = (b - a + PAD - 1) // PAD * PAD
    share_k = shares[low + k, low + a : low + a + width]
    if j < 0:
        for m in range(a, b):
            factor_k = block[m, k]
            if factor_k > 0.0:
                least_k = min(least_k, factor_k)
                row = block[m, a : a + width]
                for h in range(width):
                    row[h] += factor_k * share_k[h]
                roots[m] += factor_k * root_shares[low + k]
        return least_k, least_j
    share_j = shares[low + j, low + a : low + a + width]
    through = shares[low + k, low + j]
    for m in range(a, b):
        block[m, j] += block[m, k] * through
        if block[m, k] > 0.0:
            least_k = min(least_k, block[m, k])
        if block[m, j] > 0.0:
            least_j = min(least_j, block[m, j])
        roots[m] += block[m, k] * root_shares[low + k] + block[m, j] * root_shares[low + j]
    # Two rows at a time share the loads of the shares.
    for m in range(a, b - 1, 2):
        k0, j0, k1, j1 = block[m, k], block[m, j], block[m + 1, k], block[m + 1, j]
        row0, row1 = block[m, a : a + width], block[m + 1, a : a + width]
        for h in range(width):
            s, t = share_k[h], share_j[h]
            row0[h] += k0 * s + j0 * t
            row1[h] += k1 * s + j1 * t
    if (b - a) % 2:
        k0, j0 = block[b - 1, k], block[b - 1, j]
        row0 = block[b - 1, a : a + width]
        for h in range(width):
            row0[h] += k0 * share_k[h] + j0 * share_j[h]
    return least_k, least_j


@subkernel(reorder=True)
def eliminate(
    block: Floats,
    roots: Floats,
    count: int,
    upper: bool,
    single: bool,
    shares: Floats,
    root_shares: Floats,
    low: int,
    pivots: Floats,
) -> float:
    """Eliminate `count` nodes, from the end that is not kept, two at a time.

    Returns the smallest product of two factors that are not 0 (0 if a pivot is 0).
    """
    size = roots.shape[0]
    smallest = np.inf
    done = 0
    while done < count:
        k = done if upper else size - 1 - done
        a, b = (k + 1, size) if upper else (0, k)
        least_k = _pivot(block, roots, k, a, b, single, shares, root_shares, low, pivots)
        if least_k == 0.0:
            return 0.0
        j = k + 1 if upper else k - 1
        pair = done + 1 < count
        least_j = np.inf
        if pair:
            # Node j takes part in k's elimination, then is eliminated itself.
            a, b = (j + 1, size) if upper else (0, j)
            share_k = shares[low + k, low + a : low + b]
            row = block[j, a:b]
            factor = block[j, k]
            for h in range(b - a):
                row[h] += factor * share_k[h]
            roots[j] += factor * root_shares[low + k]
            if factor > 0.0:
                smallest = min(smallest, factor * least_k)
            least_j = _pivot(block, roots, j, a, b, single, shares, root_shares, low, pivots)
            if least_j == 0.0:
                return 0.0
        product = _update(block, roots, k, j if pair else -1, a, b, shares, root_shares, low)
        smallest = min(smallest, product[0] * least_k, product[1] * least_j)
        done += 2 if pair else 1
    return smallest


@subkernel(reorder=True)
def substitute(
    reach: Floats,
    shares: Floats,
    root_shares: Floats,
    k: int,
    first: int,
    last: int,
    a: int,
    b: int,
) -> float:
    """E[k, m] = share_k(0) + sum over x in first..last-1 of share_k(x) E[x, m], m in a..b-1.

    Returns the smallest result that is not 0.
    """
    width = (b - a + PAD - 1) // PAD * PAD
    c = a + width
    row = reach[k, a:c]
    for m in range(width):
        row[m] = root_shares[k]
    x = first
    while x + 3 < last:
        s0, s1, s2, s3 = shares[k, x], shares[k, x + 1], shares[k, x + 2], shares[k, x + 3]
        e0, e1, e2, e3 = reach[x, a:c], reach[x + 1, a:c], reach[x + 2, a:c], reach[x + 3, a:c]
        for m in range(width):
            row[m] += s0 * e0[m] + s1 * e1[m] + s2 * e2[m] + s3 * e3[m]
        x += 4
    while x < last:
        s0 = shares[k, x]
        e0 = reach[x, a:c]
        for m in range(width):
            row[m] += s0 * e0[m]
        x += 1
    smallest = np.inf
    for m in range(b - a):
        smallest = min(smallest, row[m] if row[m] > 0.0 else np.inf)
    return smallest


@subkernel()
def least_share(shares: Floats, k: int, low: int, high: int, upper: bool) -> float:
    """The smallest share of node k, but for the root's, that is not 0."""
    first, last = (k + 1, high) if upper else (low, k)
    least = np.inf
    for x in range(first, last):
        if shares[k, x] > 0.0:
            least = min(least, shares[k, x])
    return least


@subkernel()
def _shares_in_base(
    block: Floats, roots: Floats, k: int, i: int, m: int, single: bool
) -> tuple[float, float]:
    """Where the walk from k goes when only i, m and the root are left: to m, to the root."""
    d = block[k, i] + block[k, m] + (0.0 if single else roots[k])
    if d == 0.0:
        return 0.0, 0.0
    return block[k, m] / d, roots[k] / d


@subkernel()
def _smaller_product(smallest: float, x: float, y: float) -> float:
    return min(smallest, x * y) if x > 0.0 and y > 0.0 else smallest


@subkernel()
def solve_base(
    block: Floats, roots: Floats, single: bool, reach: Floats, low: int
) -> tuple[float, float]:
    """E of a block of up to three nodes, each entry by itself.

    With k eliminated from i, m, k, the walk from i goes to m with weight w and to the root with
    weight r; E[i, m] = r / (w + r), or r / w for a single root.

    Returns the smallest product of factors that are not 0 (0 if a denominator is 0), and the
    smallest entry that is not 0.
    """
    size = roots.shape[0]
    smallest, least = np.inf, np.inf
    for i in range(size):
        reach[low + i, low + i] = 0.0
        for m in range(size):
            if m == i:
                continue
            weight, root = block[i, m], roots[i]
            if size == 3:
                k = 3 - i - m
                to_m, to_root = _shares_in_base(block, roots, k, i, m, single)
                smallest = _smaller_product(smallest, block[i, k], to_m)
                smallest = _smaller_product(smallest, block[i, k], to_root)
                weight += block[i, k] * to_m
                root += block[i, k] * to_root
            d = weight + (0.0 if single else root)
            if d == 0.0:
                return 0.0, 0.0
            reach[low + i, low + m] = root / d
            if root > 0.0:
                least = min(least, root / d)
    return smallest, least

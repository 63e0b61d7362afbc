"""Inside and outside sums of the dependency model with valence (Klein & Manning 2004).

Each word h generates modifiers on each side d, from the inside out: before each it decides whether
to stop, with another probability if it has none there yet (adjacent), then whom to take. Items span
words i..j and have their head at one end, as in Eisner's algorithm:

    CR(i, j), CL(i, j)   head i, or j; this side of it has stopped              (closed)
    OR(i, j), OL(i, j)   the same with a modifier at least, and not stopped     (open)
    IR(i, j), IL(i, j)   arc i -> j, or j -> i, has just been made              (incomplete)

    CR(i, i) = stop(i, R, adjacent)              CR(i, j) = OR(i, j) stop(i, R, not adjacent)
    OR(i, j) = sum_k IR(i, k) CR(k, j)           i < k <= j
    IR(i, j) = p(j | i, R) (go(i, R, adjacent) CL(i + 1, j)
               + go(i, R, not adjacent) sum_k OR(i, k) CL(k + 1, j))      i < k < j
    Z = sum_m p(m | root) CL(1, m) CR(m, n)

and their mirror images, O(n^3). All numbers are relative to the largest probability of each word,
so that none of them is over the number of trees, and for up to 100 words and a Z of at least 1e-100
float64 is enough: what underflows is less than 1e-300 of what is summed up.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = ["ADJACENT", "GO", "LEFT", "LONGEST", "RIGHT", "STOP", "sum_sentences"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEFT, RIGHT = 0, 1
#: Indices of stops[unit, direction, adjacent, decision].
ADJACENT = 1
STOP, GO = 0, 1
#: Longer sentences are left to wide numbers.
LONGEST = 100
_LEAST = 1e-100

_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_READ4 = types.Array(types.float64, 4, "C", readonly=True)


@subkernel()
def _weights(units: Ints, choose: Floats, weights: Floats, roots: Floats) -> float:
    """p(m | h) and p(m | root) over the largest of each m; returns the log of their product."""
    n, root = units.shape[0], choose.shape[0] - 1
    log_scale = 0.0
    for m in range(n):
        largest = choose[root, RIGHT, units[m]]
        for h in range(n):
            if h != m:
                side = LEFT if m < h else RIGHT
                weights[h, m] = choose[units[h], side, units[m]]
                largest = max(largest, weights[h, m])
        if largest == 0.0:
            return -np.inf
        roots[m] = choose[root, RIGHT, units[m]] / largest
        for h in range(n):
            weights[h, m] /= largest
        log_scale += math.log(largest)
    return log_scale


@subkernel(reorder=True)
def _inside(units: Ints, stops: Floats, weights: Floats, items: Floats, sums: Floats) -> None:
    """All items; `sums` are the sums over k in IR [i, j] and in IL [j, i]."""
    n = units.shape[0]
    cr, cl, orr, oll, ir, il = items
    for i in range(n):
        cr[i, i] = stops[units[i], RIGHT, 1, STOP]
        cl[i, i] = stops[units[i], LEFT, 1, STOP]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            a, b = units[i], units[j]
            right, left = 0.0, 0.0
            for k in range(i + 1, j):
                right += orr[i, k] * cl[j, k + 1]
                left += cr[i, k - 1] * oll[j, k]
            sums[i, j], sums[j, i] = right, left
            first, later = stops[a, RIGHT, 1, GO], stops[a, RIGHT, 0, GO]
            ir[i, j] = weights[i, j] * (first * cl[j, i + 1] + later * right)
            first, later = stops[b, LEFT, 1, GO], stops[b, LEFT, 0, GO]
            il[j, i] = weights[j, i] * (first * cr[i, j - 1] + later * left)
            right, left = 0.0, 0.0
            for k in range(i + 1, j + 1):
                right += ir[i, k] * cr[k, j]
            for k in range(i, j):
                left += cl[k, i] * il[j, k]
            orr[i, j], oll[j, i] = right, left
            cr[i, j] = right * stops[a, RIGHT, 0, STOP]
            cl[j, i] = left * stops[b, LEFT, 0, STOP]


@subkernel()
def _outside(units: Ints, stops: Floats, weights: Floats, items: Floats, outer: Floats) -> None:
    """The derivative of Z by each item, `outer` being set for the items of the goal."""
    n = units.shape[0]
    cr, cl, orr, oll, ir, il = items
    d_cr, d_cl, d_or, d_ol, d_ir, d_il = outer
    for length in range(n - 1, 0, -1):
        for i in range(n - length):
            j = i + length
            a, b = units[i], units[j]
            right = d_or[i, j] + d_cr[i, j] * stops[a, RIGHT, 0, STOP]
            left = d_ol[j, i] + d_cl[j, i] * stops[b, LEFT, 0, STOP]
            for k in range(i + 1, j + 1):
                d_ir[i, k] += right * cr[k, j]
                d_cr[k, j] += right * ir[i, k]
            for k in range(i, j):
                d_il[j, k] += left * cl[k, i]
                d_cl[k, i] += left * il[j, k]
            right, left = d_ir[i, j] * weights[i, j], d_il[j, i] * weights[j, i]
            d_cl[j, i + 1] += right * stops[a, RIGHT, 1, GO]
            d_cr[i, j - 1] += left * stops[b, LEFT, 1, GO]
            right *= stops[a, RIGHT, 0, GO]
            left *= stops[b, LEFT, 0, GO]
            for k in range(i + 1, j):
                d_or[i, k] += right * cl[j, k + 1]
                d_cl[j, k + 1] += right * orr[i, k]
                d_cr[i, k - 1] += left * oll[j, k]
                d_ol[j, k] += left * cr[i, k - 1]


@subkernel()
def _count(
    units: Ints,
    stops: Floats,
    weights: Floats,
    items: Floats,
    sums: Floats,
    outer: Floats,
    z: float,
    choose_counts: Floats,
    stop_counts: Floats,
) -> None:
    """Add the expected counts of a sentence."""
    n = units.shape[0]
    cr, cl, d_ir, d_il = items[0], items[1], outer[4], outer[5]
    for h in range(n):
        unit = units[h]
        for side in range(2):
            first, later = 0.0, 0.0
            begin, end = (0, h) if side == LEFT else (h + 1, n)
            for m in range(begin, end):
                outside = (d_il[h, m] if side == LEFT else d_ir[h, m]) * weights[h, m] / z
                inner = cr[m, h - 1] if side == LEFT else cl[m, h + 1]
                one = outside * stops[unit, side, 1, GO] * inner
                other = outside * stops[unit, side, 0, GO] * sums[h, m]
                first += one
                later += other
                choose_counts[unit, side, units[m]] += one + other
            stop_counts[unit, side, 1, GO] += first
            stop_counts[unit, side, 1, STOP] += max(0.0, 1.0 - first)
            stop_counts[unit, side, 0, GO] += later
            stop_counts[unit, side, 0, STOP] += first


@kernel(
    types.void(
        READ_INT,
        types.int64,
        _READ3,
        _READ4,
        types.boolean,
        types.float64[::1],
        types.float64[:, :, ::1],
        types.float64[:, :, :, ::1],
    )
)
def sum_sentences(
    words: Ints,
    n: int,
    choose: Floats,
    stops: Floats,
    counted: bool,
    totals: Floats,
    choose_counts: Floats,
    stop_counts: Floats,
) -> None:
    """log Z of sentences of n words, NaN where float64 is not enough, and expected counts.

    Args:
        words: the units of all sentences, end to end.
        choose: p(modifier | head, direction); the last head is the root, whose direction is RIGHT.
        stops: [unit, direction, adjacent, decision].
        counted: whether to add expected counts to the last two.
    """
    items, outer = np.empty((6, n, n)), np.empty((6, n, n))
    weights, sums, roots = np.zeros((n, n)), np.zeros((n, n)), np.empty(n)
    root = choose.shape[0] - 1
    for s in range(totals.shape[0]):
        units = words[s * n : (s + 1) * n]
        log_scale = _weights(units, choose, weights, roots)
        if log_scale == -np.inf:
            totals[s] = -np.inf
            continue
        items[:] = 0.0
        _inside(units, stops, weights, items, sums)
        cr, cl = items[0], items[1]
        z = 0.0
        for m in range(n):
            z += roots[m] * cl[m, 0] * cr[m, n - 1]
        if n > LONGEST or z < _LEAST:
            totals[s] = np.nan
            continue
        totals[s] = log_scale + math.log(z)
        if not counted:
            continue
        outer[:] = 0.0
        for m in range(n):
            outer[0, m, n - 1] = roots[m] * cl[m, 0]
            outer[1, m, 0] = roots[m] * cr[m, n - 1]
            choose_counts[root, RIGHT, units[m]] += roots[m] * cl[m, 0] * cr[m, n - 1] / z
        _outside(units, stops, weights, items, outer)
        _count(units, stops, weights, items, sums, outer, z, choose_counts, stop_counts)

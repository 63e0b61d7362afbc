"""Projective trees with sibling factors, second order (Eisner 1996, McDonald & Pereira 2006).

The algorithm of Nivre's notes on higher-order models, Figure 2, with its slips mended: k stays
strictly between i and j, arcs are scored too, and nothing enters node 0. Items as in `first_order`,
with one more kind in place of B:

    S(i, j)    complete items of i and j side by side, both modifiers of a word beyond   (sibling)
    J>(i, j)   I>(i, j) before its arc has been scored; J< its mirror image

Rules                                          part                     for
    C>(i, k)  C<(k+1, j)  =>  S(i, j)          -                        0 < i <= k < j
    C<(i+1, j)            =>  J>(i, j)         sibling (i, i, j)
    I>(i, k)  S(k, j)     =>  J>(i, j)         sibling (i, k, j)        i < k < j
    C>(i, j-1)            =>  J<(i, j)         sibling (j, j, i)        i > 0
    S(i, k)  I<(k, j)     =>  J<(i, j)         sibling (j, k, i)        0 < i < k < j
    J>(i, j)              =>  I>(i, j)         arc i -> j               each label
    J<(i, j)              =>  I<(i, j)         arc j -> i               each label, i > 0
    I>(i, k)  C>(k, j)    =>  C>(i, j)         -                        i < k <= j
    C<(i, k)  I<(k, j)    =>  C<(i, j)         -                        i <= k < j

Goal C>(0, n). With a single root, 0 takes no modifier after its first, and C>(0, j) exists for
j = n only. A tree has exactly one derivation: modifiers are taken from the inside out.

5 n^3 / 6 rule instances, 7 n^2 / 2 items.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import ARRAYS, Chart, add, close, join, open_chart, trimmed
from crossarc.inference.projective.first_order.rules import add_arcs, usable_arcs
from crossarc.kernels import kernel, subkernel

__all__ = ["emit_sibling"]

Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]

_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_READ_SHORT = types.Array(types.int32, 1, "C", readonly=True)


@subkernel()
def _part(numbers: Shorts, first: int, width: int, h: int, s: int, m: int) -> int:
    """The number of a sibling part; -1 for one that is not listed."""
    place = (h * width + s) * width + m
    return int(numbers[place]) if numbers.shape[0] > 0 else first + place


@subkernel()
def _add_siblings(
    chart: Chart,
    numbers: Shorts,
    scores: Floats,
    h: int,
    m: int,
    lone: int,
    inner: Shorts,
    outer: Shorts,
) -> int:
    """J(h, m): m as the first modifier, or after each s between.

    Args:
        lone: the complete item of m that reaches to h.
        inner, outer: I(h, s) and S(s, m) for each s between, from left to right.
    """
    width, first = scores.shape[0], scores.size
    if lone >= 0:
        add(chart, lone, -1, _part(numbers, first, width, h, h, m))
    for place in range(inner.shape[0]):
        if inner[place] >= 0 and outer[place] >= 0:
            part = _part(numbers, first, width, h, min(h, m) + 1 + place, m)
            if h < m:
                add(chart, inner[place], outer[place], part)
            else:
                add(chart, outer[place], inner[place], part)
    return close(chart)


@kernel(ARRAYS(_READ3, types.boolean, _READ_SHORT))
def emit_sibling(
    scores: Floats, single: bool, numbers: Shorts
) -> tuple[Shorts, Shorts, Shorts, Shorts]:
    """The forest of `scores[h, m, l]` and a sibling factor.

    Args:
        scores: -inf where an arc is forbidden; its entries are the first parts.
        numbers: the number of each sibling part [h, s, m], laid flat, -1 where it scores 0; if
            empty, they count on from the scores in this order.
    """
    n = scores.shape[0] - 1
    chart = open_chart(
        7 * (n + 1) * (n + 2) // 2 + 1, (n + 1) * (n + 2) * (n + 3) * 5 // 6 + usable_arcs(scores)
    )
    # Items by [i, j]; `turned` by [j, i], so that all that is joined stands in rows.
    tables = np.full((9, n + 1, n + 1), -1, np.int32)
    right, right_turned, left, left_turned = tables[0], tables[1], tables[2], tables[3]
    taken_right, taken_left_turned = tables[4], tables[5]
    beside, beside_turned = tables[6], tables[7]
    none = tables[8, 0, :0]
    add(chart, -1, -1, -1)
    axiom = close(chart)
    for j in range(n + 1):
        right[j, j] = right_turned[j, j] = left[j, j] = left_turned[j, j] = axiom
        for i in range(j - 1, -1, -1):
            root_once = single and i == 0
            inner = none if root_once else taken_right[i, i + 1 : j]
            outer = none if root_once else beside_turned[j, i + 1 : j]
            lone = left_turned[j, i + 1]
            joined = _add_siblings(chart, numbers, scores, i, j, lone, inner, outer)
            taken_right[i, j] = add_arcs(chart, scores, i, j, joined)
            if i > 0:
                join(chart, right[i, i:j], left_turned[j, i + 1 : j + 1])
                beside[i, j] = beside_turned[j, i] = close(chart)
                inner, outer = taken_left_turned[j, i + 1 : j], beside[i, i + 1 : j]
                joined = _add_siblings(chart, numbers, scores, j, i, right[i, j - 1], inner, outer)
                taken_left_turned[j, i] = add_arcs(chart, scores, j, i, joined)
                join(chart, left[i, i:j], taken_left_turned[j, i:j])
                left[i, j] = left_turned[j, i] = close(chart)
            if not root_once or j == n:
                join(chart, taken_right[i, i + 1 : j + 1], right_turned[j, i + 1 : j + 1])
                right[i, j] = right_turned[j, i] = close(chart)
    return trimmed(chart, right[0, n])

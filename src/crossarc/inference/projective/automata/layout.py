"""The arcs that trees may have, and how the parts that are made of them are numbered.

The modifiers that a head h may have on one side are a *list*, from the inside out; the rank of a
modifier in its list counts from 1, and rank 0 stands for h itself, where there is no modifier
before. Parts are numbered by ranks, so that arrays of parts grow with the arcs that are allowed:

    sibling (h, s, m)            pair (m, s) of the list of h
    tri-sibling (h, t, s, m)     triple (m, s, t) of the list of h
    grandchild (g, h, m)         m, in the lists of h given the arc g -> h
    grand-sibling (g, h, s, m)   pair (m, s), likewise

Trees are projective, so g is not between h and m: given g, the list of h on the side of g ends
before g. All of these sets are prefixes of lists, and numbers of pairs and triples do not depend
on where a list ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = [
    "GRANDCHILD_PARTS",
    "GRAND_SIBLING_PARTS",
    "LAYOUT",
    "SIBLING_PARTS",
    "TRI_SIBLING_PARTS",
    "Layout",
    "lay_out",
    "locate",
    "pair",
    "part_cells",
    "part_count",
    "triple",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

#: Kinds of parts, as arguments of kernels.
SIBLING_PARTS, GRANDCHILD_PARTS, GRAND_SIBLING_PARTS, TRI_SIBLING_PARTS = 0, 1, 2, 3


class Layout(NamedTuple):
    """Lists of modifiers, and where the parts of each begin.

    List 2 h + side has the modifiers of h on the left (0) or right (1). Its arcs are numbered from
    the inside out. An entry more than there are lists or arcs says how many parts there are.
    """

    #: At most so many modifiers of each node; 1 for a single root.
    limits: Ints
    #: [h, m]: the rank of m in its list, 0 for an arc that is not allowed.
    rank: Shorts
    #: The first arc of each list.
    first: Shorts
    #: Of each arc.
    head: Shorts
    #: Of each arc.
    modifier: Shorts
    #: The arcs into word m are entering[first_entering[m]], ... in the order of their heads.
    first_entering: Shorts
    #: See `first_entering`.
    entering: Shorts
    #: The first sibling part of each list.
    pairs: Ints
    #: The first tri-sibling part of each list.
    triples: Ints
    #: [2 a + side]: the first grandchild part of arc a with modifiers on that side.
    grand: Ints
    #: [2 a + side]: the same for grand-siblings.
    grand_pairs: Ints


_S1, _I1 = types.int32[::1], types.int64[::1]
#: The type of a layout as an argument of kernels.
LAYOUT = types.NamedTuple(
    (_I1, types.int32[:, ::1], _S1, _S1, _S1, _S1, _S1, _I1, _I1, _I1, _I1), Layout
)
_SCORES = types.Array(types.float64, 3, "C", readonly=True)


@subkernel(inline=True)
def pair(m: int, s: int) -> int:
    """The number of a pair of ranks 0 <= s < m."""
    return m * (m - 1) // 2 + s


@subkernel(inline=True)
def triple(m: int, s: int, t: int) -> int:
    """The number of a triple of ranks 1 <= t < s < m."""
    return (m - 1) * (m - 2) * (m - 3) // 6 + (s - 1) * (s - 2) // 2 + t - 1


@subkernel()
def _is_allowed(scores: Floats, h: int, m: int) -> bool:
    best = -np.inf
    for label in range(scores.shape[2]):
        best = max(best, scores[h, m, label])
    return best > -np.inf


@subkernel()
def _number_arcs(
    scores: Floats, limits: Ints, rank: Shorts, first: Shorts, head: Shorts, modifier: Shorts
) -> int:
    """Fill the lists; returns how many arcs there are."""
    width, count = scores.shape[0], 0
    for h in range(width):
        for side in range(2):
            first[2 * h + side] = count
            step = 2 * side - 1
            m = h + step
            while limits[h] > 0 and 1 <= m < width:
                if _is_allowed(scores, h, m):
                    head[count], modifier[count] = h, m
                    count += 1
                    rank[h, m] = count - first[2 * h + side]
                m += step
    first[2 * width] = count
    return count


@subkernel()
def _list_below(first: Shorts, modifier: Shorts, g: int, h: int, side: int) -> int:
    """How many modifiers the list of h has, given that g is its head."""
    begin, end = first[2 * h + side], first[2 * h + side + 1]
    if (g > h) != (side == 1):
        return int(end - begin)
    count = 0
    while begin + count < end and abs(modifier[begin + count] - h) < abs(g - h):
        count += 1
    return count


@kernel(LAYOUT(_SCORES, READ_INT))
def lay_out(scores: Floats, limits: Ints) -> Layout:
    """The layout of `scores[h, m, l]`, -inf where an arc is forbidden, and limits of arity."""
    width = scores.shape[0]
    rank, first = np.zeros((width, width), np.int32), np.zeros(2 * width + 1, np.int32)
    heads, modifiers = np.empty(width * width, np.int32), np.empty(width * width, np.int32)
    arcs = _number_arcs(scores, limits, rank, first, heads, modifiers)
    head, modifier = heads[:arcs].copy(), modifiers[:arcs].copy()
    first_entering, entering = np.zeros(width + 1, np.int32), np.empty(arcs, np.int32)
    filled = 0
    for m in range(width):
        first_entering[m] = filled
        for h in range(width):
            if rank[h, m] > 0:
                entering[filled] = first[2 * h + (m > h)] + rank[h, m] - 1
                filled += 1
    first_entering[width] = filled
    pairs, triples = np.zeros(2 * width + 1, np.int64), np.zeros(2 * width + 1, np.int64)
    for one in range(2 * width):
        k = first[one + 1] - first[one]
        pairs[one + 1] = pairs[one] + pair(k + 1, 0)
        triples[one + 1] = triples[one] + triple(k + 1, 1, 1)
    grand, grand_pairs = np.zeros(2 * arcs + 1, np.int64), np.zeros(2 * arcs + 1, np.int64)
    for a in range(arcs):
        for side in range(2):
            k = _list_below(first, modifier, head[a], modifier[a], side)
            grand[2 * a + side + 1] = grand[2 * a + side] + k
            grand_pairs[2 * a + side + 1] = grand_pairs[2 * a + side] + pair(k + 1, 0)
    return Layout(
        limits.copy(),
        rank,
        first,
        head,
        modifier,
        first_entering,
        entering,
        pairs,
        triples,
        grand,
        grand_pairs,
    )


def part_count(layout: Layout, kind: int) -> int:
    """How many parts of a kind there are."""
    ends = (layout.pairs, layout.grand, layout.grand_pairs, layout.triples)
    return int(ends[kind][-1])


@subkernel()
def _pair_cells(
    modifier: Shorts, begin: int, count: int, h: int, base: int, limit: int, width: int, out: Ints
) -> None:
    """(h, s, m) for the pairs of the first modifiers of a list, behind `base`."""
    for m in range(1, count + 1):
        for s in range(m):
            sibling = h if s == 0 else modifier[begin + s - 1]
            cell = ((base * width + h) * width + sibling) * width + modifier[begin + m - 1]
            out[pair(m, s)] = cell if s == 0 or limit >= 2 else -1


@subkernel()
def _triple_cells(modifier: Shorts, begin: int, end: int, h: int, width: int, out: Ints) -> None:
    """(h, t, s, m) for the triples of a list."""
    for m in range(3, end - begin + 1):
        for s in range(2, m):
            for t in range(1, s):
                cell = h * width + modifier[begin + t - 1]
                cell = (cell * width + modifier[begin + s - 1]) * width + modifier[begin + m - 1]
                out[triple(m, s, t)] = cell


@kernel(_I1(LAYOUT, types.int64, types.int64))
def part_cells(layout: Layout, kind: int, count: int) -> Ints:
    """The index of each of `count` parts in the flat dense array; -1 where limits exclude it."""
    width, first, modifier = layout.rank.shape[0], layout.first, layout.modifier
    limits, out = layout.limits, np.full(count, -1, np.int64)
    if kind in (SIBLING_PARTS, TRI_SIBLING_PARTS):
        for one in range(2 * width):
            h, begin, end = one // 2, first[one], first[one + 1]
            if kind == SIBLING_PARTS:
                own = out[layout.pairs[one] :]
                _pair_cells(modifier, begin, end - begin, h, 0, limits[h], width, own)
            elif limits[h] >= 3:
                _triple_cells(modifier, begin, end, h, width, out[layout.triples[one] :])
        return out
    for a in range(modifier.shape[0]):
        g, h = layout.head[a], modifier[a]
        for side in range(2):
            begin = first[2 * h + side]
            length = layout.grand[2 * a + side + 1] - layout.grand[2 * a + side]
            if kind == GRAND_SIBLING_PARTS:
                own = out[layout.grand_pairs[2 * a + side] :]
                _pair_cells(modifier, begin, length, h, g, limits[h], width, own)
            else:
                for r in range(length):
                    cell = (g * width + h) * width + modifier[begin + r]
                    out[layout.grand[2 * a + side] + r] = cell
    return out


@subkernel(inline=True)
def _pair_of(last: int, before: int, is_first: bool, limit: int) -> int:
    """The number of a pair of ranks, of allowed arcs on one side; -1 if it is no part of a tree."""
    if is_first:
        return pair(last, 0)
    return pair(last, before) if 0 < before < last and limit >= 2 else -1


@kernel(_I1(LAYOUT, types.int64, READ_INT))
def locate(layout: Layout, kind: int, cells: Ints) -> Ints:
    """The numbers of parts by their indices in the flat dense array; -1 where there is none."""
    rank, first, limits, width = layout.rank, layout.first, layout.limits, layout.rank.shape[0]
    pairs, triples = layout.pairs, layout.triples
    grand, grand_pairs = layout.grand, layout.grand_pairs
    has_pair, has_grand = kind != GRANDCHILD_PARTS, kind in (GRANDCHILD_PARTS, GRAND_SIBLING_PARTS)
    out = np.full(cells.shape[0], -1, np.int64)
    for x in range(cells.shape[0]):
        if cells[x] < 0:
            continue
        # Axes from the last one: m, then s where there is one, then h, then t or g.
        m, rest = cells[x] % width, cells[x] // width
        s = rest % width
        if has_pair:
            rest //= width
        h, fourth = rest % width, rest // width
        if kind == TRI_SIBLING_PARTS:
            h, fourth = fourth, h
        side = 1 if m > h else 0
        last, before = rank[h, m], rank[h, s] if (s > h) == (m > h) else 0
        if last == 0 or (has_grand and rank[fourth, h] == 0):
            continue
        number = _pair_of(last, before, s == h, limits[h]) if has_pair else last - 1
        if kind == SIBLING_PARTS and number >= 0:
            out[x] = pairs[2 * h + side] + number
        elif kind == TRI_SIBLING_PARTS and number >= 0 and s != h:
            inner = rank[h, fourth] if (fourth > h) == (m > h) else 0
            if 0 < inner < before and limits[h] >= 3:
                out[x] = triples[2 * h + side] + triple(last, before, inner)
        elif has_grand and number >= 0:
            one = 2 * (first[2 * fourth + (h > fourth)] + rank[fourth, h] - 1) + side
            if last <= grand[one + 1] - grand[one]:
                out[x] = number + (grand_pairs[one] if has_pair else grand[one])
    return out

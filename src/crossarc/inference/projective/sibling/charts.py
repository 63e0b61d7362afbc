"""Charts of the sibling model: where its items and parts lie.

Items are those of `rules`: C>, C<, I>, I<, and S in place of B. Every sum over k reads items
(i, k) and items (k, j). So an item (i, j) stands at [i, j] of its chart and again at [j, i], and k
runs along row i for the one and along row j for the other; I> is only read as (i, k) and I< as
(k, j), so these two share a chart.

The weights of parts stand cell by cell, column j after column, i from j - 1 down to 0: first those
to the right, then those to the left, each beginning with the part that has no sibling,

    (i, i, j), (i, i+1, j), ..., (i, j-1, j)        and        (j, j, i), (j, i+1, i), ...

so that k runs along them too, and an index does not depend on how long the sentence is. There are
n^3 / 3 parts.

The scores of parts, before they are weights, stand as in the dense array [h, s, m], less what no
tree has: of each head first the row s = h, then of every s the m beyond it. They follow each other
without a gap, so m runs along them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES
from crossarc.kernels import subkernel

__all__ = [
    "BESIDE",
    "CHARTS",
    "INCOMPLETE",
    "LEFT",
    "RIGHT",
    "cell_index",
    "part_count",
    "part_index",
    "part_range",
    "parts_of",
    "row_index",
    "rows_in_lanes",
    "rows_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: C>; C<; S; I> at [i, j] and I< at [j, i]: the items of an entry stand together, so that a
#: loop over k follows two streams and not eight.
RIGHT, LEFT, BESIDE, INCOMPLETE = 0, 1, 2, 3
CHARTS = 4


def part_count(nodes: int) -> int:
    """How many parts there are: twice the sum of j - i over all i < j."""
    return (nodes - 1) * nodes * (nodes + 1) // 3


parts_of = subkernel()(part_count)


@subkernel()
def cell_index(i: int, j: int) -> int:
    """Where the parts of the cell (i, j) begin, i < j; those to the left are j - i behind."""
    return parts_of(j) + (j - i) * (j - i - 1)


@subkernel()
def part_index(h: int, s: int, m: int) -> int:
    """Where a part stands."""
    if h < m:
        return cell_index(h, m) + s - h
    return cell_index(m, h) + h - m + (0 if s == h else s - m)


@subkernel()
def part_range(nodes: int, h: int, s: int) -> tuple[int, int]:
    """The modifiers m of h that can follow s, from the first up to the last, excluded.

    For s = h both sides at once: m = h is among them and has no part.
    """
    if s == h:
        return 1, nodes
    if s > h:
        return s + 1, nodes
    return 1, s


@subkernel()
def _pairs(count: int) -> int:
    return count * (count - 1) // 2


@subkernel()
def _triples(count: int) -> int:
    return count * (count - 1) * (count - 2) // 6


def rows_of(words: int) -> int:
    """How many scores of parts a sentence keeps, with room to write eight at the last."""
    return (words + 1) ** 2 + words * (words - 1) * (2 * words - 1) // 6 + LANES


@subkernel()
def row_index(nodes: int, h: int, s: int) -> int:
    """Where the score of (h, s, 0) stands, or would."""
    head = h * nodes + _triples(nodes) - _triples(nodes - h)
    if h > 0:
        head += _triples(h - 1)
    if s == h:
        return head
    if s < h:
        return head + nodes + _pairs(s - 1) - 1
    rest = head + nodes + (_pairs(h - 1) if h > 0 else 0)
    return rest + _pairs(nodes - 1 - h) - _pairs(nodes - s) - s - 1


@subkernel()
def rows_in_lanes(starts: Ints, sizes: Ints, members: Ints) -> tuple[Ints, Ints]:
    """Where the scores of each lane's parts begin, and its nodes; 0 where there is no member."""
    firsts, nodes = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    for lane in range(members.shape[0]):
        firsts[lane], nodes[lane] = starts[members[lane]], sizes[members[lane]] + 1
    return firsts, nodes

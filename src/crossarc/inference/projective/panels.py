"""Charts in panels: how the items of a sentence lie in memory, so that every sum runs in registers.

All rules of Eisner's algorithm join an item (i, k) with an item (k, j) or (k + 1, j) and sum over
k. For a row i and eight neighbouring columns J at once that is

    sums[J] += factor(i, k) * items(k, J)        for all k

with one factor for eight items: the inner step of a product of matrices. A *panel* holds the items
of eight columns, row below row, so the loop over k reads one stream; three rules share it, so a row
of a panel is three cells of eight numbers. The factors lie in *planes*, one a rule, row after row.
The sums stay in registers, and there is nothing to add up across lanes at the end. Only the terms
with k among the eight columns themselves depend on each other: `columns` adds them.

The outside pass has the same shape, with outside items as factors or in panels and inside items
turned (rows and columns exchanged). So one loop, `gather`, does nearly all cubic work.

All charts of a sentence are in one flat array, `space`: an array is passed in a few registers,
while a tuple of arrays costs more than a short sum. Entries that belong to no item are never
cleared, so `space` must hold finite numbers when a sentence begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES, Lanes, load_scalar, load_vector, splat
from crossarc.inference.arithmetic.semirings import Semiring
from crossarc.kernels import subkernel

__all__ = [
    "ARCS",
    "FACTORS",
    "OUTER_FACTORS",
    "OUTER_PANELS",
    "PANELS",
    "RULES",
    "TERMS",
    "TURNED",
    "arc_place",
    "blocks_of",
    "gathering",
    "longest_of",
    "part",
    "room",
    "width_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rules that are summed over side by side, and the numbers in a row of a panel.
RULES = 3
TERMS = RULES * LANES

# The parts of `space`, counted in planes of width^2 numbers.
#: Two cells a row of a panel: w[i, J] and w[J, i], and in the end the marginals.
ARCS = 0
#: C<(k+1, J), C>(k, J), I<(k, J)
PANELS = 2
#: C>(i, k), I>(i, k), C<(i, k)
FACTORS = 5
#: C<(K+1, j), C>(K, j), I<(K, j): lanes are left ends.
TURNED = 8
#: O(C>(h, J)), O(B(h, J)), O(C<(h, J))
OUTER_PANELS = 11
#: O(B(i, j)), O(C>(i, j)), O(C<(i, j))
OUTER_FACTORS = 14
_PLANES = 17
# Before them, room for notes: `inside` and `outside` say what.
_NOTES = 4 * TERMS * LANES


@subkernel()
def blocks_of(nodes: int) -> int:
    """Blocks of eight columns that hold this many nodes."""
    return (nodes + LANES - 1) // LANES


@subkernel()
def width_of(nodes: int) -> int:
    """Columns of a chart, in whole blocks.

    An odd number of them: rows that are a power of two apart would share few lines of the cache.
    """
    return LANES * (blocks_of(nodes) | 1)


@subkernel()
def room(nodes: int) -> int:
    """Numbers in the space of a sentence."""
    return part(width_of(nodes), _PLANES)


@subkernel()
def part(width: int, planes: int) -> int:
    """Where a part of `space` begins."""
    return _NOTES + planes * width * width


@subkernel()
def arc_place(width: int, i: int, j: int) -> int:
    """Where the arc from i to j is noted, i < j; the one from j to i is LANES further."""
    return _NOTES + 2 * (j // LANES * width + i) * LANES + j % LANES


@subkernel()
def longest_of(sizes: Ints, begin: int, end: int) -> tuple[int, int]:
    """The words of the longest sentence from begin to end - 1, and of all before begin."""
    longest, before = 0, 0
    for s in range(end):
        if s < begin:
            before += sizes[s]
        else:
            longest = max(longest, sizes[s])
    return longest, before


def gathering(semiring: Semiring) -> Callable[..., tuple[Lanes, Lanes, Lanes]]:
    """`gather` in a semiring."""
    join: Any = semiring.join

    @subkernel(inline=True)
    def gather(
        sums: tuple[Lanes, Lanes, Lanes],
        space: Floats,
        factors: tuple[int, int, int],
        step: int,
        panel: int,
        first: int,
        last: int,
    ) -> tuple[Lanes, Lanes, Lanes]:
        """sums[rule] + the sum over k from first to last - 1 of factor(rule, k) * cell(rule, k).

        Args:
            factors: where the factors of k = 0 stand, for each rule.
            step: from the factor of k to that of k + 1.
            panel: the cell of k = 0 and the first rule.
        """
        a, b, c = sums
        at_a, at_b, at_c = factors
        for k in range(first, last):
            at = panel + RULES * k
            a = join(splat(load_scalar(space, at_a + k * step)), load_vector(space, LANES * at), a)
            b = join(
                splat(load_scalar(space, at_b + k * step)), load_vector(space, LANES * (at + 1)), b
            )
            c = join(
                splat(load_scalar(space, at_c + k * step)), load_vector(space, LANES * (at + 2)), c
            )
        return a, b, c

    return gather

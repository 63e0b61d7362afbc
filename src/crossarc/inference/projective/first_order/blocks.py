"""Eisner's algorithm in blocks of eight columns: layout and inner loops, for long sentences.

All rules of the algorithm join an item (i, k) with an item (k, j) or (k + 1, j) and sum over k. For
a row i and eight neighbouring columns J at once that is

    sums[J] += factor(i, k) * items(k, J)        for all k

with one factor for eight items: the inner step of a product of matrices. A *panel* holds the items
of eight columns, row below row, so the loop over k reads one stream; three rules share it, so a row
of a panel is three vectors of eight numbers. The factors lie in *planes*, one a rule, row after
row. The sums stay in registers, and there is nothing to add up across lanes at the end. The outside
pass has the same shape, with outside items as factors or in panels and inside items transposed. So
one loop, `gather`, does nearly all cubic work.

Only the terms with k among the eight columns themselves depend on each other. Written as a loop,
each step would wait for a vector to pass through memory; so `inside_columns` and `outside_columns`
write out the eight steps as LLVM's instructions, with every number in a register.

All charts of a sentence are in one flat array, `charts`: an array is passed in a few registers,
while a tuple of arrays costs more than a short sum. Entries that belong to no item are never
cleared, so `charts` must hold finite numbers when a sentence begins.

This is a second text of the recurrences in `lockstep`, and worth it: log Z and marginals of one
sentence take 53 microseconds here and 100 there at 50 words, 216 and 632 at 100, 1.6 and 4.9
milliseconds at 200.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import VECTOR, Float64Cells, splat_vector
from crossarc.inference.arithmetic.lanes import LANES, Lanes, load_scalar, load_vector, splat
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.kernels import subkernel

__all__ = [
    "ARCS",
    "FACTORS",
    "OUTSIDE_FACTORS",
    "OUTSIDE_PANELS",
    "PANELS",
    "PLANES",
    "RULES",
    "TERMS",
    "TRANSPOSED",
    "arc_index",
    "blocks_of",
    "gathering",
    "inside_columns",
    "outside_columns",
    "region",
    "width_of",
    "workspace_size",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rules that are summed over side by side, and the numbers in a row of a panel.
RULES = 3
TERMS = RULES * LANES

# The regions of `charts`, counted in planes of width^2 numbers.
#: Two cells a row of a panel: w[i, J] and w[J, i], and in the end the marginals.
ARCS = 0
#: C<(k+1, J), C>(k, J), I<(k, J)
PANELS = 2
#: C>(i, k), I>(i, k), C<(i, k)
FACTORS = 5
#: C<(K+1, j), C>(K, j), I<(K, j): lanes are left ends.
TRANSPOSED = 8
#: O(C>(h, J)), O(B(h, J)), O(C<(h, J))
OUTSIDE_PANELS = 11
#: O(B(i, j)), O(C>(i, j)), O(C<(i, j))
OUTSIDE_FACTORS = 14
#: All of them.
PLANES = 17
# Before them, facts about the sentence: the passes say what.
_FACTS = 4 * TERMS * LANES


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


def workspace_size(nodes: int) -> int:
    """Numbers in the charts of a sentence, and ten more a column to prepare them."""
    width = LANES * ((nodes + LANES - 1) // LANES | 1)
    return _FACTS + PLANES * width * width + (LANES + 2) * width


@subkernel()
def region(width: int, planes: int) -> int:
    """Where a region of `charts` begins."""
    return _FACTS + planes * width * width


@subkernel()
def arc_index(width: int, i: int, j: int) -> int:
    """The index of the arc from i to j, i < j; the one from j to i is LANES further."""
    return _FACTS + 2 * (j // LANES * width + i) * LANES + j % LANES


def gathering(semiring: Semiring) -> Callable[..., tuple[Lanes, Lanes, Lanes]]:
    """`gather` in a semiring."""
    join: Any = semiring.join

    @subkernel(inline=True)
    def gather(
        sums: tuple[Lanes, Lanes, Lanes],
        charts: Floats,
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
            a = join(
                splat(load_scalar(charts, at_a + k * step)), load_vector(charts, LANES * at), a
            )
            b = join(
                splat(load_scalar(charts, at_b + k * step)),
                load_vector(charts, LANES * (at + 1)),
                b,
            )
            c = join(
                splat(load_scalar(charts, at_c + k * step)),
                load_vector(charts, LANES * (at + 2)),
                c,
            )
        return a, b, c

    return gather


_LANES_TYPE = Float64Cells(LANES).number


class _Writer:
    """Writes instructions on a flat array of numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self.builder = builder
        self.data = context.make_array(kind)(context, builder, value=array).data

    def _address(self, index: Any, offset: int) -> Any:
        index = self.builder.add(index, ir.Constant(index.type, offset))
        return self.builder.gep(self.data, [index])

    def load(self, index: Any, offset: int) -> Any:
        """Eight numbers, `offset` behind an index."""
        address = self.builder.bitcast(self._address(index, offset), VECTOR.as_pointer())
        return self.builder.load(address, align=8)

    def number(self, index: Any, offset: int) -> Any:
        return self.builder.load(self._address(index, offset))

    def store_number(self, value: Any, index: Any, offset: int) -> None:
        self.builder.store(value, self._address(index, offset))

    def lane(self, vector: Any, lane: int) -> Any:
        return self.builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))

    def broadcast(self, value: Any) -> Any:
        return splat_vector(self.builder, value, VECTOR)


def inside_columns(semiring: Semiring, transpose: bool) -> Callable[..., tuple[Lanes, ...]]:
    """The function of `charts` that completes the sums of a row in a block.

    Its arguments: the index of the first of the block's own rows in its panel, that of w[i, J],
    with w[J, i] behind it, the sums for B, C> and C< over earlier columns, and where transposed
    items of i and of i - 1 go. It gives B, C>, and C< without I<.
    """

    def typed(
        typing: Any,
        charts: Any,
        rows: Any,
        arcs: Any,
        both_sum: Any,
        right_sum: Any,
        left_sum: Any,
        transposed: Any,
        transposed_above: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            array, rows, arcs, both_sum, right_sum, left_sum, transposed, transposed_above = values
            write = _Writer(context, builder, sig.args[0], array)
            for lane in range(LANES):
                both = write.lane(both_sum, lane)
                to_right = semiring.emit_times(builder, both, write.number(arcs, lane))
                to_left = semiring.emit_times(builder, both, write.number(arcs, LANES + lane))
                right = semiring.emit_plus(builder, write.lane(right_sum, lane), to_right)
                left = semiring.emit_plus(builder, write.lane(left_sum, lane), to_left)
                # B += C>(i, k) C<(k+1, J);  C> += I>(i, k) C>(k, J);  C< += C<(i, k) I<(k, J).
                # The items (k, j) with j < k are 0 and C>(k, k) is 1, so lanes up to k are final.
                first, second, third = (
                    write.load(rows, TERMS * lane + rule * LANES) for rule in range(RULES)
                )
                both_sum = semiring.emit_join(builder, write.broadcast(right), first, both_sum)
                right_sum = semiring.emit_join(
                    builder, write.broadcast(to_right), second, right_sum
                )
                left_sum = semiring.emit_join(builder, write.broadcast(left), third, left_sum)
                if transpose:
                    write.store_number(left, transposed_above, TERMS * lane)
                    write.store_number(right, transposed, TERMS * lane + LANES)
                    write.store_number(to_left, transposed, TERMS * lane + 2 * LANES)
            results = [both_sum, right_sum, left_sum]
            return context.make_tuple(builder, sig.return_type, results)

        whole = types.int64
        kinds = (charts, whole, whole, *[_LANES_TYPE] * 3, whole, whole)
        return signature(types.UniTuple(_LANES_TYPE, 3), *kinds), emit

    complete: Callable[..., tuple[Lanes, ...]] = intrinsic(typed)
    return complete


def _outside_columns(
    typing: Any,
    charts: Any,
    rows: Any,
    arcs: Any,
    inner: Any,
    plane: Any,
    inner_to_left: Any,
    right_sum: Any,
    to_right_sum: Any,
    left_sum: Any,
    to_left_sum: Any,
) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        array, rows, arcs, inner, plane, inner_to_left, *sums = values
        right_sum, to_right_sum, left_sum, to_left_sum = sums
        write = _Writer(context, builder, sig.args[0], array)
        inner_to_right = builder.add(inner, plane)
        inner_left = builder.add(inner_to_right, plane)
        zero = ir.Constant(ir.DoubleType(), 0.0)

        def if_possible(index: Any, value: Any, lane: int) -> Any:
            """The value, unless the item that it is outside of is impossible."""
            is_some = builder.fcmp_ordered(">", write.number(index, lane), zero)
            return builder.select(is_some, value, zero)

        for lane in reversed(range(LANES)):
            right = if_possible(inner, write.lane(right_sum, lane), lane)
            left = if_possible(inner_left, write.lane(left_sum, lane), lane)
            to_right = builder.fadd(write.lane(to_right_sum, lane), right)
            to_right = if_possible(inner_to_right, to_right, lane)
            to_left = builder.fadd(write.lane(to_left_sum, lane), left)
            to_left = if_possible(inner_to_left, to_left, lane)
            both = builder.fmul(to_right, write.number(arcs, lane))
            both = SUM.emit_join(builder, to_left, write.number(arcs, LANES + lane), both)
            # with l the column: O(C>(i, J)) += O(B(i, l)) C<(J+1, l);
            # O(I>(i, J)) += O(C>(i, l)) C>(J, l);  O(C<(i, J)) += O(C<(i, l)) I<(J, l).
            # The items (j, l) with l < j are 0 and C>(l, l) is 1, so lanes from l on are final.
            first, second, third = (
                write.load(rows, TERMS * lane + rule * LANES) for rule in range(RULES)
            )
            right_sum = SUM.emit_join(builder, write.broadcast(both), first, right_sum)
            to_right_sum = SUM.emit_join(builder, write.broadcast(right), second, to_right_sum)
            left_sum = SUM.emit_join(builder, write.broadcast(left), third, left_sum)
        results = [right_sum, to_right_sum, left_sum]
        return context.make_tuple(builder, sig.return_type, results)

    kinds = (charts, *[types.int64] * 5, *[_LANES_TYPE] * 4)
    return signature(types.UniTuple(_LANES_TYPE, 3), *kinds), emit


#: The outside items of a row in a block: from the index of the transposed panel's own rows, that of
#: the arcs' weights, that of C>(i, J) in its plane, the size of a plane, the index of I<(i, J), and
#: what later columns and smaller rows give O(C>), O(I>), O(C<) and O(I<). It gives O(C>), O(I>)
#: and O(C<), also where the item is impossible.
outside_columns: Callable[..., tuple[Lanes, ...]] = intrinsic(_outside_columns)

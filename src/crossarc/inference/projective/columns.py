"""Eight columns that depend on each other: the part of a block that is not a product of matrices.

Within a block, the items of one column are factors of the columns after it. Written as a loop, each
step would wait for a vector to pass through memory; so the eight steps are written out, with every
number in a register. Where the functions below stand, that is done by Python: they write LLVM's
instructions for one step after the other.
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

from crossarc.inference.arithmetic.cell_types import Float64Cells
from crossarc.inference.arithmetic.lanes import LANES, Lanes
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.inference.projective.panels import RULES, TERMS

__all__ = ["inside_columns", "outside_columns"]

Floats = NDArray[np.float64]

LANES_TYPE = Float64Cells(LANES).number
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_UNSET = ir.Constant(_VECTOR, ir.Undefined)
_SAME = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)


class _Writer:
    """Writes instructions on a flat array of numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self.builder = builder
        self.data = context.make_array(kind)(context, builder, value=array).data

    def _address(self, place: Any, offset: int) -> Any:
        place = self.builder.add(place, ir.Constant(place.type, offset))
        return self.builder.gep(self.data, [place])

    def load(self, place: Any, offset: int) -> Any:
        """Eight numbers, `offset` behind a place."""
        address = self.builder.bitcast(self._address(place, offset), _VECTOR.as_pointer())
        return self.builder.load(address, align=8)

    def number(self, place: Any, offset: int) -> Any:
        return self.builder.load(self._address(place, offset))

    def store_number(self, value: Any, place: Any, offset: int) -> None:
        self.builder.store(value, self._address(place, offset))

    def lane(self, vector: Any, lane: int) -> Any:
        return self.builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))

    def broadcast(self, value: Any) -> Any:
        first = self.builder.insert_element(_UNSET, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(first, _UNSET, _SAME)


def inside_columns(semiring: Semiring, turn: bool) -> Callable[..., tuple[Lanes, ...]]:
    """The function of `space` that completes the sums of a row in a block.

    Its arguments: the place of the first of the block's own rows in its panel, that of w[i, J],
    with w[J, i] behind it, the sums for B, C> and C< over earlier columns, and where turned items
    of i and of i - 1 go. It gives B, C>, and C< without I<.
    """

    def typed(
        typing: Any,
        space: Any,
        rows: Any,
        arcs: Any,
        both_sum: Any,
        right_sum: Any,
        left_sum: Any,
        turned: Any,
        turned_above: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            array, rows, arcs, both_sum, right_sum, left_sum, turned, turned_above = values
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
                if turn:
                    write.store_number(left, turned_above, TERMS * lane)
                    write.store_number(right, turned, TERMS * lane + LANES)
                    write.store_number(to_left, turned, TERMS * lane + 2 * LANES)
            results = [both_sum, right_sum, left_sum]
            return context.make_tuple(builder, sig.return_type, results)

        whole = types.int64
        kinds = (space, whole, whole, *[LANES_TYPE] * 3, whole, whole)
        return signature(types.UniTuple(LANES_TYPE, 3), *kinds), emit

    complete: Callable[..., tuple[Lanes, ...]] = intrinsic(typed)
    return complete


def _outside_columns(
    typing: Any,
    space: Any,
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

        def possible(place: Any, value: Any, lane: int) -> Any:
            """The value, unless the item that it is outside of is impossible."""
            is_some = builder.fcmp_ordered(">", write.number(place, lane), zero)
            return builder.select(is_some, value, zero)

        for lane in reversed(range(LANES)):
            right = possible(inner, write.lane(right_sum, lane), lane)
            left = possible(inner_left, write.lane(left_sum, lane), lane)
            to_right = builder.fadd(write.lane(to_right_sum, lane), right)
            to_right = possible(inner_to_right, to_right, lane)
            to_left = builder.fadd(write.lane(to_left_sum, lane), left)
            to_left = possible(inner_to_left, to_left, lane)
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

    kinds = (space, *[types.int64] * 5, *[LANES_TYPE] * 4)
    return signature(types.UniTuple(LANES_TYPE, 3), *kinds), emit


#: The outside items of a row in a block: from the place of the turned panel's own rows, that of
#: the arcs' weights, that of C>(i, J) in its plane, the size of a plane, the place of I<(i, J), and
#: what later columns and smaller rows give O(C>), O(I>), O(C<) and O(I<). It gives O(C>), O(I>)
#: and O(C<), also where the item is impossible.
outside_columns: Callable[..., tuple[Lanes, ...]] = intrinsic(_outside_columns)

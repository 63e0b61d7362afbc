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

from crossarc.inference.lanes import _LANES as LANES_TYPE
from crossarc.inference.lanes import LANES, Lanes
from crossarc.inference.projective.panels import RULES, TERMS
from crossarc.inference.projective.semirings import SUM, Semiring

__all__ = ["inside_columns", "outside_columns"]

Floats = NDArray[np.float64]

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_UNSET = ir.Constant(_VECTOR, ir.Undefined)
_SAME = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)


class _Writer:
    """Writes instructions on a flat array of numbers."""

    def __init__(self, context: Any, builder: Any, kind: Any, array: Any) -> None:
        self.builder = builder
        self.data = context.make_array(kind)(context, builder, value=array).data

    def load(self, cell: Any, offset: int) -> Any:
        """Eight numbers, `offset` cells behind a cell."""
        place = self.builder.add(cell, ir.Constant(cell.type, offset))
        place = self.builder.mul(place, ir.Constant(cell.type, LANES))
        address = self.builder.gep(self.data, [place])
        return self.builder.load(self.builder.bitcast(address, _VECTOR.as_pointer()), align=8)

    def store_number(self, value: Any, place: Any, offset: int) -> None:
        place = self.builder.add(place, ir.Constant(place.type, offset))
        self.builder.store(value, self.builder.gep(self.data, [place]))

    def lane(self, vector: Any, lane: int) -> Any:
        return self.builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))

    def with_lane(self, vector: Any, value: Any, lane: int) -> Any:
        return self.builder.insert_element(vector, value, ir.Constant(ir.IntType(32), lane))

    def spread(self, value: Any) -> Any:
        return self.builder.shuffle_vector(self.with_lane(_UNSET, value, 0), _UNSET, _SAME)


def inside_columns(semiring: Semiring, turn: bool) -> Callable[..., tuple[Lanes, ...]]:
    """The function of `space` that completes the items of a row in a block.

    Its arguments: the cell of the first of the block's own rows in its panel, w[i, J] and w[J, i],
    the sums for B, C> and C< over earlier columns, and where turned items of i and of i - 1 go.
    It gives B, C>, I>, C< and I<.
    """

    def typed(
        typing: Any,
        space: Any,
        rows: Any,
        arcs_right: Any,
        arcs_left: Any,
        both_sum: Any,
        right_sum: Any,
        left_sum: Any,
        turned: Any,
        turned_above: Any,
    ) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            (
                array,
                rows,
                arcs_right,
                arcs_left,
                both_sum,
                right_sum,
                left_sum,
                turned,
                turned_above,
            ) = values
            write = _Writer(context, builder, sig.args[0], array)
            results = [_UNSET] * 5
            for lane in range(LANES):
                both = write.lane(both_sum, lane)
                to_right = semiring.times(builder, both, write.lane(arcs_right, lane))
                to_left = semiring.times(builder, both, write.lane(arcs_left, lane))
                right = semiring.plus(builder, write.lane(right_sum, lane), to_right)
                left = semiring.plus(builder, write.lane(left_sum, lane), to_left)
                at = RULES * lane
                # B += C>(i, k) C<(k+1, J);  C> += I>(i, k) C>(k, J);  C< += C<(i, k) I<(k, J)
                both_sum = semiring.join(
                    builder, write.spread(right), write.load(rows, at), both_sum
                )
                right_sum = semiring.join(
                    builder, write.spread(to_right), write.load(rows, at + 1), right_sum
                )
                left_sum = semiring.join(
                    builder, write.spread(left), write.load(rows, at + 2), left_sum
                )
                for place, value in enumerate((both, right, to_right, left, to_left)):
                    results[place] = write.with_lane(results[place], value, lane)
                if turn:
                    write.store_number(left, turned_above, TERMS * lane)
                    write.store_number(right, turned, TERMS * lane + LANES)
                    write.store_number(to_left, turned, TERMS * lane + 2 * LANES)
            return context.make_tuple(builder, sig.return_type, results)

        whole = types.int64
        kinds = (space, whole, *[LANES_TYPE] * 5, whole, whole)
        return signature(types.UniTuple(LANES_TYPE, 5), *kinds), emit

    complete: Callable[..., tuple[Lanes, ...]] = intrinsic(typed)
    return complete


def _outside_columns(
    typing: Any,
    space: Any,
    rows: Any,
    arcs_right: Any,
    arcs_left: Any,
    inner_right: Any,
    inner_to_right: Any,
    inner_left: Any,
    inner_to_left: Any,
    right_sum: Any,
    to_right_sum: Any,
    left_sum: Any,
    to_left_sum: Any,
) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        (
            array,
            rows,
            arcs_right,
            arcs_left,
            *inner,
            right_sum,
            to_right_sum,
            left_sum,
            to_left_sum,
        ) = values
        write = _Writer(context, builder, sig.args[0], array)
        zero = ir.Constant(ir.DoubleType(), 0.0)

        def possible(place: int, value: Any, lane: int) -> Any:
            """The value, unless the item that it is outside of is impossible."""
            is_some = builder.fcmp_ordered(">", write.lane(inner[place], lane), zero)
            return builder.select(is_some, value, zero)

        results = [_UNSET] * 5
        for lane in reversed(range(LANES)):
            right = possible(0, write.lane(right_sum, lane), lane)
            left = possible(2, write.lane(left_sum, lane), lane)
            to_right = possible(1, builder.fadd(write.lane(to_right_sum, lane), right), lane)
            to_left = possible(3, builder.fadd(write.lane(to_left_sum, lane), left), lane)
            both = builder.fmul(to_right, write.lane(arcs_right, lane))
            both = SUM.join(builder, to_left, write.lane(arcs_left, lane), both)
            at = RULES * lane
            # with l the column: O(C>(i, J)) += O(B(i, l)) C<(J+1, l);
            # O(I>(i, J)) += O(C>(i, l)) C>(J, l);  O(C<(i, J)) += O(C<(i, l)) I<(J, l)
            right_sum = SUM.join(builder, write.spread(both), write.load(rows, at), right_sum)
            to_right_sum = SUM.join(
                builder, write.spread(right), write.load(rows, at + 1), to_right_sum
            )
            left_sum = SUM.join(builder, write.spread(left), write.load(rows, at + 2), left_sum)
            for place, value in enumerate((right, both, left, to_right, to_left)):
                results[place] = write.with_lane(results[place], value, lane)
        return context.make_tuple(builder, sig.return_type, results)

    kinds = (space, types.int64, *[LANES_TYPE] * 10)
    return signature(types.UniTuple(LANES_TYPE, 5), *kinds), emit


#: The outside items of a row in a block, from the turned panel's own rows, the weights, the inside
#: items C>, I>, C<, I< and what later columns and smaller rows give O(C>), O(I>), O(C<), O(I<):
#: O(C>), O(B), O(C<), O(I>), O(I<).
outside_columns: Callable[..., tuple[Lanes, ...]] = intrinsic(_outside_columns)

"""Cells of dual numbers: wide numbers with their derivatives along one direction.

A derivative shares its number's exponent: it is at most as many times larger as the direction is
long, so that what rounding takes from it is small beside the number. Kernels written for cells of
any kind compute derivatives on these (forward-mode differentiation). Cells are of one sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import (
    FLOAT64,
    INT64,
    LANES,
    VECTOR,
    CellsType,
    NumberType,
    WideCells,
    intrinsic_call,
    shuffle,
    splat_vector,
)
from crossarc.inference.arithmetic.lanes import (
    Cells,
    cell_address,
    data_address,
    define_operators,
)

__all__ = ["dual_cells", "read_derivative", "scale_derivative"]

_PARTS = 3


class DualCells(WideCells):
    """Cells of dual numbers: mantissa, exponent, derivative. Operations as of `WideCells`."""

    floats_a_number = _PARTS

    def __init__(self, lanes: int) -> None:
        super().__init__(lanes)
        self.floats = _PARTS * lanes
        self.name = f"dual x {lanes}"
        triple = ir.LiteralStructType([self._mantissas, self._exponents, self._mantissas])
        self.number = NumberType(self.name, self, triple)
        self.vector = self.number if lanes > 1 else DualCells(LANES).number

    def _pair(self, builder: Any, mantissa: Any, exponent: Any, derivative: Any = None) -> Any:
        if derivative is None:
            derivative = ir.Constant(mantissa.type, None)
        kind = ir.LiteralStructType([mantissa.type, exponent.type, mantissa.type])
        value = ir.Constant(kind, ir.Undefined)
        for place, part in enumerate((mantissa, exponent, derivative)):
            value = builder.insert_value(value, part, place)
        return value

    def _derivative(self, builder: Any, x: Any) -> Any:
        return builder.extract_value(x, 2)

    def _third(self, builder: Any, pointer: Any) -> Any:
        behind = builder.gep(pointer, [ir.Constant(INT64, 2 * self.lanes)])
        return builder.bitcast(behind, self._mantissas.as_pointer())

    def load(self, builder: Any, pointer: Any) -> Any:
        """A cell."""
        number = super().load(builder, pointer)
        mantissa, exponent = self._parts(builder, number)
        third = self._third(builder, pointer)
        return self._pair(builder, mantissa, exponent, builder.load(third, align=8))

    def store(self, builder: Any, value: Any, pointer: Any) -> None:
        """Store a cell, normalised."""
        value = self.normalise(builder, value)
        mantissas, exponents = self._pointers(builder, pointer)
        mantissa, exponent = self._parts(builder, value)
        builder.store(mantissa, mantissas, align=8)
        builder.store(exponent, exponents, align=8)
        builder.store(self._derivative(builder, value), self._third(builder, pointer), align=8)

    def load_vector(self, builder: Any, pointer: Any) -> Any:
        """Eight neighbours, whose parts alternate in memory."""
        triple = ir.VectorType(FLOAT64, _PARTS * LANES)
        every = builder.load(builder.bitcast(pointer, triple.as_pointer()), align=8)
        mantissas, exponents, derivatives = (
            shuffle(builder, every, every, list(range(start, _PARTS * LANES, _PARTS)))
            for start in range(_PARTS)
        )
        exponents = builder.bitcast(exponents, ir.VectorType(INT64, LANES))
        return self._pair(builder, mantissas, exponents, derivatives)

    def store_vector(self, builder: Any, value: Any, pointer: Any) -> None:
        """Store eight neighbours, normalised."""
        value = DualCells(LANES).normalise(builder, value)
        mantissa, exponent = self._parts(builder, value)
        both = shuffle(builder, mantissa, builder.bitcast(exponent, VECTOR), list(range(2 * LANES)))
        derivative = self._derivative(builder, value)
        rest = shuffle(builder, derivative, derivative, list(range(2 * LANES)))
        order = [LANES * (i % _PARTS) + i // _PARTS for i in range(_PARTS * LANES)]
        triple = ir.VectorType(FLOAT64, _PARTS * LANES)
        every = shuffle(builder, both, rest, order)
        builder.store(every, builder.bitcast(pointer, triple.as_pointer()), align=8)

    def load_splat(self, builder: Any, pointer: Any) -> Any:
        """One number, eight times."""
        number = DualCells(1).load(builder, pointer)
        mantissa, exponent = self._parts(builder, number)
        return self._pair(
            builder,
            splat_vector(builder, mantissa, VECTOR),
            splat_vector(builder, exponent, ir.VectorType(INT64, LANES)),
            splat_vector(builder, self._derivative(builder, number), VECTOR),
        )

    def normalise(self, builder: Any, x: Any) -> Any:
        """The same number with its mantissa in [1, 2), or zero."""
        mantissa, exponent = self._parts(builder, super().normalise(builder, x))
        gain = builder.sub(exponent, self._parts(builder, x)[1])
        # Of zero, which has no derivative, the gain is far below.
        smallest, largest = self._integer(-1022), self._integer(1023)
        gain = intrinsic_call(builder, "smax", gain, smallest)
        gain = intrinsic_call(builder, "smin", gain, largest)
        bits = builder.sub(largest, gain)
        bits = builder.shl(bits, self._integer(52))
        derivative = self._derivative(builder, x)
        scaled = builder.fmul(derivative, builder.bitcast(bits, self._mantissas))
        zero = ir.Constant(self._mantissas, None)
        is_zero = builder.fcmp_ordered("==", mantissa, zero)
        return self._pair(builder, mantissa, exponent, builder.select(is_zero, zero, scaled))

    def add(self, builder: Any, x: Any, y: Any) -> Any:
        """x + y, and x' + y'."""
        (_, e), (_, f) = self._parts(builder, x), self._parts(builder, y)
        gap = builder.sub(e, f)
        is_lower = builder.icmp_signed("<", gap, self._integer(0))
        gap = intrinsic_call(builder, "smin", gap, builder.sub(self._integer(0), gap))
        lower, upper = self.select(builder, is_lower, x, y), self.select(builder, is_lower, y, x)
        scale = self._power_of_two(builder, gap)

        def total(part: int) -> Any:
            small, large = builder.extract_value(lower, part), builder.extract_value(upper, part)
            return intrinsic_call(builder, "fmuladd", small, scale, large)

        return self._pair(builder, total(0), intrinsic_call(builder, "smax", e, f), total(2))

    def multiply(self, builder: Any, x: Any, y: Any) -> Any:
        """x y, and x' y + x y'."""
        (m, e), (n, f) = self._parts(builder, x), self._parts(builder, y)
        second = builder.fmul(m, self._derivative(builder, y))
        derivative = intrinsic_call(builder, "fmuladd", self._derivative(builder, x), n, second)
        return self._pair(builder, builder.fmul(m, n), builder.add(e, f), derivative)

    def divide(self, builder: Any, x: Any, y: Any) -> Any:
        """x / y, and (x' - (x / y) y') / y; y above 0."""
        (m, e), (n, f) = self._parts(builder, x), self._parts(builder, y)
        quotient = builder.fdiv(m, n)
        change = builder.fmul(quotient, self._derivative(builder, y))
        change = builder.fdiv(builder.fsub(self._derivative(builder, x), change), n)
        return self._pair(builder, quotient, builder.sub(e, f), change)

    def select(self, builder: Any, condition: Any, x: Any, y: Any) -> Any:
        """x where the condition holds, else y."""
        mantissa, exponent = self._parts(builder, super().select(builder, condition, x, y))
        first, second = self._derivative(builder, x), self._derivative(builder, y)
        return self._pair(builder, mantissa, exponent, builder.select(condition, first, second))


define_operators((DualCells(1), DualCells(LANES)))


def _dual_cells(typing: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return data_address(context, builder, sig.args[0], values[0])

    return signature(CellsType(DualCells(1)), array), emit


def _derivative_pointer(context: Any, builder: Any, sig: Any, values: Any) -> Any:
    first = cell_address(context, builder, sig.args[0], *values[:2])
    return builder.gep(first, [ir.Constant(INT64, 2)])


def _read_derivative(typing: Any, cells: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_derivative_pointer(context, builder, sig, values), align=8)

    return signature(types.float64, cells, types.int64), emit


def _scale_derivative(typing: Any, cells: Any, index: Any, factor: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        mantissa = builder.load(cell_address(context, builder, sig.args[0], *values[:2]), align=8)
        derivative = builder.fmul(mantissa, values[2])
        builder.store(derivative, _derivative_pointer(context, builder, sig, values), align=8)
        return context.get_dummy_value()

    return signature(types.void, cells, types.int64, types.float64), emit


#: The memory of a float64 array as cells of dual numbers, three floats each.
dual_cells: Callable[[NDArray[Any]], Cells] = intrinsic(_dual_cells)
#: A cell's derivative over 2 to its exponent.
read_derivative: Callable[[Cells, int], float] = intrinsic(_read_derivative)
#: Make a cell's derivative so many times its number.
scale_derivative: Callable[[Cells, int, float], None] = intrinsic(_scale_derivative)

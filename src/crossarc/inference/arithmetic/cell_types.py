"""What cells hold, as Numba and LLVM know it: float64 and wide numbers, of one sentence or eight.

A class for each of the two writes the instructions of its operations; the values here are LLVM's,
not Python's. `lanes` makes functions for kernels of them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, register_model

from crossarc.inference.arithmetic.wide import (
    EXP_COEFFICIENTS,
    INVERSE_LN2,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LN2_REST,
    SMALLEST,
    ZERO,
)

__all__ = [
    "FLOAT64",
    "INT64",
    "LANES",
    "VECTOR",
    "CellsType",
    "Float64Cells",
    "NumberType",
    "WideCells",
    "cells_of",
    "intrinsic_call",
    "numbers_of",
    "shuffle",
    "splat_vector",
]

#: Sentences in lockstep: one register of AVX-512.
LANES = 8

FLOAT64, INT64, _INT32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
VECTOR = ir.VectorType(FLOAT64, LANES)
_FRACTION_BITS = 52
_FRACTION = (1 << _FRACTION_BITS) - 1
_BIAS = 1023
# Added to a number, it rounds it to an integer, and its last bits become the exponent of that power
# of two, as float64 has it.
_ROUND = 1.5 * 2.0**_FRACTION_BITS + _BIAS


class NumberType(types.Type):  # type: ignore[misc]  # numba has no type information
    """The number of a cell."""

    def __init__(self, name: str, cells: Any, value: Any) -> None:
        self.cells, self.value = cells, value
        super().__init__(name=name)


class _NumberModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, kind.value)


class CellsType(types.Type):  # type: ignore[misc]
    """The address of cells of one kind."""

    def __init__(self, cells: Any) -> None:
        self.cells = cells
        super().__init__(name=f"Cells({cells.name})")


class _CellsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOAT64.as_pointer())


register_model(NumberType)(_NumberModel)
register_model(CellsType)(_CellsModel)


def shuffle(builder: Any, x: Any, y: Any, lanes: list[int]) -> Any:
    """The elements of x and y, counted on, in another order."""
    mask = ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes)
    return builder.shuffle_vector(x, y, mask)


def splat_vector(builder: Any, value: Any, kind: Any) -> Any:
    """A vector of one value; the value itself where `kind` is no vector."""
    if not isinstance(kind, ir.VectorType):
        return value
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
    return shuffle(builder, first, undefined, [0] * kind.count)


def intrinsic_call(builder: Any, name: str, *values: Any) -> Any:
    """An operation that LLVM knows by name, on arguments of one type."""
    kind = values[0].type
    is_vector = isinstance(kind, ir.VectorType)
    scalar = kind.element if is_vector else kind
    suffix = (f"v{kind.count}" if is_vector else "") + ("f64" if scalar == FLOAT64 else "i64")
    function_type = ir.FunctionType(kind, [kind] * len(values))
    function = cgutils.get_or_insert_function(
        builder.module, function_type, f"llvm.{name}.{suffix}"
    )
    return builder.call(function, values)


def _constant(kind: Any, value: float) -> Any:
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


def _polynomial(builder: Any, r: Any) -> Any:
    """exp(r) for |r| up to about ln(2) / 2, by Horner's rule."""
    p = _constant(r.type, EXP_COEFFICIENTS[0])
    for coefficient in EXP_COEFFICIENTS[1:]:
        p = intrinsic_call(builder, "fmuladd", p, r, _constant(r.type, coefficient))
    return p


class Float64Cells:
    """Cells of float64.

    Attributes:
        lanes: sentences, 1 or LANES.
        number, vector: Numba's types of a cell and of eight numbers.
        floats, floats_a_number: the size of a cell and of one sentence's number, in float64.
        floats_type: Numba's type of as many float64.
    """

    floats_a_number = 1
    is_wide = False

    def __init__(self, lanes: int) -> None:
        self.lanes = self.floats = lanes
        self.name = f"float64 x {lanes}"
        self._value = VECTOR if lanes > 1 else FLOAT64
        self._integers = ir.VectorType(INT64, lanes) if lanes > 1 else INT64
        is_vector = lanes > 1
        self.number = NumberType(self.name, self, VECTOR) if is_vector else types.float64
        self.vector = self.number if is_vector else Float64Cells(LANES).number
        self.floats_type = self.number

    def load(self, builder: Any, pointer: Any) -> Any:
        """A cell."""
        return builder.load(builder.bitcast(pointer, self._value.as_pointer()), align=8)

    def store(self, builder: Any, value: Any, pointer: Any) -> None:
        """Store a cell."""
        builder.store(value, builder.bitcast(pointer, self._value.as_pointer()), align=8)

    def load_vector(self, builder: Any, pointer: Any) -> Any:
        """Eight neighbours."""
        return Float64Cells(LANES).load(builder, pointer)

    def store_vector(self, builder: Any, value: Any, pointer: Any) -> None:
        """Store eight neighbours."""
        Float64Cells(LANES).store(builder, value, pointer)

    def load_splat(self, builder: Any, pointer: Any) -> Any:
        """One number, eight times."""
        return splat_vector(builder, builder.load(pointer, align=8), VECTOR)

    def broadcast(self, builder: Any, value: Any) -> Any:
        """One number for all sentences."""
        return splat_vector(builder, value, self._value)

    def as_number(self, builder: Any, x: Any) -> Any:
        """A float64 of each sentence."""
        return x

    def add(self, builder: Any, x: Any, y: Any) -> Any:
        """x + y."""
        return builder.fadd(x, y)

    def subtract(self, builder: Any, x: Any, y: Any) -> Any:
        """x - y."""
        return builder.fsub(x, y)

    def multiply(self, builder: Any, x: Any, y: Any) -> Any:
        """x y."""
        return builder.fmul(x, y)

    def divide(self, builder: Any, x: Any, y: Any) -> Any:
        """x / y."""
        return builder.fdiv(x, y)

    def fma(self, builder: Any, x: Any, y: Any, z: Any) -> Any:
        """x y + z."""
        return intrinsic_call(builder, "fmuladd", x, y, z)

    def less(self, builder: Any, x: Any, y: Any) -> Any:
        """x < y, false where one is NaN."""
        return builder.fcmp_ordered("<", x, y)

    def select(self, builder: Any, condition: Any, x: Any, y: Any) -> Any:
        """x where the condition holds, else y."""
        return builder.select(condition, x, y)

    def minimum(self, builder: Any, x: Any, y: Any) -> Any:
        """The smaller; y where one is NaN."""
        return self.select(builder, self.less(builder, x, y), x, y)

    def maximum(self, builder: Any, x: Any, y: Any) -> Any:
        """The larger; y where one is NaN."""
        return self.select(builder, self.less(builder, y, x), x, y)

    def exponential(self, builder: Any, x: Any, tail: Any) -> Any:
        """exp(x + tail) = 2^k exp(r) with r = x - k ln 2; the product k LN2_HIGH is exact."""

        def fma(a: Any, b: float, c: Any) -> Any:
            return intrinsic_call(builder, "fmuladd", a, _constant(self._value, b), c)

        whole = _constant(self._value, _ROUND)
        power = fma(x, INVERSE_LN2, whole)
        k = builder.fsub(power, whole)
        r = builder.fadd(fma(k, -LN2_LOW, fma(k, -LN2_HIGH, x)), tail)
        bits = builder.bitcast(power, self._integers)
        bits = builder.shl(bits, _constant(self._integers, _FRACTION_BITS))
        return builder.fmul(_polynomial(builder, r), builder.bitcast(bits, self._value))


class WideCells:
    """Cells of wide numbers: of each cell first all mantissas, then all exponents.

    Mantissas may leave [1, 2) in registers and are brought back when they are stored; a sum has at
    most a few terms in between. Attributes as of `Float64Cells`.
    """

    floats_a_number = 2
    is_wide = True

    def __init__(self, lanes: int) -> None:
        self.lanes, self.floats = lanes, 2 * lanes
        self.name = f"wide x {lanes}"
        is_vector = lanes > 1
        self._mantissas = VECTOR if is_vector else FLOAT64
        self._exponents = ir.VectorType(INT64, lanes) if is_vector else INT64
        pair = ir.LiteralStructType([self._mantissas, self._exponents])
        self.number = NumberType(self.name, self, pair)
        self.vector = self.number if is_vector else WideCells(LANES).number
        self.floats_type = Float64Cells(lanes).number

    def _pair(self, builder: Any, mantissa: Any, exponent: Any) -> Any:
        kind = ir.LiteralStructType([mantissa.type, exponent.type])
        first = builder.insert_value(ir.Constant(kind, ir.Undefined), mantissa, 0)
        return builder.insert_value(first, exponent, 1)

    def _parts(self, builder: Any, x: Any) -> tuple[Any, Any]:
        return builder.extract_value(x, 0), builder.extract_value(x, 1)

    def _integer(self, value: int) -> Any:
        return _constant(self._exponents, value)

    def _pointers(self, builder: Any, pointer: Any) -> tuple[Any, Any]:
        second = builder.gep(pointer, [ir.Constant(INT64, self.lanes)])
        return (
            builder.bitcast(pointer, self._mantissas.as_pointer()),
            builder.bitcast(second, self._exponents.as_pointer()),
        )

    def load(self, builder: Any, pointer: Any) -> Any:
        """A cell."""
        mantissas, exponents = self._pointers(builder, pointer)
        return self._pair(
            builder, builder.load(mantissas, align=8), builder.load(exponents, align=8)
        )

    def store(self, builder: Any, value: Any, pointer: Any) -> None:
        """Store a cell, normalised."""
        mantissas, exponents = self._pointers(builder, pointer)
        mantissa, exponent = self._parts(builder, self.normalise(builder, value))
        builder.store(mantissa, mantissas, align=8)
        builder.store(exponent, exponents, align=8)

    def load_vector(self, builder: Any, pointer: Any) -> Any:
        """Eight neighbours, whose mantissas and exponents alternate in memory."""
        double = ir.VectorType(FLOAT64, 2 * LANES)
        both = builder.load(builder.bitcast(pointer, double.as_pointer()), align=8)
        mantissas, exponents = (
            shuffle(builder, both, both, list(range(start, 2 * LANES, 2))) for start in (0, 1)
        )
        exponents = builder.bitcast(exponents, ir.VectorType(INT64, LANES))
        return self._pair(builder, mantissas, exponents)

    def store_vector(self, builder: Any, value: Any, pointer: Any) -> None:
        """Store eight neighbours, normalised."""
        wide = WideCells(LANES)
        mantissa, exponent = self._parts(builder, wide.normalise(builder, value))
        order = [i // 2 + (LANES if i % 2 else 0) for i in range(2 * LANES)]
        both = shuffle(builder, mantissa, builder.bitcast(exponent, VECTOR), order)
        double = ir.VectorType(FLOAT64, 2 * LANES)
        builder.store(both, builder.bitcast(pointer, double.as_pointer()), align=8)

    def load_splat(self, builder: Any, pointer: Any) -> Any:
        """One number, eight times."""
        mantissa, exponent = self._parts(builder, WideCells(1).load(builder, pointer))
        return self._pair(
            builder,
            splat_vector(builder, mantissa, VECTOR),
            splat_vector(builder, exponent, ir.VectorType(INT64, LANES)),
        )

    def broadcast(self, builder: Any, value: Any) -> Any:
        """One float64 for all sentences."""
        return self.as_number(builder, splat_vector(builder, value, self._mantissas))

    def as_number(self, builder: Any, x: Any) -> Any:
        """A float64 of each sentence; its mantissa need not be in [1, 2)."""
        is_zero = builder.fcmp_ordered("==", x, _constant(self._mantissas, 0.0))
        exponent = builder.select(is_zero, self._integer(ZERO), self._integer(0))
        return self._pair(builder, x, exponent)

    def normalise(self, builder: Any, x: Any) -> Any:
        """The same number with its mantissa in [1, 2), or zero."""
        mantissa, exponent = self._parts(builder, x)
        bits = builder.bitcast(mantissa, self._exponents)
        shift = builder.lshr(bits, self._integer(_FRACTION_BITS))
        power = builder.add(exponent, builder.sub(shift, self._integer(_BIAS)))
        fraction = builder.and_(bits, self._integer(_FRACTION))
        fraction = builder.or_(fraction, self._integer(_BIAS << _FRACTION_BITS))
        fraction = builder.bitcast(fraction, self._mantissas)
        is_zero = builder.fcmp_ordered("==", mantissa, _constant(self._mantissas, 0.0))
        return self._pair(
            builder,
            builder.select(is_zero, mantissa, fraction),
            builder.select(is_zero, self._integer(ZERO), power),
        )

    def _power_of_two(self, builder: Any, k: Any) -> Any:
        """2^k for k <= 0; 0 for k <= -1023, far under the rounding of what it is added to."""
        k = intrinsic_call(builder, "smax", k, self._integer(-_BIAS))
        bits = builder.shl(builder.add(k, self._integer(_BIAS)), self._integer(_FRACTION_BITS))
        return builder.bitcast(bits, self._mantissas)

    def add(self, builder: Any, x: Any, y: Any) -> Any:
        """x + y: the number with the lower exponent is scaled down."""
        (m, e), (n, f) = self._parts(builder, x), self._parts(builder, y)
        gap = builder.sub(e, f)
        is_lower = builder.icmp_signed("<", gap, self._integer(0))
        gap = intrinsic_call(builder, "smin", gap, builder.sub(self._integer(0), gap))
        lower, upper = builder.select(is_lower, m, n), builder.select(is_lower, n, m)
        scale = self._power_of_two(builder, gap)
        total = intrinsic_call(builder, "fmuladd", lower, scale, upper)
        return self._pair(builder, total, intrinsic_call(builder, "smax", e, f))

    def multiply(self, builder: Any, x: Any, y: Any) -> Any:
        """x y."""
        (m, e), (n, f) = self._parts(builder, x), self._parts(builder, y)
        return self._pair(builder, builder.fmul(m, n), builder.add(e, f))

    def divide(self, builder: Any, x: Any, y: Any) -> Any:
        """x / y, y above 0."""
        (m, e), (n, f) = self._parts(builder, x), self._parts(builder, y)
        return self._pair(builder, builder.fdiv(m, n), builder.sub(e, f))

    def fma(self, builder: Any, x: Any, y: Any, z: Any) -> Any:
        """x y + z."""
        return self.add(builder, self.multiply(builder, x, y), z)

    def less(self, builder: Any, x: Any, y: Any) -> Any:
        """x < y."""
        m, e = self._parts(builder, self.normalise(builder, x))
        n, f = self._parts(builder, self.normalise(builder, y))
        is_same = builder.icmp_signed("==", e, f)
        is_less = builder.and_(is_same, builder.fcmp_ordered("<", m, n))
        return builder.or_(builder.icmp_signed("<", e, f), is_less)

    def select(self, builder: Any, condition: Any, x: Any, y: Any) -> Any:
        """x where the condition holds, else y."""
        (m, e), (n, f) = self._parts(builder, x), self._parts(builder, y)
        return self._pair(builder, builder.select(condition, m, n), builder.select(condition, e, f))

    def minimum(self, builder: Any, x: Any, y: Any) -> Any:
        """The smaller."""
        return self.select(builder, self.less(builder, x, y), x, y)

    def maximum(self, builder: Any, x: Any, y: Any) -> Any:
        """The larger."""
        return self.select(builder, self.less(builder, y, x), x, y)

    def exponential(self, builder: Any, x: Any, tail: Any) -> Any:
        """exp(x + tail) = 2^k exp(r), r = x - k ln 2 with k ln 2 to twice the digits.

        The product k LN2 and its rounding error, by a fused multiplication.
        """
        kind = self._mantissas
        scaled = builder.fmul(x, _constant(kind, INVERSE_LN2))
        k = intrinsic_call(builder, "floor", builder.fadd(scaled, _constant(kind, 0.5)))
        high = builder.fmul(k, _constant(kind, LN2))
        zero = _constant(kind, 0.0)
        negated = builder.fsub(zero, high)
        low = intrinsic_call(builder, "fma", k, _constant(kind, LN2), negated)
        low = intrinsic_call(builder, "fmuladd", k, _constant(kind, LN2_REST), low)
        r = builder.fadd(builder.fsub(builder.fsub(x, high), low), tail)
        exponent = builder.fptosi(k, self._exponents)
        exponent = intrinsic_call(builder, "smax", exponent, self._integer(SMALLEST))
        return self._pair(builder, _polynomial(builder, r), exponent)


def cells_of(array: Any) -> Any:
    """The kind of cells of an array or of their address."""
    if isinstance(array, CellsType):
        return array.cells
    lanes = LANES if array.ndim == 2 else 1
    return WideCells(lanes) if array.dtype == types.complex128 else Float64Cells(lanes)


def numbers_of(number: Any) -> Any:
    """The kind of cells that hold a number of this type."""
    return number.cells if isinstance(number, NumberType) else Float64Cells(1)

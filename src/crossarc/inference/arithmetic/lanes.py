"""Numbers of several sentences at a time, for kernels that treat sentences in lockstep.

A *cell* holds one number of each sentence. Kernels work on `Cells`, the address of an array of
them, and there are four kinds, which the array that kernels are given tells apart:

    float64[:]       one float64            complex128[:]       one wide number
    float64[:, 8]    eight float64          complex128[:, 8]    eight wide numbers

(a wide number is a float64 mantissa and an int64 exponent, see `wide`; it takes the room of a
complex number and has nothing else to do with it). `load` gives a number or a vector of LLVM's, so
that an operation is one vector instruction by construction and does not hang on whether the
compiler recognises a loop. The same code compiled for another kind of cells does the same
operations in the same order: one sentence and eight have the same result to the last bit.

Nothing here checks bounds, and arrays are handed on by address alone: Numba counts references to
arrays as they come and go, which takes longer than the work of a short function. Whoever has the
array must keep it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import (
    FLOAT64,
    INT64,
    LANES,
    VECTOR,
    CellsType,
    Float64Cells,
    WideCells,
    cells_of,
    numbers_of,
    shuffle,
    splat_vector,
)

__all__ = [
    "LANES",
    "AnyCells",
    "Cells",
    "Eight",
    "Lanes",
    "as_number",
    "broadcast",
    "cell_address",
    "data_address",
    "data_pointer",
    "define_operators",
    "exponential",
    "float64_cells",
    "floats_a_number",
    "fma",
    "is_wide",
    "lane_count",
    "load",
    "load_scalar",
    "load_splat",
    "load_vector",
    "maximum",
    "minimum",
    "offset",
    "read_lane",
    "read_number",
    "select",
    "splat",
    "store",
    "store_scalar",
    "store_vector",
    "transpose",
    "write_lane",
    "write_number",
]

Floats = NDArray[np.float64]


class Lanes:
    """A number of each sentence, as type checkers see it."""

    def __add__(self, other: Lanes) -> Lanes:
        raise TypeError("Lanes exist inside kernels only")

    __sub__ = __mul__ = __truediv__ = __add__


class Cells:
    """The address of an array of cells, as type checkers see it."""


AnyCells = Floats | Cells
Eight = tuple[Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes]

_EIGHT = types.UniTuple(Float64Cells(LANES).number, LANES)


def _define_operator(symbol: Any, method: str, kinds: tuple[Any, ...]) -> None:
    class Template(ConcreteTemplate):  # type: ignore[misc]  # numba has no type information
        cases = tuple(signature(kind.number, kind.number, kind.number) for kind in kinds)

    infer_global(symbol)(Template)
    for kind in kinds:

        def emit(context: Any, builder: Any, sig: Any, values: Any, kind: Any = kind) -> Any:
            return getattr(kind, method)(builder, *values)

        lower_builtin(symbol, kind.number, kind.number)(emit)


def define_operators(kinds: tuple[Any, ...]) -> None:
    """Give the numbers of cells +, * and /."""
    _define_operator(operator.add, "add", kinds)
    _define_operator(operator.mul, "multiply", kinds)
    _define_operator(operator.truediv, "divide", kinds)


define_operators((Float64Cells(LANES), WideCells(1), WideCells(LANES)))
_define_operator(operator.sub, "subtract", (Float64Cells(LANES),))


def data_address(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Where an array, or what cells are the address of, begins."""
    if isinstance(kind, CellsType):
        return array
    data = context.make_array(kind)(context, builder, value=array).data
    return builder.bitcast(data, FLOAT64.as_pointer())


def _at(builder: Any, pointer: Any, index: Any, step: int) -> Any:
    return builder.gep(pointer, [builder.mul(index, ir.Constant(index.type, step))])


# Below, Numba asks for the signature of a call and for what writes its instructions.


def _data_pointer(typing: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return data_address(context, builder, sig.args[0], values[0])

    return signature(CellsType(cells_of(array)), array), emit


def cell_address(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Where a cell begins."""
    return _at(builder, data_address(context, builder, kind, array), index, cells_of(kind).floats)


def _float64_cells(typing: Any, cells: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return values[0]

    return signature(CellsType(Float64Cells(cells.cells.lanes)), cells), emit


def _offset(typing: Any, cells: Any, count: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return _at(builder, values[0], values[1], sig.args[0].cells.floats)

    return signature(cells, cells, types.int64), emit


def _is_wide(typing: Any, cells: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return ir.Constant(ir.IntType(1), int(cells_of(sig.args[0]).is_wide))

    return signature(types.boolean, cells), emit


def _lane_count(typing: Any, cells: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return ir.Constant(INT64, cells_of(sig.args[0]).lanes)

    return signature(types.int64, cells), emit


def _floats_a_number(typing: Any, cells: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return ir.Constant(INT64, cells_of(sig.args[0]).floats_a_number)

    return signature(types.int64, cells), emit


def _load(typing: Any, array: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = cell_address(context, builder, sig.args[0], *values)
        return cells_of(sig.args[0]).load(builder, pointer)

    return signature(cells_of(array).number, array, types.int64), emit


def _store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = cell_address(context, builder, sig.args[0], *values[:2])
        cells_of(sig.args[0]).store(builder, values[2], pointer)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, cells_of(array).number), emit


def _lane(context: Any, builder: Any, kind: Any, array: Any, index: Any, lane: Any) -> Any:
    first = cell_address(context, builder, kind, array, index)
    return builder.gep(first, [lane]) if cells_of(kind).lanes > 1 else first


def _read_lane(typing: Any, array: Any, index: Any, lane: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_lane(context, builder, sig.args[0], *values), align=8)

    return signature(types.float64, array, types.int64, types.int64), emit


def _write_lane(typing: Any, array: Any, index: Any, lane: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[3], _lane(context, builder, sig.args[0], *values[:3]), align=8)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, types.int64, types.float64), emit


def _read_number(typing: Any, array: Any, index: Any, lane: Any) -> Any:
    number = types.Tuple((types.float64, types.int64))

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = _lane(context, builder, sig.args[0], *values)
        exponent = ir.Constant(INT64, 0)
        if cells_of(sig.args[0]).is_wide:
            exponent = builder.load(_exponent(builder, sig.args[0], pointer), align=8)
        return context.make_tuple(builder, number, [builder.load(pointer, align=8), exponent])

    return signature(number, array, types.int64, types.int64), emit


def _write_number(
    typing: Any, array: Any, index: Any, lane: Any, mantissa: Any, exponent: Any
) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = _lane(context, builder, sig.args[0], *values[:3])
        builder.store(values[3], pointer, align=8)
        if cells_of(sig.args[0]).is_wide:
            builder.store(values[4], _exponent(builder, sig.args[0], pointer), align=8)
        return context.get_dummy_value()

    scalars = (types.int64, types.int64, types.float64, types.int64)
    return signature(types.void, array, *scalars), emit


def _exponent(builder: Any, kind: Any, mantissa: Any) -> Any:
    """The address of the exponent of one lane, behind all mantissas of the cell."""
    lanes = ir.Constant(INT64, cells_of(kind).lanes)
    return builder.bitcast(builder.gep(mantissa, [lanes]), INT64.as_pointer())


def _load_scalar(typing: Any, array: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_element(context, builder, sig.args[0], *values))

    return signature(_element_type(array), array, types.int64), emit


def _store_scalar(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[2], _element(context, builder, sig.args[0], *values[:2]))
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, _element_type(array)), emit


def _element(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    if isinstance(kind, CellsType):
        return builder.gep(array, [index])
    return builder.gep(context.make_array(kind)(context, builder, value=array).data, [index])


def _element_type(array: Any) -> Any:
    return types.float64 if isinstance(array, CellsType) else array.dtype


def _load_vector(typing: Any, array: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = data_address(context, builder, sig.args[0], values[0])
        cells = cells_of(sig.args[0])
        return cells.load_vector(builder, _at(builder, pointer, values[1], cells.floats_a_number))

    return signature(cells_of(array).vector, array, types.int64), emit


def _store_vector(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = data_address(context, builder, sig.args[0], values[0])
        cells = cells_of(sig.args[0])
        target = _at(builder, pointer, values[1], cells.floats_a_number)
        cells.store_vector(builder, values[2], target)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, cells_of(array).vector), emit


def _load_splat(typing: Any, array: Any, index: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = data_address(context, builder, sig.args[0], values[0])
        cells = cells_of(sig.args[0])
        return cells.load_splat(builder, _at(builder, pointer, values[1], cells.floats_a_number))

    return signature(cells_of(array).vector, array, types.int64), emit


def _transpose(typing: Any, rows: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        rows = [builder.extract_value(values[0], i) for i in range(LANES)]
        # Blocks of 1, 2 and 4 off the diagonal are exchanged.
        for size in (1, 2, 4):
            upper = [i + LANES - size if i & size else i for i in range(LANES)]
            lower = [i + LANES if i & size else i + size for i in range(LANES)]
            for i in range(LANES):
                if not i & size:
                    x, y = rows[i], rows[i + size]
                    rows[i] = shuffle(builder, x, y, upper)
                    rows[i + size] = shuffle(builder, x, y, lower)
        return context.make_tuple(builder, sig.return_type, rows)

    return signature(_EIGHT, _EIGHT), emit


def _broadcast(typing: Any, array: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return cells_of(sig.args[0]).broadcast(builder, values[1])

    return signature(cells_of(array).number, array, types.float64), emit


def _as_number(typing: Any, array: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return cells_of(sig.args[0]).from_floats(builder, values[1])

    cells = cells_of(array)
    return signature(cells.number, array, cells.floats_type), emit


def _splat(typing: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return splat_vector(builder, values[0], VECTOR)

    return signature(Float64Cells(LANES).number, types.float64), emit


def _elementwise(method: str, arity: int) -> Any:
    """An operation on numbers of one kind, which that kind's class writes."""

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return getattr(numbers_of(sig.return_type), method)(builder, *values)

    def binary(typing: Any, x: Any, y: Any) -> Any:
        return signature(x, x, x), emit

    def ternary(typing: Any, x: Any, y: Any, z: Any) -> Any:
        return signature(x, x, x, x), emit

    return binary if arity == 2 else ternary


def _select(typing: Any, x: Any, y: Any, if_less: Any, otherwise: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        less = numbers_of(sig.args[0]).less(builder, *values[:2])
        return numbers_of(sig.return_type).select(builder, less, *values[2:])

    return signature(if_less, x, x, if_less, if_less), emit


def _exponential(typing: Any, like: Any, x: Any, tail: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return numbers_of(sig.return_type).exponential(builder, *values[1:])

    floats = numbers_of(like).floats_type
    return signature(like, like, floats, floats), emit


#: The address of the cells of an array.
data_pointer: Callable[[NDArray[Any]], Cells] = intrinsic(_data_pointer)
#: The same memory as cells of float64, whatever the kind; as many lanes.
float64_cells: Callable[[Cells], Cells] = intrinsic(_float64_cells)
#: The cells behind the first so many.
offset: Callable[[Cells, int], Cells] = intrinsic(_offset)
#: Whether cells hold wide numbers: a constant for the compiler.
is_wide: Callable[[AnyCells], bool] = intrinsic(_is_wide)
#: How many float64 a number takes: another.
floats_a_number: Callable[[AnyCells], int] = intrinsic(_floats_a_number)
#: How many numbers a cell holds: another.
lane_count: Callable[[AnyCells], int] = intrinsic(_lane_count)
#: A cell. Wide numbers are normalised when they are stored.
load: Callable[[AnyCells, int], Lanes] = intrinsic(_load)
store: Callable[[AnyCells, int, Lanes], None] = intrinsic(_store)
#: One sentence's float64 in a cell.
read_lane: Callable[[AnyCells, int, int], float] = intrinsic(_read_lane)
write_lane: Callable[[AnyCells, int, int, float], None] = intrinsic(_write_lane)
#: One sentence's number in a cell as mantissa and exponent; of a float64 the exponent is 0, and
#: what is written as one is left out.
read_number: Callable[[AnyCells, int, int], tuple[float, int]] = intrinsic(_read_number)
write_number: Callable[[AnyCells, int, int, float, int], None] = intrinsic(_write_number)
#: An element of a flat array.
load_scalar: Callable[[AnyCells, int], float] = intrinsic(_load_scalar)
store_scalar: Callable[[AnyCells, int, float], None] = intrinsic(_store_scalar)
#: Eight neighbours from anywhere in a flat array of numbers.
load_vector: Callable[[AnyCells, int], Lanes] = intrinsic(_load_vector)
store_vector: Callable[[AnyCells, int, Lanes], None] = intrinsic(_store_vector)
#: A number of a flat array, as a vector of eight of it.
load_splat: Callable[[AnyCells, int], Lanes] = intrinsic(_load_splat)
#: Eight vectors of eight float64, rows to columns.
transpose: Callable[[Eight], Eight] = intrinsic(_transpose)
#: The same number for every sentence, as a cell of the array would be.
broadcast: Callable[[AnyCells, float], Lanes] = intrinsic(_broadcast)
#: A float64 of each sentence as a number, as a cell of the array would be.
as_number: Callable[[AnyCells, Lanes], Lanes] = intrinsic(_as_number)
#: A vector of eight float64 that are the same.
splat: Callable[[float], Lanes] = intrinsic(_splat)
#: x y + z, rounded once where the machine can.
fma: Callable[[Lanes, Lanes, Lanes], Lanes] = intrinsic(_elementwise("fma", 3))
#: select(x, y, a, b) is a where x < y and b elsewhere, also where x or y is NaN.
select: Callable[[Lanes, Lanes, Lanes, Lanes], Lanes] = intrinsic(_select)
#: The smaller or larger of two; y where one is NaN.
minimum: Callable[[Lanes, Lanes], Lanes] = intrinsic(_elementwise("minimum", 2))
maximum: Callable[[Lanes, Lanes], Lanes] = intrinsic(_elementwise("maximum", 2))
#: exponential(like, x, tail) is exp(x + tail) as a number of the kind of `like`. In float64, for x
#: from -700 to 700; wide, for scores that can be summed over. `tail` is small beside x.
exponential: Callable[[Lanes, Lanes, Lanes], Lanes] = intrinsic(_exponential)

"""Several numbers at a time, for kernels that treat several sentences in lockstep.

`Lanes` is a number of each sentence. An array of them is (cells, LANES), and `load` gives a vector
of float64. To Numba it is LLVM's, so that an operation is one vector instruction (two or four where
vectors are shorter) by construction, and nothing hangs on whether the compiler recognises a loop.
From an array (cells,), `load` gives one float64. The same code is then compiled for one sentence
and does the same operations in the same order: the results are the same to the last bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model
from numpy.typing import NDArray

__all__ = [
    "LANES",
    "WHOLE",
    "AnyCells",
    "Cells",
    "Eight",
    "Lanes",
    "bare",
    "beyond",
    "choose",
    "fused",
    "is_alone",
    "larger",
    "load",
    "load_entries",
    "read_lane",
    "repeat",
    "smaller",
    "spread",
    "store",
    "store_entries",
    "times_power_of_two",
    "transpose",
    "write_lane",
]

Floats = NDArray[np.float64]

#: Sentences in lockstep: one register of AVX-512.
LANES = 8

_ONE = ir.DoubleType()
_VECTOR = ir.VectorType(_ONE, LANES)
_FRACTION_BITS = 52

#: Added to a number, it rounds it to a whole one, and its last bits become the exponent of that
#: power of two, as float64 has it.
WHOLE = 1.5 * 2.0**52 + 1023.0


class Lanes:
    """A number of each sentence, as type checkers see it."""

    def __add__(self, other: Lanes) -> Lanes:
        raise NotImplementedError("for kernels only")

    __sub__ = __mul__ = __truediv__ = __add__


class Cells:
    """Where an array of cells begins, as type checkers see it."""


AnyCells = Floats | Cells

Eight = tuple[Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes, Lanes]


class _LanesType(types.Type):  # type: ignore[misc]  # numba has no type information
    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = _LanesType()
_EIGHT = types.UniTuple(_LANES, LANES)


class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


register_model(_LanesType)(_LanesModel)


def _define_operator(symbol: Any, instruction: str) -> None:
    class Template(ConcreteTemplate):  # type: ignore[misc]
        cases = (signature(_LANES, _LANES, _LANES),)

    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return getattr(builder, instruction)(*values)

    infer_global(symbol)(Template)
    lower_builtin(symbol, _LANES, _LANES)(emit)


_define_operator(operator.add, "fadd")
_define_operator(operator.sub, "fsub")
_define_operator(operator.mul, "fmul")
_define_operator(operator.truediv, "fdiv")


class CellsType(types.Type):  # type: ignore[misc]
    """Where an array of so many dimensions has its first cell."""

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim
        super().__init__(name=f"Cells({ndim})")


class _CellsModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _ONE.as_pointer())


register_model(CellsType)(_CellsModel)


def _of(array: Any) -> Any:
    """What a cell of an array is."""
    return _LANES if array.ndim == 2 else types.float64


def _entry(context: Any, builder: Any, kind: Any, array: Any, entry: Any) -> Any:
    is_bare = isinstance(kind, CellsType)
    data = array if is_bare else context.make_array(kind)(context, builder, value=array).data
    return builder.gep(data, [entry])


def _cell(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    if kind.ndim == 1:
        return _entry(context, builder, kind, array, place)
    entry = builder.mul(place, ir.Constant(place.type, LANES))
    return builder.bitcast(_entry(context, builder, kind, array, entry), _VECTOR.as_pointer())


def _integers(kind: Any) -> Any:
    return ir.IntType(64) if kind == _ONE else ir.VectorType(ir.IntType(64), LANES)


def _constant(kind: Any, value: int) -> Any:
    return ir.Constant(_integers(kind), value if kind == _ONE else [value] * LANES)


def _call(builder: Any, name: str, values: Any) -> Any:
    """An instruction that LLVM knows by name."""
    kind = values[0].type
    suffix = "f64" if kind == _ONE else f"v{LANES}f64"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * len(values)), f"llvm.{name}.{suffix}"
    )
    return builder.call(function, values)


def _splat(builder: Any, value: Any) -> Any:
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, places)


# Below, Numba asks for the signature of a call and for what writes its instructions.


def _bare(typing: Any, array: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return context.make_array(sig.args[0])(context, builder, value=values[0]).data

    return signature(CellsType(array.ndim), array), emit


def _beyond(typing: Any, cells: Any, count: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        cells, count = values
        size = ir.Constant(count.type, LANES if sig.args[0].ndim == 2 else 1)
        return builder.gep(cells, [builder.mul(count, size)])

    return signature(cells, cells, types.int64), emit


def _is_alone(typing: Any, cells: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return ir.Constant(ir.IntType(1), int(sig.args[0].ndim == 1))

    return signature(types.boolean, cells), emit


def _load(typing: Any, array: Any, place: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_cell(context, builder, sig.args[0], *values), align=8)

    return signature(_of(array), array, types.int64), emit


def _store(typing: Any, array: Any, place: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[2], _cell(context, builder, sig.args[0], *values[:2]), align=8)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, _of(array)), emit


def _lane(context: Any, builder: Any, kind: Any, array: Any, place: Any, lane: Any) -> Any:
    if kind.ndim == 2:
        place = builder.add(builder.mul(place, ir.Constant(place.type, LANES)), lane)
    return _entry(context, builder, kind, array, place)


def _read_lane(typing: Any, array: Any, place: Any, lane: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_lane(context, builder, sig.args[0], *values), align=8)

    return signature(types.float64, array, types.int64, types.int64), emit


def _write_lane(typing: Any, array: Any, place: Any, lane: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[3], _lane(context, builder, sig.args[0], *values[:3]), align=8)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, types.int64, types.float64), emit


def _load_entries(typing: Any, array: Any, entry: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        first = _entry(context, builder, sig.args[0], *values)
        return builder.load(builder.bitcast(first, _VECTOR.as_pointer()), align=8)

    return signature(_LANES, array, types.int64), emit


def _store_entries(typing: Any, array: Any, entry: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        first = _entry(context, builder, sig.args[0], *values[:2])
        builder.store(values[2], builder.bitcast(first, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, _LANES), emit


def _transpose(typing: Any, rows: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        rows = cgutils.unpack_tuple(builder, values[0], LANES)
        kind = ir.VectorType(ir.IntType(32), LANES)
        # Blocks of 1, 2 and 4 off the diagonal change places.
        for size in (1, 2, 4):
            places = range(LANES)
            upper = [p + LANES - size if p & size else p for p in places]
            lower = [p + LANES if p & size else p + size for p in places]
            for i in places:
                if not i & size:
                    x, y = rows[i], rows[i + size]
                    rows[i] = builder.shuffle_vector(x, y, ir.Constant(kind, upper))
                    rows[i + size] = builder.shuffle_vector(x, y, ir.Constant(kind, lower))
        return context.make_tuple(builder, sig.return_type, rows)

    return signature(_EIGHT, _EIGHT), emit


def _spread(typing: Any, array: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return _splat(builder, values[1]) if sig.return_type == _LANES else values[1]

    return signature(_of(array), array, types.float64), emit


def _repeat(typing: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return _splat(builder, values[0])

    return signature(_LANES, types.float64), emit


def _fused(typing: Any, x: Any, y: Any, z: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return _call(builder, "fmuladd", values)

    return signature(x, x, x, x), emit


def _times_power_of_two(typing: Any, x: Any, power: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        kind = values[0].type
        bits = builder.bitcast(values[1], _integers(kind))
        bits = builder.shl(bits, _constant(kind, _FRACTION_BITS))
        return builder.fmul(values[0], builder.bitcast(bits, kind))

    return signature(x, x, x), emit


def _choose(typing: Any, x: Any, y: Any, if_less: Any, otherwise: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", values[0], values[1]), *values[2:])

    return signature(x, x, x, x, x), emit


def _smaller(typing: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", values[0], values[1]), *values)

    return signature(x, x, x), emit


def _larger(typing: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), *values)

    return signature(x, x, x), emit


#: The cells of an array without the array: cheap to hand to other functions (arrays are counted
#: as they come and go, which in a short function takes longer than the work). Somebody else must
#: keep the array for as long.
bare: Callable[[Floats], Cells] = intrinsic(_bare)
#: The cells behind the first so many.
beyond: Callable[[Cells, int], Cells] = intrinsic(_beyond)
#: Whether a cell is one number.
is_alone: Callable[[Cells], bool] = intrinsic(_is_alone)
#: A cell of an array; no check of bounds.
load: Callable[[AnyCells, int], Lanes] = intrinsic(_load)
store: Callable[[AnyCells, int, Lanes], None] = intrinsic(_store)
#: One sentence's number in a cell.
read_lane: Callable[[AnyCells, int, int], float] = intrinsic(_read_lane)
write_lane: Callable[[AnyCells, int, int, float], None] = intrinsic(_write_lane)
#: Eight neighbours from anywhere in a flat array.
load_entries: Callable[[AnyCells, int], Lanes] = intrinsic(_load_entries)
store_entries: Callable[[AnyCells, int, Lanes], None] = intrinsic(_store_entries)
#: Eight times eight numbers, rows to columns.
transpose: Callable[[Eight], Eight] = intrinsic(_transpose)
#: The same number eight times.
repeat: Callable[[float], Lanes] = intrinsic(_repeat)
#: The same number for every sentence, as a cell of the array would be.
spread: Callable[[AnyCells, float], Lanes] = intrinsic(_spread)
#: x y + z, rounded once where the machine can.
fused: Callable[[Lanes, Lanes, Lanes], Lanes] = intrinsic(_fused)
#: x 2^k for whole k from -1022 to 1023, given as k + WHOLE.
times_power_of_two: Callable[[Lanes, Lanes], Lanes] = intrinsic(_times_power_of_two)
#: choose(x, y, a, b) is a where x < y and b elsewhere, also where x or y is NaN.
choose: Callable[[Lanes, Lanes, Lanes, Lanes], Lanes] = intrinsic(_choose)
#: The smaller or larger of two; y where one is NaN.
smaller: Callable[[Lanes, Lanes], Lanes] = intrinsic(_smaller)
larger: Callable[[Lanes, Lanes], Lanes] = intrinsic(_larger)

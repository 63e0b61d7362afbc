"""Eight numbers at a time, for kernels that treat eight sentences in lockstep.

`Lanes` is a vector of float64, one for each sentence. Arrays of them are flat float64 arrays, whose
cell i is the entries 8 i to 8 i + 7. To Numba they are LLVM's vectors, so that an operation is one
vector instruction (two or four where vectors are shorter) by construction: nothing hangs on
whether the compiler recognises a loop.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model
from numpy.typing import NDArray

__all__ = [
    "LANES",
    "Eight",
    "Lanes",
    "choose",
    "fused",
    "larger",
    "load",
    "load_entries",
    "round_down",
    "smaller",
    "spread",
    "store",
    "store_entries",
    "times_power_of_two",
    "transpose",
]

Floats = NDArray[np.float64]

#: Sentences in lockstep: one register of AVX-512.
LANES = 8

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), LANES)
_PLACES = ir.VectorType(ir.IntType(32), LANES)
_BIAS, _FRACTION_BITS = 1023, 52


class Lanes:
    """Eight float64, as type checkers see them."""

    def __add__(self, other: Lanes) -> Lanes:
        raise NotImplementedError("for kernels only")

    __sub__ = __mul__ = __truediv__ = __add__


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


def _constant(value: int) -> Any:
    return ir.Constant(_INTEGERS, [value] * LANES)


def _call(builder: Any, name: str, values: Any) -> Any:
    """An instruction that LLVM knows by name."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64")
    return builder.call(function, values)


def _cell(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
    data = context.make_array(kind)(context, builder, value=array).data
    entry = builder.mul(place, ir.Constant(place.type, LANES))
    return builder.bitcast(builder.gep(data, [entry]), _VECTOR.as_pointer())


# Below, Numba asks for the signature of a call and for what writes its instructions.


def _load(typing: Any, array: Any, place: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.load(_cell(context, builder, sig.args[0], *values), align=8)

    return signature(_LANES, array, types.int64), emit


def _store(typing: Any, array: Any, place: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        builder.store(values[2], _cell(context, builder, sig.args[0], *values[:2]), align=8)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, _LANES), emit


def _load_entries(typing: Any, array: Any, entry: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, value=values[0]).data
        first = builder.bitcast(builder.gep(data, [values[1]]), _VECTOR.as_pointer())
        return builder.load(first, align=8)

    return signature(_LANES, array, types.int64), emit


def _store_entries(typing: Any, array: Any, entry: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, value=values[0]).data
        first = builder.bitcast(builder.gep(data, [values[1]]), _VECTOR.as_pointer())
        builder.store(values[2], first, align=8)
        return context.get_dummy_value()

    return signature(types.void, array, types.int64, _LANES), emit


def _transpose(typing: Any, rows: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        rows = cgutils.unpack_tuple(builder, values[0], LANES)
        # Blocks of 1, 2 and 4 off the diagonal change places.
        for size in (1, 2, 4):
            for i in range(LANES):
                if not i & size:
                    x, y = rows[i], rows[i + size]
                    places = range(LANES)
                    upper = [p + LANES - size if p & size else p for p in places]
                    lower = [p + LANES if p & size else p + size for p in places]
                    rows[i] = builder.shuffle_vector(x, y, ir.Constant(_PLACES, upper))
                    rows[i + size] = builder.shuffle_vector(x, y, ir.Constant(_PLACES, lower))
        return context.make_tuple(builder, sig.return_type, rows)

    return signature(_EIGHT, _EIGHT), emit


def _spread(typing: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        nothing = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(nothing, values[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, nothing, ir.Constant(_PLACES, [0] * LANES))

    return signature(_LANES, types.float64), emit


def _fused(typing: Any, x: Any, y: Any, z: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return _call(builder, "fmuladd", values)

    return signature(_LANES, _LANES, _LANES, _LANES), emit


def _round_down(typing: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return _call(builder, "floor", values)

    return signature(_LANES, _LANES), emit


def _times_power_of_two(typing: Any, x: Any, k: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        biased = builder.add(builder.fptosi(values[1], _INTEGERS), _constant(_BIAS))
        bits = builder.shl(biased, _constant(_FRACTION_BITS))
        return builder.fmul(values[0], builder.bitcast(bits, _VECTOR))

    return signature(_LANES, _LANES, _LANES), emit


def _choose(typing: Any, x: Any, y: Any, if_less: Any, otherwise: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", values[0], values[1]), *values[2:])

    return signature(_LANES, _LANES, _LANES, _LANES, _LANES), emit


def _smaller(typing: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", values[0], values[1]), *values)

    return signature(_LANES, _LANES, _LANES), emit


def _larger(typing: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", values[0], values[1]), *values)

    return signature(_LANES, _LANES, _LANES), emit


#: A cell of an array; no check of bounds.
load: Callable[[Floats, int], Lanes] = intrinsic(_load)
store: Callable[[Floats, int, Lanes], None] = intrinsic(_store)
#: Eight entries from anywhere in an array.
load_entries: Callable[[Floats, int], Lanes] = intrinsic(_load_entries)
store_entries: Callable[[Floats, int, Lanes], None] = intrinsic(_store_entries)
#: Eight times eight numbers, rows to columns.
transpose: Callable[[Eight], Eight] = intrinsic(_transpose)
#: The same number in every lane.
spread: Callable[[float], Lanes] = intrinsic(_spread)
#: x y + z, rounded once where the machine can.
fused: Callable[[Lanes, Lanes, Lanes], Lanes] = intrinsic(_fused)
round_down: Callable[[Lanes], Lanes] = intrinsic(_round_down)
#: x 2^k for whole k from -1022 to 1023.
times_power_of_two: Callable[[Lanes, Lanes], Lanes] = intrinsic(_times_power_of_two)
#: choose(x, y, a, b) is a where x < y and b elsewhere, also where x or y is NaN.
choose: Callable[[Lanes, Lanes, Lanes, Lanes], Lanes] = intrinsic(_choose)
#: The smaller or larger of two; y where one is NaN.
smaller: Callable[[Lanes, Lanes], Lanes] = intrinsic(_smaller)
larger: Callable[[Lanes, Lanes], Lanes] = intrinsic(_larger)

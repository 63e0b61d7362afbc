"""Sums of windows of weights, as vector instructions by construction.

The compiler does not keep a sum of eight labels in a register while it goes through windows that
begin anywhere; here it has no choice. All windows of a sum are known before any of them is read, so
that many are on their way from memory at the same time.
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

__all__ = ["LANES", "add_windows"]

#: Sums have a multiple of so many labels.
LANES = 8
_INT64 = ir.IntType(64)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def _loop(builder: Any, count: Any, step: int, carried: list[Any], body: Any) -> list[Any]:
    """`body(k, carried)` for k = 0, step, ... below `count`, which is not 0; what it carries last.

    Values that are carried are kept in registers.
    """
    before, block = builder.block, builder.append_basic_block()
    builder.branch(block)
    builder.position_at_end(block)
    k = builder.phi(_INT64)
    values = [builder.phi(one.type) for one in carried]
    results = body(k, values)
    following = builder.add(k, ir.Constant(_INT64, step))
    last = builder.block
    for phi, first, later in zip(
        [k, *values], [ir.Constant(_INT64, 0), *carried], [following, *results], strict=True
    ):
        phi.add_incoming(first, before)
        phi.add_incoming(later, last)
    after = builder.append_basic_block()
    builder.cbranch(builder.icmp_signed("<", following, count), block, after)
    builder.position_at_end(after)
    return list(results)


def _add_windows(
    typing: Any, weights: Any, windows: Any, count: Any, sums: Any, first: Any, width: Any
) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        source, begins, target = (
            context.make_array(sig.args[k])(context, builder, value=values[k]).data
            for k in (0, 1, 3)
        )
        _, _, count, _, first, width = values
        is_float = sig.args[0].dtype == types.float32
        kind = source.type.pointee

        def of_labels(label: Any, _: list[Any]) -> list[Any]:
            pointer = builder.gep(target, [builder.add(first, label)])
            own = builder.bitcast(pointer, _FLOATS.as_pointer())

            def of_window(i: Any, sums: list[Any]) -> list[Any]:
                begin = builder.load(builder.gep(begins, [i]))
                address = builder.gep(source, [builder.add(begin, label)])
                vector = ir.VectorType(kind, LANES).as_pointer()
                size = 4 if is_float else 2
                window = builder.load(builder.bitcast(address, vector), align=size)
                if not is_float:
                    window = builder.sitofp(window, _FLOATS)
                return [builder.fadd(sums[0], window)]

            before = builder.load(own, align=4)
            builder.store(_loop(builder, count, 1, [before], of_window)[0], own, align=4)
            return []

        with builder.if_then(builder.icmp_signed(">", count, ir.Constant(_INT64, 0))):
            _loop(builder, width, LANES, [], of_labels)
        return context.get_dummy_value()

    number = types.int64
    return signature(types.void, weights, windows, number, sums, number, number), emit


#: add_windows(weights, windows, count, sums, first, width) adds the `width` weights from each of
#: the first `count` windows on to sums[first:first + width]; `width` is a multiple of LANES.
#: Weights are int16 or float32, sums float32, windows int64; bounds are not checked.
add_windows: Callable[
    [NDArray[np.float32 | np.int16], NDArray[np.int64], int, NDArray[np.float32], int, int], None
] = intrinsic(_add_windows)

"""The two semirings of charts: sums of products, and best sums.

Inside passes are written once for both, on any kind of cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from crossarc.inference.arithmetic.cell_types import LANES, numbers_of, shuffle
from crossarc.inference.arithmetic.lanes import Lanes

__all__ = ["BEST", "SUM", "Semiring"]


class Semiring(NamedTuple):
    """The operations of a semiring, as functions for kernels.

    Attributes:
        zero: the weight of what is impossible.
        one: the weight of what is free.
        plus, times: x or y; x and y.
        join: x and y, or z.
        reduce: the elements of a vector added up.
    """

    zero: float
    one: float
    plus: Callable[[Lanes, Lanes], Lanes]
    times: Callable[[Lanes, Lanes], Lanes]
    join: Callable[[Lanes, Lanes, Lanes], Lanes]
    reduce: Callable[[Lanes], float]


def _semiring(zero: float, one: float, plus: str, times: str) -> Semiring:
    """A semiring from the names of two methods of `cell_types`."""

    def apply(builder: Any, kind: Any, method: str, *values: Any) -> Any:
        return getattr(numbers_of(kind), method)(builder, *values)

    def binary(method: str) -> Any:
        def typed(typing: Any, x: Any, y: Any) -> Any:
            def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
                return apply(builder, sig.return_type, method, *values)

            return signature(x, x, x), emit

        return intrinsic(typed)

    def join(typing: Any, x: Any, y: Any, z: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            if (plus, times) == ("add", "multiply"):
                return apply(builder, sig.return_type, "fma", *values)
            both = apply(builder, sig.return_type, times, *values[:2])
            return apply(builder, sig.return_type, plus, both, values[2])

        return signature(z, x, y, z), emit

    def reduce(typing: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            total, half = values[0], LANES // 2
            while half:
                order = [(lane + half) % LANES for lane in range(LANES)]
                rotated = shuffle(builder, total, total, order)
                total = apply(builder, sig.args[0], plus, total, rotated)
                half //= 2
            return builder.extract_element(total, context.get_constant(types.int32, 0))

        return signature(types.float64, x), emit

    return Semiring(zero, one, binary(plus), binary(times), intrinsic(join), intrinsic(reduce))


SUM = _semiring(0.0, 1.0, "add", "multiply")
BEST = _semiring(float("-inf"), 0.0, "maximum", "add")

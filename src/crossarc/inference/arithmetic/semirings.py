"""The two semirings of charts: sums of products, and best sums.

Inside passes are written once for both, on any kind of cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from crossarc.inference.arithmetic.cell_types import LANES, Float64Cells, numbers_of, shuffle
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
        methods: the names of plus and times among the operations of `cell_types`.
    """

    zero: float
    one: float
    plus: Callable[[Lanes, Lanes], Lanes]
    times: Callable[[Lanes, Lanes], Lanes]
    join: Callable[[Lanes, Lanes, Lanes], Lanes]
    reduce: Callable[[Lanes], float]
    methods: tuple[str, str]

    def emit_plus(self, builder: Any, x: Any, y: Any) -> Any:
        """LLVM's instructions of `plus`, for float64 or vectors of them."""
        return getattr(_FLOAT64, self.methods[0])(builder, x, y)

    def emit_times(self, builder: Any, x: Any, y: Any) -> Any:
        """Those of `times`."""
        return getattr(_FLOAT64, self.methods[1])(builder, x, y)

    def emit_join(self, builder: Any, x: Any, y: Any, z: Any) -> Any:
        """Those of `join`."""
        return _join(_FLOAT64, self.methods, builder, x, y, z)


_FLOAT64 = Float64Cells(1)


def _join(numbers: Any, methods: tuple[str, str], builder: Any, x: Any, y: Any, z: Any) -> Any:
    plus, times = methods
    if methods == ("add", "multiply"):
        return numbers.fma(builder, x, y, z)
    return getattr(numbers, plus)(builder, getattr(numbers, times)(builder, x, y), z)


def _semiring(zero: float, one: float, methods: tuple[str, str]) -> Semiring:
    plus, times = methods

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
            return _join(numbers_of(sig.return_type), methods, builder, *values)

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

    operations = binary(plus), binary(times), intrinsic(join), intrinsic(reduce)
    return Semiring(zero, one, *operations, methods)


SUM = _semiring(0.0, 1.0, ("add", "multiply"))
BEST = _semiring(float("-inf"), 0.0, ("maximum", "add"))

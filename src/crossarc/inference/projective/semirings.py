"""The two arithmetics of charts, as instructions: sums of products, and best sums.

Inside passes are written once for both. A `Semiring` writes the LLVM instructions of its
operations on numbers and on `Lanes`; the values here are LLVM's, not Python's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from crossarc.inference.lanes import LANES, Lanes

__all__ = ["BEST", "SUM", "Semiring", "joining", "reducing"]


class Semiring:
    """Sums of products of weights.

    Attributes:
        zero: the weight of what is impossible.
        one: the weight of what is free.
    """

    zero = 0.0
    one = 1.0

    def plus(self, builder: Any, x: Any, y: Any) -> Any:
        """Either."""
        return builder.fadd(x, y)

    def times(self, builder: Any, x: Any, y: Any) -> Any:
        """Both."""
        return builder.fmul(x, y)

    def join(self, builder: Any, x: Any, y: Any, z: Any) -> Any:
        """x and y, or z."""
        return _call(builder, "fmuladd", x, y, z)


class _Best(Semiring):
    """The best sum of scores."""

    zero = float("-inf")
    one = 0.0

    def plus(self, builder: Any, x: Any, y: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", x, y), x, y)

    def times(self, builder: Any, x: Any, y: Any) -> Any:
        return builder.fadd(x, y)

    def join(self, builder: Any, x: Any, y: Any, z: Any) -> Any:
        return self.plus(builder, builder.fadd(x, y), z)


def _call(builder: Any, name: str, *values: Any) -> Any:
    kind = values[0].type
    suffix = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
    function_type = ir.FunctionType(kind, [kind] * len(values))
    function = cgutils.get_or_insert_function(
        builder.module, function_type, f"llvm.{name}.{suffix}"
    )
    return builder.call(function, values)


SUM = Semiring()
BEST = _Best()


def joining(semiring: Semiring) -> Callable[[Lanes, Lanes, Lanes], Lanes]:
    """The function join(x, y, z) of a semiring, for kernels."""

    def typed(typing: Any, x: Any, y: Any, z: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            return semiring.join(builder, *values)

        return signature(z, x, y, z), emit

    join: Callable[[Lanes, Lanes, Lanes], Lanes] = intrinsic(typed)
    return join


def reducing(semiring: Semiring) -> Callable[[Lanes], float]:
    """The function that adds up the lanes of a vector in a semiring, for kernels."""

    def typed(typing: Any, x: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            kind = ir.VectorType(ir.IntType(32), LANES)
            total = values[0]
            half = LANES // 2
            while half:
                places = ir.Constant(kind, [(lane + half) % LANES for lane in range(LANES)])
                total = semiring.plus(builder, total, builder.shuffle_vector(total, total, places))
                half //= 2
            return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

        return signature(types.float64, x), emit

    reduce: Callable[[Lanes], float] = intrinsic(typed)
    return reduce

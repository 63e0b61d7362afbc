"""Arrays that a kernel does not count references to.

Numba counts references to arrays by atomic instructions, for each array among the arguments of
each sub-kernel. A `Problem` has 18; in sub-kernels as short as those of this room that was more
than half of the time. Arguments of a kernel live as long as it runs: inside, nobody need count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["borrowed"]

T = TypeVar("T")


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An array, or the arrays of a tuple, with nobody to count for."""
    if isinstance(kind, types.Array):
        array = cgutils.create_struct_proxy(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        items = [
            _without_owner(context, builder, one, builder.extract_value(value, i))
            for i, one in enumerate(kind)
        ]
        return context.make_tuple(builder, kind, items)
    return value


def _borrowed(typing_context: Any, value: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), generate


#: An argument of the kernel that calls this, array or tuple; never an array of its own, which would
#: be freed after its last use.
borrowed: Callable[[T], T] = intrinsic(_borrowed)

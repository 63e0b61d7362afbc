"""Sub-kernels that borrow their arrays: no references are counted in them.

Numba counts references to arrays by atomic instructions, or at least a call, for each array among
the arguments of each sub-kernel. A problem of `inference.higher` has 17; in sub-kernels as short as
those of that room this was more than half of the time. Arguments of a kernel live as long as it
runs, so what it calls need not count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from crossarc.kernels import subkernel

__all__ = ["borrowing"]

F = TypeVar("F", bound=Callable[..., Any])


def borrowing(*, inline: bool = False) -> Callable[[F], F]:
    """As `subkernel`, for a function that makes no array, nor calls one that does.

    One that returns an array, or a tuple with one, may be called from such functions only: others
    would free it.
    """

    def decorate(function: F) -> F:
        made: Any = subkernel(inline=inline)(function)
        made.targetoptions["_nrt"] = False
        return cast(F, made)

    return decorate

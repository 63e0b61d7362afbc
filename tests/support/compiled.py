"""Sub-kernels for tests: Python cannot call them, a compiled function can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["from_python"]


def from_python(subkernel: Callable[..., Any]) -> Callable[..., Any]:
    """A function that hands its arguments to a sub-kernel."""

    @numba.njit
    def call(*arguments):  # type: ignore[no-untyped-def]
        return subkernel(*arguments)

    return call  # type: ignore[no-any-return]

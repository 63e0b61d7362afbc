"""Memory that kernels work in, kept from one call to the next.

A fresh array costs a page fault every 4 KiB, which for short sentences takes longer than the work.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import LANES
from crossarc.kernels import subkernel

__all__ = ["aligned", "cells_workspace", "keep_space", "kept_space"]

Floats = NDArray[np.float64]

_MOST = 1 << 22  # 32 MiB a thread

# glibc gives freed memory back to the system once it is twice as much as the largest array freed
# so far (of up to 32 MiB), and takes a page fault for every 4 KiB when it is needed again. Freed
# once, untouched, this array makes it keep what the next batch needs.
np.empty(_MOST - 1024)


class _Kept(threading.local):
    space: Floats = np.empty(0)
    cells: Floats = np.empty(0)


_kept = _Kept()


def cells_workspace(count: int, lanes: int, wide: bool = False) -> NDArray[Any]:
    """So many cells, each of them whole lines of the cache; what they hold is undefined.

    Args:
        lanes: sentences in lockstep, 1 or LANES.
        wide: whether the numbers have a wide exponent (`arithmetic.lanes` tells the kinds).
    """
    floats = count * lanes * (2 if wide else 1)
    space = _kept.cells
    if space.shape[0] < floats:
        space = _aligned_floats(floats)
        if floats <= _MOST:
            _kept.cells = space
    cells: NDArray[Any] = space[:floats]
    if wide:
        cells = cells.view(np.complex128)
    return cells.reshape(count, LANES) if lanes > 1 else cells


def _aligned_floats(count: int) -> Floats:
    space = np.empty(count + LANES)
    first = -(space.__array_interface__["data"][0] // 8) % LANES
    return space[first : first + count]


def kept_space() -> Floats:
    """This thread's workspace; empty at first."""
    return _kept.space


def keep_space(needed: int) -> None:
    """Have so many floats at hand next time, unless they are very many."""
    if _kept.space.shape[0] < needed <= _MOST:
        _kept.space = np.empty(needed)


@subkernel()
def aligned(space: Floats) -> Floats:
    """The cells of a workspace, each of them one line of the cache."""
    first = -(space.ctypes.data // 8) % LANES
    count = (space.shape[0] - first) // LANES
    return space[first : first + count * LANES].reshape(count, LANES)

"""Memory that kernels work in, kept from one call to the next.

A fresh array costs a page fault every 4 KiB, which for short sentences takes longer than the work.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES
from crossarc.kernels import subkernel

__all__ = ["aligned", "cells_for", "keep_space", "kept_space"]

Floats = NDArray[np.float64]

_MOST = 1 << 22  # 32 MiB a thread

# glibc gives freed memory back to the system once it is twice as much as the largest array freed
# so far (of up to 32 MiB), and takes a page fault for every 4 KiB when it is needed again. Freed
# once, untouched, this array makes it keep what the next batch needs.
np.empty(_MOST - 1024)


class _Kept(threading.local):
    """A thread's workspace, and views of it as cells."""

    def __init__(self) -> None:
        self.space: Floats = np.empty(0)
        self.cells: dict[tuple[int, int, bool], NDArray[Any]] = {}


_kept = _Kept()


def kept_space() -> Floats:
    """This thread's workspace; empty at first."""
    return _kept.space


def keep_space(needed: int) -> None:
    """Have so many floats at hand next time, unless they are very many."""
    if _kept.space.shape[0] < needed <= _MOST:
        _kept.space = np.empty(needed)
        _kept.cells = {}


def cells_for(count: int, lanes: int, wide: bool) -> NDArray[Any]:
    """So many cells of a kind (see `lanes`), in this thread's workspace; each begins a cache line.

    Valid until the thread asks for others.
    """
    cells = _kept.cells.get((count, lanes, wide))
    if cells is None:
        floats = count * lanes * (2 if wide else 1)
        if _kept.space.shape[0] < floats + LANES <= _MOST:
            _kept.space = np.empty(floats + LANES)
            _kept.cells = {}
        is_kept = floats + LANES <= _kept.space.shape[0]
        space = _kept.space if is_kept else np.empty(floats + LANES)
        first = -(space.ctypes.data // 8) % LANES
        flat = space[first : first + floats]
        typed = flat.view(np.complex128) if wide else flat
        cells = typed.reshape(count, lanes) if lanes > 1 else typed
        if is_kept:
            _kept.cells[count, lanes, wide] = cells
    return cells


@subkernel()
def aligned(space: Floats) -> Floats:
    """The cells of a workspace, each of them one line of the cache."""
    first = -(space.ctypes.data // 8) % LANES
    count = (space.shape[0] - first) // LANES
    return space[first : first + count * LANES].reshape(count, LANES)

"""Memory that kernels work in, kept from one call to the next.

A fresh array costs a page fault every 4 KiB, which for short sentences takes longer than the work.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import LANES

__all__ = ["cells_for"]

Floats = NDArray[np.float64]

_MOST = 1 << 22  # 32 MiB a thread

# glibc gives freed memory back to the system once it is twice as much as the largest array freed
# so far (of up to 32 MiB), and takes a page fault for every 4 KiB when it is needed again. Freed
# once, untouched, this array makes it keep what the next batch needs.
np.empty(_MOST - 1024)


class _Kept(threading.local):
    """A thread's workspace."""

    floats: Floats = np.empty(0)


_kept = _Kept()


def cells_for(count: int, lanes: int, wide: bool) -> NDArray[Any]:
    """So many cells of a kind (`arithmetic.lanes` tells them), each beginning a cache line.

    They lie in this thread's workspace, and are valid until the thread asks for others. What they
    hold is undefined.

    Args:
        lanes: sentences in lockstep, 1 or LANES.
        wide: whether the numbers have a wide exponent.
    """
    needed = count * lanes * (2 if wide else 1)
    floats = _kept.floats
    if floats.shape[0] < needed:
        floats = _aligned(needed)
        if needed <= _MOST:
            _kept.floats = floats
    cells: NDArray[Any] = floats[:needed]
    if wide:
        cells = cells.view(np.complex128)
    return cells.reshape(count, LANES) if lanes > 1 else cells


def _aligned(count: int) -> Floats:
    floats = np.empty(count + LANES)
    first = -(floats.__array_interface__["data"][0] // 8) % LANES
    return floats[first : first + count]

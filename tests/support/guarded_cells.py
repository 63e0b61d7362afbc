"""Workspaces with margins: a kernel that leaves its own, or reads what it has not written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.runtime import lockstep

__all__ = ["GuardedCells"]

_GUARD = -1.25e300


class GuardedCells:
    """Takes the place of `cells_for`; workspaces are full of NaN at first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._margins: list[NDArray[np.float64]] = []
        monkeypatch.setattr(lockstep, "cells_for", self._cells_for)

    def _cells_for(self, count: int, lanes: int, wide: bool) -> NDArray[Any]:
        # As long as the workspace: a sentence of one word more stays within.
        needed = count * lanes * (2 if wide else 1)
        margin = (needed // LANES + 1) * LANES
        whole = lockstep._aligned(needed + 2 * margin)
        whole[:] = _GUARD
        self._margins += [whole[:margin], whole[margin + needed :]]
        cells: NDArray[Any] = whole[margin : margin + needed]
        cells[:] = np.nan
        if wide:
            cells = cells.view(np.complex128)
        return cells.reshape(count, LANES) if lanes > 1 else cells

    def assert_intact(self) -> None:
        """Nothing was written outside of the workspaces, of which there were some."""
        assert self._margins
        for margin in self._margins:
            assert (margin == _GUARD).all()

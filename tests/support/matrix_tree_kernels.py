"""The kernels of sums over spanning trees, called one at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import LOG_PARTITION, cells_for, run_queue
from crossarc.inference.spanning.matrix_tree.layout import workspace_size
from crossarc.inference.spanning.matrix_tree.sums import KERNELS

Floats = NDArray[np.float64]


def kernel_results(
    lanes: int, wide: bool, batch: Batch, single: bool, quantity: int
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Totals, results and whether they are certain; with several lanes, all are one group."""
    order = np.argsort(-batch.sizes, kind="stable")
    starts = np.array([0, len(batch)]) if lanes > 1 else np.arange(len(batch) + 1)
    totals = np.full((2, len(batch)), np.nan)
    out = np.full(0 if quantity == LOG_PARTITION else len(batch.arcs), np.nan)
    cells = cells_for(workspace_size(int(batch.sizes.max())), lanes, wide)
    arguments = (
        batch.arcs,
        batch.label_sums,
        batch.sizes,
        batch.offsets,
        single,
        quantity,
        out,
        totals,
        order,
        starts,
    )
    run_queue(
        lambda progress: KERNELS[lanes, wide](*arguments, progress, cells), len(starts) - 1, 1
    )
    return totals, out, ~np.isposinf(totals[0])

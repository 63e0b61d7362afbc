"""Marginals of labelled arcs from those of arcs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.packing import spread_labels

__all__ = ["labelled_marginals"]

Floats = NDArray[np.float64]


def labelled_marginals(batch: Batch, index: int, flat: Floats, logs: bool) -> Floats:
    """A sentence's marginals in the shape of its scores, from the flat ones of the batch's arcs."""
    arcs = batch.square(index, flat)
    if not batch.labelled:
        return arcs
    out = np.empty(batch.labelled[index].shape)
    spread_labels(
        batch.labelled[index], batch.square(index), batch.label_sum(index), arcs, logs, out
    )
    out.flags.writeable = False
    return out

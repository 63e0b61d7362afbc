"""Arcs as users name them: (h, m), or (h, m, l) with a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.runtime.batch import Batch

__all__ = ["label_shares", "read_arcs"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def read_arcs(arcs: Any, shape: tuple[int, ...], name: str) -> Ints:
    """An array of arcs whose last axis is (h, m) or (h, m, l), checked against scores."""
    array = np.asarray(arcs)
    columns = (2,) if len(shape) == 2 else (2, 3)
    if array.ndim == 0 or array.shape[-1] not in columns or array.dtype.kind not in "iu":
        quantity = "(h, m)" if len(shape) == 2 else "(h, m) or (h, m, l)"
        raise ScoreError(f"{name}an arc is {quantity}, whole numbers: got {arcs!r:.60}")
    array = array.astype(np.int64)
    h, m = array[..., 0], array[..., 1]
    n = shape[0] - 1
    bad = (h < 0) | (h > n) | (m < 1) | (m > n) | (h == m)
    if array.shape[-1] == 3:
        bad |= (array[..., 2] < 0) | (array[..., 2] >= shape[2])
    if bad.any():
        arc = tuple(array[bad][0].tolist())
        labels = f", labels 0..{shape[2] - 1}" if array.shape[-1] == 3 else ""
        raise ScoreError(f"{name}no such arc: {arc}. Heads are 0..{n}, modifiers 1..{n}{labels}")
    return array


def label_shares(
    batch: Batch, index: int, first: Ints, second: Ints, same: NDArray[np.bool_]
) -> Floats:
    """The probability of the labels in pairs of arcs, given the arcs; `same` where they are one."""
    shares = _shares(batch, index, first)
    other = _shares(batch, index, second)
    if first.shape[1] == second.shape[1] == 3:
        agree = (first[:, 2] == second[:, 2]).astype(np.float64)
        return np.where(same, shares * agree, shares * other)
    return shares * other


def _shares(batch: Batch, index: int, arcs: Ints) -> Floats:
    """Each label's share of the weight of its arc; 1 where no label is named."""
    if arcs.shape[1] == 2:
        return np.ones(len(arcs))
    h, m, label = arcs.T
    scores, column_max = batch.labelled[index][h, m, label], batch.square(index)[h, m]
    used = column_max > -np.inf
    shares = np.exp(np.where(used, scores, -np.inf) - np.where(used, column_max, 0.0))
    out: Floats = shares / np.where(used, batch.label_sum(index)[h, m], 1.0)
    return out

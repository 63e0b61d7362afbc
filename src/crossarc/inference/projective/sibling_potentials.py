"""Potentials of sentences in lanes that hang on their sibling factors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import read_lane, write_lane
from crossarc.inference.projective.lane_arcs import END, LARGEST, SHIFT
from crossarc.inference.projective.sibling_charts import row_place
from crossarc.kernels import subkernel

__all__ = ["note_root_shift", "tree_potentials"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def tree_potentials(
    column_max: Floats,
    arcs: Floats,
    rows: Floats,
    notes: Floats,
    nodes: int,
    single: bool,
    lane: int,
    heads: Ints,
    siblings: Ints,
) -> None:
    """The scores of a tree's parts in one lane; a single root's modifier keeps its best other."""
    n = heads.shape[0]
    for m in range(1, n + 1):
        h, s = heads[m - 1], siblings[m - 1]
        if h > 0 or (h == 0 and not single):
            top = read_lane(arcs, h * nodes + m, lane) + rows[row_place(n + 1, h, s) + m]
            write_lane(column_max, m, lane, top)
            write_lane(notes, LARGEST, lane, max(read_lane(notes, LARGEST, lane), abs(top)))


@subkernel()
def note_root_shift(
    notes: Floats, column_max: Floats, arcs: Floats, lane: int, rows: Floats, single: bool
) -> None:
    """What is taken from all parts of a single root in one lane: the best of them, else 0."""
    shift = -np.inf
    for m in range(1, int(read_lane(notes, END, lane)) + 1 if single else 1):
        arc = read_lane(arcs, m, lane)
        if arc > -np.inf:
            shift = max(shift, arc + rows[m] - read_lane(column_max, m, lane))
    write_lane(notes, SHIFT, lane, shift if shift > -np.inf else 0.0)

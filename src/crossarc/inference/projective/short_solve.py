"""log Z and marginals of one or more short sentences, in lockstep, in float64.

Each lane is a sentence. The rule of docs/numerics.md is applied to each of them, and a lane in
which float64 is not certain to be enough leaves its answer open.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    broadcast,
    load,
    maximum,
    offset,
    read_lane,
    select,
    store,
    write_lane,
)
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, power_of_two
from crossarc.inference.projective.eisner_rule import judge
from crossarc.inference.projective.lane_arcs import (
    FORBIDDEN,
    LARGEST,
    NOTES,
    SHIFT,
    best_potentials,
    gather_arcs,
    gather_masses,
    log_total,
    prepare_arcs,
    weigh_arcs,
    weights_fit,
)
from crossarc.inference.projective.lane_read import read_arcs, read_marginals
from crossarc.inference.projective.short_inside import CHARTS, RIGHT, short_inside
from crossarc.inference.projective.short_outside import short_outside
from crossarc.inference.runtime.quantities import LOG_PARTITION, MARGINALS
from crossarc.kernels import READ_FLOAT, READ_INT, subkernel

__all__ = ["SIGNATURE", "solve_room", "solve_short"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Of the kernels `short_together` and `short_alone`: scores and label_sums of arcs, sizes, offsets;
#: groups, order[groups[g]:groups[g + 1]]; single, quantity; marginals or their logarithms; totals:
#: (2, sentences), log Z as the sum of two floats, NaN where scores are too large and infinite where
#: float64 is not certain to be enough; begin, end; space to work in.
SIGNATURE = types.int64(
    READ_FLOAT,
    READ_FLOAT,
    READ_INT,
    READ_INT,
    READ_INT,
    READ_INT,
    types.boolean,
    types.int64,
    types.float64[::1],
    types.float64[:, ::1],
    types.int64,
    types.int64,
    types.float64[::1],
)


@subkernel()
def solve_room(nodes: int, lanes: int) -> int:
    """How many floats are worked in, wherever they begin."""
    cells = (2 * CHARTS + 1) * nodes * nodes + nodes + NOTES
    return cells * lanes + LANES


@subkernel()
def _note_root_shift(
    arcs: Cells, column_max: Cells, notes: Cells, nodes: int, single: bool
) -> None:
    """What is taken from all arcs of a single root: the best of them, else 0."""
    nothing, zero = broadcast(arcs, -np.inf), broadcast(arcs, 0.0)
    shift = nothing
    for m in range(1, nodes if single else 1):
        arc = load(arcs, m)
        shift = maximum(select(nothing, arc, arc - load(column_max, m), nothing), shift)
    store(notes, SHIFT, select(nothing, shift, shift, zero))


@subkernel()
def solve_short(
    cells: Cells,
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
) -> None:
    """Sums over the trees of up to eight sentences, the longest first."""
    nodes, count = sizes[members[0]] + 1, members.shape[0]
    square = nodes * nodes
    x, o, w = cells, offset(cells, CHARTS * square), offset(cells, 2 * CHARTS * square)
    column_max, notes = offset(w, square), offset(w, square + nodes)
    rests, weighed = o, offset(o, square)
    gather_arcs(w, notes, scores, sizes, offsets, members)
    gather_masses(weighed, label_sums, sizes, offsets, members)
    best_potentials(column_max, w, nodes, single)
    _note_root_shift(w, column_max, notes, nodes, single)
    prepare_arcs(w, rests, weighed, column_max, notes, nodes)
    weigh_arcs(w, rests, weighed, notes, nodes)
    least, most = short_inside(x, w, nodes, single)
    store(o, 0, least)
    store(o, 1, most)
    headrooms, leasts, goals = np.zeros(LANES, np.int64), np.zeros(LANES), np.zeros(LANES)
    for lane in range(count):
        s = members[lane]
        total = read_lane(x, RIGHT + CHARTS * sizes[s], lane)
        totals[0, s], totals[1, s] = np.inf, 0.0
        if read_lane(notes, LARGEST, lane) > LARGEST_SCORE:
            totals[0, s], totals[1, s] = np.nan, np.nan
        elif weights_fit(notes, lane):
            low, high = read_lane(o, 0, lane), max(total, read_lane(o, 1, lane))
            forbidden = read_lane(notes, FORBIDDEN, lane) > 0.0
            certain, headrooms[lane], leasts[lane] = judge(low, high, total, forbidden, quantity)
            if certain:
                totals[0, s], totals[1, s] = log_total(column_max, notes, lane, total)
                goals[lane] = power_of_two(headrooms[lane]) / total if total > 0.0 else 0.0
    if quantity == LOG_PARTITION or goals.max() == 0.0:
        return
    for cell in range(CHARTS * square):
        store(o, cell, broadcast(o, 0.0))
    for lane in range(count):
        write_lane(o, RIGHT + CHARTS * sizes[members[lane]], lane, goals[lane])
    short_outside(x, o, w, nodes, single)
    if quantity == MARGINALS and count == LANES and goals.min() > 0.0:
        read_marginals(w, headrooms, sizes, offsets, members, nodes, out)
        return
    for lane in range(count):
        if goals[lane] > 0.0:
            s = members[lane]
            whole = slice(offsets[s], offsets[s] + (sizes[s] + 1) ** 2)
            headroom, n = headrooms[lane], sizes[s]
            least_product = read_arcs(
                w, lane, scores[whole], n, nodes, headroom, quantity, out[whole]
            )
            if quantity != MARGINALS and least_product < leasts[lane]:
                totals[0, s], totals[1, s] = np.inf, 0.0

"""log Z and marginals of one or more sentences with sibling factors, in lockstep, in float64.

Each lane is a sentence. The rule of docs/numerics.md is applied to each of them, and a lane in
which float64 is not certain to be enough leaves its answer open.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Lanes,
    broadcast,
    load,
    maximum,
    minimum,
    read_lane,
    select,
    store,
    write_lane,
)
from crossarc.inference.arithmetic.semirings import SUM
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, normalised, power_of_two
from crossarc.inference.projective.lane_arcs import (
    END,
    FITS,
    FORBIDDEN,
    HEAVIEST,
    LARGEST,
    LIGHTEST,
    NOTES,
    best_potentials,
    gather_arcs,
    gather_masses,
    log_total,
    prepare_arcs,
    weigh_arcs,
)
from crossarc.inference.projective.lane_read import read_arcs, read_marginals
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    CHARTS,
    LEFT,
    RIGHT,
    TO,
    parts_of,
)
from crossarc.inference.projective.sibling_fill import LARGEST_LOG, filling
from crossarc.inference.projective.sibling_inside import sibling_inside
from crossarc.inference.projective.sibling_outside import sibling_outside
from crossarc.inference.projective.sibling_potentials import note_root_shift, tree_potentials
from crossarc.inference.projective.sibling_read import read_parts
from crossarc.inference.runtime.quantities import LOG_PARTITION, MARGINALS
from crossarc.kernels import READ_FLOAT, READ_INT, subkernel

__all__ = ["SIGNATURE", "solve_room", "solving"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Batch = tuple[Floats, Floats, Ints, Ints, Floats, Ints, Floats]
Trees = tuple[Ints, Ints, Ints]

# The rule, as in `eisner_sums`: of items and of weights, PRODUCT where arcs are forbidden.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-350, 2.0**450, 2.0**930
_LIGHTEST, _LIGHTEST_PRODUCT, _HEAVIEST = 2.0**-894, 2.0**-298, 2.0**894
_HEADROOM = 900

_inside = sibling_inside(SUM)


#: Of the kernels `sum_together` and `sum_alone`: scores and label_sums of arcs, sizes, offsets; scores
#: of parts in rows, where those of each sentence begin, and the size of the largest; groups,
#: order[groups[g]:groups[g + 1]]; single, quantity; where the words of each sentence begin, heads and
#: siblings of best trees, whose scores are taken as potentials, or empty; marginals or their
#: logarithms of arcs, and of parts in rows, or empty; totals: (2, sentences), log Z as the sum of
#: two floats, NaN where scores are too large and infinite where float64 is not certain to be
#: enough; begin, end; space to work in.
SIGNATURE = types.int64(
    READ_FLOAT,
    READ_FLOAT,
    READ_INT,
    READ_INT,
    READ_FLOAT,
    READ_INT,
    READ_FLOAT,
    READ_INT,
    READ_INT,
    types.boolean,
    types.int64,
    READ_INT,
    READ_INT,
    READ_INT,
    types.float64[::1],
    types.float64[::1],
    types.float64[:, ::1],
    types.int64,
    types.int64,
    types.float64[::1],
)


@subkernel()
def solve_room(nodes: int, lanes: int) -> int:
    """How many floats are worked in, wherever they begin."""
    cells = (2 * CHARTS + 3) * nodes * nodes + parts_of(nodes) + nodes + NOTES
    return cells * lanes + LANES


@subkernel(inline=True)
def _note_item(
    x: Floats, place: int, is_missing: Lanes, least: Lanes, most: Lanes
) -> tuple[Lanes, Lanes]:
    zero, item = broadcast(x, 0.0), load(x, place)
    counted = select(zero, item, item, is_missing)
    return minimum(counted, least), maximum(item, most)


@subkernel()
def _extremes(x: Floats, notes: Floats, nodes: int) -> tuple[Lanes, Lanes]:
    """The least and the largest item of each lane; 0 counts where nothing is forbidden."""
    far, zero = broadcast(x, np.inf), broadcast(x, 0.0)
    least, most = far, zero
    end, if_zero = load(notes, END), select(zero, load(notes, FORBIDDEN), far, zero)
    for j in range(1, nodes):
        missing = select(end, broadcast(x, float(j)), far, if_zero)
        least, most = _note_item(x, TO + CHARTS * j, missing, least, most)
        for i in range(1, j):
            row, column = i * nodes + j, j * nodes + i
            least, most = _note_item(x, TO + CHARTS * row, missing, least, most)
            least, most = _note_item(x, TO + CHARTS * column, missing, least, most)
            least, most = _note_item(x, RIGHT + CHARTS * row, missing, least, most)
            least, most = _note_item(x, LEFT + CHARTS * row, missing, least, most)
            least, most = _note_item(x, BESIDE + CHARTS * row, missing, least, most)
    return least, most


@subkernel()
def _is_certain(notes: Floats, lane: int, total: float, least: float, most: float) -> bool:
    """Whether float64 is enough, by the rule."""
    forbidden, heaviest = read_lane(notes, FORBIDDEN, lane) > 0.0, read_lane(notes, HEAVIEST, lane)
    if not (
        read_lane(notes, FITS, lane) > 0.0
        and read_lane(notes, LIGHTEST, lane) >= (_LIGHTEST_PRODUCT if forbidden else _LIGHTEST)
        and heaviest <= _HEAVIEST
        and least >= (_LOWEST_PRODUCT if forbidden else _LOWEST)
        and most <= _HIGHEST
    ):
        return False
    return heaviest * most * (heaviest * most / least) <= _RANGE and (total > 0.0 or forbidden)


@subkernel()
def _judge(
    lane: int, total: float, extremes: Floats, column_max: Floats, notes: Floats, goals: Floats
) -> tuple[float, float]:
    """log Z, infinite where float64 is not certain to be enough, NaN for scores that are too large.

    Notes the headroom, O(goal), 0 if it is not needed, and the least product of which the
    logarithm is right.
    """
    least, most = read_lane(extremes, 0, lane), max(1.0, read_lane(extremes, 1, lane))
    least = min(1.0, least, total if total > 0.0 else 1.0)
    heaviest = max(1.0, read_lane(notes, HEAVIEST, lane))
    if read_lane(notes, LARGEST, lane) > LARGEST_SCORE:
        return np.nan, np.nan
    if not _is_certain(notes, lane, total, least, most):
        return np.inf, 0.0
    if total > 0.0:
        headroom = _HEADROOM + normalised(least / heaviest, 0)[1]
        goals[0, lane], goals[1, lane] = headroom, power_of_two(headroom) / total
        goals[2, lane] = heaviest * most * most * _LOWEST
    return log_total(column_max, notes, lane, total)


@subkernel()
def _finish(
    lane: int,
    arcs: Floats,
    w: Floats,
    scores: Floats,
    nodes: int,
    single: bool,
    headroom: int,
    quantity: int,
    out: Floats,
    out_parts: Floats,
    n: int,
) -> float:
    """Marginals of arcs and, where there is room for them, of parts; the smallest product."""
    least = read_arcs(arcs, lane, scores, n, nodes, headroom, quantity, out)
    if out_parts.shape[0] > 0:
        part = read_parts(w, lane, scores, n, single, headroom, quantity, out_parts)
        least = min(least, part)
    return least


def solving(lanes: int) -> Callable[..., None]:
    """The function that sums over the trees of so many sentences in lockstep, the longest first.

    Its arguments: cells to work in; those of `SIGNATURE` up to `starts`; the members, and then from
    `single` to `totals`.
    """
    fill = filling(SUM, lanes)

    @subkernel()
    def weigh_lanes(
        arcs: Floats,
        rests: Floats,
        weighed: Floats,
        column_max: Floats,
        notes: Floats,
        batch: Batch,
        members: Ints,
        single: bool,
        trees: Trees,
    ) -> None:
        """Everything about arcs that weights need."""
        scores, label_sums, sizes, offsets, rows, starts, largest = batch
        firsts, heads, siblings = trees
        nodes = sizes[members[0]] + 1
        gather_arcs(arcs, notes, scores, sizes, offsets, members)
        gather_masses(weighed, label_sums, sizes, offsets, members)
        best_potentials(column_max, arcs, nodes, single)
        for lane in range(members.shape[0]):
            s = members[lane]
            own = rows[starts[s] :]
            if heads.shape[0] > 0:
                words = slice(firsts[s], firsts[s] + sizes[s])
                tree = heads[words], siblings[words]
                tree_potentials(column_max, arcs, own, notes, nodes, single, lane, *tree)
            note_root_shift(notes, column_max, arcs, lane, own, single)
        prepare_arcs(arcs, rests, weighed, column_max, notes, nodes)
        weigh_arcs(arcs, rests, weighed, notes, nodes)
        for lane in range(members.shape[0]):
            # So that no weight of a part is 0 or infinite.
            least = read_lane(notes, LIGHTEST, lane) - largest[members[lane]]
            most = read_lane(notes, HEAVIEST, lane) + largest[members[lane]]
            fits = least > -LARGEST_LOG and most < LARGEST_LOG
            write_lane(notes, FITS, lane, 1.0 if fits else 0.0)

    @subkernel()
    def solve(
        cells: Floats,
        batch: Batch,
        members: Ints,
        single: bool,
        quantity: int,
        trees: Trees,
        out: Floats,
        out_parts: Floats,
        totals: Floats,
    ) -> None:
        scores, _, sizes, offsets, rows, starts, _ = batch
        nodes, count = sizes[members[0]] + 1, members.shape[0]
        square = nodes * nodes
        x, o = cells[: CHARTS * square], cells[CHARTS * square : 2 * CHARTS * square]
        rest = cells[2 * CHARTS * square :]
        arcs, rests = rest[:square], rest[square : 2 * square]
        weighed, rest = rest[2 * square : 3 * square], rest[3 * square :]
        w, rest = rest[: parts_of(nodes)], rest[parts_of(nodes) :]
        column_max, notes = rest[:nodes], rest[nodes : nodes + NOTES]
        weigh_lanes(arcs, rests, weighed, column_max, notes, batch, members, single, trees)
        places, widths = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
        for lane in range(count):
            places[lane], widths[lane] = starts[members[lane]], sizes[members[lane]] + 1
        fill(w, rows, places, widths, arcs, notes, single)
        _inside(x, w, arcs, nodes, single)
        least, most = _extremes(x, notes, nodes)
        store(o, 0, least)
        store(o, 1, most)
        goals, is_open = np.zeros((3, LANES)), False
        for lane in range(count):
            s = members[lane]
            total = read_lane(x, RIGHT + CHARTS * sizes[s], lane)
            totals[0, s], totals[1, s] = _judge(lane, total, o, column_max, notes, goals)
            is_open |= goals[1, lane] > 0.0
        if quantity == LOG_PARTITION or not is_open:
            return
        for cell in range(CHARTS * square):
            store(o, cell, broadcast(o, 0.0))
        for lane in range(count):
            write_lane(o, RIGHT + CHARTS * sizes[members[lane]], lane, goals[1, lane])
        sibling_outside(x, o, w, nodes, single, arcs, out_parts.shape[0] > 0)
        is_plain = quantity == MARGINALS and out_parts.shape[0] == 0
        if is_plain and count == LANES and goals[1].min() > 0.0:
            headrooms = goals[0].astype(np.int64)
            read_marginals(arcs, headrooms, sizes, offsets, members, nodes, out)
            return
        for lane in range(count):
            s = members[lane]
            whole = slice(offsets[s], offsets[s] + (sizes[s] + 1) ** 2)
            if goals[1, lane] > 0.0:
                least_product = _finish(
                    lane,
                    arcs,
                    w,
                    scores[whole],
                    nodes,
                    single,
                    int(goals[0, lane]),
                    quantity,
                    out[whole],
                    out_parts[starts[s] :],
                    sizes[s],
                )
                if quantity != MARGINALS and least_product < goals[2, lane]:
                    totals[0, s], totals[1, s] = np.inf, 0.0

    return solve

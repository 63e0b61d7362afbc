"""log Z and marginals of one or more sentences with sibling factors, in lockstep, in float64.

Each lane is a sentence. The rule of docs/numerics.md is applied to each of them, and a lane in
which float64 is not certain to be enough leaves its answer open.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.extended import LARGEST_SCORE, normalised, power_of_two
from crossarc.inference.lanes import (
    LANES,
    Lanes,
    choose,
    larger,
    load,
    read_lane,
    smaller,
    spread,
    store,
    write_lane,
)
from crossarc.inference.projective.semirings import SUM
from crossarc.inference.projective.sibling_charts import (
    BESIDE,
    CHARTS,
    LEFT,
    RIGHT,
    TO,
    part_place,
    part_range,
    parts_of,
    row_place,
)
from crossarc.inference.projective.sibling_fill import filling
from crossarc.inference.projective.sibling_inside import sibling_inside
from crossarc.inference.projective.sibling_outside import sibling_outside
from crossarc.inference.projective.sibling_weights import (
    END,
    FORBIDDEN,
    HEAVIEST,
    HIGHEST_LOG,
    LARGEST,
    LOWEST_LOG,
    NOTES,
    SHIFT,
    best_potentials,
    gather_arcs,
    gather_masses,
    note_root_shift,
    prepare_arcs,
    tree_potentials,
)
from crossarc.inference.projective.weights import assemble
from crossarc.inference.spanning.wanted import MARGINALS, TOTAL
from crossarc.kernels import READ_FLOAT, READ_INT, subkernel

__all__ = ["SIGNATURE", "solve_room", "solving"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Batch = tuple[Floats, Floats, Ints, Ints, Floats, Ints]
Trees = tuple[Ints, Ints, Ints]

# The rule, as in `eisner_sums`: items, and logarithms of weights, the lower ones where arcs are
# forbidden last.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-350, 2.0**450, 2.0**930
_LOG_LOWEST, _LOG_HIGHEST, _LOG_LOWEST_PRODUCT = -620.0, 620.0, -207.0
_HEADROOM = 900
_LN2 = 0.6931471805599453

_inside = sibling_inside(SUM)


#: Of the kernels `sum_together` and `sum_alone`: scores and masses of arcs, sizes, offsets; scores
#: of parts in rows, and where those of each sentence begin; groups, order[groups[g]:groups[g + 1]];
#: single, wanted; where the words of each sentence begin, heads and siblings of best trees, whose
#: scores are taken as potentials, or empty; marginals or their logarithms of arcs, and of parts in
#: rows, or empty; totals: (2, sentences), log Z as the sum of two floats, NaN where scores are too
#: large and infinite where float64 is not certain to be enough; begin, end; space to work in.
SIGNATURE = types.int64(
    READ_FLOAT,
    READ_FLOAT,
    READ_INT,
    READ_INT,
    READ_FLOAT,
    READ_INT,
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
    zero, item = spread(x, 0.0), load(x, place)
    counted = choose(zero, item, item, is_missing)
    return smaller(counted, least), larger(item, most)


@subkernel()
def _extremes(x: Floats, notes: Floats, nodes: int) -> tuple[Lanes, Lanes]:
    """The least and the largest item of each lane; 0 counts where nothing is forbidden."""
    square = nodes * nodes
    far, zero = spread(x, np.inf), spread(x, 0.0)
    least, most = far, zero
    end, if_zero = load(notes, END), choose(zero, load(notes, FORBIDDEN), far, zero)
    for j in range(1, nodes):
        missing = choose(end, spread(x, float(j)), far, if_zero)
        least, most = _note_item(x, TO * square + j, missing, least, most)
        for i in range(1, j):
            row, column = i * nodes + j, j * nodes + i
            least, most = _note_item(x, TO * square + row, missing, least, most)
            least, most = _note_item(x, TO * square + column, missing, least, most)
            least, most = _note_item(x, RIGHT * square + row, missing, least, most)
            least, most = _note_item(x, LEFT * square + row, missing, least, most)
            least, most = _note_item(x, BESIDE * square + row, missing, least, most)
    return least, most


@subkernel()
def _is_certain(notes: Floats, lane: int, total: float, least: float, most: float) -> bool:
    """Whether float64 is enough, by the rule."""
    forbidden, heaviest = read_lane(notes, FORBIDDEN, lane) > 0.0, read_lane(notes, HEAVIEST, lane)
    floor = _LOG_LOWEST_PRODUCT if forbidden else _LOG_LOWEST
    if not (
        read_lane(notes, LOWEST_LOG, lane) > floor
        and read_lane(notes, HIGHEST_LOG, lane) < _LOG_HIGHEST
        and least >= (_LOWEST_PRODUCT if forbidden else _LOWEST)
        and most <= _HIGHEST
    ):
        return False
    return heaviest * most * (heaviest * most / least) <= _RANGE and (total > 0.0 or forbidden)


@subkernel()
def _read(product: float, headroom: int, wanted: int) -> float:
    """A marginal or its logarithm, from mu 2^headroom."""
    share = product * power_of_two(-headroom)
    if wanted == MARGINALS:
        return min(1.0, share)
    if product == 0.0:
        return -np.inf
    return min(0.0, math.log(share)) if share > 2.0**-1000 else math.log(product) - headroom * _LN2


@subkernel()
def _read_arcs(
    mu: Floats,
    lane: int,
    scores: Floats,
    n: int,
    nodes: int,
    headroom: int,
    wanted: int,
    out: Floats,
) -> float:
    """Marginals of the arcs of a lane; the smallest product of an arc that is allowed."""
    least = np.inf
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h != m:
                product = read_lane(mu, h * nodes + m, lane)
                at = h * (n + 1) + m
                least = min(least, product if scores[at] > -np.inf else np.inf)
                out[at] = _read(product, headroom, wanted)
    return least


@subkernel()
def _read_parts(
    w: Floats,
    lane: int,
    scores: Floats,
    n: int,
    single: bool,
    headroom: int,
    wanted: int,
    out: Floats,
) -> float:
    """The same for its parts, from cells to rows."""
    least = np.inf
    for h in range(n + 1):
        arcs = scores[h * (n + 1) : (h + 1) * (n + 1)]
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else n + 1):
            first, last = part_range(n + 1, h, s)
            row = row_place(n + 1, h, s)
            follows = s == h or arcs[s] > -np.inf
            for m in range(first, last):
                product = 0.0
                if m != h and follows and arcs[m] > -np.inf:
                    product = read_lane(w, part_place(h, s, m), lane)
                    least = min(least, product)
                out[row + m] = _read(product, headroom, wanted)
    return least


@subkernel()
def _log_total(tops: Floats, notes: Floats, lane: int, total: float) -> tuple[float, float]:
    """log Z as the sum of two floats."""
    if total == 0.0:
        return -np.inf, 0.0
    nodes = int(read_lane(notes, END, lane)) + 1
    potentials = np.empty(nodes)
    for m in range(1, nodes):
        potentials[m] = read_lane(tops, m, lane)
    mantissa, exponent = normalised(total, 0)
    return assemble(potentials, nodes, read_lane(notes, SHIFT, lane), mantissa, exponent)


@subkernel()
def _judge(
    lane: int, total: float, extremes: Floats, tops: Floats, notes: Floats, goals: Floats
) -> tuple[float, float]:
    """log Z, infinite where float64 is not certain to be enough, NaN for scores that are too large.

    Notes the headroom, O(goal), 0 if it is not needed, and the least product of which the
    logarithm is right.
    """
    least, most = read_lane(extremes, 0, lane), max(1.0, read_lane(extremes, 1, lane))
    least = min(1.0, least, total if total > 0.0 else 1.0)
    heaviest = max(1.0, read_lane(notes, HEAVIEST, lane))
    goals[:, lane] = 0.0
    if read_lane(notes, LARGEST, lane) > LARGEST_SCORE:
        return np.nan, np.nan
    if not _is_certain(notes, lane, total, least, most):
        return np.inf, 0.0
    if total > 0.0:
        headroom = _HEADROOM + normalised(least / heaviest, 0)[1]
        goals[0, lane], goals[1, lane] = headroom, power_of_two(headroom) / total
        goals[2, lane] = heaviest * most * most * _LOWEST
    return _log_total(tops, notes, lane, total)


def solving(lanes: int) -> Callable[..., None]:
    """The function that sums over the trees of so many sentences in lockstep, the longest first.

    Its arguments: cells to work in; those of `SIGNATURE` up to `starts`; the members, and then from
    `single` to `totals`.
    """
    fill = filling(SUM, lanes)

    @subkernel()
    def weigh_arcs(
        arcs: Floats,
        rests: Floats,
        weighed: Floats,
        tops: Floats,
        notes: Floats,
        batch: Batch,
        members: Ints,
        single: bool,
        trees: Trees,
    ) -> None:
        """Everything about arcs that weights need."""
        scores, masses, sizes, offsets, rows, starts = batch
        firsts, heads, siblings = trees
        nodes = sizes[members[0]] + 1
        gather_arcs(arcs, notes, scores, sizes, offsets, members)
        gather_masses(weighed, masses, sizes, offsets, members)
        best_potentials(tops, arcs, nodes, single)
        for lane in range(members.shape[0]):
            s = members[lane]
            own = rows[starts[s] :]
            if heads.shape[0] > 0:
                words = slice(firsts[s], firsts[s] + sizes[s])
                tree = heads[words], siblings[words]
                tree_potentials(tops, arcs, own, notes, nodes, single, lane, *tree)
            note_root_shift(notes, tops, arcs, lane, own, single)
        prepare_arcs(arcs, rests, weighed, tops, notes, nodes)

    @subkernel()
    def solve(
        cells: Floats,
        batch: Batch,
        members: Ints,
        single: bool,
        wanted: int,
        trees: Trees,
        out: Floats,
        out_parts: Floats,
        totals: Floats,
    ) -> None:
        scores, _, sizes, offsets, rows, starts = batch
        nodes, count = sizes[members[0]] + 1, members.shape[0]
        square = nodes * nodes
        x, o = cells[: CHARTS * square], cells[CHARTS * square : 2 * CHARTS * square]
        rest = cells[2 * CHARTS * square :]
        arcs, rests, weighed = (
            rest[:square],
            rest[square : 2 * square],
            rest[2 * square : 3 * square],
        )
        w, rest = (
            rest[3 * square : 3 * square + parts_of(nodes)],
            rest[3 * square + parts_of(nodes) :],
        )
        tops, notes = rest[:nodes], rest[nodes : nodes + NOTES]
        weigh_arcs(arcs, rests, weighed, tops, notes, batch, members, single, trees)
        places, widths = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
        for lane in range(count):
            places[lane], widths[lane] = starts[members[lane]], sizes[members[lane]] + 1
        fill(w, rows, places, widths, (arcs, rests, weighed), notes, single)
        _inside(x, w, arcs, nodes, single)
        least, most = _extremes(x, notes, nodes)
        store(o, 0, least)
        store(o, 1, most)
        goals = np.zeros((3, LANES))
        for lane in range(count):
            s = members[lane]
            total = read_lane(x, RIGHT * square + sizes[s], lane)
            totals[0, s], totals[1, s] = _judge(lane, total, o, tops, notes, goals)
        if wanted == TOTAL or goals[1].max() == 0.0:
            return
        for cell in range(CHARTS * square):
            store(o, cell, spread(o, 0.0))
        for lane in range(count):
            write_lane(o, RIGHT * square + sizes[members[lane]], lane, goals[1, lane])
        sibling_outside(x, o, w, nodes, single, arcs, out_parts.shape[0] > 0)
        for lane in range(count):
            s, n = members[lane], sizes[members[lane]]
            if goals[1, lane] > 0.0:
                whole, headroom = slice(offsets[s], offsets[s] + (n + 1) ** 2), int(goals[0, lane])
                least_product = _read_arcs(
                    arcs, lane, scores[whole], n, nodes, headroom, wanted, out[whole]
                )
                if out_parts.shape[0] > 0:
                    own = out_parts[starts[s] :]
                    least_part = _read_parts(
                        w, lane, scores[whole], n, single, headroom, wanted, own
                    )
                    least_product = min(least_product, least_part)
                if wanted != MARGINALS and least_product < goals[2, lane]:
                    totals[0, s], totals[1, s] = np.inf, 0.0

    return solve

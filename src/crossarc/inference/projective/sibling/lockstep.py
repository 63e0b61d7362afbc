"""log Z and marginals of sentences with sibling factors in lockstep, in float64 or wide numbers.

Each lane is a sentence. Float64 is enough by the rule of docs/numerics.md; a lane in which it might
not be leaves its answer open.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    Lanes,
    broadcast,
    data_pointer,
    float64_cells,
    is_wide,
    load,
    mantissa,
    maximum,
    minimum,
    offset,
    read_lane,
    read_number,
    select,
    store,
    write_lane,
    write_number,
)
from crossarc.inference.arithmetic.semirings import SUM
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, normalised, power_of_two
from crossarc.inference.projective.arcs import (
    FACTS,
    FITS,
    FORBIDDEN,
    HEAVIEST,
    LARGEST,
    LIGHTEST,
    WORDS,
    column_maximum,
    gather_label_sums,
    gather_scores,
    lane_log_partition,
    marginal,
    read_arc_marginals,
    read_eight_marginals,
    subtract_potentials,
    weigh_arcs,
)
from crossarc.inference.projective.sibling.charts import (
    BESIDE,
    CHARTS,
    INCOMPLETE,
    LEFT,
    RIGHT,
    part_count,
    part_index,
    part_range,
    parts_of,
    row_index,
)
from crossarc.inference.projective.sibling.passes import inside_pass, outside
from crossarc.inference.projective.sibling.weights import (
    LARGEST_LOG,
    filling,
    note_root_shift,
    tree_potentials,
)
from crossarc.inference.runtime.lockstep import LOG_PARTITION, MARGINALS, PROGRESS, claim, complete
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["sum_eight", "sum_eight_wide", "sum_one", "sum_one_wide", "workspace_size"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Scores and label sums of arcs, sizes and offsets of sentences; scores of parts in rows, where
#: those of each sentence begin, and the size of the largest.
Batch = tuple[Floats, Floats, Ints, Ints, Floats, Ints, Floats]
#: Where the words of each sentence begin; heads and siblings of best trees, or empty.
Trees = tuple[Ints, Ints, Ints]

# The rule: of items and of weights, PRODUCT where arcs are forbidden.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-350, 2.0**450, 2.0**930
_LIGHTEST, _LIGHTEST_PRODUCT, _HEAVIEST = 2.0**-894, 2.0**-298, 2.0**894
_HEADROOM = 900

_inside = inside_pass(SUM)


def workspace_size(nodes: int) -> int:
    """How many cells sentences of so many nodes take."""
    return (2 * CHARTS + 1) * nodes * nodes + part_count(nodes) + nodes + FACTS + LANES


@subkernel(inline=True)
def _widen(x: Cells, index: int, if_zero: Lanes, least: Lanes, most: Lanes) -> tuple[Lanes, Lanes]:
    item = mantissa(load(x, index))
    counted = select(broadcast(float64_cells(x), 0.0), item, item, if_zero)
    return minimum(counted, least), maximum(item, most)


@subkernel()
def _extremes(x: Cells, facts: Cells, nodes: int) -> tuple[Lanes, Lanes]:
    """The least and the largest item of each lane; 0 counts where nothing is forbidden."""
    infinite, zero = broadcast(facts, np.inf), broadcast(facts, 0.0)
    least, most = infinite, zero
    words, forbidden = load(facts, WORDS), select(zero, load(facts, FORBIDDEN), infinite, zero)
    for j in range(1, nodes):
        missing = select(words, broadcast(facts, float(j)), infinite, forbidden)
        least, most = _widen(x, INCOMPLETE + CHARTS * j, missing, least, most)
        for i in range(1, j):
            row, column = CHARTS * (i * nodes + j), CHARTS * (j * nodes + i)
            least, most = _widen(x, INCOMPLETE + row, missing, least, most)
            least, most = _widen(x, INCOMPLETE + column, missing, least, most)
            least, most = _widen(x, RIGHT + row, missing, least, most)
            least, most = _widen(x, LEFT + row, missing, least, most)
            least, most = _widen(x, BESIDE + row, missing, least, most)
    return least, most


@subkernel()
def _float64_is_safe(facts: Cells, lane: int, total: float, least: float, most: float) -> bool:
    forbidden, heaviest = read_lane(facts, FORBIDDEN, lane) > 0.0, read_lane(facts, HEAVIEST, lane)
    if not (
        read_lane(facts, FITS, lane) > 0.0
        and read_lane(facts, LIGHTEST, lane) >= (_LIGHTEST_PRODUCT if forbidden else _LIGHTEST)
        and heaviest <= _HEAVIEST
        and least >= (_LOWEST_PRODUCT if forbidden else _LOWEST)
        and most <= _HIGHEST
    ):
        return False
    return heaviest * most * (heaviest * most / least) <= _RANGE and (total > 0.0 or forbidden)


@subkernel()
def _settle(
    x: Cells,
    extremes: Cells,
    potentials: Cells,
    facts: Cells,
    lane: int,
    n: int,
    headrooms: Ints,
    least_products: Floats,
    goals: Cells,
) -> tuple[float, float]:
    """log Z of a lane: NaN for scores that are too large, infinite if float64 might not be enough.

    Where it is known and not -inf, O(goal) is written, 2^headroom / Z.
    """
    total, exponent = read_number(x, RIGHT + CHARTS * n, lane)
    if read_lane(facts, LARGEST, lane) > LARGEST_SCORE:
        return np.nan, np.nan
    if not is_wide(x):
        least, most = read_lane(extremes, 0, lane), max(1.0, read_lane(extremes, 1, lane))
        least = min(1.0, least, total if total > 0.0 else 1.0)
        if not _float64_is_safe(facts, lane, total, least, most):
            return np.inf, 0.0
        heaviest = max(1.0, read_lane(facts, HEAVIEST, lane))
        headrooms[lane] = _HEADROOM + normalised(least / heaviest, 0)[1]
        least_products[lane] = heaviest * most * most * _LOWEST
    if total > 0.0:
        write_number(goals, 0, lane, power_of_two(headrooms[lane]) / total, -exponent)
    return lane_log_partition(potentials, facts, lane, total, exponent)


@subkernel()
def _largest_part(scores: Floats, rows: Floats, nodes: int, single: bool) -> float:
    """The largest size of an arc's score and its part's, of those that a tree may have."""
    largest = 0.0
    for h in range(nodes):
        arcs = scores[h * nodes : (h + 1) * nodes]
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            row = row_index(nodes, h, s)
            if s == h or arcs[s] > -np.inf:
                for m in range(first, last):
                    if m != h and arcs[m] > -np.inf:
                        largest = max(largest, abs(arcs[m]) + abs(rows[row + m]))
    return largest


@subkernel()
def _weigh_arcs(
    weights: Cells,
    buffers: Cells,
    potentials: Cells,
    facts: Cells,
    batch: Batch,
    members: Ints,
    single: bool,
    trees: Trees,
) -> None:
    """The weights of arcs, relative to potentials and root shift."""
    scores, label_sums, sizes, offsets, rows, starts, largest = batch
    word_offsets, heads, siblings = trees
    nodes = sizes[members[0]] + 1
    square = nodes * nodes
    arcs, rests, sums = buffers, offset(buffers, square), offset(buffers, 2 * square)
    gather_scores(arcs, facts, scores, sizes, offsets, members)
    gather_label_sums(sums, label_sums, sizes, offsets, members)
    column_maximum(potentials, arcs, nodes, single)
    for lane in range(members.shape[0]):
        s = members[lane]
        n, own = sizes[s], rows[starts[s] :]
        if heads.shape[0] > 0:
            words = slice(word_offsets[s], word_offsets[s] + n)
            tree = heads[words], siblings[words]
            tree_potentials(potentials, arcs, own, facts, nodes, single, lane, *tree)
        note_root_shift(facts, potentials, arcs, lane, own, single)
        if is_wide(weights) and read_lane(facts, LARGEST, lane) + largest[s] > LARGEST_SCORE:
            square_scores = scores[offsets[s] : offsets[s] + (n + 1) * (n + 1)]
            write_lane(facts, LARGEST, lane, _largest_part(square_scores, own, n + 1, single))
    subtract_potentials(arcs, rests, sums, potentials, facts, nodes)
    weigh_arcs(weights, arcs, rests, sums, facts, nodes)
    for lane in range(members.shape[0]):
        # So that no weight of a part is 0 or infinite.
        least = read_lane(facts, LIGHTEST, lane) - largest[members[lane]]
        most = read_lane(facts, HEAVIEST, lane) + largest[members[lane]]
        fits = least > -LARGEST_LOG and most < LARGEST_LOG
        write_lane(facts, FITS, lane, 1.0 if fits else 0.0)


@subkernel()
def _read_part_marginals(
    products: Cells,
    lane: int,
    scores: Floats,
    n: int,
    single: bool,
    headroom: int,
    quantity: int,
    out: Floats,
) -> float:
    """Marginals or their logarithms, from cells to rows; the smallest product that is allowed."""
    least = np.inf
    for h in range(n + 1):
        arcs = scores[h * (n + 1) : (h + 1) * (n + 1)]
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else n + 1):
            first, last = part_range(n + 1, h, s)
            row = row_index(n + 1, h, s)
            follows = s == h or arcs[s] > -np.inf
            for m in range(first, last):
                product, exponent = 0.0, 0
                if m != h and follows and arcs[m] > -np.inf:
                    product, exponent = read_number(products, part_index(h, s, m), lane)
                    least = min(least, product)
                out[row + m] = marginal(product, exponent - headroom, quantity)
    return least


@subkernel()
def _read_results(
    x: Cells,
    w: Cells,
    products: Cells,
    batch: Batch,
    members: Ints,
    single: bool,
    quantity: int,
    headrooms: Ints,
    least_products: Floats,
    out: Floats,
    out_parts: Floats,
    totals: Floats,
) -> None:
    """Marginals of each lane whose log Z is known, to their arrays."""
    scores, _, sizes, offsets, _, starts, _ = batch
    nodes = sizes[members[0]] + 1
    for lane in range(members.shape[0]):
        s = members[lane]
        n, headroom = sizes[s], headrooms[lane]
        whole = slice(offsets[s], offsets[s] + (n + 1) ** 2)
        if np.isfinite(totals[0, s]):
            items = offset(x, INCOMPLETE)
            least = read_arc_marginals(
                products, items, CHARTS, lane, n, nodes, headroom, quantity, out[whole]
            )
            if out_parts.shape[0] > 0:
                own = out_parts[starts[s] :]
                parts = _read_part_marginals(
                    w, lane, scores[whole], n, single, headroom, quantity, own
                )
                least = min(least, parts)
            is_right = is_wide(x) or quantity == MARGINALS or least >= least_products[lane]
            if not is_right:
                totals[0, s], totals[1, s] = np.inf, 0.0


def _summing(lanes: int) -> Any:
    """The body of the kernels for so many sentences at a time."""
    fill = filling(SUM, lanes)

    @subkernel()
    def sum_group(
        cells: Cells,
        batch: Batch,
        members: Ints,
        single: bool,
        quantity: int,
        trees: Trees,
        out: Floats,
        out_parts: Floats,
        totals: Floats,
    ) -> None:
        """Sums over the trees of up to eight sentences, the longest first."""
        _, _, sizes, offsets, rows, starts, _ = batch
        nodes, count = sizes[members[0]] + 1, members.shape[0]
        square = nodes * nodes
        x, o, arcs = cells, offset(cells, CHARTS * square), offset(cells, 2 * CHARTS * square)
        w = offset(arcs, square)
        buffer = offset(w, parts_of(nodes))
        potentials = float64_cells(offset(buffer, LANES))
        facts = offset(potentials, nodes)
        _weigh_arcs(arcs, float64_cells(o), potentials, facts, batch, members, single, trees)
        firsts, widths = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
        for lane in range(count):
            firsts[lane], widths[lane] = starts[members[lane]], sizes[members[lane]] + 1
        fill(w, rows, firsts, widths, arcs, facts, buffer, single)
        _inside(x, w, arcs, nodes, single)
        extremes, goals = float64_cells(o), buffer
        least, most = _extremes(x, facts, nodes)
        store(extremes, 0, least)
        store(extremes, 1, most)
        store(goals, 0, broadcast(o, 0.0))
        headrooms, least_products = np.zeros(LANES, np.int64), np.zeros(LANES)
        solved = 0
        for lane in range(count):
            s = members[lane]
            totals[0, s], totals[1, s] = _settle(
                x,
                extremes,
                potentials,
                facts,
                lane,
                sizes[s],
                headrooms,
                least_products,
                goals,
            )
            solved += 1 if read_lane(goals, 0, lane) > 0.0 else 0
        if quantity == LOG_PARTITION or solved == 0:
            return
        for cell in range(CHARTS * square):
            store(o, cell, broadcast(o, 0.0))
        for lane in range(count):
            goal, exponent = read_number(goals, 0, lane)
            write_number(o, RIGHT + CHARTS * sizes[members[lane]], lane, goal, exponent)
        with_parts = out_parts.shape[0] > 0
        outside(x, o, w, nodes, single, arcs, with_parts)
        if not is_wide(x) and quantity == MARGINALS and not with_parts and solved == LANES:
            read_eight_marginals(
                float64_cells(arcs), headrooms, sizes, offsets, members, nodes, out
            )
            return
        _read_results(
            x,
            w,
            arcs,
            batch,
            members,
            single,
            quantity,
            headrooms,
            least_products,
            out,
            out_parts,
            totals,
        )

    def sum_groups(
        scores: Floats,
        label_sums: Floats,
        sizes: Ints,
        offsets: Ints,
        rows: Floats,
        row_starts: Ints,
        largest: Floats,
        single: bool,
        quantity: int,
        word_offsets: Ints,
        heads: Ints,
        siblings: Ints,
        out: Floats,
        out_parts: Floats,
        totals: Floats,
        order: Ints,
        starts: Ints,
        progress: Ints,
        workspace: Floats,
    ) -> None:
        """log Z of groups of sentences, and marginals or their logarithms.

        Args:
            scores .. largest: as in `Batch`.
            word_offsets, heads, siblings: as in `Trees`; the scores of these trees' parts are
                taken as potentials.
            out, out_parts: marginals of arcs, and of parts in rows, or empty.
            totals: (2, sentences): log Z as the sum of two floats, NaN where scores are too large
                and infinite where float64 is not certain to be enough.
            order, starts, progress, workspace: as in `run_in_lockstep`.
        """
        cells = data_pointer(workspace)
        batch = scores, label_sums, sizes, offsets, rows, row_starts, largest
        trees = word_offsets, heads, siblings
        group = claim(progress)
        while group < starts.shape[0] - 1:
            members = order[starts[group] : starts[group + 1]]
            sum_group(cells, batch, members, single, quantity, trees, out, out_parts, totals)
            complete(progress)
            group = claim(progress)

    return sum_groups


def _signature(workspace: types.Array) -> Any:
    batch = READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, READ_FLOAT, READ_INT, READ_FLOAT
    trees = READ_INT, READ_INT, READ_INT
    results = types.float64[::1], types.float64[::1], types.float64[:, ::1]
    groups = READ_INT, READ_INT, PROGRESS, workspace
    return types.void(*batch, types.boolean, types.int64, *trees, *results, *groups)


_one, _eight = _summing(1), _summing(LANES)
sum_one = kernel(_signature(types.float64[::1]), name="sum_one")(_one)
sum_eight = kernel(_signature(types.float64[:, ::1]), name="sum_eight")(_eight)
sum_one_wide = kernel(_signature(types.complex128[::1]), name="sum_one_wide")(_one)
sum_eight_wide = kernel(_signature(types.complex128[:, ::1]), name="sum_eight_wide")(_eight)

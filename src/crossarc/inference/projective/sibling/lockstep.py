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
)
from crossarc.inference.arithmetic.semirings import SUM
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, normalised
from crossarc.inference.projective.arcs import (
    FACTS,
    FITS,
    FORBIDDEN,
    HEAVIEST,
    LARGEST,
    LIGHTEST,
    WORDS,
    marginal,
)
from crossarc.inference.projective.groups import (
    Group,
    find_weights,
    gather_arcs,
    group_of,
    keep_if_exact,
    log_partitions,
    read_marginals,
    start_outside,
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
    rows_in_lanes,
)
from crossarc.inference.projective.sibling.passes import inside_pass, outside
from crossarc.inference.projective.sibling.weights import (
    LARGEST_LOG,
    filling,
    note_root_shift,
    tree_potentials,
)
from crossarc.inference.runtime.lockstep import LOG_PARTITION, claim, complete, lockstep_instances
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["KERNELS", "workspace_size"]

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
def _precision(
    extremes: Cells, facts: Cells, lane: int, total: float, quantity: int
) -> tuple[bool, int, float]:
    """See `Precision`."""
    least, most = read_lane(extremes, 0, lane), max(1.0, read_lane(extremes, 1, lane))
    least = min(1.0, least, total if total > 0.0 else 1.0)
    if not _float64_is_safe(facts, lane, total, least, most):
        return False, 0, 0.0
    heaviest = max(1.0, read_lane(facts, HEAVIEST, lane))
    headroom = _HEADROOM + normalised(least / heaviest, 0)[1]
    return True, headroom, heaviest * most * most * _LOWEST


_find_log_partitions = log_partitions(_precision)


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
    group: Group, weights: Cells, buffers: Cells, batch: Batch, single: bool, trees: Trees
) -> None:
    """The weights of arcs, relative to potentials and root shift."""
    scores, label_sums, sizes, offsets, rows, starts, largest = batch
    word_offsets, heads, siblings = trees
    members, potentials, facts = group.members, group.potentials, group.facts
    nodes = sizes[members[0]] + 1
    gather_arcs(group, buffers, scores, label_sums, single)
    for lane in range(members.shape[0]):
        s = members[lane]
        n, own = sizes[s], rows[starts[s] :]
        if heads.shape[0] > 0:
            words = slice(word_offsets[s], word_offsets[s] + n)
            tree = heads[words], siblings[words]
            tree_potentials(potentials, buffers, own, facts, nodes, single, lane, *tree)
        note_root_shift(facts, potentials, buffers, lane, own, single)
        if is_wide(weights) and read_lane(facts, LARGEST, lane) + largest[s] > LARGEST_SCORE:
            square_scores = scores[offsets[s] : offsets[s] + (n + 1) * (n + 1)]
            write_lane(facts, LARGEST, lane, _largest_part(square_scores, own, n + 1, single))
    find_weights(group, weights, buffers)
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
def _read_parts(
    group: Group, w: Cells, batch: Batch, single: bool, quantity: int, out: Floats, totals: Floats
) -> None:
    """Marginals of the parts of each lane whose log Z is known, to their rows."""
    scores, _, sizes, offsets, _, starts, _ = batch
    for lane in range(group.members.shape[0]):
        s = group.members[lane]
        if np.isfinite(totals[0, s]):
            n, headroom = sizes[s], group.headrooms[lane]
            own_scores, own = scores[offsets[s] : offsets[s] + (n + 1) ** 2], out[starts[s] :]
            least = _read_part_marginals(w, lane, own_scores, n, single, headroom, quantity, own)
            keep_if_exact(group, w, lane, quantity, least, totals)


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
        nodes = sizes[members[0]] + 1
        square = nodes * nodes
        x, o, arcs = cells, offset(cells, CHARTS * square), offset(cells, 2 * CHARTS * square)
        w = offset(arcs, square)
        buffer = offset(w, parts_of(nodes))
        potentials = float64_cells(offset(buffer, LANES))
        group = group_of(sizes, offsets, members, potentials, buffer)
        _weigh_arcs(group, arcs, float64_cells(o), batch, single, trees)
        firsts, widths = rows_in_lanes(starts, sizes, members)
        fill(w, rows, firsts, widths, arcs, group.facts, buffer, single)
        _inside(x, w, arcs, nodes, single)
        extremes = float64_cells(o)
        least, most = _extremes(x, group.facts, nodes)
        store(extremes, 0, least)
        store(extremes, 1, most)
        solved = _find_log_partitions(group, x, CHARTS, extremes, quantity, totals)
        if quantity == LOG_PARTITION or solved == 0:
            return
        start_outside(group, o, CHARTS)
        with_parts = out_parts.shape[0] > 0
        outside(x, o, w, nodes, single, arcs, with_parts)
        items = offset(x, INCOMPLETE)
        read_marginals(group, arcs, items, CHARTS, solved, quantity, out, totals)
        if with_parts:
            _read_parts(group, w, batch, single, quantity, out_parts, totals)

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


_BATCH = READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, READ_FLOAT, READ_INT, READ_FLOAT
_TREES = READ_INT, READ_INT, READ_INT
_RESULTS = types.float64[::1], types.float64[::1], types.float64[:, ::1]

_BODIES = {lanes: _summing(lanes) for lanes in (1, LANES)}
_ARGUMENTS = *_BATCH, types.boolean, types.int64, *_TREES, *_RESULTS
#: By lanes and whether numbers are wide.
KERNELS = {
    (lanes, wide): kernel(signature, name=name)(_BODIES[lanes])
    for (lanes, wide), name, signature in lockstep_instances("sum_groups", *_ARGUMENTS)
}

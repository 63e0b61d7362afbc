"""Inside and outside sums of Eisner's algorithm in lockstep, in float64 or in wide numbers.

Items as in `rules`; w[h, m] is the weight of an arc:

    I>(i, j) = w[i, j] B(i, j)        B(i, j)  = sum over i <= k < j of  C>(i, k) C<(k+1, j)
    I<(i, j) = w[j, i] B(i, j)        C>(i, j) = sum over i < k <= j of  I>(i, k) C>(k, j)
    Z = C>(0, n)                      C<(i, j) = sum over i <= k < j of  C<(i, k) I<(k, j)

with C>(i, i) = C<(i, i) = 1. With a single root, C>(0, k) is left out for 0 < k < n. The outside
item O(X) is the derivative of Z by the item X; mu[i, j] = I>(i, j) O(I>(i, j)) / Z.

Each sum over k reads items (i, k) and items (k, j). So an item (i, j) stands at [i, j] of its chart
and again at [j, i], and k runs along row i for the one and along row j for the other; I> is only
read as (i, k) and I< as (k, j), so these two share a chart. The three charts alternate in memory,
so that a loop over k follows two streams and not six. What an outside item is given as (i, k) and
as (k, j) is collected in its two entries and added up when it is read.

Each lane is a sentence. Float64 is enough by the rule of docs/numerics.md; a lane in which it might
not be leaves its answer open. Items of words that a sentence does not have are 0.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    Cells,
    Lanes,
    broadcast,
    data_pointer,
    float64_cells,
    fma,
    is_wide,
    load,
    maximum,
    minimum,
    offset,
    read_lane,
    select,
    store,
)
from crossarc.inference.arithmetic.wide import normalised
from crossarc.inference.projective.arcs import (
    FACTS,
    FORBIDDEN,
    HEAVIEST,
    HIGHEST_LOG_WEIGHT,
    LIGHTEST,
    LOWEST_LOG_WEIGHT,
    SHIFT,
    root_shift,
)
from crossarc.inference.projective.groups import (
    find_weights,
    gather_arcs,
    group_of,
    log_partitions,
    read_marginals,
    start_outside,
)
from crossarc.inference.runtime.lockstep import LOG_PARTITION, claim, complete, lockstep_instances
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["KERNELS", "float64_is_safe", "workspace_size"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bounds = tuple[Lanes, Lanes]

_RIGHT, _LEFT, _INCOMPLETE = 0, 1, 2
_CHARTS = 3

# The rule, in powers of two: items are at least LOWEST, at least LOWEST_PRODUCT if arcs are
# forbidden, at most HIGHEST, and their ratio is at most RANGE.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-500, 2.0**960, 2.0**930
_HEADROOM = 900


@subkernel(inline=True)
def _widen(
    x: Cells, bounds: Bounds, weight: Lanes, both: Lanes, incomplete: Lanes, complete: Lanes
) -> Bounds:
    """The least and the largest of the items so far; 0 if a product with an arc underflowed."""
    if is_wide(x):
        return bounds
    zero, infinite = broadcast(x, 0.0), broadcast(x, np.inf)
    made = select(zero, weight, select(zero, both, minimum(incomplete, both), infinite), infinite)
    least = minimum(made, select(zero, complete, complete, infinite))
    return minimum(least, bounds[0]), maximum(complete, maximum(both, bounds[1]))


@subkernel(inline=True)
def _fill_cell(x: Cells, w: Cells, nodes: int, i: int, j: int, bounds: Bounds) -> Bounds:
    """The items (i, j), i > 0."""
    row, column = i * nodes, j * nodes
    right, left, incomplete = x, offset(x, _LEFT), offset(x, _INCOMPLETE)
    zero = broadcast(x, 0.0)
    b, c_right, c_left = load(left, _CHARTS * (column + i + 1)), zero, zero
    for k in range(i + 1, j):
        ik, kj = _CHARTS * (row + k), _CHARTS * (column + k)
        b = fma(load(right, ik), load(left, kj + _CHARTS), b)
        c_right = fma(load(incomplete, ik), load(right, kj), c_right)
        c_left = fma(load(left, ik), load(incomplete, kj), c_left)
    ij, ji = _CHARTS * (row + j), _CHARTS * (column + i)
    w_right, w_left = load(w, row + j), load(w, column + i)
    i_right, i_left = b * w_right, b * w_left
    c_right, c_left = c_right + i_right, c_left + i_left
    store(right, ij, c_right)
    store(right, ji, c_right)
    store(left, ij, c_left)
    store(left, ji, c_left)
    store(incomplete, ij, i_right)
    store(incomplete, ji, i_left)
    bounds = _widen(x, bounds, w_right, b, i_right, c_right)
    return _widen(x, bounds, w_left, b, i_left, c_left)


@subkernel(inline=True)
def _fill_root(x: Cells, w: Cells, nodes: int, j: int, single: bool, bounds: Bounds) -> Bounds:
    """I> and C> of (0, j); a single root takes no second modifier."""
    column = j * nodes
    right, left, incomplete = x, offset(x, _LEFT), offset(x, _INCOMPLETE)
    zero = broadcast(x, 0.0)
    b, c_right = load(left, _CHARTS * (column + 1)), zero
    for k in range(1, j):
        kj = _CHARTS * (column + k)
        if not single:
            b = fma(load(right, _CHARTS * k), load(left, kj + _CHARTS), b)
        c_right = fma(load(incomplete, _CHARTS * k), load(right, kj), c_right)
    weight = load(w, j)
    i_right = b * weight
    c_right = c_right + i_right
    store(incomplete, _CHARTS * j, i_right)
    store(right, _CHARTS * j, c_right)
    # With a single root, only that of the last word is an item.
    return _widen(x, bounds, weight, b, i_right, zero if single else c_right)


@subkernel()
def _inside(x: Cells, w: Cells, nodes: int, single: bool) -> Bounds:
    """Fill the charts x from the weights w[h, m].

    Returns the least and the largest item of each lane, apart from the goal of a single root.
    """
    one = broadcast(x, 1.0)
    bounds = broadcast(x, np.inf), one
    for j in range(1, nodes):
        store(x, _RIGHT + _CHARTS * (j * nodes + j), one)
        store(x, _LEFT + _CHARTS * (j * nodes + j), one)
        for i in range(j - 1, 0, -1):
            bounds = _fill_cell(x, w, nodes, i, j, bounds)
        bounds = _fill_root(x, w, nodes, j, single, bounds)
    return bounds


@subkernel(inline=True)
def _add_product(o: Cells, index: int, x: Lanes, y: Lanes) -> None:
    """o[index] += x y."""
    store(o, index, fma(x, y, load(o, index)))


@subkernel(inline=True)
def _if_possible(item: Lanes, outside: Lanes, zero: Lanes) -> Lanes:
    """An outside item; 0 if the item is impossible: it might grow beyond all floats."""
    return select(zero, item, outside, zero)


@subkernel(inline=True)
def _outside_cell(x: Cells, o: Cells, w: Cells, nodes: int, i: int, j: int) -> None:
    """What the items (i, j), i > 0, give to smaller ones; I O in place of the arcs' weights."""
    row, column = i * nodes, j * nodes
    right, left, incomplete = x, offset(x, _LEFT), offset(x, _INCOMPLETE)
    o_right, o_left, o_incomplete = o, offset(o, _LEFT), offset(o, _INCOMPLETE)
    zero = broadcast(x, 0.0)
    ij, ji = _CHARTS * (row + j), _CHARTS * (column + i)
    oc_right = _if_possible(load(right, ij), load(o_right, ij) + load(o_right, ji), zero)
    oc_left = _if_possible(load(left, ij), load(o_left, ij) + load(o_left, ji), zero)
    i_right, i_left = load(incomplete, ij), load(incomplete, ji)
    oi_right = _if_possible(i_right, load(o_incomplete, ij) + oc_right, zero)
    oi_left = _if_possible(i_left, load(o_incomplete, ji) + oc_left, zero)
    ob = fma(oi_left, load(w, column + i), oi_right * load(w, row + j))
    store(o_left, ji + _CHARTS, load(o_left, ji + _CHARTS) + ob)
    for k in range(i + 1, j):
        ik, kj = _CHARTS * (row + k), _CHARTS * (column + k)
        # B(i, j) = sum of C>(i, k) C<(k+1, j)
        _add_product(o_right, ik, ob, load(left, kj + _CHARTS))
        _add_product(o_left, kj + _CHARTS, ob, load(right, ik))
        # C>(i, j) = sum of I>(i, k) C>(k, j)
        _add_product(o_incomplete, ik, oc_right, load(right, kj))
        _add_product(o_right, kj, oc_right, load(incomplete, ik))
        # C<(i, j) = sum of C<(i, k) I<(k, j)
        _add_product(o_left, ik, oc_left, load(incomplete, kj))
        _add_product(o_incomplete, kj, oc_left, load(left, ik))
    store(w, row + j, oi_right * i_right)
    store(w, column + i, oi_left * i_left)


@subkernel(inline=True)
def _outside_root(x: Cells, o: Cells, w: Cells, nodes: int, j: int, single: bool) -> None:
    """The same for the items (0, j)."""
    column = j * nodes
    right, left, incomplete = x, offset(x, _LEFT), offset(x, _INCOMPLETE)
    o_right, o_left, o_incomplete = o, offset(o, _LEFT), offset(o, _INCOMPLETE)
    zero = broadcast(x, 0.0)
    oc_right = _if_possible(load(right, _CHARTS * j), load(o_right, _CHARTS * j), zero)
    i_right = load(incomplete, _CHARTS * j)
    oi_right = _if_possible(i_right, load(o_incomplete, _CHARTS * j) + oc_right, zero)
    ob = oi_right * load(w, j)
    first = _CHARTS * (column + 1)
    store(o_left, first, load(o_left, first) + ob)
    for k in range(1, j):
        kj = _CHARTS * (column + k)
        if not single:
            _add_product(o_right, _CHARTS * k, ob, load(left, kj + _CHARTS))
            _add_product(o_left, kj + _CHARTS, ob, load(right, _CHARTS * k))
        _add_product(o_incomplete, _CHARTS * k, oc_right, load(right, kj))
        _add_product(o_right, kj, oc_right, load(incomplete, _CHARTS * k))
    store(w, j, oi_right * i_right)


@subkernel()
def _outside(x: Cells, o: Cells, w: Cells, nodes: int, single: bool) -> None:
    """Put I O in place of the weights w; o is 0, but for the goals O(C>(0, n))."""
    for j in range(nodes - 1, 0, -1):
        _outside_root(x, o, w, nodes, j, single)
        for i in range(1, j):
            _outside_cell(x, o, w, nodes, i, j)


@subkernel()
def float64_is_safe(
    least: float, most: float, total: float, forbidden: bool, quantity: int
) -> tuple[bool, int, float]:
    """Whether float64 is certainly enough; the headroom, and the least product that is right.

    Args:
        least, most: of the inside items that are not 0.
        total: Z relative to the potentials.
        forbidden: whether some arc is.
    """
    least = min(1.0, least, total if total > 0.0 else 1.0)
    if not (least >= (_LOWEST_PRODUCT if forbidden else _LOWEST) and most <= _HIGHEST):
        return False, 0, 0.0
    if total == 0.0:
        return forbidden, 0, 0.0
    if quantity != LOG_PARTITION and most / least > _RANGE:
        return False, 0, 0.0
    return True, _HEADROOM + normalised(least, 0)[1], most * _LOWEST


def workspace_size(nodes: int) -> int:
    """How many cells sentences of so many nodes take."""
    return (2 * _CHARTS + 1) * nodes * nodes + nodes + FACTS


@subkernel()
def _precision(
    extremes: Cells, facts: Cells, lane: int, total: float, quantity: int
) -> tuple[bool, int, float]:
    """See `Precision`."""
    lightest, heaviest = read_lane(facts, LIGHTEST, lane), read_lane(facts, HEAVIEST, lane)
    if not (lightest > LOWEST_LOG_WEIGHT and heaviest < HIGHEST_LOG_WEIGHT):
        return False, 0, 0.0
    least, most = read_lane(extremes, 0, lane), max(total, read_lane(extremes, 1, lane))
    forbidden = read_lane(facts, FORBIDDEN, lane) > 0.0
    return float64_is_safe(least, most, total, forbidden, quantity)


_find_log_partitions = log_partitions(_precision)


@subkernel()
def _sum_group(
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
    nodes = sizes[members[0]] + 1
    square = nodes * nodes
    x, o, w = cells, offset(cells, _CHARTS * square), offset(cells, 2 * _CHARTS * square)
    goals = w  # no arc enters the root: entry 0 of the weights is free
    group = group_of(sizes, offsets, members, float64_cells(offset(w, square)), goals)
    buffers, extremes = float64_cells(o), o
    gather_arcs(group, buffers, scores, label_sums, single)
    store(group.facts, SHIFT, root_shift(buffers, group.potentials, nodes, single))
    find_weights(group, w, buffers)
    least, most = _inside(x, w, nodes, single)
    store(extremes, 0, least)
    store(extremes, 1, most)
    solved = _find_log_partitions(group, x, _CHARTS, extremes, quantity, totals)
    if quantity == LOG_PARTITION or solved == 0:
        return
    start_outside(group, o, _CHARTS)
    _outside(x, o, w, nodes, single)
    items = offset(x, _INCOMPLETE)
    read_marginals(group, w, items, _CHARTS, solved, quantity, out, totals)


def sum_groups(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    order: Ints,
    starts: Ints,
    progress: Ints,
    workspace: Floats,
) -> None:
    """log Z of groups of sentences, and marginals or their logarithms.

    Args:
        scores, label_sums, sizes, offsets: of the batch, as `Batch` has them.
        out: marginals or their logarithms, flat as the scores are; column 0 and the diagonal are
            left alone.
        totals: (2, sentences): log Z as the sum of two floats, NaN where scores are too large and
            infinite where float64 is not certain to be enough.
        order, starts, progress, workspace: as in `run_in_lockstep`.
    """
    cells = data_pointer(workspace)
    group = claim(progress)
    while group < starts.shape[0] - 1:
        members = order[starts[group] : starts[group + 1]]
        _sum_group(
            cells, scores, label_sums, sizes, offsets, members, single, quantity, out, totals
        )
        complete(progress)
        group = claim(progress)


_BATCH = READ_FLOAT, READ_FLOAT, READ_INT, READ_INT
_RESULTS = types.float64[::1], types.float64[:, ::1]

_ARGUMENTS = *_BATCH, types.boolean, types.int64, *_RESULTS
#: By lanes and whether numbers are wide.
KERNELS = {
    kind: kernel(signature, name=name)(sum_groups)
    for kind, name, signature in lockstep_instances("sum_groups", *_ARGUMENTS)
}

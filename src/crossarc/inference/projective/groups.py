"""What sums over the trees of a group of sentences do before, between and after their passes.

A kernel weighs the arcs, fills the inside items, reads log Z off the goals, fills the outside items
and reads the marginals. The passes are those of a model. Each lane is a sentence, the longest
first; a lane for which float64 might not be enough leaves its answer open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    broadcast,
    float64_cells,
    is_wide,
    offset,
    read_lane,
    read_number,
    store,
    write_number,
)
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, power_of_two
from crossarc.inference.projective.arcs import (
    LARGEST,
    column_maximum,
    gather_label_sums,
    gather_scores,
    lane_log_partition,
    read_arc_marginals,
    read_eight_marginals,
    subtract_potentials,
    weigh_arcs,
)
from crossarc.inference.runtime.lockstep import MARGINALS
from crossarc.kernels import subkernel

__all__ = [
    "Group",
    "Precision",
    "find_weights",
    "gather_arcs",
    "group_of",
    "keep_if_exact",
    "log_partitions",
    "read_marginals",
    "start_outside",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Whether float64 is certainly enough for a lane; then its headroom, and the least product that is
#: right. From the least and the largest of its inside items that are not 0, in two cells; its
#: facts; the lane; its Z relative to the potentials; and the quantity.
Precision = Callable[[Cells, Cells, int, float, int], tuple[bool, int, float]]


class Group(NamedTuple):
    """Sentences in lockstep, and what is known of each lane.

    sizes, offsets: of the batch, as `Batch` has them.
    members: the sentences of the group.
    potentials, facts: of arcs, as in `arcs`.
    goals: a cell, the outside items of the goals, 2^headroom / Z; 0 where there is none.
    headrooms: marginals are the products of the outside pass over 2^headroom.
    least_products: smaller ones might not have all their digits.
    """

    sizes: Ints
    offsets: Ints
    members: Ints
    potentials: Cells
    facts: Cells
    goals: Cells
    headrooms: Ints
    least_products: Floats


@subkernel()
def group_of(sizes: Ints, offsets: Ints, members: Ints, potentials: Cells, goals: Cells) -> Group:
    """A group; its potentials, and the facts behind them, are not filled."""
    facts = offset(potentials, sizes[members[0]] + 1)
    headrooms, least_products = np.zeros(LANES, np.int64), np.zeros(LANES)
    return Group(sizes, offsets, members, potentials, facts, goals, headrooms, least_products)


@subkernel()
def gather_arcs(
    group: Group, buffers: Cells, scores: Floats, label_sums: Floats, single: bool
) -> None:
    """Scores and label sums into the buffers, and the best scores as potentials.

    Args:
        buffers: scores of arcs [h, m], as many cells for rounding errors, and label sums.
    """
    sizes, offsets, members = group.sizes, group.offsets, group.members
    nodes = sizes[members[0]] + 1
    gather_scores(buffers, group.facts, scores, sizes, offsets, members)
    sums = offset(buffers, 2 * nodes * nodes)
    gather_label_sums(sums, label_sums, sizes, offsets, members)
    column_maximum(group.potentials, buffers, nodes, single)


@subkernel()
def find_weights(group: Group, weights: Cells, buffers: Cells) -> None:
    """The weights of arcs, relative to potentials and root shift, from what was gathered."""
    nodes = group.sizes[group.members[0]] + 1
    rests, sums = offset(buffers, nodes * nodes), offset(buffers, 2 * nodes * nodes)
    subtract_potentials(buffers, rests, sums, group.potentials, group.facts, nodes)
    weigh_arcs(weights, buffers, rests, sums, group.facts, nodes)


def log_partitions(precision: Precision) -> Callable[..., int]:
    """The function that finds log Z of all lanes: NaN for scores that are too large, infinite if
    float64 might not be enough. It writes the goals and returns how many there are.

    Its arguments: the group; inside items, and the step by which the goal of a sentence of n words
    is items[step * n]; two cells, the least and the largest of the items that are not 0; the
    quantity; and `totals`, where log Z goes.
    """

    @subkernel()
    def find_one(
        group: Group, items: Cells, goal: int, extremes: Cells, lane: int, quantity: int
    ) -> tuple[float, float]:
        facts = group.facts
        total, exponent = read_number(items, goal, lane)
        if read_lane(facts, LARGEST, lane) > LARGEST_SCORE:
            return np.nan, np.nan
        if not is_wide(items):
            is_safe, group.headrooms[lane], group.least_products[lane] = precision(
                extremes, facts, lane, total, quantity
            )
            if not is_safe:
                return np.inf, 0.0
        if total > 0.0:
            outside = power_of_two(group.headrooms[lane]) / total
            write_number(group.goals, 0, lane, outside, -exponent)
        return lane_log_partition(group.potentials, facts, lane, total, exponent)

    @subkernel()
    def find_all(
        group: Group, items: Cells, step: int, extremes: Cells, quantity: int, totals: Floats
    ) -> int:
        store(group.goals, 0, broadcast(group.goals, 0.0))
        solved = 0
        for lane in range(group.members.shape[0]):
            s = group.members[lane]
            goal = step * group.sizes[s]
            totals[0, s], totals[1, s] = find_one(group, items, goal, extremes, lane, quantity)
            solved += 1 if read_lane(group.goals, 0, lane) > 0.0 else 0
        return solved

    return find_all


@subkernel()
def start_outside(group: Group, outside: Cells, step: int) -> None:
    """Outside items before their pass: 0 but for the goals; places as for the inside items."""
    nodes = group.sizes[group.members[0]] + 1
    for cell in range(step * nodes * nodes):
        store(outside, cell, broadcast(outside, 0.0))
    for lane in range(group.members.shape[0]):
        goal, exponent = read_number(group.goals, 0, lane)
        write_number(outside, step * group.sizes[group.members[lane]], lane, goal, exponent)


@subkernel()
def keep_if_exact(
    group: Group, items: Cells, lane: int, quantity: int, least: float, totals: Floats
) -> None:
    """Leave the answer open if the smallest product might not have all its digits."""
    if not (is_wide(items) or quantity == MARGINALS or least >= group.least_products[lane]):
        s = group.members[lane]
        totals[0, s], totals[1, s] = np.inf, 0.0


@subkernel()
def read_marginals(
    group: Group,
    products: Cells,
    items: Cells,
    step: int,
    solved: int,
    quantity: int,
    out: Floats,
    totals: Floats,
) -> None:
    """Marginals of arcs, or their logarithms, of the lanes whose log Z is known.

    Args:
        products, items, step: as for `read_arc_marginals`.
        solved: how many lanes have a goal.
    """
    sizes, offsets, members = group.sizes, group.offsets, group.members
    nodes = sizes[members[0]] + 1
    if not is_wide(items) and quantity == MARGINALS and solved == LANES:
        floats = float64_cells(products)
        read_eight_marginals(floats, group.headrooms, sizes, offsets, members, nodes, out)
        return
    for lane in range(members.shape[0]):
        s = members[lane]
        if np.isfinite(totals[0, s]):
            n, headroom = sizes[s], group.headrooms[lane]
            own = out[offsets[s] : offsets[s] + (n + 1) ** 2]
            least = read_arc_marginals(
                products, items, step, lane, n, nodes, headroom, quantity, own
            )
            keep_if_exact(group, items, lane, quantity, least, totals)

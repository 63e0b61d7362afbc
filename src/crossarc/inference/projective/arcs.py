"""Arcs of sentences in cells: from scores to weights, and from products to marginals.

Every tree has one arc into each word, so a *potential* may be taken from all scores into a word: Z
changes by a known factor and the marginals not at all. With a single root, the arcs of the root
share one more shift, since every tree has exactly one of them. Scores, potentials and the facts
about a lane are float64 whatever the kind of the cells that the weights go to.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import (
    compensated_sum,
    log_partition,
    two_difference,
)
from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    Lanes,
    as_number,
    broadcast,
    exponential,
    load,
    maximum,
    minimum,
    read_lane,
    read_number,
    select,
    splat,
    store,
    store_vector,
    transpose,
    write_lane,
)
from crossarc.inference.arithmetic.wide import (
    narrowed,
    normalised,
    power_of_two,
    times_ln2,
)
from crossarc.inference.runtime.lockstep import (
    MARGINALS,
    arc_entry,
    common_words,
    eight_cells,
    eight_rows,
)
from crossarc.kernels import subkernel

__all__ = [
    "FACTS",
    "FITS",
    "FORBIDDEN",
    "HEAVIEST",
    "HIGHEST_LOG_WEIGHT",
    "LARGEST",
    "LIGHTEST",
    "LOWEST_LOG_WEIGHT",
    "SHIFT",
    "WORDS",
    "column_maximum",
    "gather_label_sums",
    "gather_scores",
    "lane_log_partition",
    "marginal",
    "read_arc_marginals",
    "read_eight_marginals",
    "root_shift",
    "subtract_potentials",
    "weigh_arcs",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Facts about a lane, a cell for each: the words of the sentence; 1 where arcs are forbidden; the
#: size of the largest score; the root's shift; the least weight that is not 0 (or its logarithm, or
#: a score) and the largest; whether weights fit float64.
WORDS, FORBIDDEN, LARGEST, SHIFT, LIGHTEST, HEAVIEST, FITS = 0, 1, 2, 3, 4, 5, 6
FACTS = 7

#: In float64, logarithms of weights that are not 0 are between these: 2^-894, 2^894.
LOWEST_LOG_WEIGHT, HIGHEST_LOG_WEIGHT = -620.0, 620.0


@subkernel()
def gather_scores(
    arcs: Cells, facts: Cells, scores: Floats, sizes: Ints, offsets: Ints, members: Ints
) -> None:
    """The members' scores in lanes, -inf for words that a sentence does not have."""
    nodes, shared = sizes[members[0]] + 1, common_words(sizes, members)
    nothing, zero, one = broadcast(arcs, -np.inf), broadcast(arcs, 0.0), broadcast(arcs, 1.0)
    for cell in range(nodes * nodes):
        store(arcs, cell, nothing)
    for h in range(nodes):
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_rows(scores, sizes, offsets, members, h, m))
            for x in range(LANES):
                store_vector(arcs, (h * nodes + m + x + 1) * LANES, eight[x])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            for m in range(common + 1, n + 1 if h <= n else 0):
                score = scores[offsets[members[lane]] + h * (n + 1) + m]
                write_lane(arcs, h * nodes + m, lane, score)
    allowed, largest = zero, zero
    for cell in range(nodes * nodes):
        score = load(arcs, cell)
        usable = select(nothing, score, score, zero)
        allowed = allowed + select(nothing, score, one, zero)
        largest = maximum(maximum(usable, zero - usable), largest)
    for fact in range(FACTS):
        store(facts, fact, zero)
    store(facts, FORBIDDEN, allowed)
    store(facts, LARGEST, largest)
    for lane in range(members.shape[0]):
        n = sizes[members[lane]]
        write_lane(facts, WORDS, lane, float(n))
        is_full = read_lane(facts, FORBIDDEN, lane) == n * n
        write_lane(facts, FORBIDDEN, lane, 0.0 if is_full else 1.0)


@subkernel()
def gather_label_sums(
    cells: Cells, label_sums: Floats, sizes: Ints, offsets: Ints, members: Ints
) -> None:
    """The members' sums over labels in lanes; 1 without labels."""
    nodes = sizes[members[0]] + 1
    for cell in range(nodes * nodes):
        store(cells, cell, broadcast(cells, 1.0))
    for lane in range(members.shape[0] if label_sums.shape[0] > 0 else 0):
        n, first = sizes[members[lane]], offsets[members[lane]]
        for h in range(n + 1):
            for m in range(1, n + 1):
                write_lane(cells, h * nodes + m, lane, label_sums[first + h * (n + 1) + m])


@subkernel()
def column_maximum(potentials: Cells, arcs: Cells, nodes: int, single: bool) -> None:
    """The best score into each word; a single root's only where it is the only one; else 0."""
    nothing, zero = broadcast(arcs, -np.inf), broadcast(arcs, 0.0)
    for m in range(1, nodes):
        store(potentials, m, nothing if single else load(arcs, m))
    for h in range(1, nodes):
        for m in range(1, nodes):
            best = maximum(load(arcs, h * nodes + m), load(potentials, m))
            store(potentials, m, best)
    for m in range(1, nodes):
        best = select(nothing, load(potentials, m), load(potentials, m), load(arcs, m))
        store(potentials, m, select(nothing, best, best, zero))


@subkernel()
def root_shift(arcs: Cells, potentials: Cells, nodes: int, single: bool) -> Lanes:
    """What is taken from all arcs of a single root: the best, relative to its word; else 0."""
    nothing, zero = broadcast(arcs, -np.inf), broadcast(arcs, 0.0)
    shift = nothing
    for m in range(1, nodes if single else 1):
        score = load(arcs, m)
        shift = maximum(select(nothing, score, score - load(potentials, m), nothing), shift)
    return select(nothing, shift, shift, zero)


@subkernel()
def subtract_potentials(
    arcs: Cells, rests: Cells, label_sums: Cells, potentials: Cells, facts: Cells, nodes: int
) -> None:
    """Scores less potential and shift, as float64 and rounding error; forbidden arcs: no labels."""
    nothing, zero, shift = broadcast(arcs, -np.inf), broadcast(arcs, 0.0), load(facts, SHIFT)
    for h in range(nodes):
        for m in range(1, nodes):
            cell, potential = h * nodes + m, load(potentials, m)
            score = load(arcs, cell)
            x, rest = two_difference(select(nothing, score, score, potential), potential)
            if h == 0:
                x, more = two_difference(x, select(nothing, score, shift, zero))
                rest = rest + more
            store(arcs, cell, x)
            store(rests, cell, rest)
            store(label_sums, cell, select(nothing, score, load(label_sums, cell), zero))


@subkernel()
def weigh_arcs(
    weights: Cells, arcs: Cells, rests: Cells, label_sums: Cells, facts: Cells, nodes: int
) -> None:
    """Weights from logarithms; notes the least and the largest of those, label sums apart."""
    zero, like = broadcast(arcs, 0.0), broadcast(weights, 0.0)
    least, most = zero, zero
    for h in range(nodes):
        for m in range(1, nodes):
            cell = h * nodes + m
            x, label_sum = load(arcs, cell), load(label_sums, cell)
            counted = select(zero, label_sum, x, zero)
            least, most = minimum(counted, least), maximum(counted, most)
            weight = exponential(like, x, load(rests, cell))
            store(weights, cell, as_number(like, label_sum) * weight)
    store(facts, LIGHTEST, least)
    store(facts, HEAVIEST, most)


@subkernel()
def lane_log_partition(
    potentials: Cells, facts: Cells, lane: int, mantissa: float, exponent: int
) -> tuple[float, float]:
    """log Z as the sum of two floats, from Z relative to the potentials."""
    if mantissa == 0.0:
        return -np.inf, 0.0
    words = int(read_lane(facts, WORDS, lane))
    terms = np.empty(words)
    for m in range(words):
        terms[m] = read_lane(potentials, m + 1, lane)
    total, rest = compensated_sum(terms)
    mantissa, exponent = normalised(mantissa, exponent)
    return log_partition(total, rest, read_lane(facts, SHIFT, lane), mantissa, exponent)


@subkernel()
def marginal(mantissa: float, exponent: int, quantity: int) -> float:
    """A marginal mantissa 2^exponent, or its logarithm."""
    if quantity == MARGINALS:
        return min(1.0, narrowed(mantissa, exponent))
    if mantissa == 0.0:
        return -np.inf
    if exponent > -1000 and mantissa * power_of_two(exponent) > 2.0**-1000:
        return min(0.0, math.log(mantissa * power_of_two(exponent)))
    high, low = times_ln2(float(exponent))
    return min(0.0, (math.log(mantissa) + low) + high)


@subkernel()
def read_arc_marginals(
    products: Cells,
    items: Cells,
    step: int,
    lane: int,
    n: int,
    nodes: int,
    headroom: int,
    quantity: int,
    out: Floats,
) -> float:
    """Marginals of the arcs of a lane, or their logarithms; the smallest product of a possible arc.

    Args:
        products: [h, m], marginals times 2^headroom.
        items, step: the incomplete item of arc (h, m) is items[step * (h * nodes + m)]; where it is
            0 the arc is impossible.
    """
    least = np.inf
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h != m:
                cell = h * nodes + m
                mantissa, exponent = read_number(products, cell, lane)
                if read_lane(items, step * cell, lane) > 0.0:
                    least = min(least, mantissa)
                out[h * (n + 1) + m] = marginal(mantissa, exponent - headroom, quantity)
    return least


@subkernel()
def read_eight_marginals(
    products: Cells,
    headrooms: Ints,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    nodes: int,
    out: Floats,
) -> None:
    """Marginals of the arcs of eight sentences at once, from float64 cells."""
    shared = common_words(sizes, members)
    scales = np.empty(LANES)
    for lane in range(LANES):
        scales[lane] = power_of_two(-headrooms[lane])
    one = splat(1.0)
    for h in range(nodes):
        common = shared if shared >= LANES and h <= shared else 0
        for first in range(0, common, LANES):
            m = min(first, common - LANES)
            eight = transpose(eight_cells(products, h * nodes + m + 1))
            for lane in range(LANES):
                share = minimum(eight[lane] * splat(scales[lane]), one)
                store_vector(out, arc_entry(sizes, offsets, members[lane], h, m), share)
        for lane in range(LANES):
            n = sizes[members[lane]]
            for m in range(common + 1, n + 1 if h <= n else 0):
                product = read_lane(products, h * nodes + m, lane)
                out[offsets[members[lane]] + h * (n + 1) + m] = min(1.0, product * scales[lane])

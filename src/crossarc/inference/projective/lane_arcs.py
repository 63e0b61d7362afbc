"""Arcs of sentences in lanes: their scores, label_sums and potentials, and what comes of them.

Potentials and the root's shift are those of `weights`. What is to be known about a lane stands in
`notes`, a cell for each fact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_difference
from crossarc.inference.arithmetic.lanes import (
    LANES,
    AnyCells,
    broadcast,
    exponential,
    load,
    maximum,
    minimum,
    read_lane,
    select,
    store,
    store_vector,
    transpose,
    write_lane,
)
from crossarc.inference.arithmetic.wide import normalised
from crossarc.inference.projective.weights import HIGHEST_WEIGHT, LOWEST_WEIGHT, assemble
from crossarc.inference.runtime.exchange import common_words, eight_rows
from crossarc.kernels import subkernel

__all__ = [
    "END",
    "FITS",
    "FORBIDDEN",
    "HEAVIEST",
    "LARGEST",
    "LIGHTEST",
    "NOTES",
    "SHIFT",
    "best_potentials",
    "gather_arcs",
    "gather_masses",
    "log_total",
    "prepare_arcs",
    "weigh_arcs",
    "weights_fit",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The words of the sentence; 1 where arcs are forbidden; the size of the largest score; the root's
#: shift; the least weight that is not 0 (or score), and the largest; whether weights fit float64.
END, FORBIDDEN, LARGEST, SHIFT, LIGHTEST, HEAVIEST, FITS = 0, 1, 2, 3, 4, 5, 6
NOTES = 7


@subkernel()
def gather_arcs(
    arcs: AnyCells,
    notes: AnyCells,
    scores: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
) -> None:
    """The members' scores in lanes, -inf for words that a sentence has not."""
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
    for note in range(NOTES):
        store(notes, note, zero)
    store(notes, FORBIDDEN, allowed)
    store(notes, LARGEST, largest)
    for lane in range(members.shape[0]):
        n = sizes[members[lane]]
        write_lane(notes, END, lane, float(n))
        is_full = read_lane(notes, FORBIDDEN, lane) == n * n
        write_lane(notes, FORBIDDEN, lane, 0.0 if is_full else 1.0)


@subkernel()
def gather_masses(
    cells: AnyCells, label_sums: Floats, sizes: Ints, offsets: Ints, members: Ints
) -> None:
    """The members' label_sums in lanes; 1 without labels."""
    nodes = sizes[members[0]] + 1
    for cell in range(nodes * nodes):
        store(cells, cell, broadcast(cells, 1.0))
    for lane in range(members.shape[0] if label_sums.shape[0] > 0 else 0):
        n, at = sizes[members[lane]], offsets[members[lane]]
        for h in range(n + 1):
            for m in range(1, n + 1):
                write_lane(cells, h * nodes + m, lane, label_sums[at + h * (n + 1) + m])


@subkernel()
def best_potentials(column_max: AnyCells, arcs: AnyCells, nodes: int, single: bool) -> None:
    """The best score into each word; a single root's only where it is the only one; else 0."""
    nothing, zero = broadcast(arcs, -np.inf), broadcast(arcs, 0.0)
    for m in range(1, nodes):
        root = load(arcs, m)
        top = nothing if single else root
        for h in range(1, nodes):
            top = maximum(load(arcs, h * nodes + m), top)
        top = select(nothing, top, top, root)
        store(column_max, m, select(nothing, top, top, zero))


@subkernel()
def prepare_arcs(
    arcs: AnyCells,
    rests: AnyCells,
    label_sums: AnyCells,
    column_max: AnyCells,
    notes: AnyCells,
    nodes: int,
) -> None:
    """Arcs become score - potential - shift, and what its rounding lacks; forbidden: no mass."""
    nothing, zero, shift = broadcast(arcs, -np.inf), broadcast(arcs, 0.0), load(notes, SHIFT)
    for h in range(nodes):
        for m in range(1, nodes):
            at, top = h * nodes + m, load(column_max, m)
            arc = load(arcs, at)
            base, rest = two_difference(select(nothing, arc, arc, top), top)
            if h == 0:
                base, more = two_difference(base, select(nothing, arc, shift, zero))
                rest = rest + more
            store(arcs, at, base)
            store(rests, at, rest)
            store(label_sums, at, select(nothing, arc, load(label_sums, at), zero))


@subkernel()
def weigh_arcs(
    arcs: AnyCells, rests: AnyCells, label_sums: AnyCells, notes: AnyCells, nodes: int
) -> None:
    """Arcs become weights; notes the logarithms of the least and the largest, label_sums apart."""
    zero = broadcast(arcs, 0.0)
    least, most = zero, zero
    for h in range(nodes):
        for m in range(1, nodes):
            at = h * nodes + m
            x, mass = load(arcs, at), load(label_sums, at)
            counted = select(zero, mass, x, zero)
            least, most = minimum(counted, least), maximum(counted, most)
            store(arcs, at, mass * exponential(x, x, load(rests, at)))
    store(notes, LIGHTEST, least)
    store(notes, HEAVIEST, most)


@subkernel()
def weights_fit(notes: AnyCells, lane: int) -> bool:
    """Whether the weights of arcs fit float64."""
    lightest, heaviest = read_lane(notes, LIGHTEST, lane), read_lane(notes, HEAVIEST, lane)
    return lightest > LOWEST_WEIGHT and heaviest < HIGHEST_WEIGHT


@subkernel()
def log_total(
    column_max: AnyCells, notes: AnyCells, lane: int, total: float
) -> tuple[float, float]:
    """log Z as the sum of two floats."""
    if total == 0.0:
        return -np.inf, 0.0
    nodes = int(read_lane(notes, END, lane)) + 1
    potentials = np.empty(nodes)
    for m in range(1, nodes):
        potentials[m] = read_lane(column_max, m, lane)
    mantissa, exponent = normalised(total, 0)
    return assemble(potentials, nodes, read_lane(notes, SHIFT, lane), mantissa, exponent)

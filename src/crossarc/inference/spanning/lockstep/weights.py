"""From the scores of eight sentences to weights in cells, and back from cells to sentences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import (
    EXP_COEFFICIENTS,
    INVERSE_LN2,
    LARGEST_SCORE,
    LN2_HIGH,
    LN2_LOW,
    LOWEST_WEIGHT,
)
from crossarc.inference.lanes import (
    LANES,
    Eight,
    Lanes,
    choose,
    fused,
    larger,
    load,
    load_entries,
    round_down,
    smaller,
    spread,
    store,
    store_entries,
    times_power_of_two,
    transpose,
)
from crossarc.inference.spanning.lockstep.layout import Layout
from crossarc.kernels import subkernel

__all__ = ["exponentiate", "find_tops", "gather", "scatter"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def _by_eights(sizes: Ints, members: Ints, h: int) -> int:
    """How much of row h to take eight at a time from each of eight sentences."""
    shortest = sizes[members[0]]
    for lane in range(1, members.shape[0]):
        shortest = min(shortest, sizes[members[lane]])
    whole = members.shape[0] == LANES and h <= shortest
    return shortest // LANES * LANES if whole else 0


@subkernel()
def _entry(sizes: Ints, offsets: Ints, member: int, h: int, m: int) -> int:
    """Where a sentence has arc (h, m + 1)."""
    return offsets[member] + h * (sizes[member] + 1) + m + 1


@subkernel()
def _eight_rows(
    flat: Floats, sizes: Ints, offsets: Ints, members: Ints, h: int, m: int
) -> Eight:
    """Of each sentence, eight neighbours in row h."""
    return (
        load_entries(flat, _entry(sizes, offsets, members[0], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[1], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[2], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[3], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[4], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[5], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[6], h, m)),
        load_entries(flat, _entry(sizes, offsets, members[7], h, m)),
    )


@subkernel()
def gather(
    cells: Floats,
    at: Layout,
    flat: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    target: int,
    missing: float,
) -> None:
    """The members' square arrays as a block w[m, h] from cell `target`."""
    width, row = at.width, at.width + 1
    filling = spread(missing)
    for cell in range(target, target + width * row):
        store(cells, cell, filling)
    for h in range(row):
        place = target + (width if h == 0 else h - 1)
        common = _by_eights(sizes, members, h)
        for m in range(0, common, LANES):
            eight = transpose(_eight_rows(flat, sizes, offsets, members, h, m))
            for x in range(LANES):
                store(cells, place + (m + x) * row, eight[x])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            source = offsets[members[lane]] + h * (n + 1) + 1
            for m in range(common, n if h <= n else 0):
                cells[(place + m * row) * LANES + lane] = flat[source + m]


@subkernel()
def find_tops(cells: Floats, at: Layout, single: bool) -> None:
    """The best score into each word, of the root only if there is no other; the root's shift.

    Lanes in which scores are too large, or a word has no head, are noted in `status`.
    """
    row = at.width + 1
    nothing, zero, limit = spread(-np.inf), spread(0.0), spread(LARGEST_SCORE)
    status, shift = load(cells, at.status), nothing
    for m in range(at.width):
        first = at.blocks + m * row
        root = load(cells, first + at.width)
        top, lowest = nothing, zero
        for h in range(row):
            x = load(cells, first + h)
            lowest = smaller(lowest, choose(nothing, x, x, zero))
            top = larger(top, x)
        status = choose(limit, larger(top, zero - lowest), zero, status)
        if single:
            top = nothing
            for h in range(at.width):
                top = larger(top, load(cells, first + h))
            top = choose(nothing, top, top, root)
            shift = larger(shift, choose(nothing, root, root - top, nothing))
        usable = choose(nothing, top, status, zero)
        status = choose(zero, load(cells, at.ghosts + m), status, usable)
        store(cells, at.tops + m, top)
    if single:
        status = choose(nothing, shift, status, zero)
    store(cells, at.shift, shift if single else zero)
    store(cells, at.status, status)


@subkernel()
def _difference(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x - y exactly, as a number and its rounding error (Knuth's two-sum)."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel()
def _exponential(x: Lanes, tail: Lanes) -> Lanes:
    """exp(x + tail) for x from -700 to 700, as `extended.exp_parts`."""
    k = round_down(fused(x, spread(INVERSE_LN2), spread(0.5)))
    r = ((x - k * spread(LN2_HIGH)) - k * spread(LN2_LOW)) + tail
    p = spread(EXP_COEFFICIENTS[0])
    for place in range(1, len(EXP_COEFFICIENTS)):
        p = fused(p, r, spread(EXP_COEFFICIENTS[place]))
    return times_power_of_two(p, k)


@subkernel()
def exponentiate(cells: Floats, at: Layout, single: bool) -> tuple[Lanes, Lanes]:
    """Scores become weights relative to their column's top, 0 where an arc is forbidden.

    Returns how many arcs are allowed, and the lowest logarithm of a weight.
    """
    row = at.width + 1
    nothing, zero, one = spread(-np.inf), spread(0.0), spread(1.0)
    count, lowest = zero, zero
    for m in range(at.width):
        first = at.blocks + m * row
        top = load(cells, at.tops + m)
        for h in range(row):
            score = load(cells, first + h)
            x, tail = _difference(choose(nothing, score, score, top), top)
            if h == at.width and single:
                x, more = _difference(x, load(cells, at.shift))
                tail = tail + more
            weight = choose(nothing, score, _exponential(x, tail), zero)
            lowest = smaller(lowest, choose(nothing, score, x, zero))
            count = count + choose(nothing, score, one, zero)
            store(cells, first + h, weight)
    return count, lowest


@subkernel()
def scatter(
    cells: Floats, at: Layout, sizes: Ints, offsets: Ints, members: Ints, out: Floats
) -> None:
    """The results of each member, from cells [h, m] to its square array; 0 in column 0."""
    for h in range(at.width + 1):
        source = at.roots if h == 0 else at.reach + (h - 1) * at.width
        common = _by_eights(sizes, members, h)
        for m in range(0, common, LANES):
            eight = transpose(_eight_cells(cells, source + m))
            for lane in range(LANES):
                store_entries(out, _entry(sizes, offsets, members[lane], h, m), eight[lane])
        for lane in range(members.shape[0]):
            n = sizes[members[lane]]
            target = offsets[members[lane]] + h * (n + 1) + 1
            if h <= n:
                out[target - 1] = 0.0
            for m in range(common, n if h <= n else 0):
                out[target + m] = cells[(source + m) * LANES + lane]


@subkernel()
def _eight_cells(cells: Floats, first: int) -> Eight:
    return (
        load(cells, first),
        load(cells, first + 1),
        load(cells, first + 2),
        load(cells, first + 3),
        load(cells, first + 4),
        load(cells, first + 5),
        load(cells, first + 6),
        load(cells, first + 7),
    )

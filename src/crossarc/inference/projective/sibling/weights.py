"""Scores of parts, in rows, become what the charts of the sibling model read, in cells.

For sums that is a weight, exp(scores[h, m] - potentials) exp(sibling[h, s, m]), for best trees the
score of the part. Of sentences in lockstep, eight vectors of eight numbers are transposed in
registers. Of one sentence, eight modifiers are weighed at a time and stored one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    Eight,
    Lanes,
    as_number,
    exponential,
    is_wide,
    load,
    load_vector,
    mantissa,
    maximum,
    minimum,
    read_lane,
    select,
    splat,
    store,
    store_scalar,
    store_vector,
    transpose,
    write_lane,
)
from crossarc.inference.arithmetic.semirings import BEST, SUM, Semiring
from crossarc.inference.projective.arcs import HEAVIEST, LARGEST, LIGHTEST, SHIFT, WORDS
from crossarc.inference.projective.sibling.charts import part_index, row_index
from crossarc.kernels import subkernel

__all__ = ["LARGEST_LOG", "filling", "note_root_shift", "tree_potentials"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bounds = tuple[Lanes, Lanes]

#: In float64, the sizes of logarithms of weights are at most so large.
LARGEST_LOG = 700.0
_NUMBERS = np.arange(float(LANES))

_largest: Any = BEST.reduce


@subkernel()
def tree_potentials(
    potentials: Cells,
    arcs: Cells,
    rows: Floats,
    facts: Cells,
    nodes: int,
    single: bool,
    lane: int,
    heads: Ints,
    siblings: Ints,
) -> None:
    """The scores of a tree's parts in one lane; a single root's modifier keeps its best other."""
    n = heads.shape[0]
    for m in range(1, n + 1):
        h, s = heads[m - 1], siblings[m - 1]
        if h > 0 or (h == 0 and not single):
            score = read_lane(arcs, h * nodes + m, lane) + rows[row_index(n + 1, h, s) + m]
            write_lane(potentials, m, lane, score)
            write_lane(facts, LARGEST, lane, max(read_lane(facts, LARGEST, lane), abs(score)))


@subkernel()
def note_root_shift(
    facts: Cells, potentials: Cells, arcs: Cells, lane: int, rows: Floats, single: bool
) -> None:
    """What is taken from all parts of a single root in one lane: the best of them, else 0."""
    shift = -np.inf
    for m in range(1, int(read_lane(facts, WORDS, lane)) + 1 if single else 1):
        score = read_lane(arcs, m, lane)
        if score > -np.inf:
            shift = max(shift, score + rows[m] - read_lane(potentials, m, lane))
    write_lane(facts, SHIFT, lane, shift if shift > -np.inf else 0.0)


@subkernel(inline=True)
def _next(h: int, s: int, m: int, index: int) -> int:
    """`part_index` of (h, s, m + 1) from that of (h, s, m), on the same side of h."""
    if h < m:
        return index + m * (m + 1) + 2 * (m - h)
    return index - 2 * (h - m) + (1 if s == h else 0)


@subkernel(inline=True)
def _row(rows: Floats, first: int, m: int) -> Lanes:
    """Eight neighbours; 0 where a sentence has no such row."""
    return load_vector(rows, first + m) if first >= 0 else splat(0.0)


@subkernel(inline=True)
def _eight_rows(rows: Floats, firsts: Ints, m: int) -> Eight:
    return (
        _row(rows, firsts[0], m),
        _row(rows, firsts[1], m),
        _row(rows, firsts[2], m),
        _row(rows, firsts[3], m),
        _row(rows, firsts[4], m),
        _row(rows, firsts[5], m),
        _row(rows, firsts[6], m),
        _row(rows, firsts[7], m),
    )


@subkernel(inline=True)
def _find_rows(
    starts: Ints, widths: Ints, h: int, s: int, firsts: Ints, lanes: int, are_alike: bool
) -> None:
    """Where each sentence has (h, s, 0), or would; -1 where it has no such words."""
    common = row_index(widths[0], h, s)
    for lane in range(lanes):
        firsts[lane] = starts[lane] + common
    for lane in range(0 if are_alike else lanes):
        if widths[lane] < widths[0]:
            exists = max(h, s) < widths[lane]
            firsts[lane] = starts[lane] + row_index(widths[lane], h, s) if exists else -1


@subkernel(inline=True)
def _widen(bounds: Bounds, weight: Lanes, least: Lanes) -> Bounds:
    """The least of the weights above `least`, and the largest; of wide weights nobody asks."""
    x = mantissa(weight)
    lightest = minimum(select(least, x, x, bounds[0]), bounds[0])
    return lightest, maximum(x, bounds[1])


def _weighing(is_sum: bool) -> Any:
    """From score to weight; or the score itself, 0 for a forbidden arc."""

    @subkernel(inline=True)
    def weigh(w: Cells, part: Lanes, factor: Lanes) -> Lanes:
        if not is_sum:
            return factor * part
        # What is clipped belongs to nobody, or to a sentence that does not fit float64.
        clipped = maximum(minimum(part, splat(LARGEST_LOG)), splat(-LARGEST_LOG))
        return factor * exponential(factor, part if is_wide(w) else clipped, splat(0.0))

    return weigh


def _filling_eight(weigh: Any) -> Any:
    @subkernel(inline=True)
    def fill_row(
        w: Cells,
        rows: Floats,
        firsts: Ints,
        factors: Cells,
        nodes: int,
        h: int,
        s: int,
        first: int,
        last: int,
        bounds: Bounds,
        least: Lanes,
        buffer: Cells,
    ) -> Bounds:
        """The parts of h, s and m from first to last - 1, all on one side of h."""
        index = part_index(h, s, first)
        for m in range(first, last, LANES):
            eight = transpose(_eight_rows(rows, firsts, m))
            for x in range(LANES):
                if m + x < last:
                    weight = weigh(w, eight[x], load(factors, h * nodes + m + x))
                    bounds = _widen(bounds, weight, least)
                    store(w, index, weight)
                    index = _next(h, s, m + x, index)
        return bounds

    return fill_row


def _filling_one(weigh: Any) -> Any:
    @subkernel(inline=True)
    def fill_row(
        w: Cells,
        rows: Floats,
        firsts: Ints,
        factors: Cells,
        nodes: int,
        h: int,
        s: int,
        first: int,
        last: int,
        bounds: Bounds,
        least: Lanes,
        buffer: Cells,
    ) -> Bounds:
        """The same for one sentence."""
        index = part_index(h, s, first)
        numbers = load_vector(_NUMBERS, 0)
        for m in range(first, last, LANES):
            factor = load_vector(factors, h * nodes + m)
            zero = as_number(factor, splat(0.0))
            factor = select(numbers, splat(float(last - m)), factor, zero)
            weight = weigh(w, load_vector(rows, firsts[0] + m), factor)
            bounds = _widen(bounds, weight, least)
            store_vector(buffer, 0, weight)
            for x in range(min(LANES, last - m)):
                store(w, index, load(buffer, x))
                index = _next(h, s, m + x, index)
        return bounds

    return fill_row


@subkernel()
def _note_eight(facts: Cells, fact: int, value: Lanes, sign: float) -> None:
    store_vector(facts, fact * LANES, value)


@subkernel()
def _note_one(facts: Cells, fact: int, value: Lanes, sign: float) -> None:
    """The largest of sign times the numbers, times sign."""
    store_scalar(facts, fact, sign * _largest(value * splat(sign)))


def filling(semiring: Semiring, lanes: int) -> Callable[..., None]:
    """The function that fills the cells w, for so many sentences at a time.

    Its arguments: w; the rows of all sentences; where those of the members begin, and their nodes,
    LANES of each, 0 where there is no member; in lanes, [h, m], the weights of arcs, or for best
    trees what scores are to be multiplied by, 0 where an arc is forbidden; `facts`, where the
    least and the largest go; and eight cells to work in.
    """
    is_sum = semiring is SUM
    weigh = _weighing(is_sum)
    fill_row: Any = _filling_one(weigh) if lanes == 1 else _filling_eight(weigh)
    note: Any = _note_one if lanes == 1 else _note_eight

    @subkernel()
    def fill(
        w: Cells,
        rows: Floats,
        starts: Ints,
        widths: Ints,
        factors: Cells,
        facts: Cells,
        buffer: Cells,
        single: bool,
    ) -> None:
        nodes, firsts = widths[0], np.empty(LANES, np.int64)
        bounds = splat(np.inf), splat(-np.inf)
        # Weights of forbidden arcs are 0, and do not count; scores do.
        least = splat(0.0 if is_sum else -np.inf)
        are_alike = widths[:lanes].min() == nodes
        for h in range(nodes):
            # First s = h to the left, then s from the left to the right.
            for step in range(-1 if h > 0 else 0, 1 if h == 0 and single else nodes):
                s = h if step < 0 else step
                first, last = (s + 1, nodes) if step >= h else (1, s)
                if first < last:
                    _find_rows(starts, widths, h, s, firsts, lanes, are_alike)
                    bounds = fill_row(
                        w, rows, firsts, factors, nodes, h, s, first, last, bounds, least, buffer
                    )
        note(facts, LIGHTEST, bounds[0], -1.0)
        note(facts, HEAVIEST, bounds[1], 1.0)

    return fill

"""Scores of parts, in rows, become what the charts of the sibling model read, in cells.

For sums that is a weight, exp(scores[h, m] - potentials) exp(sibling[h, s, m]), for best trees the
score of the part. Of sentences in lockstep, eight times eight numbers change rows and columns in
registers. Of a sentence alone, eight modifiers are taken at a time and put where they belong.
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
    data_pointer,
    exponential,
    load,
    load_scalar,
    load_vector,
    maximum,
    minimum,
    select,
    splat,
    store,
    store_scalar,
    store_vector,
    transpose,
)
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.inference.projective.lane_arcs import HEAVIEST, LIGHTEST
from crossarc.inference.projective.sibling_charts import part_place, row_place
from crossarc.kernels import subkernel

__all__ = ["LARGEST_LOG", "filling"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bounds = tuple[Lanes, Lanes]

#: Of sums, the sizes of logarithms of weights are at most so large; else float64 is given up.
LARGEST_LOG = 700.0
_EIGHT = np.zeros((1, LANES))
_NUMBERS = np.arange(float(LANES))


@subkernel(inline=True)
def _next(h: int, s: int, m: int, place: int) -> int:
    """`part_place` of (h, s, m + 1) from that of (h, s, m), on the same side of h."""
    if h < m:
        return place + m * (m + 1) + 2 * (m - h)
    return place - 2 * (h - m) + (1 if s == h else 0)


@subkernel(inline=True)
def _row(rows: Floats, place: int, m: int) -> Lanes:
    """Eight neighbours; 0 where a sentence has no such row."""
    return load_vector(rows, place + m) if place >= 0 else splat(0.0)


@subkernel(inline=True)
def _eight_rows(rows: Floats, at: Ints, m: int) -> Eight:
    return (
        _row(rows, at[0], m),
        _row(rows, at[1], m),
        _row(rows, at[2], m),
        _row(rows, at[3], m),
        _row(rows, at[4], m),
        _row(rows, at[5], m),
        _row(rows, at[6], m),
        _row(rows, at[7], m),
    )


@subkernel(inline=True)
def _find_rows(
    starts: Ints, widths: Ints, h: int, s: int, at: Ints, lanes: int, are_alike: bool
) -> None:
    """Where each sentence has (h, s, 0), or would; -1 where it has no such words."""
    common = row_place(widths[0], h, s)
    for lane in range(lanes):
        at[lane] = starts[lane] + common
    for lane in range(0 if are_alike else lanes):
        if widths[lane] < widths[0]:
            is_there = max(h, s) < widths[lane]
            at[lane] = starts[lane] + row_place(widths[lane], h, s) if is_there else -1


@subkernel(inline=True)
def _widened(bounds: Bounds, weight: Lanes, least: Lanes) -> Bounds:
    """The least of the weights above `least`, and the largest."""
    lightest = minimum(select(least, weight, weight, bounds[0]), bounds[0])
    return lightest, maximum(weight, bounds[1])


def _weighing(is_sum: bool) -> Any:
    """From score to weight; or the score itself, 0 for a forbidden arc."""

    @subkernel(inline=True)
    def weigh(part: Lanes, factor: Lanes) -> Lanes:
        if not is_sum:
            return factor * part
        # What is cut off belongs to nobody, or to a sentence that does not fit float64.
        cut = maximum(minimum(part, splat(LARGEST_LOG)), splat(-LARGEST_LOG))
        return factor * exponential(cut, cut, splat(0.0))

    return weigh


def _together(weigh: Any) -> Any:
    @subkernel(inline=True)
    def fill_row(
        w: Cells,
        rows: Floats,
        at: Ints,
        factors: Cells,
        nodes: int,
        h: int,
        s: int,
        first: int,
        last: int,
        bounds: Bounds,
        least: Lanes,
        buffer: Floats,
    ) -> Bounds:
        """The parts of h, s and m from first to last - 1, all on one side of h."""
        place = part_place(h, s, first)
        for m in range(first, last, LANES):
            eight = transpose(_eight_rows(rows, at, m))
            for x in range(LANES):
                if m + x < last:
                    weight = weigh(eight[x], load(factors, h * nodes + m + x))
                    bounds = _widened(bounds, weight, least)
                    store(w, place, weight)
                    place = _next(h, s, m + x, place)
        return bounds

    return fill_row


def _alone(weigh: Any) -> Any:
    @subkernel(inline=True)
    def fill_row(
        w: Cells,
        rows: Floats,
        at: Ints,
        factors: Cells,
        nodes: int,
        h: int,
        s: int,
        first: int,
        last: int,
        bounds: Bounds,
        least: Lanes,
        buffer: Floats,
    ) -> Bounds:
        """The same for one sentence."""
        place = part_place(h, s, first)
        numbers, zero = load_vector(_NUMBERS, 0), splat(0.0)
        for m in range(first, last, LANES):
            factor = load_vector(factors, h * nodes + m)
            factor = select(numbers, splat(float(last - m)), factor, zero)
            weight = weigh(load_vector(rows, at[0] + m), factor)
            bounds = _widened(bounds, weight, least)
            store_vector(buffer, 0, weight)
            for x in range(min(LANES, last - m)):
                store_scalar(w, place, load_scalar(buffer, x))
                place = _next(h, s, m + x, place)
        return bounds

    return fill_row


@subkernel()
def _note_together(notes: Floats, note: int, value: Lanes, sign: float) -> None:
    store(notes, note, value)


@subkernel()
def _note_alone(notes: Floats, note: int, value: Lanes, sign: float) -> None:
    """The largest of sign times the numbers, times sign."""
    buffer = np.empty(LANES)
    store_vector(buffer, 0, value)
    most = sign * buffer[0]
    for lane in range(1, LANES):
        most = max(most, sign * buffer[lane])
    notes[note] = sign * most


def filling(semiring: Semiring, lanes: int) -> Callable[..., None]:
    """The function that fills the cells w, for so many sentences at a time.

    Its arguments: w; the rows of all sentences; where those of the members begin, and their nodes,
    LANES of each, 0 where there is no member; in lanes, [h, m], the weights of arcs, or for best
    trees what scores are to be multiplied by, 0 where an arc is forbidden; and `notes`, where the
    least and the largest go.
    """
    is_sum = semiring is SUM
    weigh = _weighing(is_sum)
    fill_row: Any = _alone(weigh) if lanes == 1 else _together(weigh)
    note: Any = _note_alone if lanes == 1 else _note_together

    @subkernel()
    def fill(
        w: Floats,
        rows: Floats,
        starts: Ints,
        widths: Ints,
        factors: Floats,
        notes: Floats,
        single: bool,
    ) -> None:
        target, source = data_pointer(w), data_pointer(factors)
        nodes, at, buffer = widths[0], np.empty(LANES, np.int64), np.empty(LANES)
        bounds = splat(np.inf), splat(-np.inf)
        # Weights of forbidden arcs are 0, and do not count; scores do.
        least = splat(0.0 if is_sum else -np.inf)
        are_alike = widths[:lanes].min() == nodes
        for h in range(nodes):
            # First s = h to the left, then s from the left to the right.
            for turn in range(-1 if h > 0 else 0, 1 if h == 0 and single else nodes):
                s = h if turn < 0 else turn
                first, last = (s + 1, nodes) if turn >= h else (1, s)
                if first < last:
                    _find_rows(starts, widths, h, s, at, lanes, are_alike)
                    bounds = fill_row(
                        target, rows, at, source, nodes, h, s, first, last, bounds, least, buffer
                    )
        note(notes, LIGHTEST, bounds[0], -1.0)
        note(notes, HEAVIEST, bounds[1], 1.0)

    return fill

"""From scores to weights in the charts' layout, and back to log Z.

Every tree has one arc into each word, so a *potential* may be taken from all scores into a word: Z
changes by a known factor and the marginals not at all. With a single root, the arcs of the root
share one more shift, since every tree has exactly one of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_difference
from crossarc.inference.arithmetic.lanes import (
    LANES,
    Eight,
    Lanes,
    exponential,
    load_scalar,
    load_vector,
    maximum,
    minimum,
    select,
    splat,
    store_scalar,
    store_vector,
    transpose,
)
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, times_ln2
from crossarc.inference.projective.panels import arc_place, width_of
from crossarc.kernels import subkernel

__all__ = [
    "HIGHEST_WEIGHT",
    "LOWEST_WEIGHT",
    "assemble",
    "best_scores",
    "difference",
    "fill_weights",
    "root_shift",
]

Floats = NDArray[np.float64]

Seen = tuple[Lanes, Lanes, Lanes]

_EIGHT, _NUMBERS = np.zeros((1, LANES)), np.arange(float(LANES))
#: Logarithms of weights that are not 0 are between these: 2^-894, 2^894.
LOWEST_WEIGHT, HIGHEST_WEIGHT = -620.0, 620.0


@subkernel()
def difference(x: float, y: float) -> tuple[float, float]:
    """x - y exactly, as a float and its rounding error (Knuth's two-sum)."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel()
def best_scores(scores: Floats, nodes: int, single: bool, potentials: Floats) -> bool:
    """The best score into each word; the root's own scores only where they are the only ones.

    Returns whether all scores are small enough to be summed over.
    """
    fit = True
    for m in range(1, nodes):
        potentials[m] = -np.inf
    for h in range(nodes - 1, -1, -1):
        row = scores[h * nodes : (h + 1) * nodes]
        for m in range(1, nodes):
            fit &= (abs(row[m]) <= LARGEST_SCORE) | (row[m] == -np.inf)
            if h > 0 or not single or potentials[m] == -np.inf:
                potentials[m] = max(potentials[m], row[m])
    return fit


@subkernel()
def root_shift(scores: Floats, nodes: int, single: bool, potentials: Floats) -> float:
    """What is taken from all arcs of a single root: the best of them; -inf when there is none."""
    if not single:
        return 0.0
    shift = -np.inf
    for m in range(1, nodes):
        if potentials[m] > -np.inf:
            shift = max(shift, scores[m] - potentials[m])
    return shift


@subkernel(inline=True)
def _weigh(score: Lanes, potential: Lanes, shift: float, seen: Seen) -> tuple[Lanes, Seen]:
    """exp(score - potential - shift), 0 for a forbidden arc; and what was seen so far."""
    nothing, zero = splat(-np.inf), splat(0.0)
    # What comes of -inf is not used.
    x, tail = two_difference(score, potential)
    x, more = two_difference(x, splat(shift))
    weight = exponential(x, x, tail + more)
    weight = select(nothing, score, weight, zero)
    least, most, count = seen
    least = minimum(select(nothing, score, x, zero), least)
    most = maximum(select(nothing, score, x, zero), most)
    return weight, (least, most, count + select(nothing, score, splat(1.0), zero))


@subkernel()
def _copy_heads(scores: Floats, nodes: int, low: int, rows: Floats, width: int) -> None:
    """The scores of eight heads, -inf where there is no head or no word."""
    for r in range(LANES):
        h = low + r
        for m in range(nodes if h < nodes else 0):
            store_scalar(rows, r * width + m, load_scalar(scores, h * nodes + m))
        for m in range(nodes if h < nodes else 0, width):
            store_scalar(rows, r * width + m, -np.inf)


@subkernel(inline=True)
def _eight_rows(rows: Floats, width: int, m: int) -> Eight:
    return (
        load_vector(rows, m),
        load_vector(rows, m + width),
        load_vector(rows, m + 2 * width),
        load_vector(rows, m + 3 * width),
        load_vector(rows, m + 4 * width),
        load_vector(rows, m + 5 * width),
        load_vector(rows, m + 6 * width),
        load_vector(rows, m + 7 * width),
    )


@subkernel()
def _weigh_heads(
    space: Floats,
    nodes: int,
    width: int,
    low: int,
    rows: Floats,
    potentials: Floats,
    shift: float,
    seen: Seen,
) -> Seen:
    """The arcs of eight heads: to the right row by row, to the left with heads as lanes."""
    for r in range(min(LANES, nodes - low)):
        own = shift if low + r == 0 else 0.0
        for first in range(low, nodes, LANES):
            scores, column_max = (
                load_vector(rows, r * width + first),
                load_vector(potentials, first),
            )
            if first == low:
                scores = select(splat(float(r)), load_vector(_NUMBERS, 0), scores, _nothing())
            weight, seen = _weigh(scores, column_max, own, seen)
            store_vector(space, arc_place(width, low + r, first), weight)
    for first in range(0, low + 1, LANES):
        eight = transpose(_eight_rows(rows, width, first))
        for x in range(LANES):
            m = first + x
            scores = eight[x]
            if first == low:
                scores = select(splat(float(x)), load_vector(_NUMBERS, 0), scores, _nothing())
            weight, seen = _weigh(scores, splat(load_scalar(potentials, m)), 0.0, seen)
            store_vector(space, arc_place(width, m, low) + LANES, weight)
    return seen


@subkernel(inline=True)
def _nothing() -> Lanes:
    return splat(-np.inf)


@subkernel()
def fill_weights(
    space: Floats,
    scores: Floats,
    nodes: int,
    label_sums: Floats,
    potentials: Floats,
    shift: float,
    rows: Floats,
) -> tuple[bool, bool]:
    """Weights into the charts' space; returns whether they fit, and whether an arc is forbidden.

    Args:
        potentials: with seven numbers behind them that may be anything finite.
        rows: to work in, eight times the width of a chart.
    """
    width = width_of(nodes)
    seen = splat(0.0), splat(0.0), splat(0.0)
    for low in range(0, nodes, LANES):
        _copy_heads(scores, nodes, low, rows, width)
        seen = _weigh_heads(space, nodes, width, low, rows, potentials, shift, seen)
    if label_sums.shape[0] > 0:
        for m in range(1, nodes):
            for h in range(nodes):
                if h != m:
                    place = arc_place(width, min(h, m), max(h, m)) + (LANES if m < h else 0)
                    space[place] *= label_sums[h * nodes + m]
    least, most, count = seen
    store_vector(rows, 0, least)
    store_vector(rows, LANES, most)
    store_vector(rows, 2 * LANES, count)
    fits, allowed = True, 0.0
    for lane in range(LANES):
        fits &= rows[lane] > LOWEST_WEIGHT and rows[LANES + lane] < HIGHEST_WEIGHT
        allowed += rows[2 * LANES + lane]
    return fits, allowed < (nodes - 1) ** 2


@subkernel()
def assemble(
    potentials: Floats, nodes: int, shift: float, mantissa: float, exponent: int
) -> tuple[float, float]:
    """log Z = sum of potentials + shift + log(mantissa) + exponent ln 2, as a sum of two floats."""
    power, low = times_ln2(float(exponent))
    high = math.log(mantissa)
    for m in range(nodes + 1):
        term = power if m == 0 else (shift if m == nodes else potentials[m])
        total, error = difference(high, -term)
        high = total
        low += error
    return high + low, low - ((high + low) - high)

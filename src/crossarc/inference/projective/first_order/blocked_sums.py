"""log Z and marginals of one sentence after another, in float64, in blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import compensated_sum, log_partition, two_difference
from crossarc.inference.arithmetic.lanes import (
    LANES,
    Eight,
    Lanes,
    data_pointer,
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
from crossarc.inference.arithmetic.semirings import SUM
from crossarc.inference.arithmetic.wide import LARGEST_SCORE, LN2, normalised, power_of_two
from crossarc.inference.projective.arcs import (
    HIGHEST_LOG_WEIGHT,
    LOWEST_LOG_WEIGHT,
    column_maximum,
    root_shift,
)
from crossarc.inference.projective.first_order.blocked_passes import (
    LEAST,
    MOST,
    inside_pass,
    outside,
)
from crossarc.inference.projective.first_order.blocks import (
    FACTORS,
    PANELS,
    PLANES,
    TERMS,
    arc_index,
    region,
    width_of,
)
from crossarc.inference.projective.first_order.lockstep import float64_is_safe
from crossarc.inference.runtime.lockstep import LOG_PARTITION, MARGINALS, PROGRESS, claim, complete
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["sum_blocked"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seen = tuple[Lanes, Lanes, Lanes]

_F1, _F2, _INT, _BOOL = types.float64[::1], types.float64[:, ::1], types.int64, types.boolean
_NUMBERS = np.arange(float(LANES))

_inside = inside_pass(SUM)


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
    charts: Floats,
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
            scores, best = (
                load_vector(rows, r * width + first),
                load_vector(potentials, first),
            )
            if first == low:
                scores = select(splat(float(r)), load_vector(_NUMBERS, 0), scores, _nothing())
            weight, seen = _weigh(scores, best, own, seen)
            store_vector(charts, arc_index(width, low + r, first), weight)
    for first in range(0, low + 1, LANES):
        eight = transpose(_eight_rows(rows, width, first))
        for x in range(LANES):
            m = first + x
            scores = eight[x]
            if first == low:
                scores = select(splat(float(x)), load_vector(_NUMBERS, 0), scores, _nothing())
            weight, seen = _weigh(scores, splat(load_scalar(potentials, m)), 0.0, seen)
            store_vector(charts, arc_index(width, m, low) + LANES, weight)
    return seen


@subkernel(inline=True)
def _nothing() -> Lanes:
    return splat(-np.inf)


@subkernel()
def _fill_weights(
    charts: Floats,
    scores: Floats,
    nodes: int,
    label_sums: Floats,
    potentials: Floats,
    shift: float,
    rows: Floats,
) -> tuple[bool, bool]:
    """Weights into the charts; returns whether they fit, and whether an arc is forbidden.

    Args:
        potentials: with seven numbers behind them that may be anything finite.
        rows: to work in, eight times the width of a chart.
    """
    width = width_of(nodes)
    seen = splat(0.0), splat(0.0), splat(0.0)
    for low in range(0, nodes, LANES):
        _copy_heads(scores, nodes, low, rows, width)
        seen = _weigh_heads(charts, nodes, width, low, rows, potentials, shift, seen)
    if label_sums.shape[0] > 0:
        for m in range(1, nodes):
            for h in range(nodes):
                if h != m:
                    index = arc_index(width, min(h, m), max(h, m)) + (LANES if m < h else 0)
                    charts[index] *= label_sums[h * nodes + m]
    least, most, count = seen
    store_vector(rows, 0, least)
    store_vector(rows, LANES, most)
    store_vector(rows, 2 * LANES, count)
    fits, allowed = True, 0.0
    for lane in range(LANES):
        fits &= rows[lane] > LOWEST_LOG_WEIGHT and rows[LANES + lane] < HIGHEST_LOG_WEIGHT
        allowed += rows[2 * LANES + lane]
    return fits, allowed < (nodes - 1) ** 2


@subkernel()
def _extremes(charts: Floats) -> tuple[float, float]:
    """The least and the largest item, from the facts of the inside pass."""
    least, most = np.inf, 0.0
    for lane in range(LANES):
        least = min(least, load_scalar(charts, LEAST * LANES + lane))
        most = max(most, load_scalar(charts, MOST * LANES + lane))
    return least, most


@subkernel()
def _read_marginals(charts: Floats, nodes: int, headroom: int, out: Floats) -> None:
    """Marginals from the products I O, whose sum over a word's heads is 2^headroom."""
    width = width_of(nodes)
    scale = power_of_two(-headroom)
    for j in range(1, nodes):
        for i in range(j):
            at = arc_index(width, i, j)
            out[i * nodes + j] = min(1.0, charts[at] * scale)
            if i > 0:
                out[j * nodes + i] = min(1.0, charts[at + LANES] * scale)


@subkernel()
def _read_log_marginals(
    charts: Floats, nodes: int, headroom: int, least: float, out: Floats
) -> bool:
    """The same in logarithms; False if a product is too small for all its digits to be right."""
    width = width_of(nodes)
    scale = power_of_two(-headroom)
    for j in range(1, nodes):
        for i in range(j):
            at = arc_index(width, i, j)
            for back in range(2 if i > 0 else 1):
                entry = j * nodes + i if back else i * nodes + j
                inner = region(width, FACTORS) + width * width + i * width + j
                if back:
                    inner = region(width, PANELS) + (j // LANES * width + i) * TERMS
                    inner += 2 * LANES + j % LANES
                product = charts[at + back * LANES]
                if charts[inner] == 0.0:
                    out[entry] = -np.inf
                elif product < least:
                    return False
                elif product * scale > 2.0**-1000:
                    out[entry] = min(0.0, math.log(product * scale))
                else:
                    out[entry] = math.log(product) - headroom * LN2
    return True


@subkernel()
def _solve(
    charts: Floats, nodes: int, single: bool, forbidden: bool, quantity: int, out: Floats
) -> tuple[bool, float]:
    """Whether float64 is certainly enough, and Z relative to the potentials; fills `out`."""
    total = _inside(charts, nodes, single)
    least, most = _extremes(charts)
    is_safe, headroom, least_product = float64_is_safe(least, most, total, forbidden, quantity)
    if not is_safe or total == 0.0 or quantity == LOG_PARTITION:
        return is_safe, total
    outside(charts, nodes, single, power_of_two(headroom) / total)
    if quantity == MARGINALS:
        _read_marginals(charts, nodes, headroom, out)
        return True, total
    return _read_log_marginals(charts, nodes, headroom, least_product, out), total


@subkernel()
def _largest_score(scores: Floats) -> float:
    largest = 0.0
    for i in range(scores.shape[0]):
        size = abs(scores[i])
        largest = max(largest, size if size < np.inf else 0.0)
    return largest


@subkernel()
def _sum_sentence(
    charts: Floats,
    scores: Floats,
    label_sums: Floats,
    nodes: int,
    single: bool,
    quantity: int,
    given: Floats,
    out: Floats,
) -> tuple[float, float]:
    """log Z as the sum of two floats; infinite where float64 is not certain to be enough."""
    if _largest_score(scores) > LARGEST_SCORE:
        return np.nan, np.nan
    # Eights of potentials are read: what lies behind the last one is 0.
    buffers = charts[region(width_of(nodes), PLANES) :]
    potentials, rows = buffers[: nodes + LANES], buffers[nodes + LANES :]
    potentials[:] = 0.0
    column_maximum(data_pointer(potentials), data_pointer(scores), nodes, single)
    if given.shape[0] > 0:
        if np.isnan(given[0]):
            return -np.inf, 0.0
        potentials[1:nodes] = given
    # Of one lane, a number.
    shift: Any = root_shift(data_pointer(scores), data_pointer(potentials), nodes, single)
    fits, forbidden = _fill_weights(charts, scores, nodes, label_sums, potentials, shift, rows)
    if fits:
        is_safe, total = _solve(charts, nodes, single, forbidden, quantity, out)
        if is_safe:
            if total == 0.0:
                return -np.inf, 0.0
            mantissa, exponent = normalised(total, 0)
            high, low = compensated_sum(potentials[1:nodes])
            return log_partition(high, low, shift, mantissa, exponent)
    # There may be infinities among the items.
    charts[:] = 0.0
    return np.inf, 0.0


@kernel(
    types.void(
        READ_FLOAT,
        READ_FLOAT,
        READ_INT,
        READ_INT,
        _BOOL,
        _INT,
        _F1,
        _F2,
        READ_FLOAT,
        READ_INT,
        READ_INT,
        READ_INT,
        PROGRESS,
        _F1,
    )
)
def sum_blocked(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    quantity: int,
    out: Floats,
    totals: Floats,
    potentials: Floats,
    word_offsets: Ints,
    order: Ints,
    starts: Ints,
    progress: Ints,
    workspace: Floats,
) -> None:
    """As the kernels of `lockstep`, for sentences by themselves.

    Args:
        potentials: of all words of the batch, as from `envelope`; or empty, and the best scores
            into the words are.
    """
    workspace[:] = 0.0
    item = claim(progress)
    while item < starts.shape[0] - 1:
        s = order[starts[item]]
        n, first = sizes[s], word_offsets[s]
        whole = slice(offsets[s], offsets[s] + (n + 1) * (n + 1))
        totals[0, s], totals[1, s] = _sum_sentence(
            workspace,
            scores[whole],
            label_sums[whole],
            n + 1,
            single,
            quantity,
            potentials[first : first + n],
            out[whole],
        )
        complete(progress)
        item = claim(progress)

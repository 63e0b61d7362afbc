"""From scores of arcs and siblings to the weights of parts, relative to potentials (`weights`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.entries import entry, put
from crossarc.inference.extended import LARGEST_SCORE, ZERO, exp_parts_wide, normalised
from crossarc.inference.lanes import (
    LANES,
    Lanes,
    choose,
    larger,
    load_entries,
    repeat,
    smaller,
    store_entries,
)
from crossarc.inference.projective.exponentials import exact_difference, exponential
from crossarc.inference.projective.sibling_charts import NUMBERS, part_place
from crossarc.inference.projective.weights import difference
from crossarc.kernels import subkernel

__all__ = [
    "best_parts",
    "fill_parts",
    "part_range",
    "sibling_root_shift",
    "tree_parts",
    "wide_parts",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Logarithms of weights are between these; where arcs are forbidden, above SMALL.
_LOWEST, _HIGHEST, _SMALL = -620.0, 620.0, -207.0  # 2^-894, 2^894, 2^-298


@subkernel()
def part_range(nodes: int, h: int, s: int) -> tuple[int, int]:
    """The modifiers m of h that can follow s, from the first up to the last, excluded.

    For s = h both sides at once: m = h is among them and has no part.
    """
    if s == h:
        return 1, nodes
    if s > h:
        return s + 1, nodes
    return 1, s


@subkernel(inline=True)
def _raise(arcs: Floats, parts: Floats, tops: Floats) -> bool:
    """tops = max(tops, arcs + parts); returns whether the scores can be summed over."""
    fit = True
    for m in range(arcs.shape[0]):
        usable = arcs[m] > -np.inf
        value = arcs[m] + parts[m] if usable else -np.inf
        fit &= (abs(arcs[m]) + abs(parts[m]) <= LARGEST_SCORE) | (not usable)
        tops[m] = value if value > tops[m] else tops[m]
    return fit


@subkernel()
def best_parts(
    scores: Floats, sibling: Floats, nodes: int, single: bool, potentials: Floats
) -> bool:
    """The best score of a part into each word; a single root's only where they are the only ones.

    Returns whether all scores are small enough to be summed over.
    """
    fit = True
    for m in range(1, nodes):
        potentials[m] = -np.inf
    for h in range(0 if not single else 1, nodes):
        at = h * nodes
        for s in range(1 if h > 0 else 0, nodes):
            first, last = part_range(nodes, h, s)
            if s != h and scores[at + s] == -np.inf:
                continue
            row = (at + s) * nodes
            fit &= _raise(
                scores[at + first : at + last],
                sibling[row + first : row + last],
                potentials[first:last],
            )
    for m in range(1, nodes if single else 1):
        if scores[m] > -np.inf:
            value = scores[m] + sibling[m]
            fit &= abs(scores[m]) + abs(sibling[m]) <= LARGEST_SCORE
            potentials[m] = value if potentials[m] == -np.inf else potentials[m]
    return fit


@subkernel()
def tree_parts(
    scores: Floats,
    sibling: Floats,
    nodes: int,
    single: bool,
    heads: Ints,
    siblings: Ints,
    potentials: Floats,
) -> None:
    """The scores of a tree's parts, for a single root's modifier its best other score."""
    for m in range(1, nodes):
        h, s = heads[m - 1], siblings[m - 1]
        if not (single and h == 0):
            potentials[m] = scores[h * nodes + m] + sibling[(h * nodes + s) * nodes + m]


@subkernel()
def sibling_root_shift(
    scores: Floats, sibling: Floats, nodes: int, single: bool, potentials: Floats
) -> float:
    """What is taken from all parts of a single root; -inf when there is none."""
    if not single:
        return 0.0
    shift = -np.inf
    for m in range(1, nodes):
        if potentials[m] > -np.inf and scores[m] > -np.inf:
            shift = max(shift, scores[m] + sibling[m] - potentials[m])
    return shift


@subkernel(inline=True)
def _exponentiate(
    arcs: Floats,
    sibling: Floats,
    row: int,
    m: int,
    first: int,
    last: int,
    bounds: tuple[Lanes, Lanes],
) -> tuple[Lanes, Lanes]:
    """exp(arcs + parts) for eight modifiers from m on, beside the arcs; bounds of the logarithms.

    Weights are 0 where there is no arc, and for modifiers that are not from first to last - 1.
    """
    stride = arcs.shape[0] // 3
    nothing, zero = repeat(-np.inf), repeat(0.0)
    modifiers = repeat(float(m)) + load_entries(NUMBERS, 0)
    arc = choose(modifiers, repeat(float(last)), load_entries(arcs, m), nothing)
    arc = choose(modifiers, repeat(float(first)), nothing, arc)
    x, tail = exact_difference(
        choose(nothing, arc, arc, zero),
        choose(nothing, arc, zero - load_entries(sibling, row + m), zero),
    )
    bounds = smaller(x, bounds[0]), larger(x, bounds[1])
    clipped = larger(smaller(x, repeat(_HIGHEST)), repeat(_LOWEST))
    weight = exponential(clipped, tail + load_entries(arcs, stride + m))
    store_entries(arcs, 2 * stride + m, choose(nothing, arc, weight, zero))
    return bounds


@subkernel(inline=True)
def _scatter(w: Floats, weights: Floats, nodes: int, h: int, s: int, first: int, last: int) -> None:
    """The weights of h, s and m from first to last - 1 into their cells."""
    # From one m to the next, `part_place` moves by the size of a cell.
    place = part_place(nodes, h, s, first) if first < h else 0
    for m in range(first, min(last, h)):
        put(w, place, entry(weights, m))
        place -= h - m - 1 if s == h else h - m
    begin = max(first, h + 1)
    place = part_place(nodes, h, s, begin) if begin < last else 0
    for m in range(begin, last):
        put(w, place, entry(weights, m))
        place += m - h


@subkernel()
def _prepare(
    scores: Floats, nodes: int, h: int, potentials: Floats, shift: float, arcs: Floats
) -> bool:
    """score - potential - shift of the arcs of h and what its rounding lacks, in two rows.

    Returns whether one of them is forbidden.
    """
    stride = arcs.shape[0] // 3
    forbidden = False
    for m in range(stride):
        arcs[m], arcs[stride + m] = -np.inf, 0.0
        if 0 < m < nodes and m != h:
            score = scores[h * nodes + m]
            if score > -np.inf:
                x, tail = difference(score, potentials[m])
                x, more = difference(x, shift if h == 0 else 0.0)
                arcs[m], arcs[stride + m] = x, tail + more
            else:
                forbidden = True
    return forbidden


@subkernel()
def _widened(sibling: Floats, nodes: int) -> Floats:
    """A copy with rows of LANES numbers."""
    wide = np.zeros(LANES * LANES * LANES)
    for h in range(nodes):
        for s in range(nodes):
            for m in range(nodes):
                wide[(h * LANES + s) * LANES + m] = sibling[(h * nodes + s) * nodes + m]
    return wide


@subkernel()
def fill_parts(
    w: Floats,
    scores: Floats,
    sibling: Floats,
    nodes: int,
    masses: Floats,
    single: bool,
    potentials: Floats,
    shift: float,
    buffer: Floats,
) -> tuple[bool, float, bool]:
    """The weights of parts; whether float64 holds them, the largest, whether arcs are forbidden.

    Args:
        buffer: for 3 max(nodes, LANES) numbers.
    """
    bounds = repeat(0.0), repeat(0.0)
    forbidden = False
    stride = max(nodes, LANES)
    if nodes < LANES:
        sibling = _widened(sibling, nodes)
    arcs = buffer[: 3 * stride]
    weights = arcs[2 * stride :]
    for h in range(nodes):
        forbidden |= _prepare(scores, nodes, h, potentials, shift, arcs)
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            # No modifier follows one that h cannot take.
            possible = s == h or arcs[s] > -np.inf
            for m in range(first, last if possible else first, LANES):
                # A step that stays in the row.
                begin = min(m, stride - LANES)
                row = (h * stride + s) * stride
                bounds = _exponentiate(arcs, sibling, row, begin, first, last, bounds)
            if masses.shape[0] > 0:
                for m in range(first, last):
                    weights[m] *= masses[h * nodes + m]
            if not possible:
                for m in range(first, last):
                    weights[m] = 0.0
            _scatter(w, weights, nodes, h, s, first, last)
    store_entries(weights, 0, bounds[0])
    lowest, highest = 0.0, 0.0
    for lane in range(LANES):
        lowest = min(lowest, weights[lane])
    store_entries(weights, 0, bounds[1])
    for lane in range(LANES):
        highest = max(highest, weights[lane])
    floor = _SMALL if forbidden else _LOWEST
    return lowest > floor and highest < _HIGHEST, math.exp(min(highest, _HIGHEST)), forbidden


@subkernel()
def wide_parts(
    w: Floats,
    v: Ints,
    scores: Floats,
    sibling: Floats,
    nodes: int,
    masses: Floats,
    single: bool,
    potentials: Floats,
) -> None:
    """`fill_parts` in numbers with a wide exponent."""
    for h in range(nodes):
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            possible = s == h or scores[h * nodes + s] > -np.inf
            for m in range(first, last):
                if m == h:
                    continue
                at = part_place(nodes, h, s, m)
                arc = scores[h * nodes + m]
                w[at], v[at] = 0.0, ZERO
                if possible and arc > -np.inf:
                    x, tail = difference(arc, -sibling[(h * nodes + s) * nodes + m])
                    x, more = difference(x, potentials[m])
                    mantissa, exponent = exp_parts_wide(x, tail + more)
                    if masses.shape[0] > 0:
                        mantissa *= masses[h * nodes + m]
                    w[at], v[at] = normalised(mantissa, exponent)

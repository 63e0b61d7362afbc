"""From scores of arcs and siblings to the weights of parts, relative to potentials (`weights`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.entries import entry, put
from crossarc.inference.extended import LARGEST_SCORE, exp_parts, power_of_two
from crossarc.inference.projective.sibling_charts import part_place
from crossarc.inference.projective.weights import difference
from crossarc.kernels import subkernel

__all__ = ["best_parts", "fill_parts", "part_range", "sibling_root_shift", "tree_parts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Logarithms of weights are between these; where arcs are forbidden, above SMALL.
_LOWEST, _HIGHEST, _SMALL = -620.0, 34.0, -207.0  # 2^-894, 2^49, 2^-298


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


@subkernel()
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


@subkernel()
def _row_parts(
    arcs: Floats, parts: Floats, potentials: Floats, shift: float, weights: Floats
) -> tuple[bool, bool]:
    """exp(arcs + parts - potentials - shift) without a branch, so that it becomes vectors.

    Returns whether those that are not 0 fit, and whether none of them is small.
    """
    fits, none_small = True, True
    for m in range(arcs.shape[0]):
        usable = arcs[m] > -np.inf
        x, tail = difference(arcs[m] if usable else potentials[m], -parts[m] if usable else 0.0)
        x, more = difference(x, potentials[m])
        x, most = difference(x, shift if usable else 0.0)
        fits &= (x > _LOWEST) & (x < _HIGHEST)
        none_small &= x > _SMALL
        mantissa, exponent = exp_parts(min(x, _HIGHEST), tail + more + most)
        weights[m] = mantissa * power_of_two(exponent) if usable else 0.0
    return fits, none_small


@subkernel()
def _scatter(
    w: Floats, weights: Floats, nodes: int, h: int, s: int, first: int, last: int, factor: float
) -> None:
    """The weights of h, s and m from first to last - 1 into their cells, times a factor."""
    # From one m to the next, `part_place` moves by the size of a cell.
    place = part_place(nodes, h, s, first) if first < h else 0
    for m in range(first, min(last, h)):
        put(w, place, entry(weights, m - first) * factor)
        place -= h - m - 1 if s == h else h - m
    begin = max(first, h + 1)
    place = part_place(nodes, h, s, begin) if begin < last else 0
    for m in range(begin, last):
        put(w, place, entry(weights, m - first) * factor)
        place += m - h


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
) -> tuple[bool, bool]:
    """The weights of parts; whether float64 holds them, and whether an arc is forbidden."""
    fits, none_small, forbidden = True, True, False
    for h in range(nodes):
        for m in range(1, nodes):
            forbidden |= h != m and scores[h * nodes + m] == -np.inf
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            at, row = h * nodes, (h * nodes + s) * nodes
            weights = buffer[: last - first]
            fit, large = _row_parts(
                scores[at + first : at + last],
                sibling[row + first : row + last],
                potentials[first:last],
                shift if h == 0 else 0.0,
                weights,
            )
            fits, none_small = fits and fit, none_small and large
            if masses.shape[0] > 0:
                for m in range(first, last):
                    weights[m - first] *= masses[at + m]
            # No modifier follows one that h cannot take.
            possible = 1.0 if s == h or scores[at + s] > -np.inf else 0.0
            _scatter(w, weights, nodes, h, s, first, last, possible)
    return fits and (none_small or not forbidden), forbidden

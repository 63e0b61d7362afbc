"""From scores to weights in the charts' layout, and back to log Z.

Every tree has one arc into each word, so a *potential* may be taken from all scores into a word: Z
changes by a known factor and the marginals not at all. With a single root, the arcs of the root
share one more shift, since every tree has exactly one of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.extended import LARGEST_SCORE, exp_parts, power_of_two, times_ln2
from crossarc.inference.lanes import LANES
from crossarc.inference.projective.panels import arc_place, blocks_of, width_of
from crossarc.kernels import subkernel

__all__ = ["assemble", "best_scores", "difference", "fill_weights", "root_shift"]

Floats = NDArray[np.float64]

# Weights that are not 0 are between these.
_LOWEST, _HIGHEST = -620.0, 620.0  # 2^-894, 2^894


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


@subkernel()
def _row_weights(
    scores: Floats, potentials: Floats, shift: float, weights: Floats
) -> tuple[bool, int]:
    """exp(scores - potentials - shift) without a branch, so that it becomes vector instructions.

    Returns whether those that are not 0 fit, and how many are 0.
    """
    fits, absent = True, 0
    for m in range(scores.shape[0]):
        usable = scores[m] > -np.inf
        x, tail = difference(scores[m] if usable else potentials[m], potentials[m])
        x, more = difference(x, shift if usable else 0.0)
        fits &= (x > _LOWEST) & (x < _HIGHEST)
        mantissa, exponent = exp_parts(min(x, _HIGHEST), tail + more)
        weights[m] = mantissa * power_of_two(exponent) if usable else 0.0
        absent += not usable
    return fits, absent


@subkernel()
def fill_weights(
    space: Floats,
    scores: Floats,
    nodes: int,
    masses: Floats,
    potentials: Floats,
    shift: float,
    buffer: Floats,
) -> tuple[bool, bool]:
    """Weights into the charts' space; returns whether they fit, and whether an arc is forbidden."""
    width = width_of(nodes)
    fits, absent = True, 0
    row = buffer[:nodes]
    own = potentials[1:nodes]
    for h in range(nodes):
        row[0] = 0.0
        arcs = scores[h * nodes + 1 : (h + 1) * nodes]
        fit, missing = _row_weights(arcs, own, shift if h == 0 else 0.0, row[1:])
        fits, absent = fits and fit, absent + missing
        if masses.shape[0] > 0:
            for m in range(1, nodes):
                row[m] *= masses[h * nodes + m]
        for m in range(h):
            space[arc_place(width, m, h) + LANES] = row[m]
        for m in range(h // LANES * LANES, blocks_of(nodes) * LANES):
            space[arc_place(width, h, m)] = row[m] if h < m < nodes else 0.0
            if not h < m < nodes:
                space[arc_place(width, h, m) + LANES] = 0.0
    # Each word is absent as its own head.
    return fits, absent > nodes - 1


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

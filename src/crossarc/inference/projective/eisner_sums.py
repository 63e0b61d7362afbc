"""log Z and marginals of all projective trees: one sentence after another of a batch.

Eisner's algorithm (1996) as inside and outside pass (Koo et al. 2007, section 2.2), O(n^3), in float64
after taking a potential from the scores into each word: first their maximum; if items then lie too
far apart for float64, the score in the best tree. Otherwise in numbers with a wide exponent.
docs/numerics.md proves the rule.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.entries import entry
from crossarc.inference.extended import normalised, power_of_two
from crossarc.inference.lanes import LANES
from crossarc.inference.projective.eisner_best import best_tree
from crossarc.inference.projective.eisner_inside import LEAST, MOST, inside_pass
from crossarc.inference.projective.eisner_outside import outside
from crossarc.inference.projective.eisner_wide import solve_wide
from crossarc.inference.projective.panels import (
    FACTORS,
    PANELS,
    TERMS,
    arc_place,
    part,
    room,
    width_of,
)
from crossarc.inference.projective.semirings import SUM
from crossarc.inference.projective.weights import assemble, best_scores, fill_weights, root_shift
from crossarc.inference.spanning.wanted import LOG_MARGINALS, MARGINALS, TOTAL
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean

# The rule, in powers of two. Items are at least LOWEST, at least LOWEST_PRODUCT if arcs are
# forbidden, at most HIGHEST, and their ratio at most RANGE.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-500, 2.0**450, 2.0**930
_HEADROOM = 900
_LN2 = 0.6931471805599453

_inside = inside_pass(SUM)


@subkernel()
def _extremes(space: Floats) -> tuple[float, float]:
    """The least and the largest item, from the notes of the inside pass."""
    least, most = np.inf, 0.0
    for lane in range(LANES):
        least = min(least, entry(space, LEAST * LANES + lane))
        most = max(most, entry(space, MOST * LANES + lane))
    return least, most


@subkernel()
def _read_marginals(space: Floats, nodes: int, headroom: int, out: Floats) -> None:
    """Marginals from the products I O, whose sum over a word's heads is 2^headroom."""
    width = width_of(nodes)
    scale = power_of_two(-headroom)
    for j in range(1, nodes):
        for i in range(j):
            at = arc_place(width, i, j)
            out[i, j] = min(1.0, space[at] * scale)
            if i > 0:
                out[j, i] = min(1.0, space[at + LANES] * scale)


@subkernel()
def _read_log_marginals(
    space: Floats, nodes: int, headroom: int, least: float, out: Floats
) -> bool:
    """The same in logarithms; False if a product is too small for all its digits to be right."""
    width = width_of(nodes)
    scale = power_of_two(-headroom)
    for j in range(1, nodes):
        for i in range(j):
            at = arc_place(width, i, j)
            for back in range(2 if i > 0 else 1):
                h, m = (j, i) if back else (i, j)
                inner = part(width, FACTORS) + width * width + i * width + j
                if back:
                    inner = part(width, PANELS) + (j // LANES * width + i) * TERMS
                    inner += 2 * LANES + j % LANES
                product = space[at + back * LANES]
                if space[inner] == 0.0:
                    out[h, m] = -np.inf
                elif product < least:
                    return False
                elif product * scale > 2.0**-1000:
                    out[h, m] = min(0.0, math.log(product * scale))
                else:
                    out[h, m] = math.log(product) - headroom * _LN2
    return True


@subkernel()
def _solve_plain(
    space: Floats, nodes: int, single: bool, forbidden: bool, wanted: int, out: Floats
) -> tuple[bool, float]:
    """Whether float64 is certainly enough, and Z relative to the potentials; fills `out`."""
    total = _inside(space, nodes, single)
    least, most = _extremes(space)
    least = min(1.0, least, total if total > 0.0 else 1.0)
    if not (least >= (_LOWEST_PRODUCT if forbidden else _LOWEST) and most <= _HIGHEST):
        return False, total
    if total == 0.0 or wanted == TOTAL:
        return total > 0.0 or forbidden, total
    if most / least > _RANGE:
        return False, total
    headroom = _HEADROOM + normalised(least, 0)[1]
    outside(space, nodes, single, power_of_two(headroom) / total)
    if wanted == MARGINALS:
        _read_marginals(space, nodes, headroom, out)
        return True, total
    return _read_log_marginals(space, nodes, headroom, most * _LOWEST, out), total


@subkernel()
def _tree_potentials(
    space: Floats, scores: Floats, single: bool, heads: Ints, stack: Ints, potentials: Floats
) -> bool:
    """The scores of the best tree as potentials; False when there is no tree."""
    feasible = best_tree(space, scores, single, heads, stack)
    if feasible:
        for m in range(1, scores.shape[0]):
            # The arc of a single root is shifted with its row.
            if not (single and heads[m - 1] == 0):
                potentials[m] = scores[heads[m - 1], m]
    return feasible


@subkernel()
def _infer_one(
    scores: Floats,
    masses: Floats,
    single: bool,
    wanted: int,
    out: Floats,
    space: Floats,
    buffer: Floats,
    stack: Ints,
) -> tuple[float, float]:
    nodes = scores.shape[0]
    n = nodes - 1
    potentials, rest = buffer[:nodes], buffer[nodes:]
    if not best_scores(scores, n, single, potentials):
        return np.nan, np.nan
    for m in range(1, nodes):
        if potentials[m] == -np.inf:
            return -np.inf, 0.0
    for attempt in range(2):
        if attempt == 1:
            heads, free = stack[:n], stack[n:]
            space[:] = 0.0
            if not _tree_potentials(space, scores, single, heads, free, potentials):
                space[:] = 0.0
                return -np.inf, 0.0
            space[:] = 0.0
        shift = root_shift(scores, n, single, potentials)
        if shift == -np.inf:
            return -np.inf, 0.0
        fits, forbidden = fill_weights(space, scores, masses, potentials, shift, rest)
        if fits:
            certain, total = _solve_plain(space, nodes, single, forbidden, wanted, out)
            if certain:
                if total == 0.0:
                    return -np.inf, 0.0
                mantissa, exponent = normalised(total, 0)
                return assemble(potentials, n, shift, mantissa, exponent)
    space[:] = 0.0
    mantissa, exponent = solve_wide(scores, masses, potentials, single, wanted, out)
    if mantissa == 0.0:
        return -np.inf, 0.0
    return assemble(potentials, n, 0.0, mantissa, exponent)


@kernel(types.void(READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, _BOOL, _INT, _F1, _F2, _INT, _INT))
def infer(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    totals: Floats,
    begin: int,
    end: int,
) -> None:
    """Sentences begin..end-1 of a batch that lies flat in memory.

    Args:
        scores: (n + 1)^2 a sentence, -inf where an arc is forbidden, on the diagonal and in
            column 0.
        masses: for labelled arcs, whose score is that of their best label: the weights of all
            labels over that of the best; empty when there are no labels.
        wanted: TOTAL, MARGINALS or LOG_MARGINALS.
        out: marginals or their logarithms; column 0 and the diagonal are left alone.
        totals: (2, sentences): log Z as the sum of two floats; NaN where scores are too large.
    """
    no_masses, no_result = masses[:0].reshape(0, 0), out[:0].reshape(0, 0)
    longest = sizes[begin:end].max() if begin < end else 0
    space = np.zeros(room(longest + 1))
    buffer = np.empty(2 * longest + 2)
    stack = np.empty(7 * longest + 7, np.int64)
    for s in range(begin, end):
        n, at = sizes[s], offsets[s]
        width = n + 1
        square = scores[at : at + width * width].reshape(width, width)
        mass, result = no_masses, no_result
        if masses.shape[0] > 0:
            mass = masses[at : at + width * width].reshape(width, width)
        if wanted != TOTAL:
            result = out[at : at + width * width].reshape(width, width)
        totals[0, s], totals[1, s] = _infer_one(
            square, mass, single, wanted, result, space, buffer, stack
        )

"""log Z and marginals of one sentence after another, in float64, by panels."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES, load_scalar
from crossarc.inference.arithmetic.semirings import SUM
from crossarc.inference.arithmetic.wide import normalised, power_of_two
from crossarc.inference.projective.eisner_inside import LEAST, MOST, inside_pass
from crossarc.inference.projective.eisner_outside import outside
from crossarc.inference.projective.eisner_rule import judge
from crossarc.inference.projective.panels import (
    FACTORS,
    PANELS,
    TERMS,
    arc_place,
    part,
    room,
    width_of,
)
from crossarc.inference.projective.weights import (
    assemble,
    best_scores,
    fill_weights,
    root_shift,
)
from crossarc.inference.runtime.quantities import LOG_PARTITION, MARGINALS
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer_plain"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean

_LN2 = 0.6931471805599453

_inside = inside_pass(SUM)


@subkernel()
def _extremes(space: Floats) -> tuple[float, float]:
    """The least and the largest item, from the notes of the inside pass."""
    least, most = np.inf, 0.0
    for lane in range(LANES):
        least = min(least, load_scalar(space, LEAST * LANES + lane))
        most = max(most, load_scalar(space, MOST * LANES + lane))
    return least, most


@subkernel()
def _read_marginals(space: Floats, nodes: int, headroom: int, out: Floats) -> None:
    """Marginals from the products I O, whose sum over a word's heads is 2^headroom."""
    width = width_of(nodes)
    scale = power_of_two(-headroom)
    for j in range(1, nodes):
        for i in range(j):
            at = arc_place(width, i, j)
            out[i * nodes + j] = min(1.0, space[at] * scale)
            if i > 0:
                out[j * nodes + i] = min(1.0, space[at + LANES] * scale)


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
                place = j * nodes + i if back else i * nodes + j
                inner = part(width, FACTORS) + width * width + i * width + j
                if back:
                    inner = part(width, PANELS) + (j // LANES * width + i) * TERMS
                    inner += 2 * LANES + j % LANES
                product = space[at + back * LANES]
                if space[inner] == 0.0:
                    out[place] = -np.inf
                elif product < least:
                    return False
                elif product * scale > 2.0**-1000:
                    out[place] = min(0.0, math.log(product * scale))
                else:
                    out[place] = math.log(product) - headroom * _LN2
    return True


@subkernel()
def _solve_plain(
    space: Floats, nodes: int, single: bool, forbidden: bool, quantity: int, out: Floats
) -> tuple[bool, float]:
    """Whether float64 is certainly enough, and Z relative to the potentials; fills `out`."""
    total = _inside(space, nodes, single)
    least, most = _extremes(space)
    certain, headroom, least_product = judge(least, most, total, forbidden, quantity)
    if not certain or total == 0.0 or quantity == LOG_PARTITION:
        return certain, total
    outside(space, nodes, single, power_of_two(headroom) / total)
    if quantity == MARGINALS:
        _read_marginals(space, nodes, headroom, out)
        return True, total
    return _read_log_marginals(space, nodes, headroom, least_product, out), total


@subkernel()
def _infer_one(
    scores: Floats,
    label_sums: Floats,
    nodes: int,
    single: bool,
    quantity: int,
    given: Floats,
    out: Floats,
    space: Floats,
    buffer: Floats,
) -> tuple[float, float]:
    """log Z as the sum of two floats; infinite where float64 is not certain to be enough."""
    # With room behind them: eights of potentials are read.
    potentials, rest = buffer[: nodes + LANES], buffer[nodes + LANES :]
    if not best_scores(scores, nodes, single, potentials):
        return np.nan, np.nan
    for m in range(1, nodes):
        if potentials[m] == -np.inf:
            return -np.inf, 0.0
    if given.shape[0] > 0:
        if np.isnan(given[0]):
            return -np.inf, 0.0
        potentials[1:nodes] = given
    shift = root_shift(scores, nodes, single, potentials)
    if shift == -np.inf:
        return -np.inf, 0.0
    fits, forbidden = fill_weights(space, scores, nodes, label_sums, potentials, shift, rest)
    if fits:
        certain, total = _solve_plain(space, nodes, single, forbidden, quantity, out)
        if certain:
            if total == 0.0:
                return -np.inf, 0.0
            mantissa, exponent = normalised(total, 0)
            return assemble(potentials, nodes, shift, mantissa, exponent)
    # There may be infinities among the items.
    for at in range(space.shape[0]):
        space[at] = 0.0
    return np.inf, 0.0


@kernel(types.void(READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, _BOOL, _INT, READ_FLOAT, _F1, _F2))
def infer_plain(
    scores: Floats,
    label_sums: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    quantity: int,
    given: Floats,
    out: Floats,
    totals: Floats,
) -> None:
    """All sentences, as `sum_over_trees`; the total is infinite where it is not certain.

    Args:
        given: potentials, as from `envelope`; or empty, and the best scores into the words are.
    """
    longest, place = sizes.max(), 0
    space = np.zeros(room(longest + 1))
    buffer = np.zeros(longest + 1 + LANES + LANES * width_of(longest + 1))
    for s in range(sizes.shape[0]):
        nodes, at = sizes[s] + 1, offsets[s]
        whole = slice(at, at + nodes * nodes)
        totals[0, s], totals[1, s] = _infer_one(
            scores[whole],
            label_sums[whole],
            nodes,
            single,
            quantity,
            given[place : place + nodes - 1],
            out[whole],
            space,
            buffer,
        )
        place += nodes - 1

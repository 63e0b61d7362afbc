"""log Z and marginals of all spanning trees: one sentence after another of a batch.

Scores become weights relative to the best of their column, so that the largest is 1; Z is put
together from the columns' best scores, a mantissa and a power of two, and leaves as an unevaluated
sum of two floats: differences of it (log-probabilities, entropies) keep their digits at any size of
the scores.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.extended import (
    LARGEST_SCORE,
    LOWEST_WEIGHT,
    exp_parts,
    power_of_two,
    times_ln2,
)
from crossarc.inference.lanes import LANES
from crossarc.inference.spanning.lockstep.layout import aligned, lay_out, room_lockstep
from crossarc.inference.spanning.lockstep.solve import solve_lockstep
from crossarc.inference.spanning.lockstep.weights import scatter
from crossarc.inference.spanning.plain import room_plain, solve_plain, total_plain
from crossarc.inference.spanning.wanted import LOG_MARGINALS, MARGINALS, TOTAL
from crossarc.inference.spanning.wide import solve_wide
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean


@subkernel()
def _column_tops(scores: Floats, n: int, single: bool, tops: Floats) -> bool:
    """The best score into each word; the root's own scores only where they are the only ones.

    Returns whether all scores are small enough to be summed over.
    """
    fit = True
    for m in range(1, n + 1):
        tops[m] = -np.inf if single else scores[0, m]
    for h in range(1, n + 1):
        for m in range(1, n + 1):
            tops[m] = max(tops[m], scores[h, m])
            fit &= (abs(scores[h, m]) <= LARGEST_SCORE) | (scores[h, m] == -np.inf)
    for m in range(1, n + 1):
        fit &= (abs(scores[0, m]) <= LARGEST_SCORE) | (scores[0, m] == -np.inf)
        if tops[m] == -np.inf:
            tops[m] = scores[0, m]
    return fit


@subkernel()
def _difference(x: float, y: float) -> tuple[float, float]:
    """x - y exactly, as a float and its rounding error (Knuth's two-sum)."""
    d = x - y
    back = d + y
    return d, (x - back) - (y - (back - d))


@subkernel()
def _row_weights(
    scores: Floats, tops: Floats, shift: float, weights: Floats, lowest: Floats, absent: Floats
) -> None:
    """exp(scores - tops - shift) without a branch, so that it becomes vector instructions.

    Keeps the lowest log-weight of each column and counts its forbidden arcs.
    """
    for m in range(scores.shape[0]):
        usable = scores[m] > -np.inf
        score = scores[m] if usable else tops[m]
        x, tail = _difference(score, tops[m])
        x, more = _difference(x, shift)
        mantissa, exponent = exp_parts(x, tail + more)
        weights[m] = mantissa * power_of_two(exponent) if usable else 0.0
        lowest[m] = min(lowest[m], x) if usable else lowest[m]
        absent[m] += 0.0 if usable else 1.0


@subkernel()
def _weights(
    scores: Floats, masses: Floats, n: int, single: bool, tops: Floats, weights: Floats
) -> tuple[float, bool, bool]:
    """Weights relative to their column's top.

    With a single root, the root's weights share one more shift, since Z is linear in them.

    Returns:
        That shift, whether an arc is forbidden, and whether all others fit float64.
    """
    shift = 0.0
    if single:
        shift = -np.inf
        for m in range(1, n + 1):
            shift = max(shift, scores[0, m] - tops[m])
        if shift == -np.inf:
            return shift, True, False
    lowest, absent = np.zeros(n), np.zeros(n)
    for h in range(n + 1):
        own = shift if h == 0 else 0.0
        _row_weights(scores[h, 1:], tops[1:], own, weights[h, 1:], lowest, absent)
        if masses.shape[0] > 0:
            for m in range(1, n + 1):
                weights[h, m] *= masses[h, m]
    forbidden, fits = False, True
    for m in range(n):
        # The diagonal is absent always.
        forbidden = forbidden or absent[m] > 1.0
        fits = fits and lowest[m] > LOWEST_WEIGHT
    return shift, forbidden, fits


@subkernel()
def _assemble(
    tops: Floats, n: int, shift: float, mantissa: float, exponent: int
) -> tuple[float, float]:
    """log Z = sum of tops + shift + log(mantissa) + exponent ln 2, as a sum of two floats."""
    power, low = times_ln2(float(exponent))
    high = math.log(mantissa)
    for m in range(n + 2):
        term = power if m == 0 else (shift if m == n + 1 else tops[m])
        total, error = _difference(high, -term)
        high = total
        low += error
    return high + low, low - ((high + low) - high)


@subkernel()
def _log_marginals(
    scores: Floats,
    masses: Floats,
    n: int,
    single: bool,
    tops: Floats,
    shift: float,
    out: Floats,
) -> None:
    """log mu = log weight + log lift, from the lift in `out`; no product that could underflow."""
    for h in range(n + 1):
        out[h, 0] = -np.inf
        for m in range(1, n + 1):
            if scores[h, m] == -np.inf or out[h, m] == 0.0:
                out[h, m] = -np.inf
                continue
            lift = out[h, m] * masses[h, m] if masses.shape[0] > 0 else out[h, m]
            log_weight = scores[h, m] - tops[m]
            if h == 0 and single:
                log_weight -= shift
            out[h, m] = min(0.0, log_weight + math.log(lift))


@subkernel()
def _infer_one(
    scores: Floats,
    masses: Floats,
    single: bool,
    wanted: int,
    fits: bool,
    out: Floats,
    space: Floats,
) -> tuple[float, float]:
    """log Z of a sentence by itself; in wide numbers, unless it may fit plain ones."""
    n = scores.shape[0] - 1
    nothing = -np.inf if wanted == LOG_MARGINALS else 0.0
    for h in range(out.shape[0]):
        for m in range(n + 1):
            out[h, m] = nothing
    tops = np.empty(n + 1)
    if not _column_tops(scores, n, single, tops):
        return np.nan, np.nan
    for m in range(1, n + 1):
        if tops[m] == -np.inf:
            return -np.inf, 0.0
    if fits:
        square = (n + 1) * (n + 1)
        weights, rest = space[:square].reshape(n + 1, n + 1), space[square:]
        shift, forbidden, fits = _weights(scores, masses, n, single, tops, weights)
        if shift == -np.inf:
            return -np.inf, 0.0
    if fits:
        if wanted == TOTAL:
            certain, mantissa, exponent = total_plain(weights, n, single, forbidden, rest)
        else:
            certain, mantissa, exponent = solve_plain(weights, n, single, forbidden, out, rest)
        if certain:
            if wanted == MARGINALS:
                for h in range(n + 1):
                    for m in range(1, n + 1):
                        out[h, m] *= weights[h, m]
            elif wanted == LOG_MARGINALS:
                _log_marginals(scores, masses, n, single, tops, shift, out)
            return _assemble(tops, n, shift, mantissa, exponent)
    mantissa, exponent = solve_wide(scores, masses, n, single, tops, wanted, out)
    if mantissa == 0.0:
        return -np.inf, 0.0
    return _assemble(tops, n, 0.0, mantissa, exponent)


@subkernel()
def _room_alone(n: int) -> int:
    """How many floats `_infer_one` works in."""
    return room_plain(n) + (n + 1) * (n + 1)


@subkernel()
def _square(flat: Floats, at: int, width: int) -> Floats:
    """A sentence's part of a flat array; nothing of an empty one."""
    if flat.shape[0] == 0:
        return flat.reshape(0, 0)
    return flat[at : at + width * width].reshape(width, width)


@subkernel()
def _lane(cells: Floats, cell: int, lane: int) -> float:
    return cells[cell * LANES + lane]


@subkernel()
def _infer_together(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    members: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    totals: Floats,
    cells: Floats,
) -> None:
    """Sentences in lockstep, and those that fail by themselves, in wide numbers."""
    at = lay_out(sizes[members[0]])
    mantissas, exponents = np.empty(LANES), np.empty(LANES, np.int64)
    solve_lockstep(
        cells,
        at,
        scores,
        masses,
        sizes,
        offsets,
        members,
        single,
        wanted,
        mantissas,
        exponents,
    )
    if wanted != TOTAL:
        scatter(cells, at, sizes, offsets, members, out)
    for lane in range(members.shape[0]):
        s = members[lane]
        n = sizes[s]
        square = _square(scores, offsets[s], n + 1)
        mass = _square(masses, offsets[s], n + 1)
        result = _square(out, offsets[s], n + 1)
        if _lane(cells, at.status, lane) == 0.0:
            totals[0, s], totals[1, s] = _infer_one(
                square, mass, single, wanted, False, result, cells
            )
            continue
        tops = np.empty(n + 1)
        for m in range(n):
            tops[m + 1] = _lane(cells, at.tops + m, lane)
        shift = _lane(cells, at.shift, lane)
        if wanted == LOG_MARGINALS:
            _log_marginals(square, mass, n, single, tops, shift, result)
        totals[0, s], totals[1, s] = _assemble(tops, n, shift, mantissas[lane], exponents[lane])


@kernel(
    types.int64(
        READ_FLOAT, READ_FLOAT, READ_INT, READ_INT, READ_INT, READ_INT, _BOOL, _INT, _F1, _F2, _INT, _INT, _F1
    )
)
def infer(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    order: Ints,
    groups: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    totals: Floats,
    begin: int,
    end: int,
    space: Floats,
) -> int:
    """Groups begin..end-1 of the sentences of a batch that lies flat in memory.

    Args:
        scores: (n + 1)^2 a sentence, -inf where an arc is forbidden, on the diagonal and in
            column 0.
        masses: for labelled arcs, whose score is that of their best label: the weights of all
            labels over that of the best; empty when there are no labels.
        order, groups: group g has the sentences order[groups[g]:groups[g + 1]], up to LANES.
        wanted: TOTAL, MARGINALS or LOG_MARGINALS.
        out: marginals or their logarithms.
        totals: (2, sentences): log Z as the sum of two floats; NaN where scores are too large.
        space: to work in, if it is large enough.

    Returns:
        How many floats of space are enough.
    """
    needed = 0
    for g in range(begin, end):
        alone = groups[g + 1] - groups[g] == 1
        # From the longest down.
        longest = sizes[order[groups[g]]]
        needed = max(needed, _room_alone(longest) if alone else room_lockstep(longest))
    if space.shape[0] < needed:
        space = np.empty(needed)
    cells = aligned(space)
    for g in range(begin, end):
        members = order[groups[g] : groups[g + 1]]
        if members.shape[0] > 1:
            _infer_together(
                scores, masses, sizes, offsets, members, single, wanted, out, totals, cells
            )
            continue
        s = members[0]
        width = sizes[s] + 1
        totals[0, s], totals[1, s] = _infer_one(
            _square(scores, offsets[s], width),
            _square(masses, offsets[s], width),
            single,
            wanted,
            True,
            _square(out, offsets[s], width),
            space,
        )
    return needed

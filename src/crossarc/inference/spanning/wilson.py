"""Spanning trees drawn at random by loop-erased walks (Wilson 1996).

From each word in turn, walk: step from m to h with probability w[h, m] / d_m, d_m = sum over h of
w[h, m], until a node of the tree is met; the last step from each word that was passed is its arc.
With a single root, its word r is drawn first by its marginal, and the walks end at r.

*How long it walks.* With several roots the expected number of steps is the sum over words m of
d_m / s_m, s_m as in `lifts` (Wilson 1996, section 3: m is left that often by a walk from m to the
root). On some scores that is millions: two words that are each other's best heads by far pass the
walk to and fro. With a single root at r it is the sum over m of d_m F_rm / Z_r, where Z_r is the
weight of the trees rooted at r and F_rm that of the forests rooted at r and m; the walk from m to
r and back spends F_rm / Z_r at m, and by going through another word a instead,

    F_rm / Z_r  <=  F_am / Z_a + (Z_m / Z_r) F_ar / Z_a

(time at m in a round trip m, a, r, a, m). r is root with probability w[0, r] Z_r / Z, so in the
mean the steps are at most

    sum over m of d_m F_am / Z_a  +  (sum over r of w[0, r] F_ar / Z_a) (sum over m of d_m Z_m / Z)

with F_am / Z_a = lift[0, m] when a is made the root, and Z_m / Z = lift[0, m]. No term is negative,
so that the bound is right to the last digits, too.

*Accuracy.* A step needs only the proportions of one column: float64 is enough at any scale.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.rng import State, below, uniform
from crossarc.inference.arithmetic.wide import ZERO, narrowed, normalised, plus
from crossarc.inference.spanning.lifts import wide_lifts
from crossarc.inference.spanning.wide_steps import column_tops, wide_weights
from crossarc.kernels import READ_FLOAT, kernel, subkernel

__all__ = ["draw_by_walks", "expected_steps"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ2 = types.Array(types.float64, 2, "C", readonly=True)


@subkernel()
def _leaving(weights: Floats, powers: Ints, m: int, end: int) -> tuple[float, int]:
    """d_m, over the first `end` columns."""
    total, power = 0.0, ZERO
    for h in range(end):
        total, power = plus(total, power, weights[m, h], powers[m, h])
    return normalised(total, power)


@subkernel()
def _visits(
    weights: Floats, powers: Ints, lifts: Floats, lift_powers: Ints, end: int
) -> tuple[float, int]:
    """Sum over m of d_m lift[0, m], d_m over the first `end` columns."""
    n = weights.shape[0]
    total, power = 0.0, ZERO
    for m in range(n):
        d, exponent = _leaving(weights, powers, m, end)
        term, exponent = normalised(d * lifts[m, n], exponent + lift_powers[m, n])
        total, power = plus(total, power, term, exponent)
    return total, power


@subkernel()
def _rooted_at(table: Floats, a: int) -> Floats:
    """Scores in which word a is the root; what has no rows has none then."""
    if table.shape[0] == 0:
        return table.copy()
    width = table.shape[0] - 1
    out = np.empty((width, width))
    for h in range(width):
        row = a if h == 0 else (h if h < a else h + 1)
        for m in range(width):
            out[h, m] = table[row, 0 if m == 0 else (m if m < a else m + 1)]
    return out


@subkernel()
def _round_trips(
    scores: Floats, label_sums: Floats, a: int, root_weights: Floats, root_powers: Ints
) -> tuple[float, float, int]:
    """Sum over m of d_m F_am / Z_a, and of w[0, m] F_am / Z_a, the second in wide numbers."""
    n = scores.shape[0] - 2
    if n == 0:
        return 0.0, 0.0, ZERO
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    lifts, lift_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    wide_lifts(
        _rooted_at(scores, a), _rooted_at(label_sums, a), False, weights, powers, lifts, lift_powers
    )
    steps, power = _visits(weights, powers, lifts, lift_powers, n + 1)
    roots, root_power = 0.0, ZERO
    for m in range(n):
        word = m if m + 1 < a else m + 1
        term, exponent = normalised(
            root_weights[word] * lifts[m, n], root_powers[word] + lift_powers[m, n]
        )
        roots, root_power = plus(roots, root_power, term, exponent)
    return narrowed(steps, power), roots, root_power


@kernel(types.float64(_READ2, _READ2, types.boolean, types.float64[::1]))
def expected_steps(scores: Floats, label_sums: Floats, single: bool, roots: Floats) -> float:
    """Expected steps for a tree, with a single root a bound on them; infinite beyond float64.

    Args:
        roots: with a single root, becomes the probability of each word to be it.
    """
    n = scores.shape[0] - 1
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    lifts, lift_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    wide_lifts(scores, label_sums, single, weights, powers, lifts, lift_powers)
    if not single:
        return narrowed(*_visits(weights, powers, lifts, lift_powers, n + 1))
    for m in range(n):
        product, power = normalised(weights[m, n] * lifts[m, n], powers[m, n] + lift_powers[m, n])
        roots[m] = narrowed(product, power)
    a = 1 + int(roots.argmax())
    steps, trips, trip_power = _round_trips(scores, label_sums, a, weights[:, n], powers[:, n])
    visits, visit_power = _visits(weights, powers, lifts, lift_powers, n)
    product, power = normalised(trips * visits, trip_power + visit_power)
    return steps + narrowed(product, power)


@subkernel()
def _running_shares(scores: Floats, label_sums: Floats, single: bool) -> Floats:
    """For each word, running sums of its chances to step to words 1..n and then to the root."""
    n = scores.shape[0] - 1
    column_max = np.empty(n + 1)
    column_tops(scores, n, single, column_max)
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    wide_weights(scores, label_sums, n, single, column_max, weights, powers)
    sums = np.zeros((n, n + 1))
    for m in range(n):
        passed = 0.0
        for h in range(n + 1):
            passed += narrowed(weights[m, h], powers[m, h])
            sums[m, h] = passed
    return sums


@kernel(
    types.void(_READ2, _READ2, types.boolean, READ_FLOAT, types.uint64[::1], types.int64[:, ::1])
)
def draw_by_walks(
    scores: Floats, label_sums: Floats, single: bool, roots: Floats, state: State, out: Ints
) -> None:
    """Independent trees of one sentence that has trees: heads, a row of `out` each.

    Args:
        label_sums: as in `infer_group`, empty without labels.
        roots: as from `expected_steps`.
        state: of the stream of chance; moved on.
    """
    n = scores.shape[0] - 1
    sums = _running_shares(scores, label_sums, single)
    root_sums = roots.cumsum()
    heads, reached = np.empty(n + 1, np.int64), np.empty(n + 1, np.bool_)
    for row in range(out.shape[0]):
        reached[:] = False
        reached[n] = True
        if single:
            r = below(root_sums, 0, n, uniform(state))
            heads[r], reached[r] = n, True
        for start in range(n):
            x = start
            while not reached[x]:
                heads[x] = below(sums[x], 0, n + 1, uniform(state))
                x = heads[x]
            x = start
            while not reached[x]:
                reached[x] = True
                x = heads[x]
        for m in range(n):
            out[row, m] = 0 if heads[m] == n else heads[m] + 1

"""Spanning trees drawn at random by loop-erased walks (Wilson 1996).

From each word in turn, walk: step from m to h with probability w[h, m] / d_m, d_m = sum over h of
w[h, m], until a node of the tree is met; the last step from each word that was passed is its arc.
With a single root, its word r is drawn first by its marginal, and the walks end at r.

*How long it walks.* With several roots the expected number of steps is the sum over words m of
d_m / s_m, s_m as in `weight_gradients` (Wilson 1996, section 3: m is left that often by a walk from
m to the root). On some scores that is millions: two words that are each other's best heads by far
pass the walk to and fro. With a single root at r it is the sum over m of d_m F_rm / Z_r, where Z_r
is the weight of the trees rooted at r and F_rm that of the forests rooted at r and m; the walk from
m to r and back spends F_rm / Z_r at m, and by going through another word a instead,

    F_rm / Z_r  <=  F_am / Z_a + (Z_m / Z_r) F_ar / Z_a

(time at m in a round trip m, a, r, a, m). r is root with probability w[0, r] Z_r / Z, so in the
mean the steps are at most

    sum over m of d_m F_am / Z_a  +  (sum over r of w[0, r] F_ar / Z_a) (sum over m of d_m Z_m / Z)

with F_am / Z_a = g[0, m] when a is made the root, and Z_m / Z = g[0, m], where g[h, m] is
d log Z / d w[h, m] (`weight_gradients`). No term is negative, so that the bound is right to the
last digits, too.

*Accuracy.* A step needs only the proportions of one column: float64 is enough at any scale.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.rng import State, below, uniform
from crossarc.inference.arithmetic.wide import ZERO, narrowed, normalised, plus
from crossarc.inference.spanning.matrix_tree.sums import weight_gradients
from crossarc.inference.spanning.sampling.elimination import find_weights
from crossarc.kernels import READ_FLOAT, kernel, subkernel

__all__ = ["draw_by_walks", "expected_steps"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ2_INT = types.Array(types.int64, 2, "C", readonly=True)
_TABLES = _READ2, _READ2_INT, _READ2, _READ2_INT
_LOWEST_EXPONENT = -2000


@subkernel()
def _leaving(weights: Floats, exponents: Ints, m: int, end: int) -> tuple[float, int]:
    """d_m, over the first `end` columns."""
    total, power = 0.0, ZERO
    for h in range(end):
        total, power = plus(total, power, weights[m, h], exponents[m, h])
    return normalised(total, power)


@subkernel()
def _visits(
    weights: Floats, exponents: Ints, gradients: Floats, gradient_exponents: Ints, end: int
) -> tuple[float, int]:
    """Sum over m of d_m g[0, m], d_m over the first `end` columns."""
    n = weights.shape[0]
    total, power = 0.0, ZERO
    for m in range(n):
        d, exponent = _leaving(weights, exponents, m, end)
        term, exponent = normalised(d * gradients[m, n], exponent + gradient_exponents[m, n])
        total, power = plus(total, power, term, exponent)
    return total, power


@kernel(types.float64(*_TABLES))
def _expected_steps(
    weights: Floats, weight_exponents: Ints, gradients: Floats, gradient_exponents: Ints
) -> float:
    """Expected steps with several roots."""
    columns = weights.shape[1]
    return narrowed(*_visits(weights, weight_exponents, gradients, gradient_exponents, columns))


@kernel(types.float64(*_TABLES, *_TABLES, types.int64))
def _single_root_bound(
    weights: Floats,
    weight_exponents: Ints,
    gradients: Floats,
    gradient_exponents: Ints,
    other_weights: Floats,
    other_exponents: Ints,
    other_gradients: Floats,
    other_gradient_exponents: Ints,
    a: int,
) -> float:
    """The bound on the expected steps, from tables of the sentence and with word a as its root."""
    n = weights.shape[0]
    steps, exponent = _visits(
        other_weights, other_exponents, other_gradients, other_gradient_exponents, n
    )
    # Sum over r of w[0, r] F_ar / Z_a.
    trips, trip_exponent = 0.0, ZERO
    for m in range(n - 1):
        r = m if m + 1 < a else m + 1
        term, power = normalised(
            weights[r, n] * other_gradients[m, n - 1],
            weight_exponents[r, n] + other_gradient_exponents[m, n - 1],
        )
        trips, trip_exponent = plus(trips, trip_exponent, term, power)
    visits, visit_exponent = _visits(weights, weight_exponents, gradients, gradient_exponents, n)
    product, power = normalised(trips * visits, trip_exponent + visit_exponent)
    return narrowed(steps, exponent) + narrowed(product, power)


def expected_steps(scores: Floats, label_sums: Floats, single: bool, roots: Floats) -> float:
    """Expected steps for a tree, with a single root a bound on them; infinite beyond float64.

    Args:
        scores, label_sums: of a sentence that has trees, as for `weight_gradients`.
        roots: with a single root, becomes the probability of each word to be it.
    """
    tables = weight_gradients(scores, label_sums, single)
    if not single:
        return _expected_steps(*tables)
    weights, exponents, gradients, gradient_exponents = (table[:, -1] for table in tables)
    shift = np.maximum(exponents + gradient_exponents, _LOWEST_EXPONENT).astype(np.int32)
    roots[:] = np.ldexp(weights * gradients, shift)
    if len(roots) == 1:
        return 0.0
    a = 1 + int(roots.argmax())
    words = np.delete(np.arange(len(scores)), [0, a])
    rooted = np.ix_([a, *words], [0, *words])
    others = weight_gradients(
        scores[rooted], label_sums[rooted] if len(label_sums) else label_sums, False
    )
    return _single_root_bound(*tables, *others, a)


@subkernel()
def _running_shares(scores: Floats, label_sums: Floats, single: bool) -> Floats:
    """For each word, running sums of the probabilities of steps to words 1..n, then to the root."""
    n = scores.shape[0] - 1
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    find_weights(scores, label_sums, single, weights, powers)
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
        label_sums: as in `matrix_tree.sums`, empty without labels.
        roots: as from `expected_steps`.
        state: of the random number generator; advanced.
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

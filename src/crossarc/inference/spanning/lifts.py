"""What a unit of weight on each arc is worth: d log Z / d w[h, m], in wide numbers.

With E[h, m] the probability that the walk from h reaches the root before m (docs/numerics.md),

    lift[h, m] = E[h, m] / s_m          s_m = sum over h of w[h, m] E[h, m]

so that w[h, m] lift[h, m] is the marginal of an arc, and lift[0, m] = 1 / s_m is the entry [m, m]
of the inverse of the Laplacian. Lifts exist for forbidden arcs, too. O(n^3), no subtraction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import normalised, plus
from crossarc.inference.spanning.wide import walk_wide
from crossarc.inference.spanning.wide_steps import column_tops, wide_weights
from crossarc.kernels import subkernel

__all__ = ["wide_lifts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def wide_lifts(
    scores: Floats,
    label_sums: Floats,
    single: bool,
    weights: Floats,
    weight_powers: Ints,
    lifts: Floats,
    lift_powers: Ints,
) -> bool:
    """Fill weights, relative to their column's top, and lifts; False when there is no tree.

    Tables are (n, n + 1): row m is word m + 1, column h is word h + 1, and the last is the root.
    """
    n = scores.shape[0] - 1
    column_max = np.empty(n + 1)
    column_tops(scores, n, single, column_max)
    wide_weights(scores, label_sums, n, single, column_max, weights, weight_powers)
    reach, reach_powers = np.empty((n, n)), np.empty((n, n), np.int64)
    pivots, pivot_powers = np.empty(n), np.empty(n, np.int64)
    if not walk_wide(weights, weight_powers, n, reach, reach_powers, pivots, pivot_powers):
        return False
    for m in range(n):
        total, power = weights[m, n], weight_powers[m, n]
        for h in range(n):
            term, exponent = normalised(
                weights[m, h] * reach[h, m], weight_powers[m, h] + reach_powers[h, m]
            )
            total, power = plus(total, power, term, exponent)
        if total == 0.0:
            return False
        lifts[m, n], lift_powers[m, n] = normalised(1.0 / total, -power)
        for h in range(n):
            lifts[m, h], lift_powers[m, h] = normalised(
                reach[h, m] / total, reach_powers[h, m] - power
            )
    return True

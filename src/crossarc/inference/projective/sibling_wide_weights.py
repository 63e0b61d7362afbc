"""The weights of sibling parts in numbers with a wide exponent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import LARGEST_SCORE, ZERO, exp_parts_wide, normalised
from crossarc.inference.projective.sibling_charts import part_place, part_range, row_place
from crossarc.inference.projective.weights import difference
from crossarc.kernels import subkernel

__all__ = ["best_parts", "wide_parts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel(inline=True)
def _raise(arcs: Floats, parts: Floats, column_max: Floats) -> bool:
    """column_max = max(column_max, arcs + parts); returns whether the scores can be summed over."""
    fit = True
    for m in range(arcs.shape[0]):
        usable = arcs[m] > -np.inf
        value = arcs[m] + parts[m] if usable else -np.inf
        fit &= (abs(arcs[m]) + abs(parts[m]) <= LARGEST_SCORE) | (not usable)
        column_max[m] = value if value > column_max[m] else column_max[m]
    return fit


@subkernel()
def best_parts(scores: Floats, rows: Floats, nodes: int, single: bool, potentials: Floats) -> bool:
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
            row = row_place(nodes, h, s)
            fit &= _raise(
                scores[at + first : at + last],
                rows[row + first : row + last],
                potentials[first:last],
            )
    for m in range(1, nodes if single else 1):
        if scores[m] > -np.inf:
            value = scores[m] + rows[m]
            fit &= abs(scores[m]) + abs(rows[m]) <= LARGEST_SCORE
            potentials[m] = value if potentials[m] == -np.inf else potentials[m]
    return fit


@subkernel()
def wide_parts(
    w: Floats,
    v: Ints,
    scores: Floats,
    rows: Floats,
    nodes: int,
    label_sums: Floats,
    single: bool,
    potentials: Floats,
) -> None:
    """The weights of parts, arcs included, cell by cell."""
    for h in range(nodes):
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            row = row_place(nodes, h, s)
            possible = s == h or scores[h * nodes + s] > -np.inf
            for m in range(first, last):
                if m == h:
                    continue
                at = part_place(h, s, m)
                arc = scores[h * nodes + m]
                w[at], v[at] = 0.0, ZERO
                if possible and arc > -np.inf:
                    x, tail = difference(arc, -rows[row + m])
                    x, more = difference(x, potentials[m])
                    mantissa, exponent = exp_parts_wide(x, tail + more)
                    if label_sums.shape[0] > 0:
                        mantissa *= label_sums[h * nodes + m]
                    w[at], v[at] = normalised(mantissa, exponent)

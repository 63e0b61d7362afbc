"""Marginals of parts of the sibling model, from the products of one lane to their rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import read_lane
from crossarc.inference.projective.lane_read import read_product
from crossarc.inference.projective.sibling_charts import part_place, part_range, row_place
from crossarc.kernels import subkernel

__all__ = ["read_parts"]

Floats = NDArray[np.float64]


@subkernel()
def read_parts(
    w: Floats,
    lane: int,
    scores: Floats,
    n: int,
    single: bool,
    headroom: int,
    quantity: int,
    out: Floats,
) -> float:
    """Marginals or their logarithms, from cells to rows; the smallest product that is allowed."""
    least = np.inf
    for h in range(n + 1):
        arcs = scores[h * (n + 1) : (h + 1) * (n + 1)]
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else n + 1):
            first, last = part_range(n + 1, h, s)
            row = row_place(n + 1, h, s)
            follows = s == h or arcs[s] > -np.inf
            for m in range(first, last):
                product = 0.0
                if m != h and follows and arcs[m] > -np.inf:
                    product = read_lane(w, part_place(h, s, m), lane)
                    least = min(least, product)
                out[row + m] = read_product(product, headroom, quantity)
    return least

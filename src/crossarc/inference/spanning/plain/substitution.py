"""E of eliminated nodes from that of nodes that were kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import Cells, fma, load, store
from crossarc.inference.spanning.plain.layout import FOUR, Layout
from crossarc.inference.spanning.plain.products import Matrix, add_product
from crossarc.kernels import subkernel

__all__ = ["substitute"]

Floats = NDArray[np.float64]


@subkernel(inline=True)
def _among_four(cells: Cells, at: Layout, last: int, step: int, a: int, b: int) -> None:
    """What four nodes owe to each other; `last` was eliminated last, then comes last - step."""
    n0, n1, n2, n3 = last - 3 * step, last - 2 * step, last - step, last
    stride = at.width + 1
    row0, row1 = at.shares + n0 * stride, at.shares + n1 * stride
    row2 = at.shares + n2 * stride
    s01, s02, s03 = load(cells, row0 + n1), load(cells, row0 + n2), load(cells, row0 + n3)
    s12, s13, s23 = load(cells, row1 + n2), load(cells, row1 + n3), load(cells, row2 + n3)
    reach0, reach1 = at.reach + n0 * at.width, at.reach + n1 * at.width
    reach2, reach3 = at.reach + n2 * at.width, at.reach + n3 * at.width
    for m in range(a, b):
        e3 = load(cells, reach3 + m)
        e2 = fma(s23, e3, load(cells, reach2 + m))
        e1 = fma(s12, e2, fma(s13, e3, load(cells, reach1 + m)))
        e0 = fma(s01, e1, fma(s02, e2, fma(s03, e3, load(cells, reach0 + m))))
        store(cells, reach2 + m, e2)
        store(cells, reach1 + m, e1)
        store(cells, reach0 + m, e0)


@subkernel()
def substitute(cells: Cells, at: Layout, low: int, high: int, kept: int, upper: bool) -> None:
    """E[k, m] = s[k, 0] + sum over x of s[k, x] E[x, m], m of the nodes that were kept.

    x are the nodes that were left when k was eliminated. Arguments as in `eliminate`.
    """
    width, stride, step = at.width, at.width + 1, 1 if upper else -1
    a, b = (kept, high) if upper else (low, kept)
    count = kept - low if upper else high - kept
    for place in range(0, count, FOUR):
        four = kept - FOUR - place if upper else kept + place
        first, last = (four + FOUR, high) if upper else (low, four)
        row, reach = at.shares + four * stride, Matrix(at.reach + four * width + a, width)
        for place_in_four in range(FOUR):
            root_share = load(cells, row + place_in_four * stride + width)
            for m in range(b - a):
                store(cells, reach.first + place_in_four * width + m, root_share)
        # Padding is last of all nodes, and zeros that come last change no sum.
        shares, known = Matrix(row + first, stride), Matrix(at.reach + first * width + a, width)
        add_product(cells, FOUR, b - a, last - first, 1, shares, known, reach, reach)
        _among_four(cells, at, four + FOUR - 1 if upper else four, step, a, b)

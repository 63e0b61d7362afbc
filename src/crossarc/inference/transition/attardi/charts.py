"""Where the items of Attardi's system lie in memory.

Nodes are 0 .. N-1, node 0 being `$`. An item [h1, i, h2 h3, j] stands for computations that begin
with the shift of i onto h1 and end with h2 h3 on top, j being next (Cohen et al. 2011, section 4).
Either h2 = h1, or h1 was removed and i <= h2:

    A[h1, i; h3, j]        h2 = h1 < i <= h3 < j <= N
    B[h2; h1, i; h3, j]    1 <= h1 < i <= h2 < h3 < j <= N

`$` is never removed, so h1 > 0 in B, and nothing but `$` lies on the bottom marker: [cent, 0, cent
0, j] is a chart G[j] of its own. All pairs (h3, j) with h3 >= k are neighbours, the last ones of a
row: a rule adds a multiple of one such tail to another. There are about N^5 / 120 items in B.

Two tables have the sums over the index that la1, ra1 and ra2 drop, for an item to the right of h2
(`joined` and `kept` below):

    M[h3, k; h2; e, j] = sum over h4 of  Y[h4 e] la1[h4, e]
                       + sum over h5 of  Y[e h5] (ra1[e, h5] + ra2[h2, e, h5])      e >= k
    R[h3, k; h2; j]    = sum over h5 of  Y[h3 h5] (ra1[h3, h5] + ra2[h2, h3, h5])

with Y[x y] = [h3, k, x y, j]. So [h1, i, h2 e, j] is the sum over h3 and k of [h1, i, h2 h3, k]
times M, and for e = h3 times R: O(n^7) products in place of O(n^8).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["CHARTS", "WEIGHTS", "Charts", "Weights", "b_row", "pairs_from", "tail"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Weights(NamedTuple):
    """Of the transitions of a sentence, by the nodes on top of the stack; the topmost is b1.

    Those of la2 and ra2 are tables [b3, pair of b2 < b1], pairs in lexicographic order.
    """

    #: [b1, node shifted]
    sh: Floats
    #: [b2, b1]
    la1: Floats
    #: [b2, b1]
    ra1: Floats
    la2: Floats
    ra2: Floats


class Charts(NamedTuple):
    """Items and tables of a sentence, and where the parts of each begin."""

    a: Floats
    b: Floats
    joined: Floats
    kept: Floats
    #: G[j]
    goal: Floats
    #: A[0, i; ...] by i; B[h2; ...] by h2
    a_begin: Ints
    b_begin: Ints
    #: M[h3, k; ...] and R[h3, k; ...] by h3 and k
    joined_begin: Ints
    kept_begin: Ints
    #: One of `vectors`, and its zero
    semiring: int
    zero: float


_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_I1, _I2 = types.int64[::1], types.int64[:, ::1]
WEIGHTS = types.NamedUniTuple(_F2, 5, Weights)
CHARTS = types.NamedTuple((*[_F1] * 5, _I1, _I1, _I2, _I2, types.int64, types.float64), Charts)


@subkernel(inline=True)
def tail(nodes: int, k: int) -> int:
    """The number of pairs (e, j), k <= e < j <= N."""
    return (nodes - k) * (nodes - k + 1) // 2


@subkernel(inline=True)
def pairs_from(nodes: int, k: int) -> int:
    """The number of pairs of nodes from k on."""
    return (nodes - k) * (nodes - k - 1) // 2


@subkernel(inline=True)
def b_row(charts: Charts, nodes: int, h2: int, h1: int, i: int) -> int:
    """Where the pairs (h3, j) of B[h2; h1, i] end; those from k on are the last `tail(N, k)`."""
    row = (i - 1) * (i - 2) // 2 + h1
    return int(charts.b_begin[h2] + row * tail(nodes, h2 + 1))

"""The best spanning tree of a dense graph, in O(n^2) time and memory.

Chu & Liu (1965) and Edmonds (1967): give every word its best head; where these arcs close a cycle
C, shrink C to one node and go on. An arc that enters C at x is worth what all of C is worth when
it is entered there,

    row_C(h) = max over x in C of  row_x(h) + sum over y in C, y != x, of value(y)

with row_m(h) = scores[h, m] for a word m, and value(y) the best of row_y. Following arcs from node
to node and shrinking a cycle as soon as the path meets itself (Gabow, Galil, Spencer & Tarjan 1986)
takes fewer than 2n rows of n + 1 entries.

*Rounding.* Textbooks subtract value(x) from row_x. To add the other values instead differs by a
constant per cycle and never cancels: every number compared is a float64 sum of the scores of an
actual tree over the words of one node, wrong by at most n eps times their summed sizes. So each of
the fewer than 2n choices errs only between partial trees that such sums cannot tell apart, however
large the scores that are in neither. Where sums might overflow, all scores are first multiplied
by a power of two.

*Root rule.* Several roots: the root is a head like any other. Single root: the tree with the fewest
root arcs and among those the highest score, by the same steps with pairs (root arcs, score) in this
order: a node takes a root arc only when no other is left, and a second one means that there is no
tree. A cycle shrunk under the plain order is one under this order too, so the search starts with
the plain order, which settles most sentences of a trained parser, and takes its root arcs back only
when it meets a second one.

*Ties.* At each choice the smaller head wins (the root is the smallest), then the node that the path
reached first. So if the best heads of all words, the smallest where there are several, form a tree
with allowed roots, that tree is returned. Otherwise it is one of the best trees: the same for the
same array on every IEEE platform and any number of threads, but not one that a rule could name.

*Speed.* Where the best heads are a tree, one pass over the array is nearly all. On random scores no
loop dominates: the rows of cycles, read from columns, merged and scanned, take about half of the
time, the first pass a tenth, and following lists of nodes and words the rest.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import SHRINK
from crossarc.inference.spanning.contraction import (
    FIELDS,
    INFEASIBLE,
    MULTI,
    OVERFLOW,
    SINGLE,
    contract,
    expand,
)
from crossarc.kernels import READ_INT, kernel

__all__ = ["best_heads", "best_heads_batch"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_INT = types.int64
_INTS = types.int64[::1]
_FLOATS = types.float64[::1]


@kernel(types.void(_FLOATS, READ_INT, READ_INT, types.boolean, _INTS, _INT, _INT))
def best_heads_batch(
    flat_scores: Floats,
    sizes: Ints,
    offsets: Ints,
    single_root: bool,
    out_heads: Ints,
    begin: int,
    end: int,
) -> None:
    """The best tree of each sentence begin..end - 1, O(n^2) each.

    Sentence i has sizes[i] words; its scores stand row after row from flat_scores[offsets[i]].
    Heads go to `out_heads`, one sentence after the other; all are -1 where there is no tree.
    """
    longest = sizes[begin:end].max() if begin < end else 0
    node = np.empty((FIELDS, 2 * longest + 1), np.int64)
    real = np.empty((2, 2 * longest + 1))
    rows = np.empty((2 * longest + 1, longest + 1))
    rule = SINGLE if single_root else MULTI
    place = sizes[:begin].sum()
    for i in range(begin, end):
        n = sizes[i]
        scores = flat_scores[offsets[i] : offsets[i] + (n + 1) * (n + 1)]
        heads = out_heads[place : place + n]
        place += n
        last = contract(scores, n, rule, node, real, rows)
        if last == OVERFLOW:
            last = contract(scores * SHRINK, n, rule, node, real, rows)
        if last == INFEASIBLE:
            heads[:] = -1
        else:
            expand(last, 0, heads, node, real, rows)


def best_heads(scores: Floats, single_root: bool) -> Ints:
    """Heads of the best tree of one (n+1, n+1) array; all -1 when there is none."""
    n = scores.shape[0] - 1
    heads = np.empty(n, np.int64)
    zero = np.zeros(1, np.int64)
    best_heads_batch(scores.flatten(), zero + n, zero, single_root, heads, 0, 1)
    return heads

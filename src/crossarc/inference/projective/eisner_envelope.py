"""Potentials under which no partial tree weighs more than 1, and few weigh much less.

If p[m] is taken from all scores into word m, an item over words a..b-1 loses p[a] + ... + p[b-1] =
U[b] - U[a]. No item is above 1 if U[b] - U[a] is at least the score of the best one, for all a < b.
The tightest such U from the left is the longest way,

    U[b] = max over a < b of  U[a] + best item over a..b-1,

and so it is from the right. The mean of both has the property, too, and was the best of the three
on random scores. Only C> and C< need be looked at: I> and I< are among the ways to make them, and B
is two of them side by side. Items of the root are left out, so a word that only the root can govern
has the score of that arc for a potential.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import load_scalar
from crossarc.inference.arithmetic.semirings import BEST
from crossarc.inference.projective.eisner_best import fill_arcs
from crossarc.inference.projective.eisner_inside import inside_pass
from crossarc.inference.projective.panels import FACTORS, part, room, width_of
from crossarc.inference.projective.weights import best_scores
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["envelope"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_inside = inside_pass(BEST)


@subkernel()
def _from_left(space: Floats, nodes: int, column_max: Floats, ways: Floats) -> None:
    """The longest way from word 1 to every place; an end that cannot be reached takes `column_max`."""
    width = width_of(nodes)
    rights = part(width, FACTORS)
    lefts = rights + 2 * width * width
    for place in range(nodes + 1):
        ways[place] = -np.inf
    ways[1] = 0.0
    for i in range(1, nodes):
        # C<(i, j) is over i..j-1, C>(i, j) over i+1..j.
        for j in range(i + 1, nodes):
            ways[j] = max(ways[j], ways[i] + load_scalar(space, lefts + i * width + j))
        if ways[i + 1] == -np.inf:
            ways[i + 1] = ways[i] + column_max[i]
        for j in range(i + 1, nodes):
            ways[j + 1] = max(ways[j + 1], ways[i + 1] + load_scalar(space, rights + i * width + j))


@subkernel()
def _from_right(space: Floats, nodes: int, column_max: Floats, ways: Floats) -> None:
    """The longest way from every place to the end of the sentence."""
    width = width_of(nodes)
    rights = part(width, FACTORS)
    lefts = rights + 2 * width * width
    ways[nodes] = 0.0
    for a in range(nodes - 1, 0, -1):
        best = -np.inf
        for j in range(a + 1, nodes):
            best = max(best, ways[j] + load_scalar(space, lefts + a * width + j))
        for j in range(a, nodes if a > 1 else 0):
            best = max(best, ways[j + 1] + load_scalar(space, rights + (a - 1) * width + j))
        ways[a] = best if best > -np.inf else ways[a + 1] + column_max[a]


@kernel(types.void(READ_FLOAT, READ_INT, READ_INT, types.boolean, types.float64[::1]))
def envelope(
    flat_scores: Floats, sizes: Ints, offsets: Ints, single_root: bool, out: Floats
) -> None:
    """The potentials of the words of each sentence, O(n^3) each.

    Scores as for `best_heads_batch`, but not so large that sums could overflow. Potentials go to
    `out`, one sentence after the other; all are NaN where there is no tree.
    """
    longest, place = sizes.max(), 0
    space = np.zeros(room(longest + 1))
    column_max, left, right = np.empty(longest + 1), np.empty(longest + 2), np.empty(longest + 2)
    for s in range(sizes.shape[0]):
        nodes, at = sizes[s] + 1, offsets[s]
        scores = flat_scores[at : at + nodes * nodes]
        fill_arcs(space, scores, nodes)
        if _inside(space, nodes, single_root) > -np.inf:
            best_scores(scores, nodes, single_root, column_max)
            _from_left(space, nodes, column_max, left)
            _from_right(space, nodes, column_max, right)
            for m in range(1, nodes):
                grown = left[m + 1] - left[m] + right[m] - right[m + 1]
                out[place + m - 1] = 0.5 * grown
        else:
            out[place : place + nodes - 1] = np.nan
        place += nodes - 1

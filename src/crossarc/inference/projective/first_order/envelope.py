"""Potentials under which no partial tree weighs more than 1, and few weigh much less.

For sentences whose items lie too far apart for float64 relative to the best score into each word.
If p[m] is taken from all
scores into word m, an item over words a..b-1 loses p[a] + ... + p[b-1] = U[b] - U[a]. No item is
above 1 if U[b] - U[a] is at least the score of the best one, for all a < b. The tightest such U
from the left is the longest path,

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

from crossarc.inference.arithmetic.lanes import data_pointer, load_scalar
from crossarc.inference.arithmetic.semirings import BEST
from crossarc.inference.projective.arcs import column_maximum
from crossarc.inference.projective.first_order.best import fill_scores
from crossarc.inference.projective.first_order.blocked_passes import inside_pass
from crossarc.inference.projective.first_order.blocks import FACTORS, TRANSPOSED, region, width_of
from crossarc.inference.runtime.lockstep import PROGRESS, claim, complete
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["envelope"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _BOOL = types.float64[::1], types.boolean

_best_inside = inside_pass(BEST)


@subkernel()
def _from_left(charts: Floats, nodes: int, column_max: Floats, longest: Floats) -> None:
    """The longest path from word 1 to each position; an end out of reach takes `column_max`."""
    width = width_of(nodes)
    rights = region(width, FACTORS)
    lefts = rights + 2 * width * width
    for index in range(nodes + 1):
        longest[index] = -np.inf
    longest[1] = 0.0
    for i in range(1, nodes):
        # C<(i, j) is over i..j-1, C>(i, j) over i+1..j.
        for j in range(i + 1, nodes):
            longest[j] = max(longest[j], longest[i] + load_scalar(charts, lefts + i * width + j))
        if longest[i + 1] == -np.inf:
            longest[i + 1] = longest[i] + column_max[i]
        for j in range(i + 1, nodes):
            longest[j + 1] = max(
                longest[j + 1], longest[i + 1] + load_scalar(charts, rights + i * width + j)
            )


@subkernel()
def _from_right(charts: Floats, nodes: int, column_max: Floats, longest: Floats) -> None:
    """The longest path from every position to the end of the sentence."""
    width = width_of(nodes)
    rights = region(width, FACTORS)
    lefts = rights + 2 * width * width
    longest[nodes] = 0.0
    for a in range(nodes - 1, 0, -1):
        best = -np.inf
        for j in range(a + 1, nodes):
            best = max(best, longest[j] + load_scalar(charts, lefts + a * width + j))
        for j in range(a, nodes if a > 1 else 0):
            best = max(best, longest[j + 1] + load_scalar(charts, rights + (a - 1) * width + j))
        longest[a] = best if best > -np.inf else longest[a + 1] + column_max[a]


@subkernel()
def _find_envelope(
    charts: Floats, scores: Floats, nodes: int, single: bool, buffers: Floats, out: Floats
) -> None:
    best, left, right = buffers[0], buffers[1], buffers[2]
    column_maximum(data_pointer(best), data_pointer(scores), nodes, single)
    _from_left(charts, nodes, best, left)
    _from_right(charts, nodes, best, right)
    for m in range(1, nodes):
        out[m - 1] = 0.5 * (left[m + 1] - left[m] + right[m] - right[m + 1])


@kernel(
    types.void(
        READ_FLOAT, READ_INT, READ_INT, _BOOL, _F1, READ_INT, READ_INT, READ_INT, PROGRESS, _F1
    )
)
def envelope(
    scores: Floats,
    sizes: Ints,
    offsets: Ints,
    single: bool,
    potentials: Floats,
    word_offsets: Ints,
    order: Ints,
    starts: Ints,
    progress: Ints,
    workspace: Floats,
) -> None:
    """The potentials of the words of each sentence, O(n^3) each; all NaN where there is no tree.

    Scores must not be so large that sums could overflow.
    """
    workspace[: region(width_of(sizes[order[0]] + 1), TRANSPOSED)] = 0.0
    buffers = np.empty((3, sizes[order[0]] + 2))
    item = claim(progress)
    while item < starts.shape[0] - 1:
        s = order[starts[item]]
        n, first = sizes[s], word_offsets[s]
        own = scores[offsets[s] : offsets[s] + (n + 1) * (n + 1)]
        fill_scores(workspace, own, n + 1)
        if _best_inside(workspace, n + 1, single) > -np.inf:
            _find_envelope(workspace, own, n + 1, single, buffers, potentials[first : first + n])
        else:
            potentials[first : first + n] = np.nan
        complete(progress)
        item = claim(progress)

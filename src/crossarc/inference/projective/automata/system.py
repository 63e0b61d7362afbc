"""What head automata know, and the tables of their items; see `rules`.

Tables are indexed by contexts, ranks and counts, so that they grow with the arcs that are allowed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.projective.automata.layout import LAYOUT, Layout, pair
from crossarc.kernels import kernel, subkernel

__all__ = ["FIRST_PARTS", "FirstParts", "System", "most_instances", "open_system"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]


class System(NamedTuple):
    """What the automata know, and the items written so far; -1 where one cannot be built."""

    #: Whether contexts are arcs, and whether states are two modifiers.
    grand: bool
    second: bool
    #: The largest count of each node, 0 where it is not counted; one more than the largest of all.
    top: Shorts
    counts: int
    #: The contexts of node h are contexts[first_context[h]], ...
    first_context: Shorts
    contexts: Shorts
    #: Of each context, -1 for none.
    grandparent: Shorts
    #: [2 c + side]: how many modifiers a context may have.
    length: Shorts
    #: Of each arc: the context of its modifier, and the item that scores it.
    context_of: Shorts
    arc: Shorts
    #: C and D by [c, side, q, e].
    exact: Shorts
    at_most: Shorts
    #: S by [s, j, i], s being a rank, for the h and m in hand; without grandparents also
    #: by [side, s, m, j, i], s being a word.
    near: Shorts
    between: Shorts
    #: Of the contexts of h and the m in hand; see `_score_contexts`.
    part: Ints
    leaf: Ints
    #: L by [first_last[2 c + side] + m - 1, i, q].
    first_last: Ints
    last: Shorts
    #: I by [first_state[2 c + side] + pair, i, q].
    first_state: Ints
    state: Shorts


class FirstParts(NamedTuple):
    """The number of the first part of each factor, -1 for one that is not scored."""

    sibling: int
    grandchild: int
    grand_sibling: int
    tri_sibling: int


#: The type of `FirstParts`.
FIRST_PARTS = types.NamedUniTuple(types.int64, 4, FirstParts)


@subkernel()
def _top(layout: Layout) -> Shorts:
    """The largest count of each node; 0 where it may have all its candidates, or one side only."""
    width = layout.rank.shape[0]
    top = np.zeros(width, np.int32)
    for h in range(width):
        candidates = layout.first[2 * h + 2] - layout.first[2 * h]
        if layout.limits[h] < candidates and (h > 0 or layout.limits[0] > 1):
            top[h] = layout.limits[h]
    return top


@kernel(types.int64(LAYOUT, types.boolean, types.boolean))
def most_instances(layout: Layout, grand: bool, second: bool) -> int:
    """No forest of these arcs has more rule instances, labels apart."""
    width, first, modifier = layout.rank.shape[0], layout.first, layout.modifier
    values = _top(layout).astype(np.int64) + 1
    total = modifier.shape[0] + 1
    if not grand:
        for i in range(width):
            for j in range(i + 1, width):
                total += 2 * (j - i) * values[i] * values[j]
    below = np.zeros(width + 1, np.int64)
    for one in range(2 * width):
        h, begin, k = one // 2, first[one], first[one + 1] - first[one]
        singles, states = 0, 0
        for r in range(1, k + 1):
            m = modifier[begin + r - 1]
            # below[r]: the instances of a context that has r modifiers on this side.
            own = 2 + states + 2 * r if second else 2 + singles
            below[r] = below[r - 1] + values[h] * values[m] * (own + 1 + width - abs(m - h))
            singles += values[m]
            states += values[m] * r
            for s in range(r if grand else 0):
                inner = modifier[begin + s - 1] if s > 0 else h
                total += values[inner] * values[m] * (abs(m - inner) + 1)
        more = 3 * values[h] * width
        if not grand or h == 0:
            total += below[k] + more
        else:
            for x in range(layout.first_entering[h], layout.first_entering[h + 1]):
                a = 2 * layout.entering[x] + one % 2
                total += below[layout.grand[a + 1] - layout.grand[a]] + more
    return int(total)


@subkernel()
def _lengths(layout: Layout, grand: bool, contexts: int) -> Shorts:
    """[2 c + side]: how many modifiers a context may have."""
    length = np.empty(2 * contexts, np.int32)
    for one in range(2 * contexts):
        if grand and one < 2 * contexts - 2:
            length[one] = layout.grand[one + 1] - layout.grand[one]
        else:
            own = one % 2 if grand else one
            length[one] = layout.first[own + 1] - layout.first[own]
    return length


@subkernel()
def _offsets(length: Shorts, pairs: bool) -> Ints:
    """Where the modifiers, or the pairs, of each context begin."""
    offsets = np.zeros(length.shape[0] + 1, np.int64)
    for one in range(length.shape[0]):
        size = length[one]
        offsets[one + 1] = offsets[one] + (pair(size + 1, 0) if pairs else size)
    return offsets


@subkernel()
def open_system(layout: Layout, arc: Shorts, grand: bool, second: bool) -> System:
    """Tables with no items but those of arcs."""
    width, arcs = layout.rank.shape[0], layout.head.shape[0]
    top = _top(layout)
    counts = int(top.max()) + 1
    contexts = arcs + 1 if grand else width
    first_context, order = np.empty(width + 1, np.int32), np.empty(contexts, np.int32)
    grandparent, context_of = np.full(contexts, -1, np.int32), np.empty(arcs, np.int32)
    for a in range(arcs):
        context_of[a] = a if grand else layout.modifier[a]
        if grand:
            grandparent[a], order[a + 1] = layout.head[a], layout.entering[a]
    for h in range(width + 1):
        first_context[h] = layout.first_entering[h] + 1 if grand else h
    if grand:
        first_context[0], order[0] = 0, arcs
    else:
        order[:] = first_context[:width]
    length = _lengths(layout, grand, contexts)
    first_last, first_state = _offsets(length, False), _offsets(length, True)
    exact = np.full(contexts * 2 * counts * width, -1, np.int32)
    squares = counts * counts
    return System(
        grand,
        second,
        top,
        counts,
        first_context,
        order,
        grandparent,
        length,
        context_of,
        arc,
        exact,
        exact if counts == 1 else np.full(exact.shape[0], -1, np.int32),
        np.full(width * squares, -1, np.int32),
        np.full(0 if grand else 2 * width * width * squares, -1, np.int32),
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        first_last,
        np.full(first_last[-1] * squares, -1, np.int32),
        first_state,
        np.full(first_state[-1] * squares if second else 0, -1, np.int32),
    )

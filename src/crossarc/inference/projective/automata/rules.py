"""Projective trees by split head automata (Eisner 2000; Koo & Collins 2010, models 0 to 2).

Each head has two automata that read its modifiers on the left and on the right, from the inside
out. What an automaton knows decides which factors it can score:

    context c       the head h itself, or the arc g -> h where a factor has a grandparent
    state           the last modifier m, or the last two, s and m, where tri-siblings are scored
    count q         its modifiers so far, where fewer are allowed (`max_modifiers`) than could be

Items on the right of h; those on the left are mirror images. A modifier m of h has a context of its
own, c' (m, or h -> m), and is said to be *open* until its outer half is complete; it then carries
the number i of modifiers of its inner half, the one that faces h.

    C(c, e, q)          the half of h up to e, complete, with q modifiers
    D(c, e, q)          the same with at most q modifiers
    S(h, s, j, m, i)    the outer half of s, whose inner one has j, and the inner half of m
    I(c, s, m, i, q)    the half of h up to its modifier m, which is open; s before it, or none
    L(c, m, i, q)       the same, whatever s

Rules (b = limit of s - j, or limit of m - i)            parts
    C(m', h+1, i)                     =>  S(h, -, m, i)      sibling (h, h, m)
    D(s', k, b)  C(m', k+1, i)        =>  S(h, s, j, m, i)   sibling (h, s, m)
    C(c, h, 0)  S(h, -, m, i)         =>  I(c, -, m, i, 1)   grandchild, grand-sibling (g, h, h, m)
    I(c, t, s, j, q) S(h, s, j, m, i) =>  I(c, s, m, i, q+1) grandchild (g, h, m), grand-sibling
                                                             (g, h, s, m), tri-sibling (h, t, s, m)
    I(c, s, m, i, q)                  =>  L(c, m, i, q)      -
    L(c, m, i, q)  D(m', e, b)        =>  C(c, e, q)         -

C(c, h, 0) is an axiom; where it faces g it scores the arc g -> h, with an instance for each label.
Goal D(root, n, limit). A rule with several parts is several rules. Without tri-siblings I does not
know s, and L is I. Without grandparents S does not know h, and sibling part and arc go to the rules
for I. Counts are 0 where a head has no more candidates than it may have modifiers. A single root is
a limit of 1. A tree has exactly one derivation: modifiers are added from the inside out.

Rule instances, for A arcs, contexts included, and lists of k modifiers, n^2 and n when dense:

    A k^2 + A n         with sibling parts only         n^3 dense
    A k^2 + A k n       with grandparents               5 n^4 / 12 dense
    A k^2 + A k n       with tri-siblings               n^4 / 12 dense
    A k^3 + A k n       with both                       n^5 / 30 dense

and with limits of M modifiers up to M^3 times as many. Koo & Collins score tri-siblings in O(n^4)
beside grand-siblings because only the two outermost modifiers know their grandparent; here all do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import Arrays, Chart, add, close, open_chart, trimmed
from crossarc.inference.projective.automata.layout import LAYOUT, Layout, pair, triple
from crossarc.kernels import kernel, subkernel

__all__ = ["FirstParts", "emit_automata", "most_instances"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_SCORES = types.Array(types.float64, 3, "C", readonly=True)
_ARRAYS = types.UniTuple(types.int32[::1], 4)


class _System(NamedTuple):
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


_FIRST_PARTS = types.NamedUniTuple(types.int64, 4, FirstParts)


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
    total = np.int64(modifier.shape[0] + 1)
    if not grand:
        for i in range(width):
            for j in range(i + 1, width):
                total += 2 * (j - i) * values[i] * values[j]
    below = np.zeros(width + 1, np.int64)
    for one in range(2 * width):
        h, begin, k = one // 2, first[one], first[one + 1] - first[one]
        singles, states = np.int64(0), np.int64(0)
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
    return total


@subkernel()
def _arc_items(chart: Chart, scores: Floats, layout: Layout) -> Shorts:
    """For each arc an item that has its labels as instances."""
    width, labels = scores.shape[0], scores.shape[2]
    items = np.empty(layout.head.shape[0], np.int32)
    for a in range(items.shape[0]):
        cell = (layout.head[a] * width + layout.modifier[a]) * labels
        for label in range(labels):
            if scores[layout.head[a], layout.modifier[a], label] > -np.inf:
                add(chart, -1, -1, cell + label)
        items[a] = close(chart)
    return items


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
        size = np.int64(length[one])
        offsets[one + 1] = offsets[one] + (pair(size + 1, 0) if pairs else size)
    return offsets


@subkernel()
def _system(layout: Layout, arc: Shorts, grand: bool, second: bool) -> _System:
    """Tables with no items but those of arcs."""
    width, arcs = layout.rank.shape[0], layout.head.shape[0]
    top = _top(layout)
    counts = np.int64(top.max()) + 1
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
    return _System(
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
        first_last,
        np.full(first_last[-1] * squares, -1, np.int32),
        first_state,
        np.full(first_state[-1] * squares if second else 0, -1, np.int32),
    )


@subkernel()
def _after(chart: Chart, item: int, other: int, part: int) -> int:
    """The item of a rule for one more part, or tail; the item itself where there is neither."""
    if item < 0 or (other < 0 and part < 0):
        return item
    add(chart, item, other, part)
    return close(chart)


@subkernel()
def _join(chart: Chart, lefts: Shorts, left: int, rights: Shorts, right: int, n: int) -> None:
    """Instances of n pairs of tails that stand next to each other in two tables."""
    e = chart.used[1]
    for k in range(n):
        if lefts[left + k] >= 0 and rights[right + k] >= 0:
            chart.left[e], chart.right[e] = lefts[left + k], rights[right + k]
            chart.part[e] = -1
            e += 1
    chart.used[1] = e


@subkernel()
def _neighbours(
    chart: Chart,
    own: _System,
    side: int,
    s: int,
    s_context: int,
    m: int,
    m_context: int,
    part: int,
    out: Shorts,
) -> None:
    """S of two words that follow each other on a side of their head, by [j, i]."""
    width, counts, i, n = own.top.shape[0], own.counts, min(s, m), abs(m - s)
    for s_count in range(own.top[s] + 1):
        outer = ((2 * s_context + side) * counts + own.top[s] - s_count) * width
        for m_count in range(own.top[m] + 1):
            inner = ((2 * m_context + 1 - side) * counts + m_count) * width
            if side == 1:
                _join(chart, own.at_most, outer + i, own.exact, inner + i + 1, n)
            else:
                _join(chart, own.exact, inner + i, own.at_most, outer + i + 1, n)
            out[s_count * counts + m_count] = _after(chart, close(chart), -1, part)


@subkernel()
def _all_neighbours(
    chart: Chart, layout: Layout, own: _System, parts: FirstParts, h: int, m: int
) -> None:
    """S of m after each modifier before it, and as the first, into `near`."""
    side = 1 if m > h else 0
    width, counts, begin, r = (
        own.top.shape[0],
        own.counts,
        layout.first[2 * h + side],
        layout.rank[h, m],
    )
    squares = counts * counts
    numbers = layout.pairs[2 * h + side] + pair(np.int64(r), 0)
    context = own.context_of[begin + r - 1]
    scored = own.grand and parts.sibling >= 0
    for i in range(own.top[m] + 1):
        row = ((2 * context + 1 - side) * counts + i) * width
        item = own.exact[row + h + 2 * side - 1]
        own.near[i] = _after(chart, item, -1, parts.sibling + numbers if scored else -1)
    for rank in range(1, r if layout.limits[h] >= 2 else 1):
        s, out = layout.modifier[begin + rank - 1], own.near[rank * squares :]
        if own.grand:
            part = parts.sibling + numbers + rank if scored else -1
            s_context = own.context_of[begin + rank - 1]
            _neighbours(chart, own, side, s, s_context, m, context, part, out)
        else:
            known = ((side * width + s) * width + m) * squares
            out[:squares] = own.between[known : known + squares]


class _Scoring(NamedTuple):
    """How a modifier of a context is scored, beside tri-siblings."""

    #: The part of modifier m after s is part + s * step, s being a rank; none where part is -1.
    part: int
    step: int
    #: An item that scores m whatever s, or -1.
    leaf: int


@subkernel()
def _scoring(
    chart: Chart, layout: Layout, own: _System, parts: FirstParts, c: int, h: int, m: int
) -> _Scoring:
    """Of m as a modifier of h in context c."""
    side = 1 if m > h else 0
    r = np.int64(layout.rank[h, m])
    if not own.grand:
        part = parts.sibling
        if part >= 0:
            part += layout.pairs[2 * h + side] + pair(r, 0)
        leaf = np.int64(own.arc[layout.first[2 * h + side] + r - 1])
        return _Scoring(part, 1, leaf)
    if own.grandparent[c] < 0:
        return _Scoring(-1, 0, -1)
    grandchild = parts.grandchild
    if grandchild >= 0:
        grandchild += layout.grand[2 * c + side] + r - 1
    if parts.grand_sibling < 0:
        return _Scoring(grandchild, 0, -1)
    leaf = np.int64(-1)
    if grandchild >= 0:
        add(chart, -1, -1, grandchild)
        leaf = close(chart)
    return _Scoring(parts.grand_sibling + layout.grand_pairs[2 * c + side] + pair(r, 0), 1, leaf)


@subkernel()
def _states_by_last(
    chart: Chart, layout: Layout, own: _System, c: int, h: int, m: int, scoring: _Scoring
) -> None:
    """L(c, m, i, q) for all counts, where I does not know the modifier before."""
    side = 1 if m > h else 0
    counts, begin, r = own.counts, layout.first[2 * h + side], layout.rank[h, m]
    squares, counted = counts * counts, 1 if own.top[h] > 0 else 0
    start = own.exact[(2 * c + side) * counts * own.top.shape[0] + h]
    before = r if layout.limits[h] >= 2 else 1
    left, right, parts, last, near = chart.left, chart.right, chart.part, own.last, own.near
    first = own.first_last[2 * c + side]
    for i in range(own.top[m] + 1):
        for q in range(counted, own.top[h] + 1):
            if q == counted and near[i] >= 0:
                add(chart, start, near[i], scoring.part)
            e = chart.used[1]
            for s in range(1, before):
                part = scoring.part + s * scoring.step if scoring.part >= 0 else -1
                for j in range(own.top[layout.modifier[begin + s - 1]] + 1):
                    tail = last[(first + s - 1) * squares + j * counts + q - counted]
                    other = near[s * squares + j * counts + i]
                    if tail >= 0 and other >= 0:
                        left[e], right[e], parts[e] = tail, other, part
                        e += 1
            chart.used[1] = e
            item = _after(chart, close(chart), scoring.leaf, -1)
            last[(first + r - 1) * squares + i * counts + q] = item


@subkernel()
def _add_states(
    chart: Chart, states: Shorts, first: int, step: int, count: int, other: int, part: int
) -> None:
    """Instances of I(c, t, s) for each t, none first, with the parts of the others."""
    e, left, right, parts = chart.used[1], chart.left, chart.right, chart.part
    for t in range(count):
        if states[first + t * step] >= 0:
            left[e], right[e] = states[first + t * step], other
            parts[e] = part + t - 1 if part >= 0 and t > 0 else -1
            e += 1
    chart.used[1] = e


@subkernel()
def _states_by_two(
    chart: Chart,
    layout: Layout,
    own: _System,
    tri_sibling: int,
    c: int,
    h: int,
    m: int,
    scoring: _Scoring,
) -> None:
    """I(c, s, m, i, q) for all s and counts, and L(c, m, i, q)."""
    side = 1 if m > h else 0
    counts, begin, r = own.counts, layout.first[2 * h + side], np.int64(layout.rank[h, m])
    squares, counted = counts * counts, 1 if own.top[h] > 0 else 0
    start = own.exact[(2 * c + side) * counts * own.top.shape[0] + h]
    before = r if layout.limits[h] >= 2 else 1
    first, state, near = own.first_state[2 * c + side], own.state, own.near
    for i in range(own.top[m] + 1):
        for q in range(counted, own.top[h] + 1):
            if q == counted and near[i] >= 0:
                add(chart, start, near[i], -1)
            for s in range(before):
                tri = tri_sibling + layout.triples[2 * h + side] + triple(r, np.int64(s), 1)
                for j in range(own.top[layout.modifier[begin + s - 1]] + 1 if s > 0 else 0):
                    tails = (first + pair(s, 0)) * squares + j * counts + q - counted
                    other = near[s * squares + j * counts + i]
                    if other >= 0:
                        _add_states(chart, state, tails, squares, s, other, tri)
                part = scoring.part + s * scoring.step if scoring.part >= 0 else -1
                item = _after(chart, close(chart), scoring.leaf, part)
                state[(first + pair(r, s)) * squares + i * counts + q] = item
            for s in range(before):
                item = state[(first + pair(r, s)) * squares + i * counts + q]
                if item >= 0:
                    add(chart, item, -1, -1)
            item = close(chart)
            own.last[(own.first_last[2 * c + side] + r - 1) * squares + i * counts + q] = item


@subkernel()
def _incomplete(
    chart: Chart, layout: Layout, own: _System, parts: FirstParts, h: int, m: int
) -> None:
    """All items that have m as the latest modifier of h."""
    if layout.rank[h, m] == 0:
        return
    _all_neighbours(chart, layout, own, parts, h, m)
    for x in range(own.first_context[h], own.first_context[h + 1]):
        c = own.contexts[x]
        if layout.rank[h, m] > own.length[2 * c + (m > h)]:
            continue
        scoring = _scoring(chart, layout, own, parts, c, h, m)
        if own.second:
            _states_by_two(chart, layout, own, parts.tri_sibling, c, h, m, scoring)
        else:
            _states_by_last(chart, layout, own, c, h, m, scoring)


@subkernel()
def _complete(chart: Chart, layout: Layout, own: _System, h: int, e: int) -> None:
    """C(c, e, q) and D(c, e, q) for all contexts of h."""
    width, counts, side = own.top.shape[0], own.counts, 1 if e > h else 0
    squares, begin, top = counts * counts, layout.first[2 * h + side], own.top[h]
    for x in range(own.first_context[h], own.first_context[h + 1]):
        c = own.contexts[x]
        g, one = own.grandparent[c], 2 * c + side
        if g >= 0 and min(h, e) <= g <= max(h, e):
            continue
        for q in range(top + 1):
            for r in range(own.length[one]):
                m = layout.modifier[begin + r]
                if abs(m - h) > abs(e - h):
                    break
                outer = 2 * own.context_of[begin + r] + side
                for i in range(own.top[m] + 1):
                    tail = own.last[(own.first_last[one] + r) * squares + i * counts + q]
                    other = own.at_most[(outer * counts + own.top[m] - i) * width + e]
                    if tail >= 0 and other >= 0:
                        add(chart, tail, other, -1)
            own.exact[(one * counts + q) * width + e] = close(chart)
        for q in range(top + 1 if counts > 1 else 0):
            fewer = own.at_most[(one * counts + q - 1) * width + e] if q > 0 else -1
            item = own.exact[(one * counts + q) * width + e]
            if item >= 0 and fewer >= 0:
                add(chart, item, -1, -1)
                add(chart, fewer, -1, -1)
                item = close(chart)
            own.at_most[(one * counts + q) * width + e] = item if item >= 0 else fewer


@subkernel()
def _empty_halves(own: _System, h: int, axiom: int) -> None:
    """C(c, h, 0) and D(c, h, q): the axiom, or the arc from the grandparent that it faces."""
    width, counts = own.top.shape[0], own.counts
    for x in range(own.first_context[h], own.first_context[h + 1]):
        c = own.contexts[x]
        g = own.grandparent[c]
        for side in range(2):
            item = own.arc[c] if g >= 0 and (g > h) == (side == 1) else axiom
            own.exact[(2 * c + side) * counts * width + h] = item
            for q in range(own.top[h] + 1):
                own.at_most[((2 * c + side) * counts + q) * width + h] = item


@kernel(_ARRAYS(_SCORES, LAYOUT, types.boolean, types.boolean, _FIRST_PARTS, types.int64))
def emit_automata(
    scores: Floats, layout: Layout, grand: bool, second: bool, parts: FirstParts, most: int
) -> Arrays:
    """The forest of `scores[h, m, l]`.

    Args:
        grand: whether contexts are arcs.
        second: whether states are two modifiers.
        most: of `most_instances`, and all labelled arcs.
    """
    n = scores.shape[0] - 1
    chart = open_chart(most, most)
    add(chart, -1, -1, -1)
    axiom = close(chart)
    own = _system(layout, _arc_items(chart, scores, layout), grand, second)
    squares = own.counts * own.counts
    for j in range(n + 1):
        _empty_halves(own, j, axiom)
        for i in range(j - 1, -1, -1):
            if i > 0 and not grand:
                for side in range(2):
                    s, m = (i, j) if side == 1 else (j, i)
                    out = own.between[((side * (n + 1) + s) * (n + 1) + m) * squares :]
                    _neighbours(chart, own, side, s, s, m, m, -1, out)
            _incomplete(chart, layout, own, parts, i, j)
            if i > 0:
                _incomplete(chart, layout, own, parts, j, i)
                _complete(chart, layout, own, j, i)
            if i > 0 or j == n:
                _complete(chart, layout, own, i, j)
    root = own.contexts[0]
    goal = own.at_most[((2 * root + 1) * own.counts + own.top[0]) * (n + 1) + n]
    return trimmed(chart, goal)

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

Rule instances, for A allowed arcs and lists of k modifiers; n^2 and n where all arcs are allowed:

    A k + A n + n^3 / 3      sibling parts only                 n^3
    A k^2 + A n + n^3 / 3    tri-siblings                       n^4 / 12
    A k^2 + A k n            grandparents                       5 n^4 / 12
    A k^3 + A k n            both                               n^5 / 30

and with limits of M modifiers up to M^3 times as many. With both, O(n^4) would need grand-siblings
that some modifiers go without: every arc has its part, so states differ between grandparents.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import Arrays, Chart, add, close, open_chart, trimmed
from crossarc.inference.projective.automata.layout import LAYOUT, Layout, pair, triple
from crossarc.inference.projective.automata.system import (
    FIRST_PARTS,
    FirstParts,
    System,
    open_system,
)
from crossarc.kernels import kernel, subkernel

__all__ = ["emit_automata"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_SCORES = types.Array(types.float64, 3, "C", readonly=True)
_ARRAYS = types.UniTuple(types.int32[::1], 4)


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


# What follows runs for every rule instance. A call that is given a tuple of arrays counts
# references to all of them, so loops over contexts are inside of functions and not around them.


@subkernel()
def _neighbours(
    chart: Chart,
    own: System,
    side: int,
    words: Shorts,
    contexts: Shorts,
    m: int,
    m_context: int,
    part: int,
    out: Shorts,
) -> None:
    """S of m after each of some words, by [word, j, i].

    Args:
        part: the number of the first word's sibling part; the others' follow.
    """
    counts, top, exact, at_most = own.counts, own.top, own.exact, own.at_most
    left, right, part_of, first = chart.left, chart.right, chart.part, chart.first
    width, v, e = top.shape[0], chart.used[0], chart.used[1]
    for k in range(words.shape[0]):
        s = words[k]
        for j in range(top[s] + 1):
            outer = ((2 * contexts[k] + side) * counts + top[s] - j) * width
            for i in range(top[m] + 1):
                inner = ((2 * m_context + 1 - side) * counts + i) * width
                # The half on the left ends at x, the other one begins at x + 1.
                for x in range(min(s, m), max(s, m)):
                    a = at_most[outer + x + 1 - side]
                    b = exact[inner + x + side]
                    if a >= 0 and b >= 0:
                        left[e], right[e], part_of[e] = a, b, -1
                        e += 1
                item = -1
                if e > first[v]:
                    item, v = v, v + 1
                    first[v] = e
                    if part >= 0:
                        left[e], right[e], part_of[e] = item, -1, part + k
                        item, v, e = v, v + 1, e + 1
                        first[v] = e
                out[(k * counts + j) * counts + i] = item
    chart.used[0], chart.used[1] = v, e


@subkernel()
def _near(
    chart: Chart, layout: Layout, own: System, parts: FirstParts, h: int, m: int, side: int
) -> None:
    """S of m after each modifier of h before it, and as the first one, into `near`."""
    width, counts = own.top.shape[0], own.counts
    begin, r = layout.first[2 * h + side], layout.rank[h, m]
    squares, context = counts * counts, own.context_of[begin + r - 1]
    part = -1
    if own.grand and parts.sibling >= 0:
        part = parts.sibling + layout.pairs[2 * h + side] + pair(r, 0)
    for i in range(own.top[m] + 1):
        item = own.exact[((2 * context + 1 - side) * counts + i) * width + h + 2 * side - 1]
        if item >= 0 and part >= 0:
            add(chart, item, -1, part)
            item = close(chart)
        own.near[i] = item
    before = r - 1 if layout.limits[h] >= 2 else 0
    words, out = layout.modifier[begin : begin + before], own.near[squares:]
    if own.grand:
        contexts = own.context_of[begin : begin + before]
        _neighbours(chart, own, side, words, contexts, m, context, part + (part >= 0), out)
        return
    for k in range(before):
        known = ((side * width + words[k]) * width + m) * squares
        for count in range(squares):
            out[k * squares + count] = own.between[known + count]


@subkernel()
def _score_contexts(
    chart: Chart, layout: Layout, own: System, parts: FirstParts, h: int, m: int, side: int
) -> int:
    """How m is scored in each context of h, beside tri-siblings.

    `part` becomes the number of the part of m as the first modifier, -1 for none; that of m after s
    is s times the returned step behind. `leaf` becomes an item that scores m whatever s, or -1.
    """
    r, step = layout.rank[h, m], 1
    for x in range(own.first_context[h], own.first_context[h + 1]):
        c, k = own.contexts[x], x - own.first_context[h]
        one, part, leaf = 2 * c + side, -1, -1
        if not own.grand:
            leaf = own.arc[layout.first[2 * h + side] + r - 1]
            if parts.sibling >= 0:
                part = parts.sibling + layout.pairs[one] + pair(r, 0)
        elif own.grandparent[c] >= 0 and r <= own.length[one]:
            if parts.grand_sibling < 0:
                part, step = parts.grandchild + layout.grand[one] + r - 1, 0
            else:
                part = parts.grand_sibling + layout.grand_pairs[one] + pair(r, 0)
                if parts.grandchild >= 0:
                    add(chart, -1, -1, parts.grandchild + layout.grand[one] + r - 1)
                    leaf = close(chart)
        own.part[k], own.leaf[k] = part, leaf
    return step


@subkernel()
def _states_by_last(
    chart: Chart, layout: Layout, own: System, h: int, m: int, side: int, step: int
) -> None:
    """L(c, m, i, q) for all contexts and counts, where I does not know the modifier before."""
    counts, begin, r = own.counts, layout.first[2 * h + side], layout.rank[h, m]
    squares, counted, top = counts * counts, 1 if own.top[h] > 0 else 0, own.top
    before = r if layout.limits[h] >= 2 else 1
    left, right, part_of, first = chart.left, chart.right, chart.part, chart.first
    last, near, modifier = own.last, own.near, layout.modifier
    v, e = chart.used[0], chart.used[1]
    for x in range(own.first_context[h], own.first_context[h + 1]):
        one, k = 2 * own.contexts[x] + side, x - own.first_context[h]
        if r > own.length[one]:
            continue
        start = own.exact[one * counts * top.shape[0] + h]
        part, leaf, states = own.part[k], own.leaf[k], own.first_last[one] - 1
        for i in range(top[m] + 1):
            for q in range(counted, top[h] + 1):
                if q == counted and near[i] >= 0:
                    left[e], right[e], part_of[e] = start, near[i], part
                    e += 1
                for s in range(1, before):
                    for j in range(top[modifier[begin + s - 1]] + 1):
                        tail = last[(states + s) * squares + j * counts + q - counted]
                        other = near[s * squares + j * counts + i]
                        if tail >= 0 and other >= 0:
                            left[e], right[e] = tail, other
                            part_of[e] = part + s * step if part >= 0 else -1
                            e += 1
                item = -1
                if e > first[v]:
                    item, v = v, v + 1
                    first[v] = e
                    if leaf >= 0:
                        left[e], right[e], part_of[e] = item, leaf, -1
                        item, v, e = v, v + 1, e + 1
                        first[v] = e
                last[(states + r) * squares + i * counts + q] = item
    chart.used[0], chart.used[1] = v, e


@subkernel()
def _states_by_two(
    chart: Chart,
    layout: Layout,
    own: System,
    tri_sibling: int,
    h: int,
    m: int,
    side: int,
    step: int,
) -> None:
    """I(c, s, m, i, q) for all contexts, s and counts."""
    counts, begin, r = own.counts, layout.first[2 * h + side], layout.rank[h, m]
    squares, counted, top = counts * counts, 1 if own.top[h] > 0 else 0, own.top
    before = r if layout.limits[h] >= 2 else 1
    left, right, part_of, first = chart.left, chart.right, chart.part, chart.first
    state, near, modifier = own.state, own.near, layout.modifier
    tri_sibling += layout.triples[2 * h + side]
    v, e = chart.used[0], chart.used[1]
    for x in range(own.first_context[h], own.first_context[h + 1]):
        one, k = 2 * own.contexts[x] + side, x - own.first_context[h]
        if r > own.length[one]:
            continue
        start = own.exact[one * counts * top.shape[0] + h]
        part, leaf, states = own.part[k], own.leaf[k], own.first_state[one]
        for i in range(top[m] + 1):
            for q in range(counted, top[h] + 1):
                if q == counted and near[i] >= 0:
                    left[e], right[e], part_of[e] = start, near[i], -1
                    e += 1
                for s in range(before):
                    triples = tri_sibling + triple(r, s, 0)
                    for j in range(top[modifier[begin + s - 1]] + 1 if s > 0 else 0):
                        tails = (states + pair(s, 0)) * squares + j * counts + q - counted
                        other = near[s * squares + j * counts + i]
                        for t in range(s if other >= 0 else 0):
                            if state[tails + t * squares] >= 0:
                                left[e], right[e] = state[tails + t * squares], other
                                part_of[e] = triples + t if t > 0 else -1
                                e += 1
                    item = -1
                    if e > first[v]:
                        item, v = v, v + 1
                        first[v] = e
                        if leaf >= 0 or part >= 0:
                            left[e], right[e] = item, leaf
                            part_of[e] = part + s * step if part >= 0 else -1
                            item, v, e = v, v + 1, e + 1
                            first[v] = e
                    state[(states + pair(r, s)) * squares + i * counts + q] = item
    chart.used[0], chart.used[1] = v, e


@subkernel()
def _forget_second(chart: Chart, layout: Layout, own: System, h: int, m: int, side: int) -> None:
    """L(c, m, i, q) from I(c, s, m, i, q) for all s."""
    counts, r = own.counts, layout.rank[h, m]
    squares = counts * counts
    for x in range(own.first_context[h], own.first_context[h + 1]):
        one = 2 * own.contexts[x] + side
        if r > own.length[one]:
            continue
        for count in range(squares):
            states = (own.first_state[one] + pair(r, 0)) * squares + count
            for s in range(r):
                if own.state[states + s * squares] >= 0:
                    add(chart, own.state[states + s * squares], -1, -1)
            own.last[(own.first_last[one] + r - 1) * squares + count] = close(chart)


@subkernel()
def _incomplete(
    chart: Chart, layout: Layout, own: System, parts: FirstParts, h: int, m: int
) -> None:
    """All items that have m as the latest modifier of h."""
    side = 1 if m > h else 0
    if layout.rank[h, m] > 0:
        _near(chart, layout, own, parts, h, m, side)
        step = _score_contexts(chart, layout, own, parts, h, m, side)
        if own.second:
            _states_by_two(chart, layout, own, parts.tri_sibling, h, m, side, step)
            _forget_second(chart, layout, own, h, m, side)
        else:
            _states_by_last(chart, layout, own, h, m, side, step)


@subkernel()
def _complete(chart: Chart, layout: Layout, own: System, h: int, end: int) -> None:
    """C(c, end, q) for all contexts of h and counts."""
    width, counts, side = own.top.shape[0], own.counts, 1 if end > h else 0
    squares, begin, top = counts * counts, layout.first[2 * h + side], own.top
    left, right, part_of, first = chart.left, chart.right, chart.part, chart.first
    last, at_most, context_of, modifier = own.last, own.at_most, own.context_of, layout.modifier
    v, e = chart.used[0], chart.used[1]
    for x in range(own.first_context[h], own.first_context[h + 1]):
        g, one = own.grandparent[own.contexts[x]], 2 * own.contexts[x] + side
        if g >= 0 and min(h, end) <= g <= max(h, end):
            continue
        states, length = own.first_last[one], own.length[one]
        for q in range(top[h] + 1):
            for r in range(length):
                m = modifier[begin + r]
                if abs(m - h) > abs(end - h):
                    break
                outer = (2 * context_of[begin + r] + side) * counts + top[m]
                for i in range(top[m] + 1):
                    tail = last[(states + r) * squares + i * counts + q]
                    other = at_most[(outer - i) * width + end]
                    if tail >= 0 and other >= 0:
                        left[e], right[e], part_of[e] = tail, other, -1
                        e += 1
            if e > first[v]:
                own.exact[(one * counts + q) * width + end] = v
                v += 1
                first[v] = e
    chart.used[0], chart.used[1] = v, e


@subkernel()
def _add_up_counts(chart: Chart, own: System, h: int, end: int) -> None:
    """D(c, end, q) from C(c, end, q) for all contexts of h, where there are counts."""
    width, counts, side = own.top.shape[0], own.counts, 1 if end > h else 0
    for x in range(own.first_context[h], own.first_context[h + 1] if counts > 1 else 0):
        rows, fewer = (2 * own.contexts[x] + side) * counts, -1
        for q in range(own.top[h] + 1):
            item = own.exact[(rows + q) * width + end]
            if item >= 0 and fewer >= 0:
                add(chart, item, -1, -1)
                add(chart, fewer, -1, -1)
                item = close(chart)
            fewer = item if item >= 0 else fewer
            own.at_most[(rows + q) * width + end] = fewer


@subkernel()
def _empty_halves(own: System, h: int, axiom: int) -> None:
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


@kernel(_ARRAYS(_SCORES, LAYOUT, types.boolean, types.boolean, FIRST_PARTS, types.int64))
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
    own = open_system(layout, _arc_items(chart, scores, layout), grand, second)
    squares = own.counts * own.counts
    for j in range(n + 1):
        _empty_halves(own, j, axiom)
        for i in range(j - 1, -1, -1):
            if i > 0 and not grand:
                for side in range(2):
                    s, m = (i, j) if side == 1 else (j, i)
                    out = own.between[((side * (n + 1) + s) * (n + 1) + m) * squares :]
                    word = own.contexts[s : s + 1]
                    _neighbours(chart, own, side, word, word, m, m, -1, out)
            for h, end in ((j, i), (i, j)):
                if end > 0:
                    _incomplete(chart, layout, own, parts, h, end)
                if end > 0 and (h > 0 or end == n):
                    _complete(chart, layout, own, h, end)
                    _add_up_counts(chart, own, h, end)
    root = own.contexts[0]
    goal = own.at_most[((2 * root + 1) * own.counts + own.top[0]) * (n + 1) + n]
    return trimmed(chart, goal)

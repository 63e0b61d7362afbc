"""Scores of trees, and arc substitution (McDonald & Pereira 2006, section 3).

From a tree, each word in turn takes the head under which the tree scores most, until none does
better. A new head is never below the word, so there is never a cycle. The root of a single-root
tree moves by a double move: another word takes the root, and the old one a head below that word.

A move changes the heads of at most two words and the modifiers of at most three nodes; only these
nodes are scored again.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.higher.problem import PROBLEM, Problem
from crossarc.inference.projective.automata.layout import pair, triple
from crossarc.kernels import kernel, subkernel

__all__ = ["improve", "substitute"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A gain below this share of the scores involved is rounding.
_ROUNDING = 1e-12


@subkernel()
def _node_score(problem: Problem, heads: Ints, h: int) -> tuple[float, int]:
    """The score of node h with its modifiers, and by how many these exceed its limit.

    `heads` has an entry for each node, that of the root unused.
    """
    c = problem.first_context[h]
    if h > 0:
        c = problem.context_of[problem.arc[heads[h], h]]
    total, count, start = 0.0, 0, problem.first[2 * h]
    pairs = problem.pair_offset[c]
    for side in range(2):
        begin, end = problem.first[2 * h + side], problem.first[2 * h + side + 1]
        before, second = 0, 0
        for a in range(begin, end):
            if heads[problem.modifier[a]] != h:
                continue
            rank = a - begin + 1
            total += problem.score[a] + problem.unary[problem.unary_offset[c] + a - start]
            total += problem.pair[pairs + pair(rank, before)]
            if second > 0 and problem.triple.shape[0] > 0:
                offset = problem.triple_offset[2 * h + side]
                total += problem.triple[offset + triple(rank, before, second)]
            before, second = rank, before
            count += 1
        pairs += pair(end - begin + 1, 0)
    return total, max(0, count - problem.limits[h])


@subkernel()
def _is_below(heads: Ints, node: int, m: int) -> bool:
    """Whether m is on the path from a node to the root."""
    while node > 0:
        if node == m:
            return True
        node = heads[node]
    return False


@subkernel()
def _scores(problem: Problem, heads: Ints, nodes: Ints) -> tuple[float, int]:
    """The score and excess of some nodes, each once; -1 stands for none."""
    total, excess = 0.0, 0
    for i in range(nodes.shape[0]):
        is_new = nodes[i] >= 0
        for j in range(i):
            is_new = is_new and nodes[j] != nodes[i]
        if is_new:
            own, more = _node_score(problem, heads, nodes[i])
            total += own
            excess += more
    return total, excess


@subkernel()
def _gain(
    problem: Problem, heads: Ints, nodes: Ints, m: int, h: int, r: int, k: int
) -> tuple[float, int]:
    """What the tree gains in score and excess when m takes head h, and r, if not 0, head k."""
    nodes[0], nodes[1], nodes[2] = heads[m], h, m
    nodes[3], nodes[4] = r if r > 0 else -1, k if r > 0 else -1
    old_head, old, old_excess, new, new_excess = heads[m], 0.0, 0, 0.0, 0
    for _ in range(2):
        old, old_excess = new, new_excess
        new, new_excess = _scores(problem, heads, nodes)
        heads[m] = h
        if r > 0:
            heads[r] = k
    heads[m] = old_head
    if r > 0:
        heads[r] = 0
    gain = new - old
    if abs(gain) <= _ROUNDING * (abs(new) + abs(old)):
        gain = 0.0
    return gain, new_excess - old_excess


@subkernel()
def _move_word(problem: Problem, allowed: Ints, heads: Ints, nodes: Ints, m: int) -> bool:
    """Give word m its best head; whether it is a new one."""
    is_single = problem.limits[0] == 1
    if is_single and heads[m] == 0:
        return False
    best, least, head = 0.0, 0, np.int64(-1)
    for i in range(problem.first_entering[m], problem.first_entering[m + 1]):
        a = problem.entering[i]
        h = problem.head[a]
        if allowed[a] == 0 or h == heads[m] or (is_single and h == 0) or _is_below(heads, h, m):
            continue
        gain, excess = _gain(problem, heads, nodes, m, h, 0, 0)
        if excess < least or (excess == least and gain > best):
            best, least, head = gain, excess, h
    if head >= 0:
        heads[m] = head
    return bool(head >= 0)


@subkernel()
def _move_root(problem: Problem, allowed: Ints, heads: Ints, nodes: Ints) -> bool:
    """The best double move of a single root, if it gains; whether there is one."""
    r = 1
    while heads[r] != 0:
        r += 1
    best, least, word, head = 0.0, 0, np.int64(-1), np.int64(-1)
    for a in range(problem.first[1], problem.first[2]):
        m = problem.modifier[a]
        if allowed[a] == 0 or m == r:
            continue
        for i in range(problem.first_entering[r], problem.first_entering[r + 1]):
            k = problem.head[problem.entering[i]]
            if allowed[problem.entering[i]] == 0 or k == 0 or not _is_below(heads, k, m):
                continue
            gain, excess = _gain(problem, heads, nodes, m, 0, r, k)
            if excess < least or (excess == least and gain > best):
                best, least, word, head = gain, excess, m, k
    if word >= 0:
        heads[word], heads[r] = 0, head
    return bool(word >= 0)


@subkernel()
def improve(problem: Problem, allowed: Ints, heads: Ints, substitutes: bool) -> float:
    """Substitute arcs until no move gains, if asked to.

    A move that lowers the number of modifiers in excess comes before all others. Returns the score,
    -inf where there are too many modifiers.
    """
    n, nodes = heads.shape[0] - 1, np.empty(5, np.int64)
    changed = substitutes
    while changed:
        changed = False
        for m in range(1, n + 1):
            changed = _move_word(problem, allowed, heads, nodes, m) or changed
        if problem.limits[0] == 1:
            changed = _move_root(problem, allowed, heads, nodes) or changed
    total, excess = _scores(problem, heads, np.arange(n + 1))
    return total if excess == 0 else -np.inf


@kernel(types.float64(PROBLEM, types.int64[::1], types.int64[::1], types.boolean))
def substitute(problem: Problem, allowed: Ints, heads: Ints, substitutes: bool) -> float:
    """`improve`, of a tree whose heads are entries 1..n; entry 0 is not used.

    Args:
        allowed: 1 for each arc that may be used, else 0; the tree has such arcs only.
        substitutes: if False, the tree is only scored.
    """
    return improve(problem, allowed, heads, substitutes)

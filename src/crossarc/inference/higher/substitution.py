"""Scores of trees, and arc substitution (McDonald & Pereira 2006, section 3).

From a tree, each word in turn takes the head under which the tree scores most, until none does
better. A new head is never below the word, so there is never a cycle. The root of a single-root
tree moves by a double move: another word takes the root, and the old one a head below that word.

A move changes the heads of at most two words and the modifiers of at most three nodes; only these
nodes are scored again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.higher.problem import PROBLEM, Problem
from crossarc.inference.projective.automata.layout import pair, triple
from crossarc.kernels import kernel, subkernel
from crossarc.kernels.borrowing import borrowing

__all__ = ["WorkingTree", "adopt", "best_substitution", "improve", "substitute", "working_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A gain below this share of the scores involved is rounding.
_ROUNDING = 1e-12


@borrowing(inline=True)
def _node_score(problem: Problem, heads: Ints, h: int) -> tuple[float, int]:
    """The score of node h with its modifiers, and by how many these exceed its limit; forbidden
    parts are counted with the latter.

    `heads` has an entry for each node, that of the root unused.
    """
    c = problem.first_context[h]
    if h > 0:
        c = problem.context_of[problem.arc[heads[h], h]]
    total, count, forbidden, start = 0.0, 0, 0, problem.first[2 * h]
    pairs = problem.pair_offset[c]
    for side in range(2):
        begin, end = problem.first[2 * h + side], problem.first[2 * h + side + 1]
        before, second = 0, 0
        for a in range(begin, end):
            if heads[problem.modifier[a]] != h:
                continue
            rank = a - begin + 1
            score = problem.score[a] + problem.unary[problem.unary_offset[c] + a - start]
            score += problem.pair[pairs + pair(rank, before)]
            if second > 0 and problem.triple.shape[0] > 0:
                offset = problem.triple_offset[2 * h + side]
                score += problem.triple[offset + triple(rank, before, second)]
            if score == -np.inf:
                forbidden += 1
            else:
                total += score
            before, second = rank, before
            count += 1
        pairs += pair(end - begin + 1, 0)
    return total, forbidden + max(0, count - problem.limits[h])


@borrowing()
def _is_below(heads: Ints, node: int, m: int) -> bool:
    """Whether m is on the path from a node to the root."""
    while node > 0:
        if node == m:
            return True
        node = heads[node]
    return False


class WorkingTree(NamedTuple):
    """A tree with the score and excess of each node."""

    #: An entry for each node, that of the root unused.
    heads: Ints
    score: Floats
    excess: Ints
    #: 1 for a node that must be scored again, else 0.
    stale: Ints
    #: A workspace: nodes that a double move concerns, the first of them 0.
    nodes: Ints


@borrowing()
def _rescore(problem: Problem, tree: WorkingTree, node: int) -> None:
    tree.score[node], tree.excess[node] = _node_score(problem, tree.heads, node)


@borrowing(inline=True)
def _is_better(gain: float, excess: int, best: float, least: int, scale: float) -> bool:
    """Whether a move is better than another; gains below rounding are none."""
    return excess < least or (excess == least and gain > best + _ROUNDING * scale)


@borrowing()
def _move_word(problem: Problem, allowed: Ints, tree: WorkingTree, m: int) -> bool:
    """Give word m its best head; whether it is a new one."""
    heads, is_single, old = tree.heads, problem.limits[0] == 1, tree.heads[m]
    if is_single and old == 0:
        return False
    is_grand = problem.context_arc[problem.context_arc.shape[0] - 1] >= 0
    # Without m, its old head scores the same whatever the new one; -1 is no node.
    heads[m] = -1
    rest, rest_excess = _node_score(problem, heads, old)
    rest -= tree.score[old] + (tree.score[m] if is_grand else 0.0)
    rest_excess -= tree.excess[old] + (tree.excess[m] if is_grand else 0)
    best, least, head = 0.0, 0, old
    for i in range(problem.first_entering[m], problem.first_entering[m + 1]):
        a = problem.entering[i]
        h = problem.head[a]
        if allowed[a] == 0 or h == old or (is_single and h == 0) or _is_below(heads, h, m):
            continue
        heads[m] = h
        new, excess = _node_score(problem, heads, h)
        gain, excess = rest + new - tree.score[h], rest_excess + excess - tree.excess[h]
        if is_grand:
            own, own_excess = _node_score(problem, heads, m)
            gain, excess = gain + own, excess + own_excess
        scale = abs(rest) + abs(new) + abs(tree.score[h])
        if _is_better(gain, excess, best, least, scale):
            best, least, head = gain, excess, h
    heads[m] = head
    if head == old:
        return False
    _rescore(problem, tree, old)
    _rescore(problem, tree, head)
    _rescore(problem, tree, m)
    return True


@borrowing()
def _nodes_score(
    problem: Problem, tree: WorkingTree, nodes: Ints, renew: bool
) -> tuple[float, int]:
    """The score and excess of some nodes, each once, scored anew or as they were."""
    total, excess = 0.0, 0
    for i in range(nodes.shape[0]):
        is_new = True
        for j in range(i):
            is_new = is_new and nodes[j] != nodes[i]
        if is_new:
            if renew:
                _rescore(problem, tree, nodes[i])
            total += tree.score[nodes[i]]
            excess += tree.excess[nodes[i]]
    return total, excess


@borrowing()
def _move_root(problem: Problem, allowed: Ints, tree: WorkingTree) -> bool:
    """The best double move of a single root, if it gains; whether there is one."""
    r, heads, nodes = 1, tree.heads, tree.nodes
    while heads[r] != 0:
        r += 1
    best, least, word, head = 0.0, 0, r, np.int64(0)
    begin = problem.first[1]
    # Behind the moves of all words, the best one is made.
    for a in range(begin, problem.first[2] + 1):
        is_last = a == problem.first[2]
        m = word if is_last else problem.modifier[a]
        if m == r or (not is_last and allowed[a] == 0):
            continue
        for i in range(problem.first_entering[r], problem.first_entering[r + 1]):
            k = problem.head[problem.entering[i]]
            if allowed[problem.entering[i]] == 0 or k == 0 or not _is_below(heads, k, m):
                continue
            if is_last and k != head:
                continue
            old_head = heads[m]
            nodes[1], nodes[2], nodes[3], nodes[4] = old_head, m, r, k
            old, old_excess = _nodes_score(problem, tree, nodes, False)
            heads[m], heads[r] = 0, k
            new, new_excess = _nodes_score(problem, tree, nodes, True)
            if is_last:
                return True
            heads[m], heads[r] = old_head, 0
            _nodes_score(problem, tree, nodes, True)
            if _is_better(new - old, new_excess - old_excess, best, least, abs(new) + abs(old)):
                best, least, word, head = new - old, new_excess - old_excess, m, k
    return False


@subkernel()
def working_tree(heads: Ints) -> WorkingTree:
    """With nothing scored yet."""
    width = heads.shape[0]
    return WorkingTree(
        heads,
        np.empty(width),
        np.empty(width, np.int64),
        np.ones(width, np.int64),
        np.zeros(5, np.int64),
    )


@borrowing()
def adopt(problem: Problem, tree: WorkingTree, heads: Ints) -> None:
    """Take the heads of another tree; nodes that it leaves as they were are not scored again."""
    is_grand = problem.context_arc[problem.context_arc.shape[0] - 1] >= 0
    for m in range(1, heads.shape[0]):
        if tree.heads[m] != heads[m]:
            tree.stale[tree.heads[m]] = tree.stale[heads[m]] = 1
            if is_grand:
                tree.stale[m] = 1
            tree.heads[m] = heads[m]
    for h in range(heads.shape[0]):
        if tree.stale[h]:
            tree.score[h], tree.excess[h] = _node_score(problem, tree.heads, h)
            tree.stale[h] = 0


@borrowing()
def improve(problem: Problem, allowed: Ints, tree: WorkingTree, substitutes: bool) -> float:
    """Substitute arcs of a tree from `adopt` until no move gains, if asked to.

    A move that lowers the number of modifiers in excess and of forbidden parts comes before all
    others. Returns the score, -inf where some are left.
    """
    width = tree.heads.shape[0]
    # Words in turn, behind the last one the root, until none has moved since its last turn.
    m, unmoved, turns = 1, 0, width if problem.limits[0] == 1 else width - 1
    while substitutes and unmoved < turns:
        if m < width:
            moved = _move_word(problem, allowed, tree, m)
        else:
            moved = _move_root(problem, allowed, tree)
        unmoved = 0 if moved else unmoved + 1
        m = m + 1 if m < turns else 1
    total, excess = 0.0, 0
    for h in range(width):
        total += tree.score[h]
        excess += tree.excess[h]
    return total if excess == 0 else -np.inf


@kernel(types.float64(PROBLEM, types.int64[::1], types.int64[::1], types.boolean))
def substitute(problem: Problem, allowed: Ints, heads: Ints, substitutes: bool) -> float:
    """`improve`, of a tree whose heads are entries 1..n; entry 0 is not used.

    Args:
        allowed: 1 for each arc that may be used, else 0; the tree has such arcs only.
        substitutes: if False, the tree is only scored.
    """
    tree = working_tree(heads)
    adopt(problem, tree, heads)
    return improve(problem, allowed, tree, substitutes)


def best_substitution(problem: Problem, starts: Sequence[Ints | None]) -> Ints | None:
    """Heads of the best tree from several starts; None where no possible tree is reached.

    Args:
        starts: heads, of word 1 first; those with an arc that is not allowed are passed over.
    """
    best, best_score, words = None, -np.inf, np.arange(1, len(problem.limits))
    for start in starts:
        if start is None or (problem.arc[start, words] < 0).any():
            continue
        heads = np.concatenate([[0], start])
        score = substitute(problem, np.ones(len(problem.score), np.int64), heads, True)
        if score > best_score:
            best, best_score = heads[1:].copy(), score
    return best

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
tree. A cycle shrunk in the order of scores is one in this order too, so the search starts with
scores only, which settles most sentences of a trained parser, and takes its root arcs back only
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

from crossarc.inference.arithmetic.exact import SAFE_SUM, SHRINK
from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = [
    "CHILD",
    "FIELDS",
    "HEAD",
    "INFEASIBLE",
    "MULTI",
    "OTHERS",
    "OVERFLOW",
    "PAIRS",
    "PARENT",
    "SIBLING",
    "SINGLE",
    "STATE",
    "VALUE",
    "WORD",
    "best_heads",
    "best_heads_batch",
    "best_tree",
    "contract",
    "enter",
    "expand",
    "fill_row",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_INT = types.int64
_INTS = types.int64[::1]
_FLOATS = types.float64[::1]

# Nodes are the words 1..n and then the shrunk cycles. The workspace has three arrays: `node`
# (FIELDS, 2n + 1), `real` (2, 2n + 1) and `rows` (2n + 1, n + 1), row_v of each node v on a cycle.
HEAD, WORD = 0, 1  # the chosen arc, from HEAD (0: the root); a word in there, from `expand` its end
PARENT, CHILD, SIBLING = 2, 3, 4  # the cycle around a node; a cycle's nodes, linked; 0 ends
STATE = 5  # NEW, OPEN or DONE; after `expand`, 1 where the tree does without the chosen arc
TOP, MEMBER = 6, 7  # of a word: the outermost node around it; the next word in there, circular
PATH = 8
FIELDS = 9
VALUE, OTHERS = 0, 1  # in `real`: row_v(HEAD), and the values of the other nodes on the cycle
NEW, OPEN, DONE = 0, 1, 2
MULTI, SINGLE, PAIRS = 0, 1, 2  # PAIRS: a single root, by pairs from the start
INFEASIBLE, OVERFLOW = -1, -2


@subkernel()
def _start(scores: Floats, n: int, pairs: bool, node: Ints, real: Floats) -> bool:
    """Give each word its best head, in one pass over the rows; False when one has none."""
    width = n + 1
    value = real[VALUE]
    head = node[HEAD]
    for m in range(width):
        value[m] = -np.inf
        head[m] = 0
    for h in range(1, width):
        row = scores[h * width : (h + 1) * width]
        own_value = value[h]
        own_head = head[h]
        for m in range(width):
            if row[m] > value[m]:
                value[m] = row[m]
                head[m] = h
        value[h] = own_value  # the diagonal, taken along so that one loop runs over whole rows
        head[h] = own_head
    for m in range(1, width):
        if (scores[m] >= value[m] and not pairs) or value[m] == -np.inf:
            value[m] = scores[m]
            head[m] = 0
            if scores[m] == -np.inf:
                return False
        node[WORD, m] = node[TOP, m] = node[MEMBER, m] = m
        node[CHILD, m] = 0
        node[STATE, m] = NEW
    node[TOP, 0] = 0
    node[STATE, 0] = DONE
    return True


@subkernel()
def fill_row(scores: Floats, n: int, m: int, rows: Floats) -> None:
    """Make the row of a word: row_m(h) = scores[h, m]."""
    row = rows[m]
    for h in range(n + 1):
        row[h] = scores[h * (n + 1) + m]
    row[m] = -np.inf


@subkernel()
def _choose(n: int, v: int, pairs: bool, node: Ints, real: Floats, rows: Floats) -> None:
    """Choose the best arc into node v; its value is -inf when there is none."""
    row = rows[v]
    best = -np.inf
    head = 0
    for h in range(1, n + 1):
        better = row[h] > best
        head = h if better else head
        best = row[h] if better else best
    if (row[0] >= best and not pairs) or best == -np.inf:
        best = row[0]
        head = 0
    real[VALUE, v] = best
    node[HEAD, v] = head


@subkernel()
def _shrink(
    scores: Floats, n: int, new: int, low: int, top: int, node: Ints, real: Floats, rows: Floats
) -> bool:
    """Make node `new` of the cycle path[low..top]; False when sums might overflow."""
    before = 0.0
    for j in range(low, top + 1):
        x = node[PATH, j]
        real[OTHERS, x] = before
        before += real[VALUE, x]
        node[PARENT, x] = new
        node[SIBLING, x] = node[PATH, j + 1] if j < top else 0
    after = 0.0
    for j in range(top, low - 1, -1):
        x = node[PATH, j]
        real[OTHERS, x] += after
        after += real[VALUE, x]
        if not abs(real[OTHERS, x]) < SAFE_SUM:
            return False
    first = node[PATH, low]
    node[CHILD, new] = first

    # row_C(h) = max over x in C of  row_x(h) + sum over y in C, y != x, of value(y)
    row = rows[new]
    for h in range(n + 1):
        row[h] = -np.inf
    for j in range(low, top + 1):
        x = node[PATH, j]
        if x <= n:
            fill_row(scores, n, x, rows)
        part = rows[x]
        others = real[OTHERS, x]
        for h in range(n + 1):
            total = part[h] + others
            row[h] = total if total > row[h] else row[h]

    # Two circular lists become one when an entry of each swaps its successor.
    m = node[WORD, first]
    for j in range(low + 1, top + 1):
        other = node[WORD, node[PATH, j]]
        node[MEMBER, m], node[MEMBER, other] = node[MEMBER, other], node[MEMBER, m]
    while node[TOP, m] != new:
        node[TOP, m] = new
        row[m] = -np.inf
        m = node[MEMBER, m]
    node[WORD, new] = m
    return True


@subkernel()
def _grow(
    scores: Floats, n: int, v: int, new: int, pairs: bool, node: Ints, real: Floats, rows: Floats
) -> tuple[int, int]:
    """Follow the chosen arcs from node v up to the tree grown so far; shrink the cycles met.

    Returns the number of the next cycle, or why there is none, and the head that was reached.
    """
    top = 0
    while True:
        node[PATH, top] = v
        node[STATE, v] = OPEN
        u = node[TOP, node[HEAD, v]]
        if node[STATE, u] == DONE:
            break
        if node[STATE, u] == NEW:
            top += 1
            v = u
            continue
        low = top
        while node[PATH, low] != u:
            low -= 1
        if not _shrink(scores, n, new, low, top, node, real, rows):
            return OVERFLOW, 0
        _choose(n, new, pairs, node, real, rows)
        if real[VALUE, new] == -np.inf:
            return INFEASIBLE, 0
        top = low
        v = new
        new += 1
    for j in range(top + 1):
        node[STATE, node[PATH, j]] = DONE
    return new, node[HEAD, v]


@subkernel()
def contract(scores: Floats, n: int, rule: int, node: Ints, real: Floats, rows: Floats) -> int:
    """Shrink cycles until the chosen arcs form a tree; returns one more than the last node.

    INFEASIBLE when there is no tree, OVERFLOW when the scores are too large to be added up.
    `scores` is the array row after row.
    """
    pairs = rule == PAIRS
    if not _start(scores, n, pairs, node, real):
        return INFEASIBLE
    new = n + 1
    roots = 0
    m = 0
    while m < n:
        m += 1
        v = node[TOP, m]
        if node[STATE, v] != NEW:
            continue
        new, head = _grow(scores, n, v, new, pairs, node, real, rows)
        if new < 0:
            return new
        roots += head == 0
        if roots > 1 and pairs:
            return INFEASIBLE
        if roots > 1 and rule == SINGLE:
            # Once more through all nodes, with no root arc where there is another one.
            for w in range(1, n + 1):
                v = node[TOP, w]
                node[STATE, v] = NEW
                if node[HEAD, v] == 0:
                    if v <= n:
                        fill_row(scores, n, v, rows)
                    _choose(n, v, True, node, real, rows)
            pairs = True
            roots = 0
            m = 0
    return new


@subkernel()
def enter(v: int, h: int, node: Ints, real: Floats, rows: Floats) -> int:
    """The word at which the best arc from h into node v ends; there must be one."""
    while node[CHILD, v] > 0:
        best = -np.inf
        x = node[CHILD, v]
        while x > 0:
            if rows[x, h] + real[OTHERS, x] > best:
                best = rows[x, h] + real[OTHERS, x]
                v = x
            x = node[SIBLING, x]
    return v


@subkernel()
def expand(end: int, kept: int, heads: Ints, node: Ints, real: Floats, rows: Floats) -> None:
    """Take the chosen arcs of the nodes, outermost first, as the heads of a tree.

    The arc into a cycle goes to the word where it is worth most, or at node `kept` to the WORD that
    stands there, and takes the place of the arcs of all nodes around this word.
    """
    for v in range(1, end):
        node[STATE, v] = 0
    for v in range(end - 1, 0, -1):
        if node[STATE, v] == 0:
            if v != kept:
                node[WORD, v] = enter(v, node[HEAD, v], node, real, rows)
            m = node[WORD, v]
            heads[m - 1] = node[HEAD, v]
            while m != v:
                node[STATE, m] = 1
                m = node[PARENT, m]


@subkernel()
def best_tree(
    scores: Floats, n: int, rule: int, heads: Ints, node: Ints, real: Floats, rows: Floats
) -> None:
    """Heads of the best tree; all -1 when there is none. `scores` is the array row after row."""
    last = contract(scores, n, rule, node, real, rows)
    if last == OVERFLOW:
        last = contract(scores * SHRINK, n, rule, node, real, rows)
    if last == INFEASIBLE:
        heads[:] = -1
    else:
        expand(last, 0, heads, node, real, rows)


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
    first = sizes[:begin].sum()
    for i in range(begin, end):
        n = sizes[i]
        scores = flat_scores[offsets[i] : offsets[i] + (n + 1) * (n + 1)]
        heads = out_heads[first : first + n]
        first += n
        best_tree(scores, n, rule, heads, node, real, rows)


def best_heads(scores: Floats, single_root: bool) -> Ints:
    """Heads of the best tree of one (n+1, n+1) array; all -1 when there is none."""
    n = scores.shape[0] - 1
    heads = np.empty(n, np.int64)
    zero = np.zeros(1, np.int64)
    best_heads_batch(scores.flatten(), zero + n, zero, single_root, heads, 0, 1)
    return heads

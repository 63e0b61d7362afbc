"""The forest that grows while pairs are tried in Covington's order, and the degree of a new arc.

At the pair (i, j), j < i, the pieces of an arc between i and j are the connected components
strictly between them whose root neither i nor j dominates (with the arc, its head dominates both).
This is the degree that the arc would have, in either direction: Nivre 2006, Definition 3. All
earlier arcs keep or lower their degree when an arc is added, because a new arc lies inside none of
them; so the graph plus the arc obeys a bound iff the arc does.

While j runs down from i - 1, a word r is the root of an undominated component from j = r - 1 on,
for good if it has no head, else until j meets its head. BASE[j] + CHANGE[j] sums what begins and
ends at j, and its running sum is the number of pieces. Two things can take r out: i comes to
dominate it, which `link_left` notes in CHANGE for this i, or j is an ancestor of r that its arc
passes over, which `_passed_over` counts apart.

A forest is a table with one row for each kind of entry and one column a word, so that it can be
copied as a whole: `ROWS` rows, `MARGIN` columns more than words.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = [
    "HEAD",
    "MARGIN",
    "ROWS",
    "begin_forest",
    "begin_word",
    "degree_of_pair",
    "end_word",
    "is_closed",
    "leave_pair",
    "link_left",
    "link_right",
    "reach_pair",
    "top_of",
]

Ints = NDArray[np.int64]

# HEAD: of each word, 0 for none. TOP: a step towards the top of a word's tree.
# CHILD, NEXT: the child linked last, and the child of the same head linked before.
# CHANGE counts only where CHANGED holds the word i at hand, and so BELOW: i dominates the word.
# CROSSING: the words whose head is to the left, past a piece, in order. STACK: for `link_left`.
HEAD, TOP, CHILD, NEXT, BASE, CHANGE, CHANGED, BELOW, CROSSING, STACK, COUNTS, ROWS = range(12)
# Columns of COUNTS: pieces at this pair, of these how many for good, entries of CROSSING.
_PIECES, _FOR_GOOD, _CROSSINGS = range(3)
MARGIN = 3


@subkernel()
def begin_forest(forest: Ints) -> None:
    """No arc yet."""
    forest[:] = 0
    for r in range(forest.shape[1]):
        forest[TOP, r] = r


@subkernel()
def begin_word(forest: Ints) -> None:
    """Before the pairs of the next word i, which come in the order i - 1, i - 2, and so on."""
    forest[COUNTS, _PIECES] = 0
    forest[COUNTS, _FOR_GOOD] = 0


@subkernel()
def reach_pair(forest: Ints, i: int, j: int) -> None:
    """Come to the pair (i, j)."""
    change = forest[CHANGE, j] if forest[CHANGED, j] == i else 0
    forest[COUNTS, _PIECES] += forest[BASE, j] + change


@subkernel()
def degree_of_pair(forest: Ints, i: int, j: int) -> int:
    """The pieces of an arc between i and j, at the pair that was reached."""
    return int(forest[COUNTS, _PIECES] - _passed_over(forest, i, j))


@subkernel()
def leave_pair(forest: Ints, j: int) -> None:
    """Done with the pair: a word without a head is a piece of all later pairs of i."""
    if forest[HEAD, j] == 0:
        forest[COUNTS, _FOR_GOOD] += 1


@subkernel()
def is_closed(forest: Ints, bound: int) -> bool:
    """Whether no later pair of i can have an arc within the bound."""
    return bool(forest[COUNTS, _FOR_GOOD] > bound)


@subkernel()
def end_word(forest: Ints, i: int) -> None:
    """After the last pair of i that is tried."""
    forest[BASE, i - 1] += 1
    forest[BASE, forest[HEAD, i]] -= 1


@subkernel()
def top_of(forest: Ints, r: int) -> int:
    """The word without head that dominates r; paths are halved on the way."""
    while forest[TOP, r] != r:
        forest[TOP, r] = forest[TOP, forest[TOP, r]]
        r = forest[TOP, r]
    return r


@subkernel()
def link_right(forest: Ints, i: int, j: int, degree: int) -> None:
    """The arc j -> i, of so many pieces."""
    _hang(forest, i, j)
    if degree > 0:
        forest[CROSSING, forest[COUNTS, _CROSSINGS]] = i
        forest[COUNTS, _CROSSINGS] += 1


@subkernel()
def link_left(forest: Ints, i: int, j: int) -> None:
    """The arc i -> j: i comes to dominate the tree of j, whose words are no pieces any more."""
    forest[STACK, 0] = j
    height = 1
    while height > 0:
        height -= 1
        r = forest[STACK, height]
        forest[BELOW, r] = i
        child = forest[CHILD, r]
        while child > 0:
            forest[STACK, height] = child
            height += 1
            child = forest[NEXT, child]
        h = forest[HEAD, r]
        if r != j and h < r:
            _change(forest, i, r - 1, -1)
            _change(forest, i, h, 1)
            forest[COUNTS, _PIECES] -= (r - 1 >= j) - (h >= j)
    forest[BASE, j - 1] -= 1
    _hang(forest, j, i)


@subkernel()
def _change(forest: Ints, i: int, word: int, change: int) -> None:
    if forest[CHANGED, word] != i:
        forest[CHANGED, word] = i
        forest[CHANGE, word] = 0
    forest[CHANGE, word] += change


@subkernel()
def _hang(forest: Ints, m: int, h: int) -> None:
    forest[HEAD, m] = h
    forest[NEXT, m] = forest[CHILD, h]
    forest[CHILD, h] = m
    forest[TOP, top_of(forest, m)] = top_of(forest, h)


@subkernel()
def _passed_over(forest: Ints, i: int, j: int) -> int:
    """How many arcs of descendants of j pass over j to the right, of words that count as pieces.

    Such an arc covers a word that is not below its head, so it had a piece when it was made.
    """
    count = 0
    for k in range(forest[COUNTS, _CROSSINGS] - 1, -1, -1):
        r = forest[CROSSING, k]
        if r <= j:
            break
        if forest[HEAD, r] >= j or r == i or forest[BELOW, r] == i:
            continue
        ancestor = forest[HEAD, forest[HEAD, r]]
        while ancestor > 0 and ancestor != j:
            ancestor = forest[HEAD, ancestor]
        count += ancestor == j
    return count

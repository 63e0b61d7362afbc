"""Arcs and parts of sentences as flat arrays: what every method of this room reads.

The arcs that leave node h are first[2 h], ..., first[2 h + 2] - 1, on the left and then on the
right, each side from the inside out. The rank of a modifier in its side counts from 1; rank 0
stands for h, where there is no modifier before.

A *context* is what a head knows of the tree above it: nothing, or, where a factor has a
grandparent, the arc g -> h. The score of a node h with its modifiers in context c is

    sum over modifiers m of   score[h -> m] + unary[c, m] + pair[c, m, s] + triple[h, m, s, t]

with s the modifier before m on its side, t the one before s. `unary` is the grandchild factor,
`pair` the sum of the sibling and grand-sibling factors, `triple` the tri-sibling factor. Contexts
share a table where it does not depend on g. A tree's score is the sum over all nodes. Parts that
score -inf are forbidden.

The arrays of all sentences of a batch stand end to end, so that a kernel takes them as they are;
numbers of arcs, contexts and entries of tables count within a sentence.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.factors import GRAND_SIBLING, GRANDCHILD, SIBLING, TRI_SIBLING
from crossarc.kernels import subkernel

__all__ = [
    "ARCS",
    "ARC_STARTS",
    "CONTEXT_STARTS",
    "FACTORS",
    "NODE_STARTS",
    "PAIR_STARTS",
    "PROBLEM",
    "PROBLEMS",
    "SQUARE_STARTS",
    "STARTS",
    "TRIPLE_STARTS",
    "UNARY_STARTS",
    "Arcs",
    "Problem",
    "Problems",
    "joined",
    "problem_at",
    "problem_view",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: All factors, in the order of the constructors' arguments.
FACTORS = (SIBLING, GRANDCHILD, GRAND_SIBLING, TRI_SIBLING)

#: Columns of `Problems.starts`: where each sentence has its nodes, pairs of nodes, arcs, contexts,
#: and entries of the three tables; `Arcs.starts` has the first three.
NODE_STARTS, SQUARE_STARTS, ARC_STARTS, CONTEXT_STARTS = 0, 1, 2, 3
UNARY_STARTS, PAIR_STARTS, TRIPLE_STARTS = 4, 5, 6
#: How many columns there are.
STARTS = 7


class Problem(NamedTuple):
    """See the module; sizes: w nodes, A arcs, C contexts."""

    #: (w,): the most modifiers of each node; 1 for a single root.
    limits: Ints
    #: (w, w): the number of arc h -> m, -1 for one that is not allowed.
    arc: Ints
    #: (2 w + 1,): the first arc of list 2 h + side.
    first: Ints
    #: (A,): of each arc.
    head: Ints
    modifier: Ints
    #: The arcs into word m are entering[first_entering[m]], ...
    first_entering: Ints
    entering: Ints
    score: Floats
    #: (w + 1,): the contexts of node h are first_context[h], ...
    first_context: Ints
    #: (C,): the arc g -> h of a context; -1 where it knows nothing.
    context_arc: Ints
    #: (A,): the context of the modifier of each arc.
    context_of: Ints
    #: (C,): where the tables of each context begin.
    unary_offset: Ints
    pair_offset: Ints
    unary: Floats
    pair: Floats
    #: (2 w,): where the triples of each list begin; no triples where `triple` is empty.
    triple_offset: Ints
    triple: Floats


class Arcs(NamedTuple):
    """The arcs of a batch: the first seven arrays of its problems, end to end."""

    limits: Ints
    #: Flat, row after row.
    arc: Ints
    first: Ints
    head: Ints
    modifier: Ints
    first_entering: Ints
    entering: Ints
    #: (sentences + 1, 3): where each sentence begins.
    starts: Ints


class Problems(NamedTuple):
    """The problems of a batch, end to end."""

    limits: Ints
    #: Flat, row after row.
    arc: Ints
    first: Ints
    head: Ints
    modifier: Ints
    first_entering: Ints
    entering: Ints
    score: Floats
    first_context: Ints
    context_arc: Ints
    context_of: Ints
    unary_offset: Ints
    pair_offset: Ints
    unary: Floats
    pair: Floats
    triple_offset: Ints
    triple: Floats
    #: (sentences + 1, STARTS): where each sentence begins.
    starts: Ints


_INTS, _FLOATS, _STARTS = types.int64[::1], types.float64[::1], types.int64[:, ::1]
_BEHIND_ARCS = (_FLOATS, *[_INTS] * 5, _FLOATS, _FLOATS, _INTS, _FLOATS)
#: Their types as arguments of kernels.
PROBLEM = types.NamedTuple((_INTS, types.int64[:, ::1], *[_INTS] * 5, *_BEHIND_ARCS), Problem)
ARCS = types.NamedTuple((*[_INTS] * 7, _STARTS), Arcs)
PROBLEMS = types.NamedTuple((*[_INTS] * 7, *_BEHIND_ARCS, _STARTS), Problems)


def _slice_problem(problems: Problems, index: int) -> Problem:
    """One sentence, without a copy."""
    begin, end = problems.starts[index], problems.starts[index + 1]
    # Arrays with an entry more than there are nodes, or lists, leave room for that of each before.
    node, last = begin[0], end[0]
    width = last - node
    arc, last_arc = begin[2], end[2]
    context, last_context = begin[3], end[3]
    return Problem(
        problems.limits[node:last],
        problems.arc[begin[1] : end[1]].reshape((width, width)),
        problems.first[2 * node + index : 2 * last + index + 1],
        problems.head[arc:last_arc],
        problems.modifier[arc:last_arc],
        problems.first_entering[node + index : last + index + 1],
        problems.entering[arc:last_arc],
        problems.score[arc:last_arc],
        problems.first_context[node + index : last + index + 1],
        problems.context_arc[context:last_context],
        problems.context_of[arc:last_arc],
        problems.unary_offset[context:last_context],
        problems.pair_offset[context:last_context],
        problems.unary[begin[4] : end[4]],
        problems.pair[begin[5] : end[5]],
        problems.triple_offset[2 * node : 2 * last],
        problems.triple[begin[6] : end[6]],
    )


#: The same function for kernels and for Python.
problem_at: Any = subkernel()(_slice_problem)
problem_view = _slice_problem


def joined(problem: Problem) -> Problems:
    """A batch of one sentence, without a copy."""
    width, arcs = len(problem.limits), len(problem.head)
    sizes = (
        width,
        width * width,
        arcs,
        len(problem.context_arc),
        len(problem.unary),
        len(problem.pair),
        len(problem.triple),
    )
    starts = np.zeros((2, STARTS), np.int64)
    starts[1] = sizes
    flat = problem._replace(arc=problem.arc.reshape(-1))
    return Problems(*flat, starts)

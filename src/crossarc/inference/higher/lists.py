"""The modifiers of a head on one side, in a context: what automata read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.higher.borrowing import borrowing
from crossarc.inference.higher.problem import Problem
from crossarc.inference.projective.automata.layout import pair

__all__ = [
    "ModifierList",
    "Tables",
    "counts_modifiers",
    "list_of",
    "table_shape",
    "tables_of",
    "weight_of",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@borrowing(inline=True)
def counts_modifiers(problem: Problem, h: int) -> int:
    """1 if the modifiers of h are counted: it has more candidates than it may have.

    A root with one modifier has one side only, and needs no count.
    """
    candidates = problem.first[2 * h + 2] - problem.first[2 * h]
    return int(problem.limits[h] < candidates and (h > 0 or problem.limits[0] > 1))


@borrowing()
def table_shape(problem: Problem) -> tuple[int, int]:
    """Enough counts and states for every list."""
    counts, longest = 1, 0
    for h in range(problem.limits.shape[0]):
        if counts_modifiers(problem, h):
            counts = max(counts, problem.limits[h] + 1)
        for side in range(2):
            longest = max(longest, problem.first[2 * h + side + 1] - problem.first[2 * h + side])
    has_triples = problem.triple.shape[0] > 0
    return counts, pair(longest + 1, 0) if has_triples else longest + 1


class Tables(NamedTuple):
    """What passes read of a problem: a call with all of it would take longer than a short list."""

    modifier: Ints
    unary: Floats
    pair: Floats
    triple: Floats


@borrowing(inline=True)
def tables_of(problem: Problem) -> Tables:
    """Of a problem."""
    return Tables(problem.modifier, problem.unary, problem.pair, problem.triple)


class ModifierList(NamedTuple):
    """One side of a head in a context."""

    context: int
    head: int
    grandparent: int
    begin: int
    size: int
    #: 0 or 1: what a modifier adds to the count; the largest count; the most modifiers before.
    counted: int
    most: int
    before: int
    #: Where the list's unary, pair and triple scores begin.
    unary: int
    pair: int
    triple: int
    has_triples: bool
    may_be_empty: bool


@borrowing(inline=True)
def list_of(problem: Problem, c: int, h: int, side: int, rootless: bool) -> ModifierList:
    """`rootless`: whether the root, too, may have no modifier."""
    begin, end = problem.first[2 * h + side], problem.first[2 * h + side + 1]
    incoming, counted = problem.context_arc[c], counts_modifiers(problem, h)
    pairs = problem.pair_offset[c]
    if side == 1:
        pairs += pair(begin - problem.first[2 * h] + 1, 0)
    none: Any = np.int64(-1)
    zero: Any = np.int64(0)
    return ModifierList(
        c,
        h,
        problem.head[incoming] if incoming >= 0 else none,
        begin,
        end - begin,
        counted,
        problem.limits[h] if counted else zero,
        end - begin if problem.limits[h] >= 2 else zero,
        problem.unary_offset[c] + begin - problem.first[2 * h],
        pairs,
        problem.triple_offset[2 * h + side],
        problem.triple.shape[0] > 0,
        rootless or h > 0 or begin == end,
    )


@borrowing(inline=True)
def weight_of(own: ModifierList, tables: Tables, weights: Floats, m: int) -> float:
    """Of the modifier with rank m; -inf for the grandparent."""
    if tables.modifier[own.begin + m - 1] == own.grandparent:
        return -np.inf
    return float(weights[own.begin + m - 1] + tables.unary[own.unary + m - 1])

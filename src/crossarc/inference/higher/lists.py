"""The modifiers of a head on one side, in a context: what automata read, and the pass F over it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.higher.problem import Problem
from crossarc.inference.projective.automata.layout import pair, triple
from crossarc.kernels.borrowing import borrowing

__all__ = [
    "ModifierList",
    "Tables",
    "counts_modifiers",
    "inside_of",
    "list_of",
    "log_add",
    "maximum",
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


@borrowing(inline=True)
def maximum(x: float, y: float) -> float:
    """`plus` for best readings."""
    return x if x > y else y


@borrowing(inline=True)
def log_add(x: float, y: float) -> float:
    """`plus` for sums: log(e^x + e^y)."""
    high, low = (x, y) if x > y else (y, x)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@borrowing(inline=True)
def _fold_max(x: float, f: Floats, begin: int, scores: Floats, first: int, count: int) -> float:
    """`fold` for max, whose order is free: four at a time, which need not wait for each other."""
    y, z, u, whole = x, x, x, count - count % 4
    for t in range(0, whole, 4):
        x = maximum(x, f[begin + t] + scores[first + t])
        y = maximum(y, f[begin + t + 1] + scores[first + t + 1])
        z = maximum(z, f[begin + t + 2] + scores[first + t + 2])
        u = maximum(u, f[begin + t + 3] + scores[first + t + 3])
    for t in range(whole, count):
        x = maximum(x, f[begin + t] + scores[first + t])
    return maximum(maximum(x, y), maximum(z, u))


def _fold(plus: Callable[[float, float], float]) -> Any:
    if plus is maximum:
        return _fold_max

    @borrowing(inline=True)
    def fold(x: float, f: Floats, begin: int, scores: Floats, first: int, count: int) -> float:
        """x plus all f[begin + t] + scores[first + t] with t < count."""
        for t in range(count):
            x = plus(x, f[begin + t] + scores[first + t])
        return x

    return fold


def _uncounted_inside(plus: Callable[[float, float], float]) -> Any:
    fold = _fold(plus)

    @borrowing()
    def uncounted_inside(
        own: ModifierList, tables: Tables, weights: Floats, f: Floats, total: Floats
    ) -> None:
        """`inside` for lists without counts, which are most."""
        f[0], total[0] = 0.0, 0.0 if own.may_be_empty else -np.inf
        for m in range(1, own.size + 1):
            w, first = weight_of(own, tables, weights, m), own.pair + pair(m, 0)
            if not own.has_triples:
                x, count = -np.inf, min(m, own.before + 1)
                if w > -np.inf:
                    x = fold(x, f, 0, tables.pair, first, count)
                    total[0] = plus(total[0], w + x)
                f[m] = w + x
                continue
            for s in range(min(m, own.before + 1)):
                x, state = 0.0, pair(m, s)
                if s > 0 and w > -np.inf:
                    begin, triples = pair(s, 0), own.triple + triple(m, s, 1)
                    x = fold(f[begin], f, begin + 1, tables.triple, triples, s - 1)
                f[state] = w + tables.pair[first + s] + x
                total[0] = plus(total[0], f[state])

    return uncounted_inside


def inside_of(plus: Callable[[float, float], float]) -> Any:
    """The pass of `automata` that computes F and V."""
    uncounted_inside = _uncounted_inside(plus)

    @borrowing()
    def inside(
        own: ModifierList, tables: Tables, weights: Floats, f: Floats, total: Floats
    ) -> None:
        """F by [q, state], and V by q."""
        if own.counted == 0:
            uncounted_inside(own, tables, weights, f[0], total)
            return
        counts = own.most + 1
        total[:counts] = -np.inf
        if own.may_be_empty:
            total[0] = 0.0
        f[:counts, 0] = -np.inf
        f[0, 0] = 0.0
        pairs, triples = tables.pair, tables.triple
        for m in range(1, own.size + 1):
            w = weight_of(own, tables, weights, m)
            for s in range(min(m, own.before + 1)):
                state = pair(m, s) if own.has_triples else m
                for q in range(counts if own.has_triples or s == 0 else 0):
                    f[q, state] = -np.inf
                score = w + pairs[own.pair + pair(m, s)]
                for q in range(own.counted, counts if w > -np.inf else 0):
                    if own.has_triples and s > 0:
                        x = f[q - own.counted, pair(s, 0)]
                        offset = own.triple + triple(m, s, 1)
                        for t in range(1, s):
                            before = f[q - own.counted, pair(s, t)] + triples[offset + t - 1]
                            x = plus(x, before)
                    elif own.has_triples:
                        x = 0.0 if q == own.counted else -np.inf
                    else:
                        x = f[q - own.counted, s]
                    f[q, state] = plus(f[q, state], score + x)
            for s in range(min(m, own.before + 1) if own.has_triples else 1):
                state = pair(m, s) if own.has_triples else m
                for q in range(own.counted, counts):
                    total[q] = plus(total[q], f[q, state])

    return inside

"""Head automata as exact dynamic programmes over pruned arcs (Koo et al. 2010, section 4).

The automaton of a head h reads its modifiers on each side from the inside out. In a context c,

    F(q, m) = w(m) + plus over s < m of  F(q - 1, s) + pair(m, s)         F(0, 0) = 0

is the weight of all beginnings of a side that end with modifier m, q being their number; w(m) is
the weight of the arc with `unary`. With triples the state is the last two modifiers,

    F(q, m, s) = w(m) + pair(m, s) + plus over t < s of  F(q - 1, s, t) + triple(m, s, t).

q is counted only where h may have fewer modifiers than candidates. V(q) = plus over m of F(q, m) is
a side's value, and that of the automaton is plus over contexts and q + q' <= limit of
into(c) + V_left(q) + V_right(q'). B, the weight of all completions, is the adjoint recurrence.

`plus` is max or the logarithm of a sum of exponentials: one text for best modifiers,
max-marginals and marginals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.higher.lists import (
    ModifierList,
    Tables,
    counts_modifiers,
    inside_of,
    list_of,
    log_add,
    maximum,
    table_shape,
    tables_of,
    weight_of,
)
from crossarc.inference.higher.problem import PROBLEM, Problem
from crossarc.inference.projective.automata.layout import pair, triple
from crossarc.kernels import READ_FLOAT, kernel, subkernel
from crossarc.kernels.borrowing import borrowing

__all__ = [
    "AutomatonMarginals",
    "best_counts",
    "best_marginals",
    "combine_best",
    "marginals_sum",
    "solve_list",
    "trace",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FLOATS = types.float64[::1]


def _combinations(plus: Callable[[float, float], float]) -> tuple[Any, Any]:
    @borrowing(inline=True)
    def combine(problem: Problem, h: int, left: Floats, right: Floats) -> float:
        """Both sides of a head."""
        counted = counts_modifiers(problem, h)
        if not counted:
            return float(left[0] + right[0])
        total = -np.inf
        for q in range(problem.limits[h] + 1):
            for k in range(problem.limits[h] + 1 - q):
                total = plus(total, left[q] + right[k])
        return total

    @borrowing()
    def adjoint(own: ModifierList, other: Floats, offset: float, out: Floats) -> None:
        """What V(q) of a side is worth beside the other side and all else."""
        for q in range(own.most + 1):
            total = -np.inf
            for k in range(own.most + 1 - q):
                total = plus(total, other[k])
            out[q] = total + offset

    return combine, adjoint


def _outside(plus: Callable[[float, float], float]) -> Any:
    @borrowing()
    def outside(
        own: ModifierList,
        tables: Tables,
        weights: Floats,
        f: Floats,
        b: Floats,
        ends: Floats,
        arcs: Floats,
        pair_sums: Floats,
        triple_sums: Floats,
    ) -> None:
        """B by [q, state] from `ends`; adds F + B of each modifier, pair and triple to the sums."""
        for q in range(own.most + 1):
            b[q, :] = ends[q]
        for m in range(own.size, 0, -1):
            w = weight_of(own, tables, weights, m)
            if w == -np.inf:
                continue
            a = own.begin + m - 1
            for s in range(min(m, own.before + 1)):
                state = pair(m, s) if own.has_triples else m
                score = w + tables.pair[own.pair + pair(m, s)]
                for q in range(own.counted, own.most + 1):
                    z = b[q, state] + score
                    k = q - own.counted
                    if own.has_triples:
                        here = f[q, state] + b[q, state]
                        if s > 0:
                            b[k, pair(s, 0)] = plus(b[k, pair(s, 0)], z)
                        offset = triple(m, s, 1)
                        for t in range(1, s):
                            y = z + tables.triple[own.triple + offset + t - 1]
                            b[k, pair(s, t)] = plus(b[k, pair(s, t)], y)
                            if triple_sums.shape[0] > 0:
                                i = own.triple + offset + t - 1
                                y += f[k, pair(s, t)]
                                triple_sums[i] = plus(triple_sums[i], y)
                    else:
                        here = z + f[k, s]
                        b[k, s] = plus(b[k, s], z)
                    arcs[a] = plus(arcs[a], here)
                    if pair_sums.shape[0] > 0:
                        i = pair(m, s)
                        pair_sums[i] = plus(pair_sums[i], here)

    return outside


def _readings(plus: Callable[[float, float], float]) -> Any:
    inside, outside = inside_of(plus), _outside(plus)
    combine, adjoint = _combinations(plus)

    @borrowing()
    def read_all(
        problem: Problem,
        weights: Floats,
        into: Floats,
        rootless: bool,
        f: Floats,
        b: Floats,
        values: Floats,
        ends: Floats,
        totals: Floats,
        leaving: Floats,
        entering: Floats,
        pair_sums: Floats,
        triple_sums: Floats,
    ) -> None:
        """`marginals`, given workspaces."""
        begin, tables = 0, tables_of(problem)
        for h in range(problem.limits.shape[0]):
            totals[h] = -np.inf
            for c in range(problem.first_context[h], problem.first_context[h + 1]):
                for side in range(2):
                    own = list_of(problem, c, h, side, rootless)
                    inside(own, tables, weights, f[side], values[side])
                entering[c] = into[c] + combine(problem, h, values[0], values[1])
                totals[h] = plus(totals[h], entering[c])
                for side in range(2):
                    own = list_of(problem, c, h, side, rootless)
                    adjoint(own, values[1 - side], into[c], ends)
                    sums = pair_sums[begin:]
                    outside(own, tables, weights, f[side], b, ends, leaving, sums, triple_sums)
                    if pair_sums.shape[0] > 0:
                        begin += pair(own.size + 1, 0)

    return read_all


def _marginals(plus: Callable[[float, float], float]) -> Any:
    read_all = _readings(plus)

    def marginals(
        problem: Problem,
        weights: Floats,
        into: Floats,
        rootless: bool,
        totals: Floats,
        leaving: Floats,
        entering: Floats,
        pair_sums: Floats,
        triple_sums: Floats,
    ) -> None:
        """The totals of all automata, and of those of their readings that have an arc or part.

        Args:
            weights: of each arc as one that leaves its head, -inf to forbid it.
            into: of each context.
            rootless: whether the root, too, may have no modifier.
            totals: by node.
            leaving: by arc: readings of its head's automaton that have it.
            entering: by context: readings in it.
            pair_sums: by context and pair, or empty: readings that have it.
            triple_sums: as `triple`, or empty.
        """
        counts, states = table_shape(problem)
        f, b = np.empty((2, counts, states)), np.empty((counts, states))
        values, ends = np.empty((2, counts)), np.empty(counts)
        leaving[:], entering[:] = -np.inf, -np.inf
        pair_sums[:], triple_sums[:] = -np.inf, -np.inf
        read_all(
            problem,
            weights,
            into,
            rootless,
            f,
            b,
            values,
            ends,
            totals,
            leaving,
            entering,
            pair_sums,
            triple_sums,
        )

    return marginals


_inside_best = inside_of(maximum)
combine_best, _ = _combinations(maximum)

_SIGNATURE = types.void(PROBLEM, READ_FLOAT, READ_FLOAT, types.boolean, *[_FLOATS] * 5)
best_marginals: Any = subkernel()(_marginals(maximum))
marginals_sum = kernel(_SIGNATURE, name="marginals_sum")(_marginals(log_add))


class AutomatonMarginals:
    """Results of `marginals_sum`, as logarithms.

    Args:
        weights, into, rootless: as for the kernel.
        parts: whether pairs and triples are asked for.
    """

    def __init__(
        self,
        problem: Problem,
        weights: Floats,
        into: Floats,
        *,
        rootless: bool = False,
        parts: bool = False,
    ) -> None:
        pairs = 0
        if parts:
            sides = np.diff(problem.first)
            by_node = (sides * (sides + 1) // 2).reshape(-1, 2).sum(axis=1)
            pairs = int((by_node * np.diff(problem.first_context)).sum())
        self.totals = np.empty(len(problem.limits))
        self.leaving, self.entering = np.empty(len(weights)), np.empty(len(into))
        self.pairs, self.triples = np.empty(pairs), np.empty(len(problem.triple) if parts else 0)
        marginals_sum(
            problem,
            weights,
            into,
            rootless,
            self.totals,
            self.leaving,
            self.entering,
            self.pairs,
            self.triples,
        )


@borrowing(inline=True)
def solve_list(
    problem: Problem, c: int, h: int, side: int, weights: Floats, f: Floats, value: Floats
) -> None:
    """V(q) of one side, best, and F behind it."""
    _inside_best(list_of(problem, c, h, side, False), tables_of(problem), weights, f, value)


@borrowing(inline=True)
def best_counts(problem: Problem, h: int, left: Floats, right: Floats) -> tuple[int, int]:
    """The counts of both sides in the best reading; 0 where modifiers are not counted."""
    best, split = -np.inf, (0, 0)
    if counts_modifiers(problem, h):
        for q in range(problem.limits[h] + 1):
            for k in range(problem.limits[h] + 1 - q):
                if left[q] + right[k] > best:
                    best, split = left[q] + right[k], (q, k)
    return split


@borrowing()
def trace(own: ModifierList, tables: Tables, f: Floats, q: int, used: Ints) -> None:
    """Mark the modifiers of the best reading of a side with count q; F from `solve_list`."""
    used[own.begin : own.begin + own.size] = 0
    best, m, s = -np.inf, 0, 0
    if own.may_be_empty and q == 0:
        best = 0.0
    for i in range(1, own.size + 1):
        for j in range(min(i, own.before + 1) if own.has_triples else 1):
            value = f[q, pair(i, j) if own.has_triples else i] if q >= own.counted else -np.inf
            if value > best:
                best, m, s = value, i, j
    while m > 0:
        used[own.begin + m - 1] = 1
        q -= own.counted
        best, last = -np.inf, 0
        if own.has_triples:
            for t in range(s):
                value = f[q, pair(s, t)]
                if t > 0:
                    value += tables.triple[own.triple + triple(m, s, t)]
                if value > best:
                    best, last = value, t
            m, s = s, last
        else:
            for k in range(min(m, own.before + 1)):
                value = f[q, k] + tables.pair[own.pair + pair(m, k)]
                if value > best:
                    best, last = value, k
            m = last

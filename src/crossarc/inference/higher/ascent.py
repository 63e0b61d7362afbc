"""Dual decomposition: a spanning tree and head automata that must agree (Koo et al. 2010).

The score of each arc a is shared out among the spanning tree, the automaton of its head and, where
contexts are arcs, the automaton of its modifier:

    tree(a) + leaving(a) + into(a) = score(a).

For any such shares the best spanning tree and the best readings of all automata, each for itself,
score together at least as much as the best tree of the model: an upper bound. Where they use the
same arcs, they are the best tree. Otherwise shares move against the disagreement: with y, z, x in
{0, 1} for whether the tree, the head's and the modifier's automaton use the arc,

    leaving(a) -= rate (z - mean),      into(a) -= rate (x - mean),      tree(a) takes the rest,

a subgradient step that lowers the bound. rate = relaxation * (bound - score of the best tree known)
/ |subgradient|^2 (Polyak 1969), and the relaxation is reduced when the bound has stopped falling
(Held, Wolfe & Crowder 1974). Trees for this come from arc substitution, started at the spanning
trees on the way. Only lists of which a share has changed are solved again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import SHRINK
from crossarc.inference.higher.automata import combine_best, solve_list, trace
from crossarc.inference.higher.lists import table_shape
from crossarc.inference.higher.problem import PROBLEM, Problem
from crossarc.inference.higher.substitution import improve, substitute
from crossarc.inference.spanning.edmonds.argmax import (
    FIELDS,
    INFEASIBLE,
    MULTI,
    OVERFLOW,
    SINGLE,
    contract,
    expand,
)
from crossarc.kernels import kernel, subkernel

__all__ = ["Ascent", "Incumbent"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Iterations without a better bound after which the relaxation is reduced, and by how much.
_PATIENCE, _REDUCTION = 10, 0.7
# How often arc substitution starts from the spanning tree.
_EVERY = 10


class _State(NamedTuple):
    """What an ascent remembers, as an argument of `_ascend`."""

    #: By arc: 1 if it may be used, else 0.
    allowed: Ints
    #: By arc: the automata's shares.
    leaving: Floats
    into: Floats
    #: The tree's share, (n + 1)^2 entries, -inf for arcs that may not be used.
    tree: Floats
    #: By arc: how often there was disagreement.
    disputed: Floats
    #: By context and side: values of lists, by count of modifiers; by node: value, best context.
    lists: Floats
    values: Floats
    best: Ints
    #: By arc: 1 if the automaton of its head uses it.
    used: Ints
    #: By list: 2 if it must be solved again, 1 if the best context must be chosen again.
    changed: Ints


_INTS, _FLOATS = types.int64[::1], types.float64[::1]
_STATE = types.NamedTuple(
    (
        _INTS,
        *[_FLOATS] * 4,
        types.float64[:, :, ::1],
        _FLOATS,
        _INTS,
        _INTS,
        _INTS,
    ),
    _State,
)


@subkernel()
def _step(problem: Problem, state: _State, heads: Ints, rate: float) -> float:
    """Move the shares where there is disagreement; returns |subgradient|^2. No move at rate 0."""
    width, norm = problem.limits.shape[0], 0.0
    is_grand = problem.context_arc[problem.context_arc.shape[0] - 1] >= 0
    for a in range(state.used.shape[0]):
        h, m = problem.head[a], problem.modifier[a]
        y, z = int(heads[m] == h), state.used[a]
        x = int(problem.context_arc[state.best[m]] == a) if is_grand else z
        if y == z and z == x:
            continue
        mean = (y + z + x) / 3.0 if is_grand else (y + z) / 2.0
        norm += (y - mean) ** 2 + (z - mean) ** 2 + ((x - mean) ** 2 if is_grand else 0.0)
        if rate == 0.0:
            continue
        state.disputed[a] += 1.0
        state.leaving[a] -= rate * (z - mean)
        if is_grand:
            state.into[a] -= rate * (x - mean)
            state.changed[2 * m] = max(state.changed[2 * m], 1)
        state.changed[2 * h + int(m > h)] = 2
        state.tree[h * width + m] = problem.score[a] - state.leaving[a] - state.into[a]
    return norm


@subkernel(inline=True)
def _solve_node(problem: Problem, state: _State, h: int, weights: Floats, f: Floats) -> None:
    """Value and best context of the automaton of h."""
    state.values[h], state.best[h] = -np.inf, problem.first_context[h]
    for c in range(problem.first_context[h], problem.first_context[h + 1]):
        incoming = problem.context_arc[c]
        if incoming >= 0 and state.allowed[incoming] == 0:
            continue
        for side in range(2):
            if state.changed[2 * h + side] == 2:
                solve_list(problem, c, h, side, weights, f[side], state.lists[c, side])
        value = combine_best(problem, h, state.lists[c, 0], state.lists[c, 1])
        if incoming >= 0:
            value += state.into[incoming]
        if value > state.values[h]:
            state.values[h], state.best[h] = value, c


@subkernel()
def _advance(problem: Problem, state: _State, heads: Ints, gap: float) -> float:
    """Step against the disagreement with a tree, and solve the automata that this concerns.

    Returns the summed value of all automata, or +inf if there was no disagreement.

    Args:
        heads: of the spanning tree, entry 0 unused.
        gap: what the step is to gain, relaxation included; 0 for no step.
    """
    rate = 0.0
    for _ in range(2 if gap > 0.0 else 0):
        norm = _step(problem, state, heads, rate)
        if norm == 0.0:
            return np.inf
        rate = gap / norm
    counts, states = table_shape(problem)
    f, workspace = np.empty((2, counts, states)), np.empty((2, counts))
    weights = np.empty(state.allowed.shape[0])
    for a in range(weights.shape[0]):
        weights[a] = state.leaving[a] if state.allowed[a] else -np.inf
    total = 0.0
    for h in range(problem.limits.shape[0]):
        if state.changed[2 * h] or state.changed[2 * h + 1]:
            _solve_node(problem, state, h, weights, f)
            state.used[problem.first[2 * h] : problem.first[2 * h + 2]] = 0
            if state.values[h] > -np.inf:
                trace(problem, state.best[h], h, weights, f, workspace, state.used)
        total += state.values[h]
    state.changed[:] = 0
    return total


@subkernel()
def _best_tree(
    scores: Floats, heads: Ints, is_single: bool, node: Ints, real: Floats, rows: Floats
) -> bool:
    """The best spanning tree by flat scores, heads from entry 1 on; False if there is none."""
    n, rule = heads.shape[0] - 1, SINGLE if is_single else MULTI
    last = contract(scores, n, rule, node, real, rows)
    if last == OVERFLOW:
        last = contract(scores * SHRINK, n, rule, node, real, rows)
    if last == INFEASIBLE:
        return False
    expand(last, 0, heads[1:], node, real, rows)
    return True


@subkernel()
def _meets(bound: float, score: float, tolerance: float) -> bool:
    """Whether no tree under the bound is better than one with this score; -inf for none."""
    if score == -np.inf:
        return bool(bound == -np.inf)
    return bool(bound - score <= tolerance * max(1.0, abs(score)))


@kernel(types.int64(PROBLEM, _STATE, types.int64[::1], _FLOATS, types.int64, types.float64))
def _ascend(
    problem: Problem,
    state: _State,
    best: Ints,
    progress: Floats,
    iterations: int,
    tolerance: float,
) -> int:
    """Lower the bound until it meets the best tree known; returns the number of iterations.

    Args:
        best: the heads of that tree, entry 0 unused; replaced by better ones.
        progress: its score, the bound and the relaxation, which change.
    """
    width, is_single = problem.limits.shape[0], problem.limits[0] == 1
    heads, found = np.zeros(width, np.int64), np.empty(width, np.int64)
    node = np.empty((FIELDS, 2 * width), np.int64)
    real, rows = np.empty((2, 2 * width)), np.empty((2 * width, width))
    patience = 0
    readings = _advance(problem, state, heads, 0.0)
    for k in range(iterations):
        is_tree = _best_tree(state.tree, heads, is_single, node, real, rows)
        if not is_tree or readings == -np.inf:
            progress[1] = -np.inf
            return k
        found[:] = heads
        substitutes = k % _EVERY == 0 or progress[0] == -np.inf
        score = improve(problem, state.allowed, found, substitutes)
        if score > progress[0]:
            best[:], progress[0] = found, score
        total = readings
        for m in range(1, width):
            total += state.tree[heads[m] * width + m]
        patience = 0 if total < progress[1] else patience + 1
        progress[1] = min(progress[1], total)
        if _meets(progress[1], progress[0], tolerance):
            return k + 1
        if patience >= _PATIENCE:
            progress[2] *= _REDUCTION
            patience = 0
        gap = total - progress[0]
        if gap == np.inf:
            gap = 0.1 * max(1.0, abs(total))
        readings = _advance(problem, state, heads, progress[2] * gap)
        if readings == np.inf:
            return k + 1
    return iterations


class Incumbent:
    """The best tree known: heads, entry 0 unused, and its score, -inf without one."""

    def __init__(self, problem: Problem, start: Ints | None = None) -> None:
        self._problem = problem
        self.heads, self.score = np.zeros(len(problem.limits), np.int64), -math.inf
        if start is not None:
            self.offer(np.ones(len(problem.score), np.int64), start, False)

    def offer(self, allowed: Ints, heads: Ints, substitutes: bool) -> None:
        """Keep a tree if it is better, after arc substitution if asked to."""
        found = heads.copy()
        score = substitute(self._problem, allowed, found, substitutes)
        if score > self.score:
            self.heads, self.score = found, score

    def meets(self, bound: float, tolerance: float) -> bool:
        """Whether no tree under the bound is better."""
        if self.score == -math.inf:
            return bound == -math.inf
        return bound - self.score <= tolerance * max(1.0, abs(self.score))


class Ascent:
    """Shares of a problem in which only some arcs may be used.

    Args:
        allowed, leaving, into: as in `_State`; changed in place.
        disputed: by arc: how often there was disagreement; added to.
    """

    def __init__(
        self, problem: Problem, allowed: Ints, leaving: Floats, into: Floats, disputed: Floats
    ) -> None:
        self._problem = problem
        width, contexts = len(problem.limits), len(problem.context_arc)
        counted = problem.limits[problem.limits < np.diff(problem.first[::2])]
        counts = int(counted.max(initial=0)) + 1
        self._state = _State(
            allowed,
            leaving,
            into,
            np.full(width * width, -np.inf),
            disputed,
            np.full((contexts, 2, counts), -np.inf),
            np.empty(width),
            np.zeros(width, np.int64),
            np.zeros(len(allowed), np.int64),
            np.full(2 * width, 2),
        )
        self.iterations = 0

    def run(
        self, iterations: int, incumbent: Incumbent, relaxation: float, tolerance: float
    ) -> tuple[float, float]:
        """Lower the bound; returns it and the relaxation. -inf: there is no tree."""
        problem, state = self._problem, self._state
        width, used = len(problem.limits), np.flatnonzero(state.allowed)
        cells = problem.head[used] * width + problem.modifier[used]
        state.tree[:] = -np.inf
        state.tree[cells] = problem.score[used] - state.leaving[used] - state.into[used]
        state.changed[:] = 2
        progress = np.array([incumbent.score, math.inf, relaxation])
        self.iterations += _ascend(problem, state, incumbent.heads, progress, iterations, tolerance)
        incumbent.score, bound, relaxation = progress.tolist()
        return bound, relaxation

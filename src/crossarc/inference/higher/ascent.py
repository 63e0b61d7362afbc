"""Dual decomposition: a spanning tree and head automata that must agree (Koo et al. 2010).

The score of each arc a is shared out among the spanning tree, the automaton of its head and, where
contexts are arcs, the automaton of its modifier:

    tree(a) + leaving(a) + into(a) = score(a).

For any such shares the best spanning tree and the best readings of all automata, each for itself,
score together at least as much as the best tree of the model: an upper bound. Where they use the
same arcs, they are the best tree. Otherwise shares move against the disagreement: with y, z, x in
{0, 1} for whether the tree, the head's and the modifier's automaton use the arc,

    leaving(a) -= rate (z - mean),      into(a) -= rate (x - mean),      tree(a) takes the rest,

a subgradient step that lowers the bound. Its rate is

    relaxation * (bound - score of the best tree known) / |subgradient|^2     (Polyak 1969), or
    first rate / (1 + how often the bound has risen from one step to the next)     (Koo et al.)

where the relaxation is reduced when the bound has stopped falling (Held, Wolfe & Crowder 1974).
Trees come from arc substitution, started at the spanning trees on the way. Only lists of which a
share has changed are solved again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import two_sum
from crossarc.inference.higher.automata import best_counts, combine_best, solve_list, trace
from crossarc.inference.higher.lists import counts_modifiers, list_of, table_shape, tables_of
from crossarc.inference.higher.problem import Problem
from crossarc.inference.higher.substitution import WorkingTree, adopt, improve, working_tree
from crossarc.inference.spanning.edmonds.argmax import FIELDS, MULTI, SINGLE, best_tree
from crossarc.kernels import subkernel
from crossarc.kernels.borrowing import borrowing

__all__ = ["Shares", "StepRule", "ascend", "meets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Iterations without a better bound after which the relaxation is reduced, and by how much.
_PATIENCE, _REDUCTION = 10, 0.7
# How often arc substitution starts from the spanning tree.
_EVERY = 10


class StepRule(NamedTuple):
    """How far steps go; see the module."""

    #: That of Koo et al.; 0 for Polyak's rule.
    first_rate: float
    #: One entry, which changes with the steps: the relaxation, or how often the bound has risen.
    state: Floats

    @classmethod
    def polyak(cls, relaxation: float) -> StepRule:
        """By the gap that is left."""
        return cls(0.0, np.array([relaxation]))

    @classmethod
    def decaying(cls, first_rate: float) -> StepRule:
        """Smaller with each step that raised the bound."""
        return cls(first_rate, np.zeros(1))


class Shares(NamedTuple):
    """How the score of each arc is shared out, and which arcs may be used."""

    #: By arc: 1 if it may be used, else 0.
    allowed: Ints
    #: Of the automaton of its head, and of its modifier; the rest is the spanning tree's.
    leaving: Floats
    into: Floats
    #: How often there was disagreement.
    disputed: Floats


class _State(NamedTuple):
    """What an ascent remembers; the first four are the shares."""

    allowed: Ints
    leaving: Floats
    into: Floats
    disputed: Floats
    #: By arc: `leaving`, -inf for arcs that may not be used.
    weights: Floats
    #: The tree's share, (n + 1)^2 entries, -inf for arcs that may not be used.
    tree: Floats
    #: By context and side: values of lists, by count of modifiers; by node: value, best context.
    lists: Floats
    values: Floats
    best: Ints
    #: By arc: 1 if the automaton of its head uses it.
    used: Ints
    #: By arc: of how many of the spanning tree and its modifier's automaton it is; 0 between steps.
    claims: Ints
    #: By list: 2 if it must be solved again, 1 if the best context must be chosen again.
    changed: Ints


class _Workspace(NamedTuple):
    """Of an ascent."""

    #: Of a spanning tree, entry 0 unused; after substitution.
    heads: Ints
    found: WorkingTree
    #: Of `_subgradient`.
    arcs: Ints
    gradient: Floats
    #: Of automata, by side.
    f: Floats
    #: Of `best_tree`.
    node: Ints
    real: Floats
    rows: Floats


@subkernel()
def _open(
    problem: Problem, allowed: Ints, leaving: Floats, into: Floats, disputed: Floats
) -> _State:
    """A state in which no list has been solved."""
    width = problem.limits.shape[0]
    weights, tree = np.full(leaving.shape[0], -np.inf), np.full(width * width, -np.inf)
    for a in range(leaving.shape[0]):
        if allowed[a] == 1:
            weights[a] = leaving[a]
            share = problem.score[a] - leaving[a] - into[a]
            tree[problem.head[a] * width + problem.modifier[a]] = share
    return _State(
        allowed,
        leaving,
        into,
        disputed,
        weights,
        tree,
        np.full((problem.context_arc.shape[0], 2, table_shape(problem)[0]), -np.inf),
        np.empty(width),
        np.zeros(width, np.int64),
        np.zeros(leaving.shape[0], np.int64),
        np.zeros(leaving.shape[0], np.int64),
        np.full(2 * width, 2),
    )


@borrowing()
def _subgradient(
    problem: Problem, state: _State, heads: Ints, arcs: Ints, gradient: Floats
) -> tuple[float, int]:
    """List the arcs on which the tree and automata differ; |subgradient|^2, and how many.

    Args:
        gradient: by such an arc, how far the automata of its head and of its modifier are from the
            mean.
    """
    norm, count = 0.0, 0
    is_grand = problem.context_arc[problem.context_arc.shape[0] - 1] >= 0
    # y + x of each arc; most arcs are in nothing, and agreed upon.
    for m in range(1, heads.shape[0]):
        state.claims[problem.arc[heads[m], m]] += 1
        if is_grand:
            state.claims[problem.context_arc[state.best[m]]] += 1
    for a in range(state.used.shape[0]):
        claims, z = state.claims[a], state.used[a]
        if claims == 0 and z == 0:
            continue
        state.claims[a] = 0
        if claims + z == (3 if is_grand else 2):
            continue
        m = problem.modifier[a]
        y = int(heads[m] == problem.head[a])
        x = claims - y if is_grand else z
        mean = (y + z + x) / 3.0 if is_grand else 0.5
        arcs[count] = a
        gradient[count, 0], gradient[count, 1] = z - mean, x - mean
        norm += (y - mean) ** 2 + (z - mean) ** 2 + ((x - mean) ** 2 if is_grand else 0.0)
        count += 1
    return norm, count


@borrowing()
def _step(problem: Problem, state: _State, arcs: Ints, gradient: Floats, rate: float) -> None:
    """Move the shares of the arcs on which there is disagreement."""
    width = problem.limits.shape[0]
    is_grand = problem.context_arc[problem.context_arc.shape[0] - 1] >= 0
    for i in range(arcs.shape[0]):
        a = arcs[i]
        h, m = problem.head[a], problem.modifier[a]
        state.disputed[a] += 1.0
        state.leaving[a] -= rate * gradient[i, 0]
        state.weights[a] = state.leaving[a]
        if is_grand:
            state.into[a] -= rate * gradient[i, 1]
            state.changed[2 * m] = max(state.changed[2 * m], 1)
        state.changed[2 * h + int(m > h)] = 2
        state.tree[h * width + m] = problem.score[a] - state.leaving[a] - state.into[a]


@borrowing(inline=True)
def _choose_context(problem: Problem, state: _State, h: int, f: Floats) -> int:
    """Value and best context of the automaton of h; returns the last context that was solved."""
    state.values[h], state.best[h], last = -np.inf, problem.first_context[h], -1
    for c in range(problem.first_context[h], problem.first_context[h + 1]):
        incoming = problem.context_arc[c]
        if incoming >= 0 and state.allowed[incoming] == 0:
            continue
        last = c
        for side in range(2):
            if state.changed[2 * h + side] == 2:
                solve_list(problem, c, h, side, state.weights, f[side], state.lists[c, side])
        value = combine_best(problem, h, state.lists[c, 0], state.lists[c, 1])
        if incoming >= 0:
            value += state.into[incoming]
        if value > state.values[h]:
            state.values[h], state.best[h] = value, c
    return last


@borrowing(inline=True)
def _solve_node(problem: Problem, state: _State, h: int, f: Floats) -> None:
    """Value, best context and best modifiers of the automaton of h."""
    before = state.best[h]
    last = _choose_context(problem, state, h, f)
    c = state.best[h]
    if state.values[h] == -np.inf:
        return
    counts = best_counts(problem, h, state.lists[c, 0], state.lists[c, 1])
    is_other = c != before or counts_modifiers(problem, h) > 0
    for side in range(2):
        is_new = state.changed[2 * h + side] == 2
        if is_new or is_other:
            if not is_new or c != last:
                solve_list(problem, c, h, side, state.weights, f[side], state.lists[c, side])
            own = list_of(problem, c, h, side, False)
            trace(own, tables_of(problem), f[side], counts[side], state.used)


@borrowing()
def _read(problem: Problem, state: _State, f: Floats) -> float:
    """Solve the automata that have changed; the summed value of all. f: a workspace."""
    total, error = 0.0, 0.0
    for h in range(problem.limits.shape[0]):
        if state.changed[2 * h] or state.changed[2 * h + 1]:
            _solve_node(problem, state, h, f)
        if state.values[h] == -np.inf:
            return -np.inf
        total, rounding = two_sum(total, state.values[h])
        error += rounding
    state.changed[:] = 0
    return total + error


@borrowing(inline=True)
def _tree_value(tree: Floats, heads: Ints) -> float:
    """Of a spanning tree."""
    total, error = 0.0, 0.0
    for m in range(1, heads.shape[0]):
        total, rounding = two_sum(total, tree[heads[m] * heads.shape[0] + m])
        error += rounding
    return total + error


@borrowing(inline=True)
def meets(score: float, bound: float, tolerance: float) -> bool:
    """Whether no tree under the bound is better than one with the score."""
    if score == -np.inf:
        return bound == -np.inf
    return bool(bound - score <= tolerance * max(1.0, abs(score)))


@borrowing(inline=True)
def _rate(rule: StepRule, total: float, score: float, norm: float) -> float:
    """Of the next step, given the bound of the last one and the score of a tree."""
    if rule.first_rate > 0.0:
        return float(rule.first_rate / (1.0 + rule.state[0]))
    gap = total - score
    if gap == np.inf:
        gap = 0.1 * max(1.0, abs(total))
    return float(rule.state[0] * gap / norm)


@subkernel()
def _run(
    problem: Problem,
    state: _State,
    rule: StepRule,
    best: Ints,
    score: float,
    iterations: int,
    tolerance: float,
    workspace: _Workspace,
) -> tuple[float, float, int]:
    """See `ascend`."""
    heads, found, arcs, gradient, f, node, real, rows = workspace
    width, root = best.shape[0], SINGLE if problem.limits[0] == 1 else MULTI
    bound, last, patience = np.inf, np.inf, 0
    readings = _read(problem, state, f)
    for i in range(iterations):
        best_tree(state.tree, width - 1, root, heads[1:], node, real, rows)
        if heads[1] < 0 or readings == -np.inf:
            return -np.inf, score, i
        adopt(problem, found, heads)
        value = improve(problem, state.allowed, found, i % _EVERY == 0 or score == -np.inf)
        if value > score:
            score = value
            best[:] = found.heads
        total = readings + _tree_value(state.tree, heads)
        patience = 0 if total < bound else patience + 1
        bound = min(bound, total)
        norm, count = _subgradient(problem, state, heads, arcs, gradient)
        if meets(score, bound, tolerance) or norm == 0.0:
            return bound, score, i + 1
        if rule.first_rate > 0.0:
            rule.state[0] += total > last
        elif patience >= _PATIENCE:
            rule.state[0] *= _REDUCTION
            patience = 0
        last = total
        _step(problem, state, arcs[:count], gradient, _rate(rule, total, score, norm))
        readings = _read(problem, state, f)
    return bound, score, iterations


@subkernel()
def ascend(
    problem: Problem,
    allowed: Ints,
    leaving: Floats,
    into: Floats,
    disputed: Floats,
    rule: StepRule,
    best: Ints,
    score: float,
    iterations: int,
    tolerance: float,
) -> tuple[float, float, int]:
    """Move shares until the bound meets the best tree; returns the bound, -inf where there is no
    tree, the best tree's score, and the number of iterations.

    Args:
        allowed, leaving, into, disputed: `Shares`, changed in place.
        best: heads of the best tree known, entry 0 unused; a better one takes its place.
        score: its score, -inf without one.
    """
    width = best.shape[0]
    counts, states = table_shape(problem)
    state = _open(problem, allowed, leaving, into, disputed)
    workspace = _Workspace(
        np.zeros(width, np.int64),
        working_tree(np.zeros(width, np.int64)),
        np.empty(leaving.shape[0], np.int64),
        np.empty((leaving.shape[0], 2)),
        np.empty((2, counts, states)),
        np.empty((FIELDS, 2 * width - 1), np.int64),
        np.empty((2, 2 * width - 1)),
        np.empty((2 * width - 1, width)),
    )
    return _run(problem, state, rule, best, score, iterations, tolerance, workspace)

"""Rounds of dual decomposition for all sentences of a batch, with the exclusion of arcs.

After a round of steps arcs are excluded by their reduced costs: the best spanning tree with an arc
and the best readings of both automata with it are an upper bound on all trees that have it, and
below the score of a known tree it can go. A sentence is open until no tree under its bound is
better than the best one known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import compensated_sum
from crossarc.inference.higher.ascent import StepRule, ascend, meets
from crossarc.inference.higher.automata import best_marginals
from crossarc.inference.higher.problem import PROBLEMS, Problem, Problems, problem_at
from crossarc.inference.spanning.edmonds.argmax import FIELDS, MULTI, SINGLE, best_tree
from crossarc.inference.spanning.edmonds.max_marginals import detours_of
from crossarc.kernels import kernel, subkernel

__all__ = ["STEPS", "Progress", "begin_search", "exclude_arcs", "part_of", "run_rounds"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Steps of a round.
STEPS = 25


class Progress(NamedTuple):
    """How far the search has come in each sentence of a batch."""

    #: By arc: see `ascent.Shares`.
    allowed: Ints
    leaving: Floats
    into: Floats
    disputed: Floats
    #: By node: heads of the best tree known, those of roots unused.
    heads: Ints
    #: By sentence: the score of that tree, -inf without one; an upper bound on all trees.
    score: Floats
    bound: Floats
    #: The state of the rule of steps; how many steps there have been; 1 while open, else 0.
    rule: Floats
    iterations: Ints
    is_open: Ints
    #: Enough for an automaton to read an arc whatever else it reads, and what rounding may take;
    #: -1 until they are known.
    force: Floats
    rounding: Floats


_INTS, _FLOATS = types.int64[::1], types.float64[::1]
_PROGRESS = types.NamedTuple(
    (_INTS, *[_FLOATS] * 3, _INTS, *[_FLOATS] * 3, _INTS, _INTS, _FLOATS, _FLOATS), Progress
)


def begin_search(problems: Problems, rule: StepRule, allowed: Ints | None = None) -> Progress:
    """Nothing done yet.

    Args:
        allowed: by arc: 1 if it may be used, else 0; None for all.
    """
    count, arcs = len(problems.starts) - 1, len(problems.score)
    is_grand = (problems.context_arc >= 0).any()
    leaving = problems.score / (3.0 if is_grand else 2.0)
    return Progress(
        np.ones(arcs, np.int64) if allowed is None else allowed.copy(),
        leaving,
        leaving.copy() if is_grand else np.zeros(arcs),
        np.zeros(arcs),
        np.zeros(len(problems.limits), np.int64),
        np.full(count, -np.inf),
        np.full(count, np.inf),
        np.full(count, rule.state[0]),
        np.zeros(count, np.int64),
        np.ones(count, np.int64),
        np.full(count, -1.0),
        np.full(count, -1.0),
    )


def part_of(progress: Progress, problems: Problems, index: int) -> Progress:
    """Of one sentence, without a copy."""
    (node, _, arc), (last, _, last_arc) = problems.starts[index : index + 2, :3].tolist()
    by_arc: list[Any] = [one[arc:last_arc] for one in progress[:4]]
    by_sentence: list[Any] = [one[index : index + 1] for one in progress[5:]]
    return Progress._make([*by_arc, progress.heads[node:last], *by_sentence])


@subkernel()
def _losses(problem: Problem, allowed: Ints, leaving: Floats, into: Floats) -> tuple[Floats, float]:
    """How far the bound falls when each arc is required, and the bound; inf and -inf for none."""
    width, arcs = problem.limits.shape[0], allowed.shape[0]
    contexts, is_single = problem.context_arc, problem.limits[0] == 1
    weights, of_context = np.full(arcs, -np.inf), np.zeros(contexts.shape[0])
    of_tree, tree = np.full(arcs, -np.inf), np.full((width, width), -np.inf)
    for a in range(arcs):
        if allowed[a] == 1:
            weights[a] = leaving[a]
            of_tree[a] = problem.score[a] - leaving[a] - into[a]
            tree[problem.head[a], problem.modifier[a]] = of_tree[a]
    for c in range(contexts.shape[0]):
        if contexts[c] >= 0:
            of_context[c] = into[contexts[c]] if allowed[contexts[c]] == 1 else -np.inf
    totals, read, entering = np.empty(width), np.empty(arcs), np.empty(contexts.shape[0])
    none = np.empty(0)
    best_marginals(problem, weights, of_context, False, totals, read, entering, none, none)
    heads, losses = np.empty(width - 1, np.int64), np.full(arcs, np.inf)
    node, real = np.empty((FIELDS, 2 * width - 1), np.int64), np.empty((2, 2 * width - 1))
    rows, rule = np.empty((2 * width - 1, width)), SINGLE if is_single else MULTI
    best_tree(tree.reshape(-1), width - 1, rule, heads, node, real, rows)
    if heads[0] < 0 or not np.isfinite(totals).all():
        return losses, -np.inf
    costs = np.empty((width, width))
    detours_of(tree, heads, is_single, costs)
    values = np.empty(2 * width - 1)
    values[:width] = totals
    for m in range(1, width):
        values[width + m - 1] = tree[heads[m - 1], m]
    is_grand = contexts[contexts.shape[0] - 1] >= 0
    for a in range(arcs):
        h, m = problem.head[a], problem.modifier[a]
        loss = costs[h, m] + tree[heads[m - 1], m] - of_tree[a] + (totals[h] - read[a])
        if is_grand:
            loss += totals[m] - entering[problem.context_of[a]]
        if not np.isnan(loss):
            losses[a] = loss
    high, low = compensated_sum(values)
    return losses, high + low


@subkernel()
def _fix(problem: Problem, allowed: Ints, leaving: Floats, force: float) -> None:
    """Make automata read arcs into words that have no other: the tree has them anyway."""
    for m in range(1, problem.limits.shape[0]):
        only, count = -1, 0
        for i in range(problem.first_entering[m], problem.first_entering[m + 1]):
            if allowed[problem.entering[i]] == 1:
                only, count = problem.entering[i], count + 1
        if count == 1 and leaving[only] < force:
            leaving[only] = 2.0 * force


@subkernel()
def _exclude(
    problem: Problem,
    allowed: Ints,
    leaving: Floats,
    into: Floats,
    score: float,
    slack: float,
    force: float,
) -> None:
    """Forbid arcs that no tree has that is better than one with the score."""
    losses, bound = _losses(problem, allowed, leaving, into)
    for a in range(losses.shape[0]):
        if losses[a] == np.inf or (score > -np.inf and bound - losses[a] < score - slack):
            allowed[a] = 0
    _fix(problem, allowed, leaving, force)


@subkernel()
def _largest(table: Floats) -> float:
    found = 0.0
    for x in table:
        if x > -np.inf:
            found = max(found, abs(x))
    return found


@subkernel()
def _measure(problem: Problem, progress: Progress, index: int) -> None:
    """Set `force` and `rounding`, which depend on the size of scores."""
    largest = _largest(problem.score) + _largest(problem.unary) + _largest(problem.pair)
    largest += _largest(problem.triple)
    progress.force[index] = 8.0 * largest
    width = problem.limits.shape[0]
    progress.rounding[index] = 16.0 * np.finfo(np.float64).eps * width * largest


@kernel(
    types.void(
        PROBLEMS,
        _PROGRESS,
        *[types.int64] * 2,
        types.float64,
        *[types.int64] * 2,
        *[types.boolean] * 2,
        types.float64,
    )
)
def _run_rounds(
    problems: Problems,
    progress: Progress,
    begin: int,
    end: int,
    first_rate: float,
    rounds: int,
    steps: int,
    fixes: bool,
    excludes: bool,
    tolerance: float,
) -> None:
    """See `run_rounds`."""
    for i in range(begin, end):
        problem = problem_at(problems, i)
        node, arc = problems.starts[i, 0], problems.starts[i, 2]
        nodes, arcs = slice(node, node + len(problem.limits)), slice(arc, arc + len(problem.head))
        shares = (
            progress.allowed[arcs],
            progress.leaving[arcs],
            progress.into[arcs],
            progress.disputed[arcs],
        )
        rule, heads = StepRule(first_rate, progress.rule[i : i + 1]), progress.heads[nodes]
        if progress.force[i] < 0.0:
            _measure(problem, progress, i)
        if fixes:
            _fix(problem, shares[0], shares[1], progress.force[i])
        for _ in range(rounds if progress.is_open[i] else 0):
            if steps > 0:
                bound, progress.score[i], count = ascend(
                    problem, *shares, rule, heads, progress.score[i], steps, tolerance
                )
                progress.bound[i] = min(progress.bound[i], bound)
                progress.iterations[i] += count
                if meets(progress.score[i], progress.bound[i], tolerance):
                    progress.is_open[i] = 0
                    break
            if excludes:
                score = progress.score[i]
                slack = tolerance * max(1.0, abs(score)) + progress.rounding[i]
                _exclude(problem, *shares[:3], score, slack, progress.force[i])


def run_rounds(
    problems: Problems,
    progress: Progress,
    begin: int,
    end: int,
    tolerance: float,
    *,
    first_rate: float,
    rounds: int = 1,
    steps: int = STEPS,
    fixes: bool = False,
    excludes: bool = False,
) -> None:
    """Go on with sentences begin, ..., end - 1, as long as they are open.

    Args:
        tolerance: relative difference of bound and score with which a sentence is no longer open.
        first_rate: of `StepRule`.
        fixes: whether arcs into words that have no other are read by automata from the start.
        excludes: whether arcs are excluded after each round.
    """
    options = first_rate, rounds, steps, fixes, excludes, tolerance
    _run_rounds(problems, progress, begin, end, *options)


def exclude_arcs(problems: Problems, progress: Progress, tolerance: float) -> None:
    """Forbid arcs of a single sentence that no better tree has."""
    run_rounds(problems, progress, 0, 1, tolerance, first_rate=0.0, steps=0, excludes=True)

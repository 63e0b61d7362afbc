"""Dual decomposition with tightening: branch and bound on the most disputed arc.

Where the ascent of `ascent` stops without a certificate, arcs are first excluded by their reduced
costs: the best spanning tree with an arc and the best readings of both automata with it are an
upper bound on all trees that have it, and below the score of a known tree it can go. Then the arc
that was disputed most often is required in one sub-problem and forbidden in another, each started
from the shares of its parent; sub-problems with the highest bound are solved first.
"""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.higher.ascent import Shares, StepRule, ascend
from crossarc.inference.higher.automata import AutomatonMarginals, marginals_best
from crossarc.inference.higher.problem import Problem
from crossarc.inference.higher.substitution import substitute

__all__ = ["TOLERANCE", "Solution", "polyak", "solve", "solve_dual"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Relative difference of bound and score up to which a tree is optimal.
TOLERANCE = 1e-9
# What is left of it for sub-problems; the rest covers rounding.
_NODE_TOLERANCE = TOLERANCE / 2
# Iterations of the first problem, in rounds after which arcs are excluded, and of each sub-problem.
_ROUNDS, _ROUND, _SUBPROBLEM = 3, 25, 40
# Sub-problems that are solved without a time limit.
_SUBPROBLEMS = 2000
_FIRST_RELAXATION, _LATER_RELAXATION = 1.8, 1.0

#: The rule of steps of a problem, given whether it is the whole one or a sub-problem.
Rules = Callable[[bool], StepRule]


def polyak(is_whole: bool) -> StepRule:
    """Polyak's rule; a sub-problem starts near the best shares."""
    return StepRule.polyak(_FIRST_RELAXATION if is_whole else _LATER_RELAXATION)


@dataclass
class Solution:
    """The best tree found, None without one, and an upper bound on all trees."""

    heads: Ints | None
    score: float
    bound: float
    iterations: int = 0
    subproblems: int = 0
    #: Of the integer programme: the numbers of the arcs, by modifier.
    arcs: Ints | None = None


@dataclass
class _Subproblem:
    """A part of the search space."""

    bound: float
    shares: Shares


def solve_dual(
    problem: Problem,
    allowed: Ints,
    start: Ints | None = None,
    deadline: float = math.inf,
    tighten: bool = True,
    rules: Rules = polyak,
    rounds: int = _ROUNDS,
) -> Solution:
    """The best tree over the allowed arcs, with a bound.

    Args:
        allowed: 1 for each arc that may be used, else 0.
        start: heads of a tree, entry 0 unused.
        deadline: of `time.monotonic`.
        tighten: whether to exclude arcs, and to branch.
        rules: how far steps go.
        rounds: of 25 steps without branching, at most.
    """
    return _Search(problem, start, deadline, rules).run(allowed, tighten, rounds)


def solve(problem: Problem, allowed: Ints | None = None, deadline: float = math.inf) -> Solution:
    """The best tree over the allowed arcs by dual decomposition, with a bound.

    With limits of modifiers or forbidden parts it may give up without any tree, not knowing whether
    there is one. Then the integer programme looks for a tree, from which it starts again.

    Args:
        allowed: 1 for each arc that may be used, else 0; None for all.
        deadline: of `time.monotonic`.
    """
    from crossarc.inference.higher.ilp import solve_ilp

    if allowed is None:
        allowed = np.ones(len(problem.score), np.int64)
    found = solve_dual(problem, allowed, deadline=deadline)
    if found.heads is not None or found.bound == -math.inf:
        return found
    own = problem._replace(score=np.where(allowed == 1, problem.score, -np.inf))
    exact = solve_ilp(own, None, deadline)
    bound = min(found.bound, exact.bound)
    if exact.heads is not None:
        start = np.concatenate([[0], exact.heads])
        found = solve_dual(problem, allowed, start, deadline)
        found.bound = max(found.score, min(bound, found.bound))
        return found
    return Solution(None, -math.inf, bound, found.iterations, found.subproblems)


class _Incumbent:
    """The best tree known: heads, entry 0 unused, and its score, -inf without one."""

    def __init__(self, problem: Problem, start: Ints | None = None) -> None:
        self.heads, self.score = np.zeros(len(problem.limits), np.int64), -math.inf
        if start is not None:
            self.heads[:] = start
            self.score = substitute(
                problem, np.ones(len(problem.score), np.int64), self.heads, False
            )

    def meets(self, bound: float, tolerance: float) -> bool:
        """Whether no tree under the bound is better."""
        if self.score == -math.inf:
            return bound == -math.inf
        return bound - self.score <= tolerance * max(1.0, abs(self.score))


class _Search:
    def __init__(self, problem: Problem, start: Ints | None, deadline: float, rules: Rules) -> None:
        self._problem, self._deadline, self._rules = problem, deadline, rules
        self._best = _Incumbent(problem, start)
        # Bounds of what has been left behind.
        self._closed = -math.inf
        self._iterations = 0
        tables = (problem.score, problem.unary, problem.pair, problem.triple)
        largest = sum(float(np.abs(one[one > -np.inf]).max(initial=0.0)) for one in tables)
        # Enough for an automaton to read an arc whatever else it reads, and what rounding may take.
        self._force = 8.0 * largest
        self._rounding = 16.0 * float(np.finfo(np.float64).eps) * len(problem.limits) * largest

    def run(self, allowed: Ints, tighten: bool, rounds: int) -> Solution:
        waiting: list[tuple[float, int, _Subproblem]] = []
        numbers, solved = itertools.count(), 0
        for one in self._first(allowed, tighten, rounds):
            heapq.heappush(waiting, (-one.bound, next(numbers), one))
        while waiting and tighten and time.monotonic() < self._deadline:
            if solved >= _SUBPROBLEMS and self._deadline == math.inf:
                break
            _, _, parent = heapq.heappop(waiting)
            for child in self._branches(parent):
                solved += 1
                self._ascend(child, _SUBPROBLEM, self._rules(False))
                if self._is_open(child):
                    heapq.heappush(waiting, (-child.bound, next(numbers), child))
        bounds = [one.bound for _, _, one in waiting]
        found = self._best.heads[1:].copy() if self._best.score > -math.inf else None
        bound = max([self._best.score, self._closed, *bounds])
        if found is not None or bound > -math.inf:
            bound += self._rounding
        return Solution(found, self._best.score, bound, self._iterations, solved)

    def _first(self, allowed: Ints, tighten: bool, rounds: int) -> Iterator[_Subproblem]:
        """The whole problem, unless it is solved without branching."""
        problem, arcs = self._problem, len(allowed)
        is_grand = problem.context_arc[-1] >= 0
        share = problem.score / (3.0 if is_grand else 2.0)
        into = share.copy() if is_grand else np.zeros(arcs)
        shares = Shares(allowed.copy(), share.copy(), into, np.zeros(arcs))
        whole = _Subproblem(math.inf, shares)
        rule = self._rules(True)
        for _ in range(rounds):
            self._ascend(whole, _ROUND, rule)
            if not self._is_open(whole):
                return
            if time.monotonic() >= self._deadline:
                break
            if tighten:
                self._exclude(whole.shares)
        yield whole

    def _ascend(self, one: _Subproblem, iterations: int, rule: StepRule) -> None:
        """Lower the bound of a sub-problem."""
        best = self._best
        bound, best.score, count = ascend(
            self._problem,
            *one.shares,
            rule,
            best.heads,
            best.score,
            iterations,
            _NODE_TOLERANCE,
        )
        self._iterations += count
        one.bound = min(one.bound, bound)

    def _is_open(self, one: _Subproblem) -> bool:
        """Whether it may have a better tree; if not, its bound is remembered."""
        if not self._best.meets(one.bound, _NODE_TOLERANCE):
            return True
        self._closed = max(self._closed, one.bound)
        return False

    def _exclude(self, shares: Shares) -> None:
        """Forbid arcs that no better tree has."""
        losses, bound = _losses(self._problem, shares)
        shares.allowed[losses == np.inf] = 0
        if self._best.score > -math.inf:
            slack = _NODE_TOLERANCE * max(1.0, abs(self._best.score)) + self._rounding
            shares.allowed[bound - losses < self._best.score - slack] = 0
        self._fix(shares)

    def _fix(self, shares: Shares) -> None:
        """Make automata read arcs into words that have no other: the tree has them anyway."""
        problem = self._problem
        heads = np.bincount(problem.modifier, shares.allowed, len(problem.limits))
        only = (shares.allowed == 1) & (heads[problem.modifier] == 1)
        low = only & (shares.leaving < self._force)
        shares.leaving[low] = 2.0 * self._force

    def _branches(self, parent: _Subproblem) -> Iterator[_Subproblem]:
        """Two sub-problems: one with, one without an arc."""
        problem, shares = self._problem, parent.shares
        self._exclude(shares)
        heads = np.bincount(problem.modifier, shares.allowed, len(problem.limits))
        is_open = (shares.allowed == 1) & (heads[problem.modifier] > 1)
        if not is_open.any():
            # One tree is left, which substitution has scored.
            self._closed = max(self._closed, min(parent.bound, self._best.score))
            return
        arc = int(np.argmax(np.where(is_open, shares.disputed, -1.0)))
        others = problem.modifier == problem.modifier[arc]
        others[arc] = False
        for forbidden in (others, np.arange(len(others)) == arc):
            child = Shares(
                np.where(forbidden, 0, shares.allowed),
                shares.leaving.copy(),
                shares.into.copy(),
                shares.disputed * 0.5,
            )
            self._fix(child)
            yield _Subproblem(parent.bound, child)


def _losses(problem: Problem, shares: Shares) -> tuple[Floats, float]:
    """How far the bound falls when each arc is required, and the bound."""
    from crossarc.inference.spanning.edmonds.argmax import best_heads
    from crossarc.inference.spanning.edmonds.max_marginals import detours

    leaving = np.where(shares.allowed == 1, shares.leaving, -np.inf)
    contexts = problem.context_arc
    into = np.where(shares.allowed == 1, shares.into, -np.inf)[contexts]
    into[contexts < 0] = 0.0
    readings = AutomatonMarginals(marginals_best, problem, leaving, into)
    width, is_single = len(problem.limits), bool(problem.limits[0] == 1)
    weights = np.full((width, width), -np.inf)
    of_tree = np.where(shares.allowed == 1, problem.score - shares.leaving - shares.into, -np.inf)
    weights[problem.head, problem.modifier] = of_tree
    heads = best_heads(weights, is_single)
    if heads[0] < 0 or not np.isfinite(readings.totals).all():
        return np.full(len(leaving), np.inf), -math.inf
    costs = np.empty((width, width))
    detours(weights, heads, is_single, costs)
    tree = weights[heads, np.arange(1, width)]
    with np.errstate(invalid="ignore"):
        losses = costs[problem.head, problem.modifier] + tree[problem.modifier - 1] - of_tree
        losses += readings.totals[problem.head] - readings.leaving
        if contexts[-1] >= 0:
            losses += readings.totals[problem.modifier] - readings.entering[problem.context_of]
    losses[np.isnan(losses)] = np.inf
    return losses, float(readings.totals.sum() + tree.sum())

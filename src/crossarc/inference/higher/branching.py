"""Dual decomposition with tightening: branch and bound on the most disputed arc.

Where the rounds of `rounds` leave a sentence open, the arc that was disputed most often is required
in one sub-problem and forbidden in another, each started from the shares of its parent;
sub-problems with the highest bound are solved first.
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

from crossarc.inference.higher.ascent import StepRule
from crossarc.inference.higher.problem import Problem, Problems, joined, problem_view
from crossarc.inference.higher.rounds import (
    Progress,
    begin_search,
    exclude_arcs,
    part_of,
    run_rounds,
)
from crossarc.inference.higher.substitution import substitute

__all__ = ["TOLERANCE", "Solution", "polyak", "solve", "solve_dual", "solve_some", "start_all"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Relative difference of bound and score up to which a tree is optimal.
TOLERANCE = 1e-9
# What is left of it for sub-problems; the rest covers rounding.
_NODE_TOLERANCE = TOLERANCE / 2
# Rounds of the first problem, and steps of each sub-problem.
_ROUNDS, _SUBPROBLEM = 3, 40
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
    rule, problems = rules(True), joined(problem)
    progress = begin_search(problems, rule, allowed)
    if start is not None:
        progress.heads[:] = start
        every = np.ones(len(problem.score), np.int64)
        progress.score[0] = substitute(problem, every, progress.heads, False)
    # Under a time limit, the time is looked at after each round.
    for count in [1] * rounds if deadline < math.inf else [rounds]:
        run_rounds(
            problems,
            progress,
            0,
            1,
            _NODE_TOLERANCE,
            first_rate=rule.first_rate,
            rounds=count,
            excludes=tighten,
        )
        if time.monotonic() >= deadline:
            break
    if tighten and progress.is_open[0]:
        return _Search(problem, progress, deadline, rules).run()
    return _solution(problems, progress, 0)


def solve(problem: Problem, allowed: Ints | None = None, deadline: float = math.inf) -> Solution:
    """The best tree over the allowed arcs by dual decomposition, with a bound.

    With limits of modifiers or forbidden parts it may give up without any tree, not knowing whether
    there is one. Then the integer programme looks for a tree, from which it starts again.

    Args:
        allowed: 1 for each arc that may be used, else 0; None for all.
        deadline: of `time.monotonic`.
    """
    if allowed is None:
        allowed = np.ones(len(problem.score), np.int64)
    return _with_tree(problem, allowed, solve_dual(problem, allowed, deadline=deadline), deadline)


def solve_some(
    problems: Problems,
    progress: Progress,
    begin: int,
    end: int,
    tighten: bool = True,
    rounds: int = _ROUNDS,
) -> list[Solution]:
    """The best trees of sentences begin, ..., end - 1 of a batch; see `solve` and `solve_dual`.

    Args:
        progress: of all sentences, from `start_all`.
    """
    run_rounds(
        problems,
        progress,
        begin,
        end,
        _NODE_TOLERANCE,
        first_rate=0.0,
        rounds=rounds,
        excludes=tighten,
    )
    found = []
    for index in range(begin, end):
        if tighten and progress.is_open[index]:
            own = part_of(progress, problems, index)
            one = _Search(problem_view(problems, index), own, math.inf, polyak).run()
        else:
            one = _solution(problems, progress, index)
        if tighten and one.heads is None and one.bound > -math.inf:
            problem = problem_view(problems, index)
            one = _with_tree(problem, np.ones(len(problem.score), np.int64), one, math.inf)
        found.append(one)
    return found


def start_all(problems: Problems) -> Progress:
    """Of a batch, over all arcs."""
    return begin_search(problems, polyak(True))


def _solution(problems: Problems, progress: Progress, index: int) -> Solution:
    """Of a sentence as far as it has come, without branching."""
    score, bound = float(progress.score[index]), float(progress.bound[index])
    node, last = problems.starts[index : index + 2, 0].tolist()
    heads = progress.heads[node + 1 : last].copy() if score > -math.inf else None
    bound = max(score, bound)
    if bound > -math.inf:
        bound += float(progress.rounding[index])
    return Solution(heads, score, bound, int(progress.iterations[index]))


def _with_tree(problem: Problem, allowed: Ints, found: Solution, deadline: float) -> Solution:
    """See `solve`."""
    from crossarc.inference.higher.ilp import solve_ilp

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


class _Search:
    """Branch and bound from where the rounds of a sentence have ended."""

    def __init__(self, problem: Problem, whole: Progress, deadline: float, rules: Rules) -> None:
        self._problem, self._problems = problem, joined(problem)
        self._whole, self._deadline, self._rules = whole, deadline, rules
        # The largest bound of what has been left behind.
        self._closed = -math.inf

    def run(self) -> Solution:
        """The best tree."""
        numbers, solved = itertools.count(), 0
        waiting: list[tuple[float, int, Progress]] = []

        def add(one: Progress) -> None:
            heapq.heappush(waiting, (-float(one.bound[0]), next(numbers), one))

        add(self._whole)
        while waiting and time.monotonic() < self._deadline:
            if solved >= _SUBPROBLEMS and self._deadline == math.inf:
                break
            _, _, parent = heapq.heappop(waiting)
            for child in self._branches(parent):
                solved += 1
                self._ascend(child)
                if child.is_open[0]:
                    add(child)
                else:
                    self._closed = max(self._closed, float(child.bound[0]))
        left = max([self._closed, *(float(one.bound[0]) for _, _, one in waiting)])
        found = _solution(self._problems, self._whole._replace(bound=np.array([left])), 0)
        found.subproblems = solved
        return found

    def _ascend(self, child: Progress) -> None:
        """Lower the bound of a sub-problem."""
        run_rounds(
            self._problems,
            child,
            0,
            1,
            _NODE_TOLERANCE,
            first_rate=self._rules(False).first_rate,
            steps=_SUBPROBLEM,
            fixes=True,
        )

    def _branches(self, parent: Progress) -> Iterator[Progress]:
        """Two sub-problems: one with, one without an arc."""
        problem, shares = self._problem, parent
        exclude_arcs(self._problems, parent, _NODE_TOLERANCE)
        heads = np.bincount(problem.modifier, shares.allowed, len(problem.limits))
        is_open = (shares.allowed == 1) & (heads[problem.modifier] > 1)
        if not is_open.any():
            # One tree is left, which substitution has scored.
            left = min(float(parent.bound[0]), float(parent.score[0]))
            self._closed = max(self._closed, left)
            return
        arc = int(np.argmax(np.where(is_open, shares.disputed, -1.0)))
        others = problem.modifier == problem.modifier[arc]
        others[arc] = False
        for forbidden in (others, np.arange(len(others)) == arc):
            # What is known of trees is one for all sub-problems.
            yield parent._replace(
                allowed=np.where(forbidden, 0, shares.allowed),
                leaving=shares.leaving.copy(),
                into=shares.into.copy(),
                disputed=shares.disputed * 0.5,
                bound=parent.bound.copy(),
                rule=self._rules(False).state,
                is_open=np.ones(1, np.int64),
            )

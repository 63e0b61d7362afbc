"""Belief propagation with a global tree factor (Smith & Eisner 2008).

Variables are the heads of words. Factors are the tree, whose marginals follow from the matrix-tree
theorem, or for projective trees from inside and outside sums, and the automaton of each node h,
which sees of each word whether h is its head, and, where contexts are arcs, the head of h itself.
That each word has one head is then said once, by its variable, and an automaton without scores
sends nothing. Nor must it say what the tree factor knows: it may read a root without modifiers and
a grandparent as a modifier, which score nothing there; with a single root, sibling[0, 0, m] is
scored with the arc.

Messages are logarithms [h, m]. With B the score of an arc and all that is sent to it, a factor sees
B less what it sends itself; an automaton sees, for "h is the head of m", the odds

    B(h, m) - sent(h, m) - log sum over h' != h of exp B(h', m).

At a fixed point, with d_m the number of factors that word m belongs to, the Bethe approximation is

    log Z = sum over factors of log Z_f - sum over m of (d_m - 1) log sum_h exp B(h, m).

It is exact where the factor graph has no loop, as with the tree factor only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError
from crossarc.inference.factors import GRAND_SIBLING, SIBLING, TRI_SIBLING
from crossarc.inference.higher.automata import AutomatonMarginals
from crossarc.inference.higher.problem import Problem
from crossarc.inference.spanning import SpanningTrees
from crossarc.once import once

__all__ = [
    "BP_ITERATIONS",
    "BP_TOLERANCE",
    "NO_TREES",
    "Beliefs",
    "Convergence",
    "TreeFactor",
    "bp_options",
    "projective_factor",
    "propagate",
    "spanning_factor",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Given scores [h, m] and whether the root has one modifier: log Z and the logarithms of marginals.
TreeFactor = Callable[[Floats, bool], tuple[float, Floats]]

#: Messages are passed until no probability changes by more in an iteration, and at most so often.
BP_TOLERANCE = 1e-11
BP_ITERATIONS = 400
# What is kept of a message, and after how many iterations without convergence more of it is.
_DAMPING, _MORE_DAMPING, _PATIENCE = 0.3, 0.5, 50
# The odds of what is certain, as a logarithm.
_CERTAIN = 500.0


class Convergence(NamedTuple):
    """How belief propagation ended."""

    iterations: int
    #: The largest change of a probability in the last iteration.
    residual: float
    converged: bool


class Beliefs(NamedTuple):
    """Approximate sums over trees. `arcs`, [h, m], is None when there is no tree."""

    log_partition: float
    arcs: Floats | None
    convergence: Convergence
    #: Of a factor: the probabilities of its parts, as `FactorTable.table` orders them.
    parts: Callable[[str], Floats]


#: Where there is no tree.
NO_TREES = Beliefs(-math.inf, None, Convergence(0, 0.0, True), lambda name: np.empty(0))


def bp_options(tolerance: float, iterations: int) -> dict[str, Any]:
    """Keywords of `propagate`, checked."""
    if not tolerance >= 0:
        raise ValueError(f"bp_tolerance must not be negative: got {tolerance}")
    if iterations != int(iterations) or iterations < 1:
        raise ValueError(f"bp_iterations must be a whole number from 1 on: got {iterations}")
    return {"tolerance": tolerance, "iterations": iterations}


def spanning_factor(scores: Floats, is_single: bool) -> tuple[float, Floats]:
    """All spanning trees."""
    return _sums(SpanningTrees(scores, root="single" if is_single else "multi", threads=1), scores)


def projective_factor(scores: Floats, is_single: bool) -> tuple[float, Floats]:
    """All projective trees: beliefs are then those of a projective model."""
    from crossarc.inference.projective import ProjectiveTrees

    return _sums(
        ProjectiveTrees(scores, root="single" if is_single else "multi", threads=1), scores
    )


def _sums(trees: Any, scores: Floats) -> tuple[float, Floats]:
    """log Z comes with the marginals."""
    try:
        logs = trees.log_marginals()
    except InfeasibleError:
        return -math.inf, scores
    return trees.log_partition(), logs


def propagate(
    problem: Problem,
    scores: Floats,
    tables: Mapping[str, Floats],
    tree_factor: TreeFactor = spanning_factor,
    tolerance: float = BP_TOLERANCE,
    iterations: int = BP_ITERATIONS,
) -> Beliefs:
    """Approximate log Z and marginals.

    Args:
        scores: of arcs, [h, m], labels summed over.
        tables: of `FactorTable.table`.
        tree_factor: which trees there are.
        tolerance: the change of a probability in an iteration with which messages have converged.
        iterations: after which they are left as they are.
    """
    return _Graph(problem, scores, tables, tree_factor).run(tolerance, iterations)


class _Graph:
    """The factor graph of a sentence; messages are matrices [h, m], 0 for forbidden arcs."""

    def __init__(
        self,
        problem: Problem,
        scores: Floats,
        tables: Mapping[str, Floats],
        tree_factor: TreeFactor,
    ) -> None:
        self._tables, self._tree_factor = tables, tree_factor
        self._is_single = bool(problem.limits[0] == 1)
        self._is_grand = bool(problem.context_arc[-1] >= 0)
        self._arcs, self._first = (problem.head, problem.modifier), problem.first
        entering = problem.entering
        self._contexts = problem.head[entering], problem.modifier[entering]
        self._allowed = problem.arc >= 0
        self._scores = np.where(self._allowed, scores, -np.inf)
        self._automata = self._neutral(problem)
        zeros = np.zeros_like(self._scores)
        # What the tree sends, the automata of heads, and the automata of words about their heads.
        self._from_tree, self._from_head, self._from_word = zeros, zeros.copy(), zeros.copy()

    def _neutral(self, problem: Problem) -> Problem:
        """Automata that say nothing about what the tree factor knows; see the module."""
        pair, limits = problem.pair.copy(), problem.limits.copy()
        if self._is_single:
            limits[0] = len(limits)
            if SIBLING.name in self._tables:
                begin, ranks = problem.pair_offset[0], self._root_ranks(problem)
                first = pair[begin + ranks * (ranks - 1) // 2]
                self._scores[0, problem.modifier[problem.first[1] : problem.first[2]]] += first
                self._allowed = self._scores > -np.inf
                pair[begin : begin + self._node_pairs[0]] = 0.0
        contexts = np.full_like(problem.context_arc, -1)
        return problem._replace(limits=limits, pair=pair, context_arc=contexts)

    def _root_ranks(self, problem: Problem) -> Ints:
        return np.arange(1, problem.first[2] - problem.first[1] + 1)

    @once
    def _list_pairs(self) -> Ints:
        """Where the pairs of each list begin, and the last ones end."""
        sizes = np.diff(self._first)
        return np.concatenate([[0], np.cumsum(sizes * (sizes + 1) // 2)])

    @property
    def _node_pairs(self) -> Ints:
        pairs: Ints = np.diff(self._list_pairs[::2])
        return pairs

    def run(self, tolerance: float, iterations: int) -> Beliefs:
        """Pass messages until they no longer change probabilities."""
        total, logs = self._tree_factor(self._scores, self._is_single)
        if total == -math.inf:
            return NO_TREES
        if not self._tables and (self._automata.limits >= np.diff(self._automata.first[::2])).all():
            return Beliefs(total, np.exp(logs), Convergence(0, 0.0, True), self._parts)
        damping, before, residual = _DAMPING, np.exp(logs), math.inf
        iteration = 0
        while iteration < iterations and residual > tolerance:
            iteration += 1
            if iteration % _PATIENCE == 0:
                damping += (1.0 - damping) * _MORE_DAMPING
            messages = self._tree_message(), *self._automaton_messages()
            kept = self._from_tree, self._from_head, self._from_word
            for old, new in zip(kept, messages, strict=True):
                old += (1.0 - damping) * (new - old)
            now = self._probabilities()
            residual = float(np.abs(now - before).max()) / (1.0 - damping)
            before = now
        report = Convergence(iteration, residual, residual <= tolerance)
        return Beliefs(self._bethe(), before, report, self._parts)

    def _beliefs(self) -> Floats:
        """B, -inf for forbidden arcs."""
        return self._scores + self._from_tree + self._from_head + self._from_word

    def _probabilities(self) -> Floats:
        beliefs = self._beliefs()[:, 1:]
        table = np.zeros(self._scores.shape)
        table[:, 1:] = np.exp(beliefs - np.logaddexp.reduce(beliefs, axis=0))
        return table

    def _sent(self, message: Floats) -> Floats:
        return np.where(self._allowed, np.clip(message, -_CERTAIN, _CERTAIN), 0.0)

    def _tree_message(self) -> Floats:
        seen = self._beliefs() - self._from_tree
        _, logs = self._tree_factor(seen, self._is_single)
        with np.errstate(invalid="ignore"):
            return self._sent(logs - seen)

    def _readings(self, parts: bool = False) -> tuple[AutomatonMarginals, Floats, Floats]:
        """Marginals of automata; what they have seen of arcs: the odds, and the weight without."""
        beliefs = self._beliefs()
        seen = beliefs - self._from_head
        without = np.maximum(_of_others(beliefs), seen - _CERTAIN)
        with np.errstate(invalid="ignore"):
            odds = seen - without
        contexts = np.zeros(len(self._automata.context_arc))
        if self._is_grand:
            contexts[1:] = (beliefs - self._from_word)[self._contexts]
        found = AutomatonMarginals(
            self._automata,
            np.ascontiguousarray(odds[self._arcs]),
            contexts,
            rootless=True,
            parts=parts,
        )
        return found, odds, without

    def _automaton_messages(self) -> tuple[Floats, Floats]:
        found, odds, _ = self._readings()
        logs = np.full(self._scores.shape, -np.inf)
        logs[self._arcs] = found.leaving - found.totals[self._arcs[0]]
        complements = _log_complement(logs)
        with np.errstate(invalid="ignore"):
            message = logs - complements - odds
        # A complement below the rounding of 1 is not known; such an arc is certain as it is.
        from_head = self._sent(np.where(complements == -np.inf, 0.0, message))
        if not self._is_grand:
            return from_head, self._from_word
        sums = np.full(self._scores.shape, -np.inf)
        seen = (self._beliefs() - self._from_word)[self._contexts]
        with np.errstate(invalid="ignore"):
            sums[self._contexts] = np.where(seen > -np.inf, found.entering[1:] - seen, -np.inf)
        top = sums.max(axis=0)
        return from_head, self._sent(sums - np.where(np.isfinite(top), top, 0.0))

    def _bethe(self) -> float:
        beliefs = self._beliefs()
        total, _ = self._tree_factor(beliefs - self._from_tree, self._is_single)
        found, _, without = self._readings()
        factors = self._allowed.sum(axis=0)[1:] + (1 if self._is_grand else 0)
        sums = np.logaddexp.reduce(beliefs[:, 1:], axis=0)
        automata = found.totals.sum() + without[self._allowed].sum()
        return float(total + automata - (factors * sums).sum())

    def _parts(self, name: str) -> Floats:
        """Approximate probabilities of a factor's parts, in the order of `FactorTable.table`."""
        found, automata = self._readings(parts=True)[0], self._automata
        nodes = np.repeat(np.arange(len(automata.limits)), np.diff(automata.first_context))
        if name == TRI_SIBLING.name:
            ends = np.append(automata.triple_offset, len(automata.triple))
            lists = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
            return np.exp(found.triples - found.totals[lists // 2])
        sizes = self._node_pairs[nodes]
        owner = np.repeat(np.arange(len(nodes)), sizes)
        pairs = np.exp(found.pairs - found.totals[nodes[owner]])
        if name == GRAND_SIBLING.name:
            return pairs[sizes[0] :]
        if name == SIBLING.name:
            local = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner]
            place = self._list_pairs[2 * nodes[owner]] + local
            sums: Floats = np.bincount(place, pairs, self._list_pairs[-1]).astype(np.float64)
            if self._is_single:
                ranks, first = self._root_ranks(automata), automata.first
                sums[: self._node_pairs[0]] = 0.0
                words = automata.modifier[first[1] : first[2]]
                sums[ranks * (ranks - 1) // 2] = self._probabilities()[0, words]
            return sums
        modifiers = np.diff(automata.first[::2])[nodes]
        place = (np.cumsum(modifiers) - modifiers)[owner] + self._modifier_of_pairs(nodes)
        found_sums: Floats = np.bincount(place, pairs, modifiers.sum()).astype(np.float64)
        return found_sums[modifiers[0] :]

    def _modifier_of_pairs(self, nodes: Ints) -> Ints:
        """Of each pair of each context, the place of its modifier among those of the node."""
        sides = np.diff(self._automata.first)
        by_node = []
        for h in range(len(self._automata.limits)):
            left, right = sides[2 * h : 2 * h + 2].tolist()
            own = [np.repeat(np.arange(k), np.arange(1, k + 1)) for k in (left, right)]
            by_node.append(np.concatenate([own[0], own[1] + left]))
        return np.concatenate([by_node[h] for h in nodes.tolist()]).astype(np.int64)


def _shifted_sums(x: Floats) -> tuple[Floats, Floats]:
    """Of each entry of a column, the sums of the entries above and below."""
    above, below = np.zeros_like(x), np.zeros_like(x)
    above[1:] = np.cumsum(x[:-1], axis=0)
    below[:-1] = np.cumsum(x[:0:-1], axis=0)[::-1]
    return above, below


def _of_others(logs: Floats) -> Floats:
    """Log of the sum of the exponentials of all other entries of a column."""
    top = logs.max(axis=0)
    top = np.where(np.isfinite(top), top, 0.0)
    above, below = _shifted_sums(np.exp(logs - top))
    with np.errstate(divide="ignore"):
        found: Floats = np.log(above + below) + top
    return found


def _log_complement(logs: Floats) -> Floats:
    """log(1 - e^x) for x <= 0; -inf for 0."""
    x = np.minimum(logs, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(x > -0.7, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))

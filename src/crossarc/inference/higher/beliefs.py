"""Belief propagation with a global tree factor (Smith & Eisner 2008).

Variables are arcs, in the tree or not. Factors are the tree, whose marginals follow from the
matrix-tree theorem, and the automata of all heads, whose marginals follow from `automata`. All
messages are log-odds: a factor that sees an arc with odds n and finds it with odds b sends b - n,
and sees the score of the arc plus what the other factors send.

A factor must not repeat what the tree factor says, or it would be counted twice; so automata also
read what no tree has, as if it had no parts: words without a head or with several (then no
grandchild or grand-sibling part is scored), and a root without modifiers. An automaton without
scores then sends 0. With a single root, sibling[0, 0, m] is scored with the arc.

At a fixed point, with b the odds of an arc and d its number of factors, the Bethe approximation is

    log Z = sum over factors of log Z_f  -  sum over arcs of (d - 1) log(1 + e^b).

It is exact where the factor graph has no loop, as with the tree factor only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import GRAND_SIBLING, GRANDCHILD, SIBLING, TRI_SIBLING
from crossarc.inference.higher.automata import AutomatonMarginals, marginals_sum
from crossarc.inference.higher.problem import Problem
from crossarc.inference.projective.automata.layout import Layout
from crossarc.inference.spanning import SpanningTrees

__all__ = ["Beliefs", "Convergence", "TreeFactor", "propagate", "spanning_factor"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Given scores [h, m] and whether the root has one modifier: log Z and the logarithms of marginals.
TreeFactor = Callable[[Floats, bool], tuple[float, Floats]]

_ITERATIONS, _TOLERANCE = 400, 1e-11
# What is kept of a message, and after how many iterations without convergence more of it is.
_DAMPING, _MORE_DAMPING, _PATIENCE = 0.3, 0.5, 50
# The odds of what is certain.
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
    parts: Callable[[str], Floats]


def spanning_factor(scores: Floats, is_single: bool) -> tuple[float, Floats]:
    """All spanning trees."""
    trees = SpanningTrees(scores, root="single" if is_single else "multi", threads=1)
    total = trees.log_partition()
    return total, trees.log_marginals() if total > -math.inf else scores


def propagate(
    problem: Problem,
    scores: Floats,
    layout: Layout,
    tables: Mapping[str, Floats],
    tree_factor: TreeFactor = spanning_factor,
) -> Beliefs:
    """Approximate log Z and marginals.

    Args:
        scores: of arcs, [h, m], labels summed over.
        tables: of `FactorTable.table`.
    """
    return _Graph(problem, scores, layout, tables, tree_factor).run()


class _Graph:
    """The factor graph of a sentence; messages are matrices [h, m], 0 for forbidden arcs."""

    def __init__(
        self,
        problem: Problem,
        scores: Floats,
        layout: Layout,
        tables: Mapping[str, Floats],
        tree_factor: TreeFactor,
    ) -> None:
        self._layout, self._tables, self._tree_factor = layout, tables, tree_factor
        self._is_single = bool(problem.limits[0] == 1)
        self._is_grand = bool(problem.context_arc[-1] >= 0)
        self._arcs = problem.head, problem.modifier
        self._allowed = problem.arc >= 0
        self._scores = np.where(self._allowed, scores, -np.inf)
        self._automata = self._neutral(problem)
        zeros = np.zeros_like(self._scores)
        self._from_tree, self._from_head, self._from_modifier = zeros, zeros.copy(), zeros.copy()

    def _neutral(self, problem: Problem) -> Problem:
        """Automata that say nothing about what the tree factor knows; see the module."""
        width = len(problem.limits)
        pair, limits = problem.pair.copy(), problem.limits.copy()
        if self._is_single:
            limits[0] = width
            if SIBLING.name in self._tables:
                ranks = np.arange(1, problem.first[2] - problem.first[1] + 1)
                begin = problem.pair_offset[0]
                first = pair[begin + ranks * (ranks - 1) // 2]
                self._scores[0, problem.modifier[problem.first[1] : problem.first[2]]] += first
                pair[begin : begin + self._node_pairs[0]] = 0.0
        own = problem._replace(
            limits=limits, pair=pair, context_arc=np.full_like(problem.context_arc, -1)
        )
        return self._with_no_grandparent(own) if self._is_grand else own

    def _with_no_grandparent(self, problem: Problem) -> Problem:
        """One more context for each word, before the others: no head, or several."""
        width, nodes = len(problem.limits), np.arange(1, len(problem.limits))
        places = problem.first_context[1:-1]
        sibling = self._tables.get(SIBLING.name)
        if sibling is None:
            sibling, begins = np.zeros(self._node_pairs.max()), np.zeros(width - 1, np.int64)
        else:
            begins = self._layout.pairs[2 * nodes]
        most = np.diff(problem.first[::2]).max(initial=0)
        first = problem.first_context.copy()
        first[1:] += np.arange(width)
        contexts = len(problem.context_arc) + width - 1
        return problem._replace(
            first_context=first,
            context_arc=np.full(contexts, -1),
            unary_offset=np.insert(problem.unary_offset, places, len(problem.unary)),
            unary=np.concatenate([problem.unary, np.zeros(most)]),
            pair_offset=np.insert(problem.pair_offset, places, len(problem.pair) + begins),
            pair=np.concatenate([problem.pair, sibling]),
        )

    @property
    def _node_pairs(self) -> Ints:
        pairs: Ints = np.diff(self._layout.pairs[::2])
        return pairs

    def run(self) -> Beliefs:
        """Pass messages until they no longer change."""
        total, logs = self._tree_factor(self._masked(self._scores), self._is_single)
        if total == -math.inf:
            return Beliefs(total, None, Convergence(0, 0.0, True), self._parts)
        if not self._tables and (self._automata.limits >= np.diff(self._automata.first[::2])).all():
            return Beliefs(total, np.exp(logs), Convergence(0, 0.0, True), self._parts)
        damping, before, residual = _DAMPING, np.exp(logs), math.inf
        iteration = 0
        while iteration < _ITERATIONS and residual > _TOLERANCE:
            iteration += 1
            if iteration % _PATIENCE == 0:
                damping += (1.0 - damping) * _MORE_DAMPING
            messages = self._tree_message(), *self._automaton_messages()
            kept = self._from_tree, self._from_head, self._from_modifier
            for old, new in zip(kept, messages, strict=True):
                old += (1.0 - damping) * (new - old)
            now = self._probabilities()
            residual = float(np.abs(now - before).max()) / (1.0 - damping)
            before = now
        arcs = self._probabilities()
        report = Convergence(iteration, residual, residual <= _TOLERANCE)
        return Beliefs(self._bethe(), arcs, report, self._parts)

    def _masked(self, matrix: Floats) -> Floats:
        return np.where(self._allowed, matrix, -np.inf)

    def _odds(self) -> Floats:
        return self._masked(
            self._scores + self._from_tree + self._from_head + self._from_modifier
        )

    def _probabilities(self) -> Floats:
        """Of arcs; the sum over the heads of a word is 1."""
        odds = self._odds()[:, 1:]
        with np.errstate(over="ignore"):
            shares = np.where(odds > -np.inf, 1.0 / (1.0 + np.exp(-odds)), 0.0)
        table = np.zeros(self._scores.shape)
        table[:, 1:] = shares / shares.sum(axis=0)
        return table

    def _message(
        self, logs: Floats, complements: Floats, seen: Floats, certain: float
    ) -> Floats:
        """Log-odds found less those seen; `certain` for arcs whose complement is 0."""
        with np.errstate(invalid="ignore"):
            message = logs - complements - seen
        message = np.where(complements == -np.inf, certain, message)
        message = np.where(logs == -np.inf, -_CERTAIN, message)
        return np.where(self._allowed, np.clip(message, -_CERTAIN, _CERTAIN), 0.0)

    def _tree_message(self) -> Floats:
        seen = self._masked(self._scores + self._from_head + self._from_modifier)
        _, logs = self._tree_factor(seen, self._is_single)
        return self._message(logs, _of_others(logs), seen, _CERTAIN)

    def _readings(self, parts: bool = False) -> tuple[AutomatonMarginals, Floats, Floats, Floats]:
        """Marginals of automata, and what they have seen: arcs that leave, contexts, no context."""
        leaving = self._masked(self._scores + self._from_tree + self._from_modifier)
        into = self._masked(self._scores + self._from_tree + self._from_head)
        automata = self._automata
        weights, none = np.zeros(len(automata.context_arc)), np.zeros(len(automata.limits))
        if self._is_grand:
            entering = self._layout.entering
            heads, words = self._arcs[0][entering], self._arcs[1][entering]
            none[1:] = _none_or_several(into[:, 1:])
            weights[automata.first_context[1:-1]] = none[1:]
            weights[self._context_numbers] = into[heads, words]
        found = AutomatonMarginals(
            marginals_sum,
            automata,
            np.ascontiguousarray(leaving[self._arcs]),
            weights,
            rootless=True,
            parts=parts,
        )
        return found, leaving, into, none

    @property
    def _context_numbers(self) -> Ints:
        """The contexts that are arcs, in the order of `entering`."""
        words = self._arcs[1][self._layout.entering]
        return np.arange(1, len(words) + 1) + words

    def _automaton_messages(self) -> tuple[Floats, Floats]:
        found, leaving, into, none = self._readings()
        logs = np.full(self._scores.shape, -np.inf)
        logs[self._arcs] = found.leaving - found.totals[self._arcs[0]]
        # A complement below the rounding of 1 is not known: such an arc is certain without a message.
        from_head = self._message(logs, _log_complement(logs), leaving, 0.0)
        if not self._is_grand:
            return from_head, self._from_modifier
        entering = self._layout.entering
        arcs = self._arcs[0][entering], self._arcs[1][entering]
        sums = np.full(self._scores.shape, -np.inf)
        sums[arcs] = found.entering[self._context_numbers] - into[arcs]
        rest = found.entering[self._automata.first_context[1:-1]] - none[1:]
        message = np.zeros(self._scores.shape)
        message[:, 1:] = _context_messages(into[:, 1:], sums[:, 1:], rest)
        return from_head, np.where(self._allowed, message, 0.0)

    def _bethe(self) -> float:
        seen = self._masked(self._scores + self._from_head + self._from_modifier)
        total, _ = self._tree_factor(seen, self._is_single)
        factors = 3 if self._is_grand else 2
        odds = self._odds()[self._arcs]
        readings = self._readings()[0]
        return float(
            total + readings.totals.sum() - (factors - 1) * np.logaddexp(0.0, odds).sum()
        )

    def _parts(self, name: str) -> Floats:
        """Approximate probabilities of the parts of a factor, as `FactorTable.table` orders them."""
        found, _, _, _ = self._readings(parts=True)
        automata, probabilities = self._automata, self._probabilities()
        nodes = np.repeat(np.arange(len(automata.limits)), np.diff(automata.first_context))
        sizes = self._node_pairs[nodes]
        owner = np.repeat(np.arange(len(nodes)), sizes)
        if name == TRI_SIBLING.name:
            lists = np.repeat(np.arange(2 * len(automata.limits)), np.diff(self._layout.triples))
            return np.exp(found.triples - found.totals[lists // 2])
        if name == SIBLING.name:
            begins = np.cumsum(sizes) - sizes
            local = np.arange(len(owner)) - begins[owner]
            place = self._layout.pairs[2 * nodes[owner]] + local
            sums = np.bincount(
                place, np.exp(found.pairs - found.totals[nodes[owner]]), self._layout.pairs[-1]
            )
            if self._is_single:
                ranks = np.arange(1, automata.first[2] - automata.first[1] + 1)
                sums[: self._node_pairs[0]] = 0.0
                words = automata.modifier[automata.first[1] : automata.first[2]]
                sums[ranks * (ranks - 1) // 2] = probabilities[0, words]
            return sums
        return self._grand_parts(name, found, nodes, owner)

    def _grand_parts(
        self, name: str, found: AutomatonMarginals, nodes: Ints, owner: Ints
    ) -> Floats:
        contexts = self._context_numbers
        is_arc = np.zeros(len(nodes), bool)
        is_arc[contexts] = True
        entering, weight = self._layout.entering, np.zeros(len(nodes))
        weight[contexts] = self._probabilities()[self._arcs[0][entering], self._arcs[1][entering]]
        shares = np.exp(found.pairs - found.entering[owner]) * weight[owner]
        if name == GRAND_SIBLING.name:
            return shares[is_arc[owner]]
        modifiers = self._modifier_of_pairs(nodes)
        sizes = np.diff(self._automata.first[::2])[nodes]
        begins = np.cumsum(sizes) - sizes
        sums = np.bincount(begins[owner] + modifiers, shares, sizes.sum())
        return sums[is_arc[np.repeat(np.arange(len(nodes)), sizes)]]

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


def _running(odds: Floats) -> tuple[Floats, Floats]:
    """Before each entry of a column: the log weights of one, and of several of those above."""
    one, several = np.full(odds.shape, -np.inf), np.full(odds.shape, -np.inf)
    for row in range(1, len(odds)):
        x = odds[row - 1]
        both = np.logaddexp(one[row - 1], several[row - 1]) + x
        several[row] = np.logaddexp(several[row - 1], both)
        one[row] = np.logaddexp(one[row - 1], x)
    return one, several


def _none_or_several(odds: Floats) -> Floats:
    """Log weight of choosing no entry of a column or more than one."""
    one, several = _running(np.concatenate([odds, np.full((1, odds.shape[1]), -np.inf)]))
    found: Floats = np.logaddexp(0.0, several[-1])
    return found


def _context_messages(odds: Floats, sums: Floats, rest: Floats) -> Floats:
    """What automata send to the arcs into their heads.

    Args:
        odds: seen, a column for each word.
        sums: log Z of the automaton in each context.
        rest: log Z of the automaton without a grandparent, for each word.
    """
    one_above, several_above = _running(odds)
    one_below, several_below = (x[::-1] for x in _running(odds[::-1]))
    one = np.logaddexp(one_above, one_below)
    several = np.logaddexp(several_above, several_below)
    for x, y in (
        (one_above, one_below),
        (several_above, one_below),
        (one_above, several_below),
        (several_above, several_below),
    ):
        several = np.logaddexp(several, x + y)
    with np.errstate(invalid="ignore"):
        has = np.logaddexp(sums, np.logaddexp(one, several) + rest)
        lacks = np.logaddexp(np.logaddexp(0.0, several) + rest, _of_others(odds + sums))
        message: Floats = has - lacks
    return np.where(np.isfinite(message), message, 0.0)


def _log_complement(logs: Floats) -> Floats:
    """log(1 - e^x) for x <= 0; -inf where it cannot be told from 0."""
    x = np.minimum(logs, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(x > -0.7, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))

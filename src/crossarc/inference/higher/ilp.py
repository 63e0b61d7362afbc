"""The best tree as an integer linear programme, solved by HiGHS.

Variables are arcs y, 0 or 1, and parts, which follow from them:

    sibling        p(s, m)        sum_s p(s, m) = y(m),  sum_m p(s, m) <= y(s),  sum_m p(0, m) <= 1
    tri-sibling    r(t, s, m)     sum_t r(t, s, m) = p(s, m), t = 0 included,  r(t, s, m) <= p(t, s)
    grandchild     q(g, h, m)     sum_g q(g, h, m) = y(h, m),  q(g, h, m) <= y(g, h)
    grand-sibling  w(g, h, s, m)  sum_g w = p(h, s, m),  sum_s w(g, h, s, m) <= y(g, h)

Each word has one head. Cycles are excluded either by cuts that are added when a solution has a
cycle (Riedel & Clarke 2006), each saying that an arc enters the words of the cycle, or by a flow of
n units from the root of which each word keeps one (Martins, Smith & Xing 2009). Variables of
forbidden parts are 0.
"""

from __future__ import annotations

import math
import time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.higher.branching import Solution
from crossarc.inference.higher.problem import Problem

__all__ = ["solve_ilp"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bounds of the solver are good to this share of the objective.
_SOLVER_TOLERANCE = 1e-7


def solve_ilp(
    problem: Problem,
    start: Ints | None,
    deadline: float = math.inf,
    cycles: Literal["cuts", "flow"] = "cuts",
) -> Solution:
    """The best tree, with a bound.

    Args:
        start: heads of a tree, returned if time runs out before a better one is found; its score
            is not known here.
        deadline: of `time.monotonic`.
        cycles: how they are excluded.
    """
    model = _Model(problem)
    if model.offset == -math.inf:
        return Solution(None, -math.inf, -math.inf)
    if cycles == "flow":
        model.add_flow()
    solver = model.solver()
    bound, heads = math.inf, start
    iterations = 0
    while (left := deadline - time.monotonic()) > 0:
        iterations += 1
        if left < math.inf:
            solver.setOptionValue("time_limit", solver.getRunTime() + left)
        solver.run()
        status = _status(solver)
        if status == "infeasible":
            return Solution(None, -math.inf, -math.inf, iterations)
        found_bound = float(solver.getInfo().mip_dual_bound)
        if math.isfinite(found_bound):
            bound = min(bound, found_bound + model.offset)
        values = np.array(solver.getSolution().col_value)
        if len(values) == 0:
            break
        arcs = _used_arcs(problem, values)
        found = None if arcs is None else problem.head[arcs]
        loops = [] if found is None else _cycles(found)
        if found is not None and not loops and status == "optimal":
            return Solution(found, float("nan"), _widened(bound), iterations, arcs=arcs)
        if status != "optimal":
            heads = found if found is not None and not loops else start
            break
        for words in loops:
            model.exclude(solver, words)
    return Solution(heads, float("nan"), _widened(bound), iterations)


def _widened(bound: float) -> float:
    return bound + _SOLVER_TOLERANCE * max(1.0, abs(bound))


def _status(solver: Any) -> str:
    import highspy

    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return "optimal"
    if status == highspy.HighsModelStatus.kInfeasible:
        return "infeasible"
    return "stopped"


def _used_arcs(problem: Problem, values: Floats) -> Ints | None:
    """The numbers of the arcs into each word; None unless each has one."""
    used = np.flatnonzero(values[: len(problem.score)] > 0.5)
    if len(used) != len(problem.limits) - 1:
        return None
    arcs: Ints = used[np.argsort(problem.modifier[used])]
    return arcs


def _cycles(heads: Ints) -> list[list[int]]:
    """The words of each cycle."""
    found, seen = [], np.zeros(len(heads) + 1, np.int64)
    for start in range(1, len(heads) + 1):
        word = start
        while word > 0 and seen[word] == 0:
            seen[word] = start
            word = int(heads[word - 1])
        if word > 0 and seen[word] == start:
            cycle, x = [word], int(heads[word - 1])
            while x != word:
                cycle.append(x)
                x = int(heads[x - 1])
            found.append(cycle)
    return found


class _Model:
    """Columns and rows of the programme."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._costs: list[Floats] = []
        self._upper: list[Floats] = []
        self._columns = 0
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._rows: list[tuple[Floats, Floats]] = []
        self._row_count = 0
        # Each word has one head: its best score can be taken out, and large offsets with it. A word
        # without a head makes this -inf, and the programme stays empty.
        best = np.full(len(problem.limits), -np.inf)
        np.maximum.at(best, problem.modifier, problem.score)
        self.offset = math.fsum(best[1:].tolist())
        if self.offset == -math.inf:
            return
        self._y = self._add_columns(problem.score - best[problem.modifier])
        self._add_arcs()
        has_pairs = bool(problem.pair.any())
        has_triples = bool(problem.triple.any())
        is_grand = bool(problem.context_arc[-1] >= 0)
        by_context = is_grand and has_pairs and self._depends_on_grandparents()
        if has_pairs or has_triples:
            self._add_pairs(score=not by_context)
        if has_triples:
            self._add_triples()
        if by_context:
            self._add_grand_pairs()
        if is_grand and problem.unary.any():
            self._add_grandchildren()

    def _depends_on_grandparents(self) -> bool:
        """Whether contexts of one node have pairs of their own."""
        problem = self._problem
        several = np.flatnonzero(np.diff(problem.first_context) > 1)
        first = problem.first_context[several]
        return bool((problem.pair_offset[first] != problem.pair_offset[first + 1]).any())

    # Columns and rows.

    def _add_columns(self, costs: Floats, upper: float = 1.0) -> Ints:
        numbers = np.arange(self._columns, self._columns + len(costs))
        self._costs.append(np.asarray(costs, np.float64))
        self._upper.append(np.full(len(costs), upper))
        self._columns += len(costs)
        return numbers

    def _add_rows(
        self, rows: Ints, columns: Ints, values: Floats | float, low: Any, high: Any, count: int
    ) -> None:
        """`count` rows, entries numbered from 0."""
        entries = np.broadcast_to(np.asarray(values, np.float64), rows.shape)
        self._entries.append((rows + self._row_count, columns, entries))
        self._rows.append(
            (
                np.broadcast_to(np.asarray(low, np.float64), count),
                np.broadcast_to(np.asarray(high, np.float64), count),
            )
        )
        self._row_count += count

    def _link(
        self, parts: Ints, wholes: Ints, owner: Ints, equal: bool, count: int | None = None
    ) -> None:
        """For each whole i: the sum of the parts with owner i equals it, or is at most that."""
        number = len(wholes) if count is None else count
        rows = np.concatenate([owner, np.arange(number)])
        columns = np.concatenate([parts, wholes])
        values = np.concatenate([np.ones(len(parts)), -np.ones(number)])
        self._add_rows(rows, columns, values, 0.0 if equal else -math.inf, 0.0, number)

    # The programme.

    def _add_arcs(self) -> None:
        """One head for each word; limits of modifiers."""
        problem, n = self._problem, len(self._problem.limits) - 1
        self._add_rows(problem.modifier - 1, self._y, 1.0, 1.0, 1.0, n)
        low = np.full(n + 1, -math.inf)
        low[0] = 1.0
        self._add_rows(problem.head, self._y, 1.0, low, problem.limits, n + 1)

    def _add_pairs(self, score: bool) -> None:
        """p(s, m) for each list, in the order of the pairs of nodes."""
        problem, width = self._problem, len(self._problem.limits)
        pair_nodes, m_arcs, s_arcs, lists = [], [], [], []
        for one in range(2 * width):
            begin, end = int(problem.first[one]), int(problem.first[one + 1])
            for m in range(begin, end):
                for s in range(begin - 1, m):
                    pair_nodes.append(one // 2)
                    m_arcs.append(m)
                    s_arcs.append(s if s >= begin else -1)
                    lists.append(one)
        self._pair_node, self._pair_list = np.array(pair_nodes), np.array(lists)
        self._pair_m, self._pair_s = np.array(m_arcs, np.int64), np.array(s_arcs, np.int64)
        costs = np.zeros(len(lists))
        sizes = np.bincount(self._pair_node, minlength=width)
        self._pair_begin = np.cumsum(sizes) - sizes
        if score:
            local = np.arange(len(lists)) - self._pair_begin[self._pair_node]
            offsets = problem.pair_offset[problem.first_context[self._pair_node]]
            costs = problem.pair[offsets + local]
        self._p = self._add_columns(costs)
        self._link(self._p, self._y, self._pair_m, equal=True)
        later = self._pair_s >= 0
        self._link(self._p[later], self._y, self._pair_s[later], equal=False)
        first = ~later
        self._add_rows(self._pair_list[first], self._p[first], 1.0, -math.inf, 1.0, 2 * width)

    def _add_triples(self) -> None:
        """r(t, s, m); t = 0, without a part, has no column of its own: the sum is at most p."""
        problem = self._problem
        number = {
            (m, s): i
            for i, (m, s) in enumerate(
                zip(self._pair_m.tolist(), self._pair_s.tolist(), strict=True)
            )
        }
        inner, outer, costs = [], [], []
        for one in range(2 * len(problem.limits)):
            begin, end = int(problem.first[one]), int(problem.first[one + 1])
            place = int(problem.triple_offset[one])
            for m in range(begin + 2, end):
                for s in range(begin + 1, m):
                    for t in range(begin, s):
                        inner.append(number[s, t])
                        outer.append(number[m, s])
                        costs.append(problem.triple[place])
                        place += 1
        if not costs:
            return
        r = self._add_columns(np.array(costs))
        first, second = np.array(inner), np.array(outer)
        # r(t, s, m) <= p(t, s), and the sum over t is p(s, m) unless s is the first modifier.
        rows = np.arange(len(r))
        self._link(r, self._p[first], rows, equal=False)
        starts = {(m, -1): number[m, -1] for m in self._pair_m.tolist()}
        wholes, group = np.unique(second, return_inverse=True)
        self._link(r, self._p[wholes], group, equal=False)
        # sum_t r(t, s, m) >= p(s, m) - p(0, s)
        s_start = np.array([starts[int(self._pair_s[w]), -1] for w in wholes])
        count = len(wholes)
        rows = np.concatenate([group, np.arange(count), np.arange(count)])
        columns = np.concatenate([r, self._p[wholes], self._p[s_start]])
        values = np.concatenate([np.ones(len(r)), -np.ones(count), np.ones(count)])
        self._add_rows(rows, columns, values, 0.0, math.inf, count)

    def _contexts(self) -> tuple[Ints, Ints]:
        """The contexts that are arcs, and their nodes."""
        problem = self._problem
        contexts = np.flatnonzero(problem.context_arc >= 0)
        return contexts, problem.modifier[problem.context_arc[contexts]]

    def _add_grandchildren(self) -> None:
        """q(g, h, m)."""
        problem = self._problem
        contexts, nodes = self._contexts()
        sizes = (problem.first[2::2] - problem.first[:-1:2])[nodes]
        owner = np.repeat(np.arange(len(contexts)), sizes)
        local = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner]
        incoming = problem.context_arc[contexts][owner]
        arcs = problem.first[2 * nodes[owner]] + local
        kept = problem.modifier[arcs] != problem.head[incoming]
        costs = problem.unary[problem.unary_offset[contexts[owner]] + local][kept]
        q = self._add_columns(costs)
        self._link_to_contexts(q, arcs[kept], incoming[kept], np.arange(len(q)), len(q))

    def _link_to_contexts(
        self, parts: Ints, arcs: Ints, incoming: Ints, groups: Ints, count: int
    ) -> None:
        """Sums over g equal y(h, m) where h is a word; each group is at most y(g, h)."""
        wholes, place = np.unique(arcs, return_inverse=True)
        self._link(parts, self._y[wholes], place, equal=True)
        limits = np.zeros(count, np.int64)
        limits[groups] = incoming
        self._link(parts, self._y[limits], groups, equal=False)

    def _add_grand_pairs(self) -> None:
        """w(g, h, s, m); the root's pairs are scored by p."""
        problem = self._problem
        root = np.flatnonzero(self._pair_node == 0)
        self._costs[1][root] = problem.pair[problem.pair_offset[0] + np.arange(len(root))]
        contexts, nodes = self._contexts()
        sizes = np.bincount(self._pair_node, minlength=len(problem.limits))[nodes]
        owner = np.repeat(np.arange(len(contexts)), sizes)
        local = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner]
        incoming = problem.context_arc[contexts][owner]
        pairs = self._pair_begin[nodes[owner]] + local
        g = problem.head[incoming]
        m, s = self._pair_m[pairs], self._pair_s[pairs]
        kept = (problem.modifier[m] != g) & ((s < 0) | (problem.modifier[s] != g))
        costs = problem.pair[problem.pair_offset[contexts[owner]] + local][kept]
        w = self._add_columns(costs)
        wholes, place = np.unique(pairs[kept], return_inverse=True)
        self._link(w, self._p[wholes], place, equal=True)
        keys = incoming[kept] * len(problem.score) + m[kept]
        groups, group = np.unique(keys, return_inverse=True)
        self._link(w, self._y[groups // len(problem.score)], group, equal=False)
        self._forbid_unlinked(pairs[kept])

    def _forbid_unlinked(self, linked: Ints) -> None:
        """A pair of a word with no possible grandparent cannot be used."""
        unlinked = np.setdiff1d(np.flatnonzero(self._pair_node > 0), linked)
        self._upper[1][unlinked] = 0.0

    def add_flow(self) -> None:
        """n units leave the root, each word keeps one, and arcs that are not used carry none."""
        problem, n = self._problem, len(self._problem.limits) - 1
        flow = self._add_columns(np.zeros(len(problem.score)), float(n))
        count = len(flow)
        rows = np.tile(np.arange(count), 2)
        values = np.concatenate([np.ones(count), np.full(count, -float(n))])
        self._add_rows(rows, np.concatenate([flow, self._y]), values, -math.inf, 0.0, count)
        out = problem.head > 0
        rows = np.concatenate([problem.modifier - 1, problem.head[out] - 1])
        columns = np.concatenate([flow, flow[out]])
        values = np.concatenate([np.ones(count), -np.ones(int(out.sum()))])
        self._add_rows(rows, columns, values, 1.0, 1.0, n)

    def exclude(self, solver: Any, words: list[int]) -> None:
        """Some arc enters these words."""
        problem = self._problem
        inside = np.zeros(len(problem.limits), bool)
        inside[words] = True
        entering = np.flatnonzero(inside[problem.modifier] & ~inside[problem.head])
        columns = entering.astype(np.int32)
        solver.addRow(1.0, math.inf, len(columns), columns, np.ones(len(columns)))

    def solver(self) -> Any:
        """A HiGHS instance with this programme; its gaps are 0."""
        import highspy
        from scipy.sparse import csc_array

        rows, columns, values = (np.concatenate(x) for x in zip(*self._entries, strict=True))
        matrix = csc_array((values, (rows, columns)), shape=(self._row_count, self._columns))
        matrix.sum_duplicates()
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self._columns, self._row_count
        lp.sense_ = highspy.ObjSense.kMaximize
        costs = np.concatenate(self._costs)
        lp.col_cost_ = np.where(costs > -np.inf, costs, 0.0)
        lp.col_lower_ = np.zeros(self._columns)
        lp.col_upper_ = np.where(costs > -np.inf, np.concatenate(self._upper), 0.0)
        lp.row_lower_ = np.concatenate([low for low, _ in self._rows])
        lp.row_upper_ = np.concatenate([high for _, high in self._rows])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = matrix.indptr
        lp.a_matrix_.index_ = matrix.indices
        lp.a_matrix_.value_ = matrix.data
        kinds = [highspy.HighsVarType.kInteger] * len(self._y)
        kinds += [highspy.HighsVarType.kContinuous] * (self._columns - len(self._y))
        lp.integrality_ = kinds
        solver = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 0.0),
            ("mip_feasibility_tolerance", 1e-9),
            ("primal_feasibility_tolerance", 1e-9),
            ("dual_feasibility_tolerance", 1e-9),
        ):
            solver.setOptionValue(option, value)
        solver.passModel(lp)
        return solver

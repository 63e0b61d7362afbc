"""Parts forbidden by -inf, and trees within limits, against the list of all trees, n <= 5."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.crossing import EnumeratedTrees, drawn_case
from support.higher_order import ORDERS, SUBSETS
from support.sibling_cases import as_parts

import crossarc as ca
from crossarc.inference.higher import branching
from crossarc.inference.higher.branching import Solution, solve, solve_dual
from crossarc.inference.higher.ilp import solve_ilp

ROOTS = ["single", "multi"]
#: (n, share of forbidden parts, whether there are limits): some cases have no tree.
KINDS = [(2, 0.5, False), (4, 0.2, False), (4, 0.5, True), (5, 0.3, False), (5, 0.6, False)]


def cases(names: Any, root: str) -> Any:
    rng = np.random.default_rng([len("".join(names)), root == "single"])
    for n, share, with_limits in KINDS:
        scores, factors = drawn_case(rng, n, names, 1.0, 0.1)
        for one in factors.values():
            one[rng.random(one.shape) < share] = -np.inf
        limits = rng.integers(1, 4, n + 1) if with_limits else None
        truth = EnumeratedTrees(scores, root, factors, limits)
        given = {name: as_parts(one) if n == 4 else one for name, one in factors.items()}
        yield (
            ca.HigherOrderTrees(scores, root=root, max_modifiers=limits, threads=1, **given),
            truth,
        )


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS[1:], ids="-".join)
def test_best_trees(names: Any, root: str) -> None:
    for trees, truth in cases(names, root):
        methods: list[Any] = ["dual", "ilp", "substitution", "bp"]
        if not len(truth):
            for method in methods:
                with pytest.raises(ca.InfeasibleError):
                    trees.argmax(method)
            with pytest.raises(ca.InfeasibleError):
                trees.kbest(2)
            assert trees.log_partition() == -math.inf
            chain = ca.Tree(np.arange(trees._batch.width(0) - 1))
            assert trees.log_prob(chain) == -math.inf
            continue
        for method in methods:
            tree = trees.argmax(method)
            assert tree.score == pytest.approx(truth.score(tree.heads), abs=1e-9)
            assert tree.bound >= truth.best - 1e-12
            assert tree.is_optimal == (method in ("dual", "ilp"))
            if tree.is_optimal:
                assert tree.score == pytest.approx(truth.best, abs=1e-6)
        ranked = list(trees.kbest(12))
        assert [tree.score for tree in ranked] == pytest.approx(np.sort(truth.values)[::-1][:12])
        assert all(tree.is_optimal for tree in ranked)


@pytest.mark.parametrize("root", ROOTS)
def test_probabilities(root: str) -> None:
    """Weak factors: beliefs are nearly exact, and a tree with a forbidden part has no probability.

    Of each factor only parts are forbidden that are in few trees.
    """
    rng = np.random.default_rng(3)
    for name, order in ORDERS.items():
        scores, factors = drawn_case(rng, 5, [name], 0.1)
        factor = factors[name]
        full = EnumeratedTrees(scores, root, factors)
        rare = np.argwhere(full.part_marginals(name) > 0)
        rare = rare[(rare[:, 0] > 0) & (np.ptp(rare, axis=1) > 2)][:3]
        assert len(rare) == 3
        factor[tuple(rare.T)] = -np.inf
        truth = EnumeratedTrees(scores, root, factors)
        assert len(truth) < len(full)
        trees = ca.HigherOrderTrees(scores, root=root, **factors)
        assert trees.convergence().converged
        np.testing.assert_allclose(trees.marginals(), truth.marginals(), atol=0.08)
        assert (trees.marginals(name)[tuple(rare.T)] == 0.0).all()
        assert trees.marginals(name).shape == (6,) * order
        assert math.isfinite(trees.entropy())
        kept = {tuple(heads) for heads in truth.heads.tolist()}
        lost = next(heads for heads in full.heads.tolist() if tuple(heads) not in kept)
        assert trees.log_prob(ca.Tree(lost)) == -math.inf
        assert trees.log_prob(ca.Tree(truth.heads[0])) > -math.inf


def test_arcs_that_single_roots_may_not_have() -> None:
    """sibling[0, 0, m] of a single root is moved to the arc, whose automaton still counts."""
    rng = np.random.default_rng(5)
    scores, factors = drawn_case(rng, 4, ["sibling"], 0.0)
    factors["sibling"][0, 0, 2] = -np.inf
    trees = ca.HigherOrderTrees(scores, sibling=factors["sibling"])
    exact = ca.SpanningTrees(ca.constrain(scores, forbidden=[(0, 2)]))
    assert trees.log_partition() == pytest.approx(exact.log_partition(), abs=1e-9)
    np.testing.assert_allclose(trees.marginals(), exact.marginals(), atol=1e-9)


@pytest.mark.parametrize("cycles", ["cuts", "flow"])
def test_a_search_that_gives_up_asks_the_integer_programme(cycles: Any, monkeypatch: Any) -> None:
    """Without any tree, the programme says whether there is one."""

    def gives_up(problem: Any, allowed: Any, start: Any = None, deadline: float = 1.0) -> Solution:
        if start is None:
            return Solution(None, -math.inf, 1e3)
        return solve_dual(problem, allowed, start)

    monkeypatch.setattr(branching, "solve_dual", gives_up)
    found, infeasible = 0, 0
    for trees, truth in cases(["sibling", "grandchild"], "multi"):
        one = solve(trees._problem(0))
        exact = solve_ilp(trees._problem(0), None, cycles=cycles)
        assert (exact.heads is None) == (not len(truth))
        if len(truth):
            found += 1
            assert truth.best <= one.bound <= truth.best + 1e-8
            assert one.score == pytest.approx(truth.best)
        else:
            infeasible += 1
            assert (one.heads, one.bound) == (None, -math.inf)
    assert min(found, infeasible) > 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_other_scores_that_are_not_finite(value: float) -> None:
    factor = np.zeros((4, 4, 4))
    factor[1, 1, 2] = value
    for given in (factor, ca.Parts([[1, 1, 2]], [value])):
        with pytest.raises(ca.ScoreError, match=r"sibling\[1, 1, 2\] is "):
            ca.HigherOrderTrees(np.zeros((4, 4)), sibling=given)

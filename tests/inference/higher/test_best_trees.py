"""Best trees of HigherOrderTrees against the list of all trees, n <= 5."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.crossing import EnumeratedTrees, drawn_case
from support.higher_order import SUBSETS
from support.sibling_cases import as_parts

import crossarc as ca
from crossarc.inference.higher.ascent import StepRule
from crossarc.inference.higher.branching import polyak, solve_dual
from crossarc.inference.higher.ilp import solve_ilp
from crossarc.inference.higher.packing import arcs_of
from crossarc.inference.higher.problem import FACTORS, joined
from crossarc.inference.higher.rounds import begin_search, run_rounds
from crossarc.inference.higher.substitution import substitute
from crossarc.inference.higher.tables import locate_parts, part_cells

ROOTS = ["single", "multi"]
#: (n, scale of factors, share of forbidden arcs)
KINDS = [(1, 1.0, 0.0), (3, 1.0, 0.0), (4, 3.0, 0.3), (5, 1.0, 0.0), (5, 0.3, 0.3)]


def cases(names: Any, root: str, with_limits: bool = False) -> Any:
    """Random problems with their lists of trees."""
    rng = np.random.default_rng([len("".join(names)), root == "single", with_limits])
    for n, scale, forbidden in KINDS:
        scores, factors = drawn_case(rng, n, names, scale, forbidden)
        limits = rng.integers(0, 4, n + 1) if with_limits else None
        truth = EnumeratedTrees(scores, root, factors, limits)
        given = {name: as_parts(one) if n == 4 else one for name, one in factors.items()}
        trees = ca.HigherOrderTrees(scores, root=root, max_modifiers=limits, **given)
        yield trees, truth, scores, factors


def assert_valid(tree: ca.Tree, truth: EnumeratedTrees, tolerance: float) -> None:
    """A possible tree with its score by definition, and a certificate that is not wrong."""
    assert tree.score == pytest.approx(truth.score(tree.heads), rel=1e-12, abs=1e-12)
    assert tree.bound >= truth.best - 1e-12
    assert tree.is_optimal == (tree.bound - tree.score <= tolerance * max(1.0, abs(tree.score)))
    if tree.is_optimal:
        assert tree.score >= truth.best - tolerance * max(1.0, abs(truth.best))


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS, ids="-".join)
def test_every_method(names: Any, root: str) -> None:
    for trees, truth, _, _ in cases(names, root):
        dual, exact = trees.argmax(), trees.argmax("ilp")
        for tree, tolerance in ((dual, 1e-9), (exact, 1e-6)):
            assert_valid(tree, truth, tolerance)
            assert tree.is_optimal
            assert tree.score == pytest.approx(truth.best, rel=1e-9, abs=1e-9)
        for tree in (trees.argmax("substitution"), trees.argmax("bp"), trees.argmax(time_limit=0)):
            assert_valid(tree, truth, 1e-9)
            assert tree.bound == math.inf
            assert not tree.is_optimal


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS, ids="-".join)
def test_limits_of_modifiers(names: Any, root: str) -> None:
    """Feasible or not, as the list of trees says; certificates as without limits."""
    for trees, truth, _, _ in cases(names, root, with_limits=True):
        for method, tolerance in (("dual", 1e-9), ("ilp", 1e-6)):
            if len(truth):
                tree = trees.argmax(method)
                assert_valid(tree, truth, tolerance)
                assert tree.is_optimal
            else:
                with pytest.raises(ca.InfeasibleError):
                    trees.argmax(method)
        if len(truth):
            assert_valid(trees.argmax("substitution"), truth, 1e-9)
            assert_valid(trees.min_risk(), truth, 1e-9)
        else:
            assert trees.log_partition() == -math.inf
            with pytest.raises(ca.InfeasibleError):
                trees.marginals()


def test_one_limit_for_all_nodes() -> None:
    rng = np.random.default_rng(7)
    scores, factors = drawn_case(rng, 5, ["grandchild"])
    truth = EnumeratedTrees(scores, "single", factors, np.ones(6))
    assert len(truth) == 120  # the chains over five words
    tree = ca.HigherOrderTrees(scores, max_modifiers=1, **factors).argmax()
    assert tree.score == pytest.approx(truth.best)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("cycles", ["cuts", "flow"])
def test_both_integer_programmes(cycles: Any, root: str) -> None:
    for names in SUBSETS[::3]:
        for trees, truth, _, _ in cases(names, root):
            found = solve_ilp(trees._problem(0), None, cycles=cycles)
            assert truth.score(found.heads) == pytest.approx(truth.best, abs=1e-6)
            assert truth.best <= found.bound <= truth.best + 1e-5


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS[1::2], ids="-".join)
def test_substitution_is_no_worse_than_its_starts(names: Any, root: str) -> None:
    """And no other head of one word gains: a local optimum by definition."""
    for trees, truth, scores, factors in cases(names, root):
        tree = trees.argmax("substitution")
        starts = [ca.SpanningTrees(scores, root=root).argmax()]
        starts.append(ca.ProjectiveTrees(scores, root=root, **factors).argmax())
        assert tree.score >= max(truth.score(start.heads) for start in starts) - 1e-9
        one_off = (truth.heads != tree.heads).sum(axis=1) == 1
        assert (truth.values[one_off] <= tree.score + 1e-9).all()


def test_single_root_moves() -> None:
    """From a chain below word 1, the best root 2 needs two new heads at once: 2 and 1."""
    scores = np.zeros((4, 4))
    scores[0] = [0.0, 1.0, 9.0, 0.0]
    scores[1, 2] = scores[2, 3] = 5.0
    problem = ca.HigherOrderTrees(scores)._problem(0)
    heads = np.array([0, 0, 1, 2])
    score = substitute(problem, np.ones(len(problem.score), np.int64), heads, True)
    assert (heads[1:].tolist(), score) == ([2, 0, 2], 14.0)


def test_steps_that_decay() -> None:
    """Koo et al. (2010): first rate / (1 + t), t the number of steps that raised the bound."""
    rng = np.random.default_rng(12)
    scores, factors = drawn_case(rng, 5, ["sibling"], 3.0)
    problem = ca.HigherOrderTrees(scores, **factors)._problem(0)
    problems = joined(problem)
    progress = begin_search(problems, StepRule.decaying(0.8))

    def run(steps: int) -> None:
        run_rounds(problems, progress, 0, 1, 0.0, first_rate=0.8, steps=steps)

    for rises in range(4):
        progress.rule[0], before = rises, progress.leaving.copy()
        progress.score[0] = -math.inf
        run(1)
        # An arc moves by half a step where either the tree or the automaton has it.
        moved = np.unique(np.abs(progress.leaving - before).round(12))
        assert moved.tolist() == [0.0, round(0.4 / (1 + rises), 12)]
    progress.rule[0] = 0.0
    run(40)
    assert 0 < progress.rule[0] < 40


@pytest.mark.parametrize("rules", [polyak, lambda is_whole: StepRule.decaying(1.0)])
def test_dual_decomposition_without_branching_never_errs(rules: Any) -> None:
    """Without branching there are gaps, but no wrong certificate and no bound that is too low."""
    rng, certified = np.random.default_rng(0), 0
    for trial in range(200):
        names, root = SUBSETS[trial % 16], ROOTS[trial % 2]
        scores, factors = drawn_case(rng, 1 + trial % 5, names, [0.5, 1.0, 3.0][trial % 3])
        truth = EnumeratedTrees(scores, root, factors)
        problem = ca.HigherOrderTrees(scores, root=root, **factors)._problem(0)
        found = solve_dual(
            problem, np.ones(len(problem.score), np.int64), tighten=False, rules=rules
        )
        assert found.bound >= truth.best
        assert found.score == pytest.approx(truth.score(found.heads))
        if found.bound - found.score <= 1e-9 * max(1.0, abs(found.score)):
            certified += 1
            assert found.score == pytest.approx(truth.best, abs=1e-8)
    assert 130 < certified < 200


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS[::3], ids="-".join)
def test_all_trees_in_order(names: Any, root: str) -> None:
    for trees, truth, _, _ in list(cases(names, root))[:3]:
        ranked = list(trees.kbest(10**6 if len(truth) < 50 else 30))
        expected = np.sort(truth.values)[::-1][: len(ranked)]
        assert len(ranked) == min(len(truth), 30) or len(ranked) == len(truth)
        assert len(set(ranked)) == len(ranked)
        assert [tree.score for tree in ranked] == pytest.approx(expected.tolist())
        assert all(tree.is_optimal for tree in ranked)


def test_labels() -> None:
    """The k best labelled trees are those of the k best labels of arcs."""
    rng = np.random.default_rng(3)
    scores, sibling = rng.normal(size=(4, 4, 2)), rng.normal(size=(4, 4, 4))
    trees = ca.HigherOrderTrees(scores, sibling=sibling)
    expected = []
    for labels in product(range(2), repeat=3):
        own = np.zeros((4, 4))
        for m, label in enumerate(labels, 1):
            own[:, m] = scores[:, m, label]
        truth = EnumeratedTrees(own, "single", {"sibling": sibling})
        rows = zip(truth.values, truth.heads.tolist(), strict=True)
        expected += [(-value, heads, labels) for value, heads in rows]
    expected.sort()
    ranked = list(trees.kbest(len(expected) + 1))
    assert len(ranked) == len(expected) == 9 * 8
    for tree, (value, heads, labels) in zip(ranked, expected, strict=True):
        assert tree.score == pytest.approx(-value)
        assert (tree.heads.tolist(), tuple(tree.labels)) == (heads, labels)
    for method in ("dual", "ilp"):
        assert trees.argmax(method) == ranked[0]


def test_constraints() -> None:
    rng = np.random.default_rng(5)
    scores, factors = drawn_case(rng, 5, ["sibling", "grandchild"])
    own = ca.constrain(scores, heads={2: 5}, forbidden=[(0, 5), (5, 1)])
    truth = EnumeratedTrees(own, "single", factors)
    for method in ("dual", "ilp"):
        tree = ca.HigherOrderTrees(own, **factors).argmax(method)
        assert tree.score == pytest.approx(truth.best)
        assert tree.heads[1] == 5
    impossible = ca.HigherOrderTrees(ca.constrain(scores, heads={1: 2, 2: 1}), **factors)
    for method in ("dual", "ilp", "substitution", "bp"):
        with pytest.raises(ca.InfeasibleError, match="no tree is possible"):
            impossible.argmax(method)
    with pytest.raises(ca.InfeasibleError):
        impossible.kbest(2)
    assert impossible.log_partition() == -math.inf


def test_batches_and_threads() -> None:
    rng = np.random.default_rng(11)
    drawn = [drawn_case(rng, n, ["sibling", "grand_sibling"]) for n in (4, 2, 5)]
    given = {name: [one[name] for _, one in drawn] for name in ("sibling", "grand_sibling")}
    batches = [
        ca.HigherOrderTrees([scores for scores, _ in drawn], threads=threads, **given)
        for threads in (1, 3)
    ]
    alone = [ca.HigherOrderTrees(scores, **one) for scores, one in drawn]
    expected = [one.argmax() for one in alone]
    for batch in batches:
        assert batch.argmax() == expected
        assert [tree.bound for tree in batch.argmax()] == [tree.bound for tree in expected]
        assert batch.kbest(3) == [list(one.kbest(3)) for one in alone]
        assert batch.log_partition() == [one.log_partition() for one in alone]
    with pytest.raises(ca.InfeasibleError, match="sentence 1: "):
        ca.HigherOrderTrees([drawn[0][0], np.full((3, 3), -np.inf)]).argmax()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sibling": np.zeros((3, 3))}, ca.ScoreError, r"sibling must be real numbers \(4, 4, 4\)"),
        ({"grandchild": np.full((4, 4, 4), np.nan)}, ca.ScoreError, "grandchild.* is nan"),
        ({"sibling": ca.Parts([[0, 1, 9]], [1.0])}, ca.ScoreError, "not in a sentence of 3"),
        ({"sibling": ca.Parts([[1, 1, 2]] * 2, [1, 2])}, ca.ScoreError, "listed twice"),
        ({"max_modifiers": [1, 2]}, ca.ScoreError, "max_modifiers must be"),
        ({"max_modifiers": -1}, ca.ScoreError, "max_modifiers must be"),
        ({"root": "none"}, ValueError, "root must be"),
        ({"bp_tolerance": math.nan}, ValueError, "bp_tolerance must not be negative: got nan"),
        ({"bp_tolerance": -1e-9}, ValueError, "bp_tolerance must not be negative"),
        ({"bp_iterations": 0}, ValueError, "bp_iterations must be a whole number from 1 on: got 0"),
        ({"bp_iterations": 2.5}, ValueError, "bp_iterations must be a whole number"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ca.HigherOrderTrees(np.zeros((4, 4)), **arguments)


def test_wrong_questions() -> None:
    trees = ca.HigherOrderTrees(np.zeros((4, 4)))
    for call, message in (
        (lambda: trees.argmax("simplex"), "method must be one of dual, ilp"),
        (lambda: trees.argmax(time_limit=-1), "time_limit must be seconds from 0 up"),
        (lambda: trees.argmax(time_limit=math.nan), "time_limit must be seconds from 0 up"),
        (
            lambda: trees.argmax(time_limit="1s"),
            "time_limit must be seconds from 0 up, .* got '1s'",
        ),
        (lambda: trees.kbest(0), "k must be at least 1: got 0"),
        (lambda: trees.kbest("2"), "k must be a whole number: got '2'"),
        (lambda: trees.log_prob([0, 1, 1]), r"expected a Tree, as Tree\(heads\): got \[0, 1, 1\]"),
        (lambda: trees.log_prob(ca.Tree([0, 1])), "the tree has 2 words, the scores 3"),
        (lambda: trees.log_prob(ca.Tree([0, -1, 1])), "word 2 of the tree has no head"),
        (lambda: trees.marginals("sibling"), "part must be one of arc"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_labels_of_a_tree_are_numbers_of_labels() -> None:
    scores = np.zeros((3, 3, 2))
    scores[0, 1] = -np.inf
    trees = ca.HigherOrderTrees(scores)
    for labels in (["a", "b"], [0, 2], [-1, 0]):
        with pytest.raises(ca.ScoreError, match="labels of the tree must be numbers from 0 to 1"):
            trees.log_prob(ca.Tree([2, 0], labels))
    assert trees.log_prob(ca.Tree([2, 0], [1, 0])) == pytest.approx(math.log(1 / 4))
    assert trees.log_prob(ca.Tree([2, 0])) == pytest.approx(0.0)
    assert trees.log_prob(ca.Tree([0, 1])) == -math.inf


def test_large_scores() -> None:
    """An offset of each word changes no tree; where rounding hides the gap there is no claim."""
    rng = np.random.default_rng(2)
    scores, factors = drawn_case(rng, 5, ["sibling", "grandchild"])
    best = ca.HigherOrderTrees(scores, **factors).argmax()
    shifted = ca.HigherOrderTrees(scores + 1e6, **factors).argmax()
    assert shifted == best
    assert shifted.is_optimal
    exact = ca.HigherOrderTrees(scores + 1e6, **factors).argmax("ilp")
    assert (exact, exact.is_optimal) == (best, True)
    cancelling = scores.copy()
    cancelling[:, 1] += 1e12
    cancelling[:, 2] -= 1e12
    assert not ca.HigherOrderTrees(cancelling, **factors).argmax().is_optimal


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
@pytest.mark.parametrize("limits", [(6, 6, 6, 6, 6, 6, 6), (1, 2, 0, 3, 1, 2, 6)])
def test_numbers_of_parts_are_the_inverse_of_their_cells(factor: Any, limits: Any) -> None:
    """All cells of the dense array: those of parts have their numbers, the others none."""
    rng = np.random.default_rng(len(factor.name))
    for density in (0.3, 0.7, 1.0):
        scores = np.where(rng.random((7, 7)) < density, 0.0, -np.inf)
        scores[:, 0] = -np.inf
        np.fill_diagonal(scores, -np.inf)
        arcs = arcs_of(scores.reshape(-1), np.array([6]), [np.array(limits)])
        cells = part_cells(arcs, 0, factor.name)
        every = np.argwhere(np.ones((7,) * len(factor.axes)))
        parts = ca.Parts(every, np.arange(len(every)))
        is_odd, numbers, table = locate_parts(arcs, factor.name, [parts], np.array([0, len(cells)]))
        expected = np.full(len(every), -1)
        expected[cells[cells >= 0]] = np.flatnonzero(cells >= 0)
        np.testing.assert_array_equal(numbers, expected)
        np.testing.assert_array_equal(table, np.where(cells >= 0, cells, 0))
        assert is_odd.tolist() == [1]

"""Factors that forbid parts by -inf, against the list of all trees that have none of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.higher_order import ORDERS, PARTS, SUBSETS, assert_all_answers, enumerated
from support.higher_order_laws import HigherOrder
from support.information_laws import InformationLaws
from support.law_base import assert_accurate, assert_log_marginals, assert_marginals, key_of
from support.sibling_cases import as_parts

from crossarc import InfeasibleError, ProjectiveTrees, Tree
from crossarc.inference.projective.kernel_solvers import SiblingKernels

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]
SOME = [names for names in SUBSETS if names]


def drawn(
    n: int, names: Any, scale: float, share: float, seed: int, labels: int = 0
) -> tuple[Floats, dict[str, Floats]]:
    """Scores, and factors of which a share is forbidden."""
    rng = np.random.default_rng([seed, n, len(names)])
    shape = (n + 1, n + 1, labels) if labels else (n + 1, n + 1)
    scores = rng.normal(0, scale, shape)
    factors = {}
    for name in names:
        factors[name] = rng.normal(0, scale, (n + 1,) * ORDERS[name])
        factors[name][rng.random(factors[name].shape) < share] = -np.inf
    return scores, factors


def given_as(form: str, factors: dict[str, Floats]) -> dict[str, Any]:
    """Dense, or as Parts, of which some score 0 and are not listed."""
    if form == "dense":
        return dict(factors)
    for factor in factors.values():
        factor[np.abs(factor) < 0.5] = 0.0
    return {name: as_parts(factor) for name, factor in factors.items()}


def has_forbidden(heads: Any, factors: dict[str, Floats]) -> bool:
    found = tuple(int(h) for h in heads)
    return any(
        factor[part] == -np.inf for name, factor in factors.items() for part in PARTS[name](found)
    )


def assert_infeasible(trees: ProjectiveTrees) -> None:
    assert trees.log_partition() == -math.inf
    for question in ("marginals", "argmax", "entropy", "max_marginals", "min_risk"):
        with pytest.raises(InfeasibleError, match="no tree is possible"):
            getattr(trees, question)()
    for name in trees._factors:
        with pytest.raises(InfeasibleError):
            trees.marginals(name)
    with pytest.raises(InfeasibleError):
        trees.kbest(1)
    with pytest.raises(InfeasibleError):
        trees.sample(1)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SOME, ids="+".join)
@pytest.mark.parametrize(("scale", "form"), [(1.0, "parts"), (100.0, "dense")])
def test_all_trees(names: tuple[str, ...], root: str, scale: float, form: str) -> None:
    """Some patterns leave no tree at all."""
    cases = [(n, share, seed) for n in range(1, 5) for share in (0.1, 0.5) for seed in range(2)]
    largest = 6 if names == tuple(PARTS) and scale == 1.0 else 5
    for n, share, seed in [*cases, (largest, 0.1, 0)]:
        scores, factors = drawn(n, names, scale, share, seed)
        given = given_as(form, factors)
        truth = enumerated(scores, root, factors)
        trees = ProjectiveTrees(scores, root=root, **given)
        if truth.feasible:
            assert_all_answers(trees, truth, factors, given)
        else:
            assert_infeasible(trees)


@pytest.mark.parametrize("names", [("sibling",), ("grandchild", "tri_sibling"), tuple(PARTS)])
def test_questions_about_what_is_left(names: tuple[str, ...]) -> None:
    scores, factors = drawn(4, names, 1.0, 0.2, 3, labels=2)
    truth = enumerated(scores, "multi", factors)
    trees = ProjectiveTrees(scores, root="multi", **factors)
    free = enumerated(scores, "multi", {})
    assert 3 < len(truth.trees) < len(free.trees)
    assert_all_answers(trees, truth, factors)
    # Trees without labels, forbidden ones among them.
    for heads in {tree.heads for tree in free.trees}:
        expected = truth.log_prob(heads)
        assert trees.log_prob(Tree(heads)) == pytest.approx(expected, rel=1e-12, abs=1e-13)
        assert (expected == -math.inf) == has_forbidden(heads, factors)
    # Second moments and dependence.
    rng = np.random.default_rng(0)
    f, g = rng.normal(size=(2, *scores.shape))
    values = [truth.function_values(one) for one in (f, g)]
    assert trees.covariance(f, g) == pytest.approx(truth.covariance(*values), rel=1e-10)
    np.testing.assert_allclose(trees.hessian_product(f), truth.slopes(values[0]), atol=1e-13)
    np.testing.assert_allclose(trees.mutual_information(), truth.mutual_information(), atol=1e-12)
    best = [[truth.score(tree)] for tree in truth.trees]
    own = truth.slopes([score for (score,) in best])
    np.testing.assert_allclose(trees.entropy_gradient(), -own, atol=1e-12)
    h = truth.trees[0].heads[1]
    assert_marginals(trees.given({2: h}).marginals(), truth.given({2: h}, {}).marginals)
    # With no weight of scores, forbidden parts are still forbidden.
    for weight in (0.0, 0.5, 1.0):
        safest = trees.min_risk(weight)
        found = truth.find(*key_of(safest))
        assert found is not None
        value = truth.risk_value(found, weight)
        assert value == pytest.approx(truth.best_risk_value(weight), abs=1e-12)
        assert safest.score == pytest.approx(truth.score(found), abs=1e-13)


@pytest.mark.parametrize("names", [("sibling",), ("grand_sibling",), tuple(PARTS)])
def test_samples_never_have_a_forbidden_part(names: tuple[str, ...]) -> None:
    scores, factors = drawn(4, names, 1.0, 0.15, 0)
    truth = enumerated(scores, "multi", factors)
    trees = ProjectiveTrees(scores, root="multi", **factors)
    listed = {tree.key for tree in truth.trees}
    assert {key_of(tree) for tree in trees.sample(2000, seed=1)} <= listed
    everything = trees.sample(2000, seed=1, replace=False)
    assert len(everything) == len(listed)
    assert {key_of(tree) for tree in everything} == listed


@pytest.mark.parametrize("names", [("sibling",), ("grandchild",), ("sibling", "tri_sibling")])
def test_divergence(names: tuple[str, ...]) -> None:
    scores, factors = drawn(5, names, 1.0, 0.1, 1)
    finite = {name: np.where(factor > -np.inf, factor, 0.5) for name, factor in factors.items()}
    others = drawn(5, ("sibling", "grandchild"), 1.0, 0.0, 2)
    models = [(scores, factors), (scores, finite), others]
    truth = [enumerated(arcs, "multi", own) for arcs, own in models]
    trees = [ProjectiveTrees(arcs, root="multi", **own) for arcs, own in models]
    for p in range(3):
        for q in range(3):
            expected = truth[p].kl(truth[q])
            assert trees[p].kl(trees[q]) == pytest.approx(expected, rel=1e-12, abs=1e-13)
            assert (expected == math.inf) == (q == 0 and p > 0)
            cross = truth[p].cross_entropy(truth[q])
            assert trees[p].cross_entropy(trees[q]) == pytest.approx(cross, rel=1e-12)


@pytest.mark.parametrize("name", ["sibling", "tri_sibling"])
def test_what_is_allowed_but_in_no_tree_makes_no_divergence(name: str) -> None:
    """The root has no siblings: neither the other's root rule nor its limit excludes a tree."""
    alone = np.zeros((5,) * 3)
    alone[0, 1:] = -np.inf
    factors: dict[str, Any] = {"sibling": alone}
    if name == "tri_sibling":
        factors[name] = np.full((5,) * 4, -np.inf)
    multi = ProjectiveTrees(np.zeros((5, 5)), root="multi", **factors)
    single = ProjectiveTrees(np.zeros((5, 5)), root="single", sibling=np.zeros((5,) * 3))
    less = {"single": 2.0, "multi": multi.log_partition()}
    assert multi.kl(single) == pytest.approx(single.log_partition() - less["multi"], abs=1e-13)
    within = ProjectiveTrees(np.zeros((5, 5)), root="multi", max_modifiers=4)
    assert multi.kl(within) == pytest.approx(within.log_partition() - less["multi"], abs=1e-13)


def test_a_batch_in_which_some_forbid() -> None:
    """The others are answered as if they stood alone, to the last bit."""
    sizes = [4, 3, 5, 4, 2, 5, 4, 3, 4, 5]
    pairs = [drawn(n, ("sibling",), 2.0, 0.2 * (i % 3 == 1), i) for i, n in enumerate(sizes)]
    scores, factors = [one for one, _ in pairs], [own["sibling"] for _, own in pairs]
    mixed: list[Any] = [as_parts(one) if i % 2 else one for i, one in enumerate(factors)]
    batch = ProjectiveTrees(scores, root="multi", sibling=mixed)
    free = [i for i in range(len(sizes)) if i % 3 != 1]
    others = ProjectiveTrees(
        [scores[i] for i in free], root="multi", sibling=[mixed[i] for i in free]
    )
    for question in ("log_partition", "marginals", "log_marginals", "argmax", "entropy"):
        found = getattr(batch, question)()
        for i, expected in zip(free, getattr(others, question)(), strict=True):
            np.testing.assert_array_equal(found[i], expected)
    parts = batch.marginals("sibling")
    for i, expected in zip(free, others.marginals("sibling"), strict=True):
        np.testing.assert_array_equal(parts[i], expected)
    for i in set(range(len(sizes))) - set(free):
        truth = enumerated(scores[i], "multi", {"sibling": factors[i]})
        assert_accurate(batch.log_partition()[i], truth.log_partition())
        assert_log_marginals(batch.log_marginals()[i], truth.log_marginals)
        own = truth.part_log_marginals.reshape(factors[i].shape)
        if i % 2:
            own = own[tuple(mixed[i].index.T)]
        assert_marginals(parts[i], np.exp(own))
        assert key_of(batch.argmax()[i]) == truth.trees[0].key
        assert_accurate(batch.entropy()[i], truth.entropy())


def test_only_parts_that_a_tree_may_have_count() -> None:
    """-inf where no projective tree has the part, or where its arc is forbidden, is not read."""
    scores = np.zeros((4, 4))
    scores[2, 1] = -np.inf
    free = ProjectiveTrees(scores, root="multi").log_partition()
    for names in (("sibling",), tuple(PARTS)):
        usable = {name: np.zeros((4,) * ORDERS[name], bool) for name in names}
        for tree in enumerated(np.zeros((4, 4)), "multi", {}).trees:
            for name in names if tree.heads[0] != 2 else ():
                for part in PARTS[name](tree.heads):
                    usable[name][part] = True
        factors = {name: np.where(own, 0.0, -np.inf) for name, own in usable.items()}
        for form in ("dense", "parts"):
            trees = ProjectiveTrees(scores, root="multi", **given_as(form, factors))
            assert trees.log_partition() == pytest.approx(free, abs=1e-14)
    # Where arcs say that a part is impossible, its sentence is left to kernels.
    impossible = np.zeros((4, 4, 4))
    for part in ((2, 2, 1), (1, 3, 2), (2, 1, 3), (1, 1, 1), (1, 1, 0)):
        impossible[part] = -np.inf
    for given in (impossible, as_parts(impossible)):
        trees = ProjectiveTrees(scores, root="multi", sibling=given)
        assert isinstance(trees._solver, SiblingKernels)
        assert trees.log_partition() == pytest.approx(free, abs=1e-14)


@pytest.mark.parametrize("names", [("sibling",), ("grandchild",), tuple(PARTS)])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_an_arc_without_any_part_is_a_forbidden_arc(names: tuple[str, ...], scale: float) -> None:
    """Dropped from the forest, or never in it; with siblings alone never in the kernels' charts."""
    n = 14
    rng = np.random.default_rng(len(names))
    scores = rng.normal(0, scale, (n + 1, n + 1))
    factors = {name: rng.normal(0, scale, (n + 1,) * ORDERS[name]) for name in names}
    lost = rng.random(scores.shape) < 0.6
    lost[0] = False  # a grandchild part needs a grandparent
    stricter = {name: factor.copy() for name, factor in factors.items()}
    if "sibling" in names:
        stricter["sibling"][np.broadcast_to(lost[:, None], (n + 1,) * 3)] = -np.inf
    else:
        stricter["grandchild"][:, lost] = -np.inf
    parts = ProjectiveTrees(scores, root="multi", **stricter)
    arcs = ProjectiveTrees(np.where(lost, -np.inf, scores), root="multi", **factors)
    assert parts.log_partition() == pytest.approx(arcs.log_partition(), rel=1e-13)
    assert_log_marginals(parts.log_marginals(), arcs.log_marginals())
    for name in names:
        assert_log_marginals(parts.log_marginals(name), arcs.log_marginals(name))
    assert parts.entropy() == pytest.approx(arcs.entropy(), rel=1e-11, abs=1e-13)
    for one, other in zip(parts.kbest(20), arcs.kbest(20), strict=True):
        assert key_of(one) == key_of(other)


@pytest.mark.parametrize("root", ROOTS)
def test_limits_of_modifiers(root: str) -> None:
    names = ("sibling", "grandchild")
    scores, factors = drawn(5, names, 1.0, 0.1, 4)
    limits = np.array([2, 1, 2, 3, 2, 2])
    truth = enumerated(scores, root, factors, limits)
    trees = ProjectiveTrees(scores, root=root, max_modifiers=limits, **factors)
    assert_all_answers(trees, truth, factors)
    wider = enumerated(scores, root, factors)
    others = ProjectiveTrees(scores, root=root, **factors)
    assert trees.kl(others) == pytest.approx(truth.kl(wider), rel=1e-12)
    assert others.kl(trees) == math.inf == wider.kl(truth)


class TestSibling(HigherOrder, InformationLaws):
    """Parts with low scores are forbidden in sentences of four and five words."""

    names = ("sibling",)
    test_entropy_is_largest_when_all_trees_are_alike = None
    test_divergence_between_root_rules = None

    def factor(self, name: str, n: int) -> Floats:
        factor = super().factor(name, n)
        return np.where(factor < -3.5, -np.inf, factor) if n > 3 else factor

"""Grandchild, grand-sibling and tri-sibling factors against the list of all projective trees."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.higher_order import (
    ORDERS,
    PARTS,
    SUBSETS,
    assert_all_answers,
    enumerated,
    factor_log_marginals,
    usable_parts,
)
from support.law_base import assert_accurate, assert_log_marginals, assert_marginals, key_of
from support.sibling_cases import as_parts
from support.trees import all_trees

from crossarc import Parts, ProjectiveTrees, ScoreError
from crossarc.inference.factors import GRAND_SIBLING, GRANDCHILD, TRI_SIBLING

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]
HIGHER = [names for names in SUBSETS if set(names) - {"sibling"}]


def drawn(n: int, names: Any, kind: str, seed: int = 0) -> tuple[Floats, dict[str, Floats]]:
    """Scores and factors; at least the chain 0 -> 1 -> 2 ... is a tree."""
    rng = np.random.default_rng([seed, n, len(names)])
    scale = {"sd 100": 100.0, "sd 1000": 1000.0}.get(kind, 1.0)
    scores = rng.normal(0, scale, (n + 1,) * 2)
    factors = {name: rng.normal(0, scale, (n + 1,) * ORDERS[name]) for name in names}
    if kind == "ties":
        scores = scores.round()
        factors = {name: factor.round() for name, factor in factors.items()}
    if kind in ("forbidden", "sd 100"):
        lost = rng.random(scores.shape) < 0.4
        lost[np.arange(n), np.arange(1, n + 1)] = False
        scores[lost] = -np.inf
    return scores, factors


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", HIGHER, ids="+".join)
@pytest.mark.parametrize(
    ("n", "kind"),
    [
        *((n, "sd 1") for n in range(1, 7)),
        *((5, kind) for kind in ("forbidden", "ties", "sd 100", "sd 1000")),
    ],
)
def test_all_trees(n: int, kind: str, names: tuple[str, ...], root: str) -> None:
    scores, factors = drawn(n, names, kind)
    truth = enumerated(scores, root, factors)
    assert_all_answers(ProjectiveTrees(scores, root=root, **factors), truth, factors)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", [("grandchild",), ("sibling", "tri_sibling"), tuple(PARTS)])
def test_labelled_trees(names: tuple[str, ...], root: str) -> None:
    rng = np.random.default_rng(len(names))
    scores = rng.normal(0, 2, (5, 5, 2))
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    scores[np.arange(4), np.arange(1, 5)] = rng.normal(size=(4, 2))
    factors = {name: rng.normal(size=(5,) * ORDERS[name]) for name in names}
    truth = enumerated(scores, root, factors)
    trees = ProjectiveTrees(scores, root=root, **factors)
    assert_accurate(trees.log_partition(), truth.log_partition())
    assert_marginals(trees.marginals(), truth.marginals)
    for name, logs in factor_log_marginals(truth, factors).items():
        assert_marginals(trees.marginals(name), np.exp(logs))
    ranked = [key_of(tree) for tree in trees.kbest(30)]
    assert ranked == [tree.key for tree in truth.trees[:30]]
    tree = truth.trees[-1]
    best = trees.argmax()
    assert_accurate(trees.log_prob(best), truth.log_prob(*key_of(best)))
    assert trees.log_prob(heads=dict(enumerate(tree.heads, 1))) == pytest.approx(
        truth.log_prob(tree.heads), rel=1e-12
    )


@pytest.mark.parametrize("root", ROOTS)
def test_max_marginals_of_parts(root: str) -> None:
    scores, factors = drawn(5, tuple(PARTS), "forbidden", 1)
    truth = enumerated(scores, root, factors)
    trees = ProjectiveTrees(scores, root=root, **factors)
    for name, factor in factors.items():
        expected = np.full(factor.shape, -math.inf)
        for tree in truth.trees:
            for part in PARTS[name](tree.heads):
                expected[part] = max(expected[part], truth.score(tree))
        np.testing.assert_allclose(trees.max_marginals(name), expected, atol=1e-12)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", HIGHER, ids="+".join)
def test_samples(names: tuple[str, ...], root: str) -> None:
    """Frequencies within five standard deviations of the probabilities; then every tree once."""
    scores, factors = drawn(4, names, "sd 1", 2)
    truth = enumerated(scores, root, factors)
    trees = ProjectiveTrees(scores, root=root, **factors)
    k = 4000
    counts = Counter(key_of(tree) for tree in trees.sample(k, seed=1))
    assert set(counts) <= {tree.key for tree in truth.trees}
    for tree in truth.trees:
        p = math.exp(truth.log_prob(tree.heads))
        if k * p >= 5.0:
            assert abs(counts[tree.key] - k * p) <= 5.0 * math.sqrt(k * p * (1 - p))
    everything = trees.sample(2000, seed=3, replace=False)
    assert {key_of(tree) for tree in everything} == {tree.key for tree in truth.trees}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", HIGHER, ids="+".join)
def test_parts_are_the_dense_factor(names: tuple[str, ...], root: str) -> None:
    """Unlisted parts score 0; marginals of listed ones stand in their order, impossible ones 0."""
    scores, factors = drawn(6, names, "forbidden", 3)
    rng = np.random.default_rng(0)
    for factor in factors.values():
        factor[rng.random(factor.shape) < 0.7] = 0.0
    listed = {name: as_parts(factor) for name, factor in factors.items()}
    full = ProjectiveTrees(scores, root=root, **factors)
    sparse = ProjectiveTrees(scores, root=root, **listed)
    assert sparse.log_partition() == pytest.approx(full.log_partition(), rel=1e-14)
    np.testing.assert_allclose(sparse.marginals(), full.marginals(), atol=1e-14)
    for name, parts in listed.items():
        assert any(tuple(part) not in usable_parts(name, 6) for part in parts.index.tolist())
        expected = full.marginals(name)[tuple(parts.index.T)]
        np.testing.assert_allclose(sparse.marginals(name), expected, atol=1e-14)
        logs = full.log_marginals(name)[tuple(parts.index.T)]
        np.testing.assert_allclose(sparse.log_marginals(name), logs, atol=1e-12)
    assert [tree.score for tree in sparse.kbest(20)] == [tree.score for tree in full.kbest(20)]
    assert sparse.kl(full) == pytest.approx(0.0, abs=1e-14)
    assert full.kl(sparse) == pytest.approx(0.0, abs=1e-14)


@settings(max_examples=25)
@given(
    st.integers(1, 14),
    st.sampled_from(ROOTS),
    st.sampled_from(["forbidden", "sd 100"]),
    st.integers(0, 2**32 - 1),
)
def test_factors_of_zero_change_nothing(n: int, root: str, kind: str, seed: int) -> None:
    """Models 2 and 1 of Koo & Collins, sibling and first order, each as the one before."""
    scores, factors = drawn(n, ("sibling", "grand_sibling"), kind, seed)
    zeros = {name: np.zeros((n + 1,) * order) for name, order in ORDERS.items()}

    def assert_same(first: ProjectiveTrees, second: ProjectiveTrees) -> None:
        assert second.log_partition() == pytest.approx(first.log_partition(), rel=1e-13, abs=1e-13)
        logs = first.log_marginals()
        np.testing.assert_allclose(second.log_marginals(), logs, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(first.max_marginals(), second.max_marginals(), atol=1e-10)
        assert second.entropy() == pytest.approx(first.entropy(), rel=1e-11, abs=1e-11)

    model_1 = ProjectiveTrees(scores, root=root, **factors)
    tri = zeros["tri_sibling"]
    assert_same(model_1, ProjectiveTrees(scores, root=root, tri_sibling=tri, **factors))
    sibling = ProjectiveTrees(scores, root=root, sibling=factors["sibling"])
    for name in ("grandchild", "grand_sibling", "tri_sibling"):
        other = {"sibling": factors["sibling"], name: zeros[name]}
        assert_same(sibling, ProjectiveTrees(scores, root=root, **other))
    first_order = ProjectiveTrees(scores, root=root)
    for name in ORDERS:
        assert_same(first_order, ProjectiveTrees(scores, root=root, **{name: zeros[name]}))
    assert_same(first_order, ProjectiveTrees(scores, root=root, max_modifiers=n))


@pytest.mark.parametrize("names", [("grandchild",), ("tri_sibling",), tuple(PARTS)])
def test_numbers_of_trees_of_long_sentences(names: tuple[str, ...]) -> None:
    """C(3n - 2, n - 1) / n trees with one root, C(3n, n) / (2n + 1) in all."""
    n = 24
    none = {name: Parts(np.empty((0, ORDERS[name]), int), []) for name in names}
    counts = {"single": math.comb(3 * n - 2, n - 1) / n, "multi": math.comb(3 * n, n) / (2 * n + 1)}
    for root, count in counts.items():
        trees = ProjectiveTrees(np.zeros((n + 1, n + 1)), root=root, **none)
        assert trees.log_partition() == pytest.approx(math.log(count), rel=1e-14)


@pytest.mark.parametrize("pair", [(("grandchild",), ("sibling",)), ((), tuple(PARTS))])
def test_divergence_between_models(pair: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
    scores, factors = drawn(5, tuple(PARTS), "sd 1", 5)
    chosen = [{name: factors[name] for name in names} for names in pair]
    trees = [ProjectiveTrees(scores, root="multi", **one) for one in chosen]
    truth = [enumerated(scores, "multi", one) for one in chosen]
    for p, q in ((0, 1), (1, 0)):
        assert trees[p].kl(trees[q]) == pytest.approx(truth[p].kl(truth[q]), rel=1e-12)
    fewer = scores.copy()
    fewer[1, 2] = -np.inf
    stricter = ProjectiveTrees(fewer, root="multi", **chosen[1])
    assert trees[1].kl(stricter) == math.inf
    share = trees[1].log_partition() - stricter.log_partition()
    assert stricter.kl(trees[1]) == pytest.approx(share, rel=1e-12)


def test_given_heads() -> None:
    """A conditional distribution keeps factors and their shapes."""
    scores, factors = drawn(5, tuple(PARTS), "sd 1", 6)
    factors["grandchild"][:] = np.where(factors["grandchild"] > 0.5, factors["grandchild"], 0.0)
    mixed: dict[str, Any] = factors | {"grandchild": as_parts(factors["grandchild"])}
    trees = ProjectiveTrees(scores, **mixed)
    truth = enumerated(scores, "single", factors).given({3: 2, 4: 3}, {})
    known = trees.given({3: 2, 4: 3})
    assert_marginals(known.marginals(), truth.marginals)
    logs = factor_log_marginals(truth, factors)
    for name in ("sibling", "grand_sibling", "tri_sibling"):
        assert_log_marginals(known.log_marginals(name), logs[name])
    at = tuple(mixed["grandchild"].index.T)
    assert_log_marginals(known.log_marginals("grandchild"), logs["grandchild"][at])


@pytest.mark.parametrize("factor", [GRANDCHILD, GRAND_SIBLING, TRI_SIBLING])
def test_parts_of_trees_and_usable_entries(factor: Any) -> None:
    """Against the definitions, over all trees of five words, crossing ones included."""
    usable = np.zeros((6,) * len(factor.axes), bool)
    for heads in all_trees(5):
        found = [tuple(part) for part in factor.parts_of(np.array(heads)).tolist()]
        assert sorted(found) == sorted(PARTS[factor.name](heads))
        for part in found:
            usable[part] = True
    allowed = np.ones((6, 6), bool)
    allowed[:, 0] = allowed[np.arange(6), np.arange(6)] = False
    np.testing.assert_array_equal(factor.usable(allowed, False), usable)


@pytest.mark.parametrize("name", ["grandchild", "grand_sibling", "tri_sibling"])
def test_factors_are_finite_where_a_projective_tree_has_the_part(name: str) -> None:
    scores = np.zeros((5, 5))
    scores[3, 1] = -np.inf
    shape = (5,) * ORDERS[name]
    trees = (heads for heads in all_trees(4) if heads[0] != 3)
    possible = {part for heads in trees for part in PARTS[name](heads)} & usable_parts(name, 4)
    for part in np.ndindex(shape):
        dense = np.zeros(shape)
        dense[part] = np.nan
        for given_factor in (dense, Parts([part], [np.nan])):
            factors: dict[str, Any] = {name: [np.zeros(shape), given_factor]}
            if part in possible:
                with pytest.raises(ScoreError, match=rf"sentence 1: {name}\[{part[0]}, .*is nan"):
                    ProjectiveTrees([scores] * 2, root="multi", **factors)
            else:
                ProjectiveTrees([scores] * 2, root="multi", **factors)


def test_messages_name_factor_and_axes() -> None:
    for name, axes in (
        ("grandchild", "g, h, m"),
        ("grand_sibling", "g, h, s, m"),
        ("tri_sibling", "h, t, s, m"),
    ):
        shape = rf"\({', '.join('4' * ORDERS[name])}\)"
        for wrong, message in (
            (np.zeros((4, 4)), rf"{name} must be real numbers {shape}, \[{axes}\]: got float64"),
            (Parts([[0, 1]], [1.0]), rf"{name} parts have {ORDERS[name]} indices, \[{axes}\]"),
            (Parts([[4] * ORDERS[name]], [1.0]), rf"{name} part \[4, .* is not in a sentence of 3"),
        ):
            with pytest.raises(ScoreError, match=message):
                ProjectiveTrees(np.zeros((4, 4)), **{name: wrong})


def test_memory_grows_with_the_arcs() -> None:
    """Five heads a word: a dense grand-sibling factor of 160 words would have 5 GB."""
    n, sizes = 160, []
    for words in (n // 2, n):
        rng = np.random.default_rng(1)
        scores = np.full((words + 1, words + 1), -np.inf)
        for m in range(1, words + 1):
            near = np.arange(max(0, m - 4), min(words, m + 4) + 1)
            scores[rng.choice(near[near != m], 4, replace=False), m] = 0.0
            scores[m - 1, m] = 0.0
        parts = Parts([[0, 1, 1, 2]], [1.0])
        trees = ProjectiveTrees(scores, grand_sibling=parts, tri_sibling=parts)
        sizes.append((trees._factors["grand_sibling"].count(0), len(trees._forest(0).left)))
        assert trees.marginals("grand_sibling").shape == (1,)
    assert sizes[1][0] < 2.2 * sizes[0][0] < 22 * n * 10
    assert sizes[1][1] < 2.5 * sizes[0][1]


def test_too_many_arcs_for_a_forest() -> None:
    scores = np.zeros((400, 400))
    none = Parts(np.empty((0, 3), int), [])
    with pytest.raises(ScoreError, match="sentence 0: 159201 arcs and these factors are too many"):
        ProjectiveTrees([scores], grandchild=[none]).argmax()

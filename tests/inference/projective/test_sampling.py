"""Trees drawn at random, with and without replacement, against exact probabilities."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from support.brute_force import BruteForce, projective_tree
from support.frequencies import (
    assert_distribution,
    assert_frequencies,
    assert_order_beside_a_tree_with_all_the_mass,
)
from support.law_base import key_of

from crossarc import InfeasibleError, ProjectiveTrees

ROOTS = ["single", "multi"]


def case(n: int, root: str, sibling: bool, labels: int | None = None, scale: float = 1.0):
    chance = np.random.default_rng(n)
    shape = (n + 1, n + 1) if labels is None else (n + 1, n + 1, labels)
    scores = chance.normal(0, scale, shape)
    factor = chance.normal(0, scale, (n + 1,) * 3) if sibling else None
    truth = BruteForce(scores, root, projective_tree, factor)
    return ProjectiveTrees(scores, root=root, sibling=factor), truth


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("sibling", [False, True])
@pytest.mark.parametrize(("n", "labels"), [(4, None), (2, 2)])
def test_frequencies(n: int, labels: int | None, root: str, sibling: bool) -> None:
    trees, truth = case(n, root, sibling, labels)
    assert_frequencies(trees, truth)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("sibling", [False, True])
def test_without_replacement_every_tree_comes_once(root: str, sibling: bool) -> None:
    trees, truth = case(4, root, sibling, scale=3.0)
    found = [key_of(tree) for tree in trees.sample(10_000, seed=3, replace=False)]
    assert len(found) == len(set(found)) == len(truth.trees)
    assert set(found) == {tree.key for tree in truth.trees}


@pytest.mark.parametrize("sibling", [False, True])
def test_order_of_draws_without_replacement(sibling: bool) -> None:
    """The first three of the seven trees of three words: p1 p2 / (1 - p1) p3 / (1 - p1 - p2)."""
    trees, truth = case(3, "single", sibling)
    chance = {tree.key: math.exp(truth.log_prob(tree.heads)) for tree in truth.trees}
    drawn: Counter[tuple[object, ...]] = Counter()
    for seed in range(6_000):
        drawn[tuple(map(key_of, trees.sample(3, seed=seed, replace=False)))] += 1
    orders = list(itertools.permutations(chance, 3))
    expected = []
    for first, second, third in orders:
        left = 1.0 - chance[first]
        expected.append(
            chance[first] * chance[second] / left * chance[third] / (left - chance[second])
        )
    assert math.fsum(expected) == pytest.approx(1.0)
    common = [place for place, share in enumerate(expected) if share * 6_000 > 8]
    seen = [drawn[orders[place]] for place in common]
    shares = [expected[place] for place in common]
    assert_distribution([*seen, 6_000 - sum(seen)], [*shares, 1.0 - sum(shares)])


def test_draws_without_replacement_when_one_tree_has_all_the_mass() -> None:
    assert_order_beside_a_tree_with_all_the_mass(ProjectiveTrees)


def test_seeds() -> None:
    scores = np.random.default_rng(0).normal(size=(9, 9))
    trees = ProjectiveTrees(scores)
    for replace in (True, False):
        again = trees.sample(8, seed=5, replace=replace)
        assert again == trees.sample(8, seed=5, replace=replace)
        assert again != trees.sample(8, seed=6, replace=replace)
        assert trees.sample(8, replace=replace) != trees.sample(8, replace=replace)
        assert all(tree.score is not None and tree.is_optimal is None for tree in again)
    # Each sentence of a batch has its own stream, the first that of a sentence alone.
    batch = ProjectiveTrees([scores, scores]).sample(8, seed=5)
    assert batch[0] == trees.sample(8, seed=5) != batch[1]
    for threads in (1, 2):
        assert ProjectiveTrees([scores, scores], threads=threads).sample(8, seed=5) == batch
    assert ProjectiveTrees([]).sample(3) == []


def test_scores_of_samples() -> None:
    trees, truth = case(4, "multi", True)
    for tree in trees.sample(20, seed=0):
        found = truth.find(*key_of(tree))
        assert found is not None
        assert tree.score == pytest.approx(truth.score(found), abs=1e-14)


def test_refusals() -> None:
    trees = ProjectiveTrees(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="k must be at least 1: got 0"):
        trees.sample(0)
    impossible = np.full((3, 3), -np.inf)
    for replace in (True, False):
        with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
            ProjectiveTrees([np.zeros((3, 3)), impossible]).sample(2, seed=0, replace=replace)

"""Every answer against the list of all projective trees, up to six words, and a slow recursion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.brute_force import BruteForce, projective_tree, sibling_parts
from support.law_base import assert_accurate, assert_marginals, assert_ranked, key_of
from support.projective_reference import highest, over_trees
from support.sibling_cases import as_parts, usable_parts

from crossarc import Parts, ProjectiveTrees

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]
#: Projective trees of 1 to 6 words: 1/n C(3n - 2, n - 1), and 1/(2n + 1) C(3n, n).
COUNTS = {"single": (1, 2, 7, 30, 143, 728), "multi": (1, 3, 12, 55, 273, 1428)}


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("n", range(1, 7))
def test_numbers_of_trees(n: int, root: str) -> None:
    scores, count = np.zeros((n + 1, n + 1)), COUNTS[root][n - 1]
    for sibling in (None, np.zeros((n + 1,) * 3), Parts(np.empty((0, 3), int), [])):
        trees = ProjectiveTrees(scores, root=root, sibling=sibling)
        assert trees.log_partition() == pytest.approx(math.log(count), abs=1e-14)
        assert trees.entropy() == pytest.approx(math.log(count), abs=1e-14)
        found = [key_of(tree) for tree in trees.kbest(2000)]
        assert len(found) == len(set(found)) == count
        assert all(projective_tree(heads) for heads, _ in found)


@pytest.mark.parametrize("n", [10, 60, 150])
def test_numbers_of_trees_of_long_sentences(n: int) -> None:
    scores = np.zeros((n + 1, n + 1))
    single = ProjectiveTrees(scores).log_partition()
    multi = ProjectiveTrees(scores, root="multi").log_partition()
    assert single == pytest.approx(math.log(math.comb(3 * n - 2, n - 1) / n), rel=1e-14)
    assert multi == pytest.approx(math.log(math.comb(3 * n, n) / (2 * n + 1)), rel=1e-14)


def drawn(n: int, kind: str, seed: int) -> tuple[Floats, Floats]:
    """Scores and a sibling factor of one kind; at least the chain 0 -> 1 -> 2 ... is a tree."""
    chance = np.random.default_rng([seed, n])
    scale = {"sd 30": 30.0, "sd 1000": 1000.0}.get(kind, 1.0)
    scores, sibling = chance.normal(0, scale, (n + 1,) * 2), chance.normal(0, scale, (n + 1,) * 3)
    if kind == "ties":
        scores, sibling = scores.round(), sibling.round()
    if kind == "forbidden":
        lost = chance.random(scores.shape) < 0.5
        lost[np.arange(n), np.arange(1, n + 1)] = False
        scores[lost] = -np.inf
    return scores, sibling


CASES = [
    (n, kind, root, with_factor)
    for n in (1, 2, 3, 4, 5, 6)
    for kind in ("sd 1", "sd 30", "sd 1000", "ties", "forbidden")
    for root in ROOTS
    for with_factor in (False, True)
    if n < 6 or kind in ("sd 1", "forbidden")
]


@pytest.mark.parametrize(("n", "kind", "root", "with_factor"), CASES)
def test_all_trees(n: int, kind: str, root: str, with_factor: bool) -> None:
    scores, factor = drawn(n, kind, 0)
    sibling = factor if with_factor else None
    truth = BruteForce(scores, root, projective_tree, sibling)
    trees = ProjectiveTrees(scores, root=root, sibling=sibling)
    assert_accurate(trees.log_partition(), truth.log_partition())
    assert_marginals(trees.marginals(), truth.marginals)
    assert_accurate(trees.entropy(), truth.entropy())
    assert_ranked(trees, truth)
    if with_factor:
        logs = truth.part_log_marginals
        np.testing.assert_allclose(trees.log_marginals("sibling"), logs, rtol=1e-12, atol=1e-12)
        assert_marginals(trees.marginals("sibling"), np.exp(logs))


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("labels", [1, 3])
def test_labelled_trees_with_factors(root: str, labels: int) -> None:
    chance = np.random.default_rng(labels)
    scores, sibling = chance.normal(0, 2, (4, 4, labels)), chance.normal(0, 2, (4, 4, 4))
    truth = BruteForce(scores, root, projective_tree, sibling)
    trees = ProjectiveTrees(scores, root=root, sibling=sibling)
    assert_accurate(trees.log_partition(), truth.log_partition())
    assert_marginals(trees.marginals(), truth.marginals)
    assert_marginals(trees.marginals("sibling"), np.exp(truth.part_log_marginals))
    np.testing.assert_allclose(trees.max_marginals(), truth.max_marginals(), atol=1e-12)
    ranked = [key_of(tree) for tree in trees.kbest(2000)]
    assert ranked == [tree.key for tree in truth.trees]


@pytest.mark.parametrize("root", ROOTS)
def test_max_marginals_of_sibling_parts(root: str) -> None:
    scores, sibling = drawn(5, "forbidden", 3)
    truth = BruteForce(scores, root, projective_tree, sibling)
    expected = np.full((6,) * 3, -math.inf)
    for tree in truth.trees:
        for part in sibling_parts(tree.heads):
            expected[part] = max(expected[part], truth.score(tree))
    trees = ProjectiveTrees(scores, root=root, sibling=sibling)
    np.testing.assert_allclose(trees.max_marginals("sibling"), expected, atol=1e-12)


@pytest.mark.parametrize("root", ROOTS)
def test_parts_are_the_dense_factor(root: str) -> None:
    """Unlisted parts score 0; marginals of listed ones stand in their order."""
    scores, dense = drawn(6, "sd 1", 7)
    chance = np.random.default_rng(0)
    dense[chance.random(dense.shape) < 0.7] = 0.0
    parts = as_parts(dense)
    usable = usable_parts(6)
    assert any(tuple(place) not in usable for place in parts.index.tolist())
    sparse = ProjectiveTrees(scores, root=root, sibling=parts)
    full = ProjectiveTrees(scores, root=root, sibling=dense)
    assert sparse.log_partition() == pytest.approx(full.log_partition(), rel=1e-14)
    np.testing.assert_allclose(sparse.marginals(), full.marginals(), atol=1e-14)
    listed = full.marginals("sibling")[tuple(parts.index.T)]
    np.testing.assert_allclose(sparse.marginals("sibling"), listed, atol=1e-14)
    assert [tree.score for tree in sparse.kbest(50)] == [tree.score for tree in full.kbest(50)]
    assert sparse.kl(full) == pytest.approx(0.0, abs=1e-14)


@given(
    st.integers(1, 12),
    st.sampled_from(ROOTS),
    st.booleans(),
    st.sampled_from([1.0, 30.0]),
    st.integers(0, 2**32 - 1),
)
def test_the_recursive_definition(n: int, root: str, with_factor: bool, scale: float, seed: int):
    chance = np.random.default_rng(seed)
    scores = chance.normal(0, scale, (n + 1,) * 2)
    scores[chance.random(scores.shape) < 0.2] = -np.inf
    sibling = chance.normal(0, scale, (n + 1,) * 3) if with_factor else None
    trees = ProjectiveTrees(scores, root=root, sibling=sibling)
    expected = over_trees(scores, root, sibling)
    if expected == -math.inf:
        assert trees.log_partition() == -math.inf
        return
    assert trees.log_partition() == pytest.approx(expected, rel=1e-12, abs=1e-12)
    best = over_trees(scores, root, sibling, highest)
    assert trees.argmax().score == pytest.approx(best, rel=1e-12, abs=1e-12)
    # P(h -> m) is the share of Z that is left when all other heads of m are forbidden.
    m = int(chance.integers(1, n + 1))
    for h in {0, n} - {m}:
        fixed = np.where(np.arange(n + 1)[:, None] == h, scores, -np.inf)
        only = scores.copy()
        only[:, m] = fixed[:, m]
        log_marginal = over_trees(only, root, sibling) - expected
        assert trees.marginals()[h, m] == pytest.approx(math.exp(log_marginal), rel=1e-10)

"""Trees of Attardi's system under scores of arcs, and the computations of single trees."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.attardi_reference import all_trees, computations, summed, table_index

from crossarc import InfeasibleError, Tree
from crossarc.inference.transition.attardi import (
    AttardiTrees,
    TransitionScores,
    arc_transitions,
    best_heads,
    computation_count,
    oracle,
    tree_computations,
)


def derived(words: int, single_root: bool) -> Counter[tuple[int, ...]]:
    """Trees of degree 2 with the number of their computations."""
    every = Counter(run.heads for run in computations(words))
    return Counter({h: c for h, c in every.items() if not single_root or h.count(0) == 1})


def score(arcs: np.ndarray, heads: tuple[int, ...]) -> float:
    return math.fsum(arcs[h, m] for m, h in enumerate(heads, 1))


@pytest.mark.parametrize("words", [1, 3, 5])
@pytest.mark.parametrize("root", ["single", "multi"])
def test_arc_factored_trees(words: int, root: str) -> None:
    arcs = np.random.default_rng(words).normal(size=(words + 1, words + 1))
    counts = derived(words, root == "single")
    ranked = sorted(counts, key=lambda heads: -score(arcs, heads))
    weights = {heads: count * math.exp(score(arcs, heads)) for heads, count in counts.items()}
    total = math.fsum(weights.values())
    trees = AttardiTrees(arcs, root=root)  # type: ignore[arg-type]
    best = trees.argmax()
    assert tuple(best.heads) == ranked[0]
    assert best.score == pytest.approx(score(arcs, ranked[0]), rel=1e-12)
    assert [tuple(tree.heads) for tree in islice(trees.kbest(9), 9)] == ranked[:9]
    assert_allclose(trees.log_partition(), math.log(total), rtol=1e-12)
    expected = np.zeros_like(arcs)
    for heads, weight in weights.items():
        expected[list(heads), range(1, words + 1)] += weight / total
    assert_allclose(trees.marginals(), expected, atol=1e-12)
    assert_allclose(
        trees.log_prob(Tree(ranked[-1])), math.log(weights[ranked[-1]] / total), rtol=1e-10
    )
    risks = {h: sum(expected[x, m] for m, x in enumerate(h, 1)) for h in counts}
    assert risks[tuple(trees.min_risk().heads)] == pytest.approx(max(risks.values()))


def test_labelled_arcs() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5, 3))
    trees = AttardiTrees(scores)
    best = trees.argmax()
    highest = max(score(scores.max(-1), heads) for heads in derived(4, True))
    assert best.score == pytest.approx(highest, rel=1e-12)
    own = scores[best.heads, np.arange(1, 5)]
    assert best.labels is not None
    assert own.argmax(-1).tolist() == list(best.labels)
    summed_labels = AttardiTrees(np.logaddexp.reduce(scores, -1))
    assert_allclose(trees.log_partition(), summed_labels.log_partition(), rtol=1e-12)
    assert_allclose(trees.marginals().sum(-1), summed_labels.marginals(), atol=1e-12)


def test_no_tree() -> None:
    arcs = np.zeros((4, 4))
    arcs[:, 2] = -np.inf
    trees = AttardiTrees(arcs)
    assert trees.log_partition() == -math.inf
    with pytest.raises(InfeasibleError):
        trees.argmax()
    with pytest.raises(InfeasibleError):
        best_heads(arcs)


def test_best_tree_of_thirty_words_is_of_degree_two() -> None:
    arcs = np.random.default_rng(1).normal(size=(31, 31))
    heads = best_heads(arcs)
    assert oracle(heads, 2) is not None
    # No tree of degree 2 is above it: the derivative of the best score by each of its arcs is 1.
    for m in (1, 15, 30):
        moved = arcs.copy()
        moved[heads[m - 1], m] += 5.0
        assert best_heads(moved).tolist() == heads.tolist()


@pytest.mark.parametrize("words", [1, 3, 5])
def test_number_of_computations_of_each_tree(words: int) -> None:
    counts = derived(words, False)
    for heads in all_trees(words):
        assert computation_count(heads) == counts[heads]


def test_number_of_computations_of_degree_three() -> None:
    counts = Counter(run.heads for run in computations(4, 3))
    for heads in all_trees(4):
        assert computation_count(heads, degree=3) == counts[heads]


def test_counts_of_longer_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's sums beside whole numbers from the literal deduction."""
    assert computation_count(range(40)) == 1  # a chain: each word waits for its only modifier
    star = [6] * 5 + [0] + [6] * 5
    by_kernel = computation_count(star)
    monkeypatch.setattr("crossarc.inference.transition.attardi.trees._EXACT", 0.0)
    assert computation_count(star) == by_kernel == 18_912


def test_weight_of_a_tree_is_summed_over_its_computations() -> None:
    rng = np.random.default_rng(2)
    scores = TransitionScores(*(rng.normal(size=(6,) * rank) for rank in (2, 2, 2, 3, 3)))
    every = summed(scores)
    for heads, p in every.trees.items():
        found = tree_computations(scores, heads)
        assert_allclose(found.log_total() - every.log_total, math.log(p), rtol=1e-9)
    heads = max(every.trees, key=lambda one: len([r for r in computations(5) if r.heads == one]))
    runs = [run for run in computations(5) if run.heads == heads]
    assert len(runs) > 5
    expected = TransitionScores(*(np.zeros_like(table) for table in scores))
    for run in runs:
        p = every.runs[tuple(step.name for step in run.steps)] / every.trees[heads]
        for table, entry in map(table_index, run.steps[1:]):
            expected[table][entry] += p
    own = tree_computations(scores, heads).expectations()
    for found_table, table in zip(own, expected, strict=True):
        assert_allclose(found_table, table, atol=1e-12)


def test_tree_that_is_not_derived_has_no_weight() -> None:
    heads = next(heads for heads in all_trees(4) if oracle(heads) is None)
    scores = arc_transitions(np.zeros((5, 5)))
    assert tree_computations(scores, heads).log_total() == -math.inf
    assert computation_count(heads) == 0

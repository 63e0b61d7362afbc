"""Sentences of a batch have the answers that they have alone, whatever their neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.crossing import drawn_case
from support.higher_order import SUBSETS
from support.sibling_cases import as_parts

import crossarc as ca
from crossarc.inference.higher.branching import solve_some, start_all
from crossarc.inference.higher.problem import FACTORS, joined

ROOTS = ["single", "multi"]
LENGTHS = (6, 1, 9, 3, 1, 12, 7, 4)


def drawn_batch(names: Any, root: str, seed: int) -> tuple[list[Any], dict[str, Any], list[Any]]:
    """Scores, factors and limits: mixed lengths, some arcs and parts forbidden, parts or arrays.

    Every sentence keeps its chain of words.
    """
    rng = np.random.default_rng([seed, len("".join(names)), root == "single"])
    scores, limits = [], []
    given: dict[str, list[Any]] = {name: [] for name in names}
    for i, n in enumerate(LENGTHS):
        arcs, factors = drawn_case(rng, n, names, [0.5, 3.0][i % 2], 0.3)
        arcs[np.arange(n), np.arange(1, n + 1)] = rng.normal(size=n)
        scores.append(arcs)
        limits.append(rng.integers(1, 4, n + 1))
        for name, one in factors.items():
            one[rng.random(one.shape) < 0.05] = -np.inf
            parts = next(factor for factor in FACTORS if factor.name == name).parts_of(np.arange(n))
            one[tuple(parts.T)] = 0.1
            given[name].append(as_parts(one) if i % 3 else one)
    return scores, given, limits


def answer(tree: ca.Tree) -> tuple[Any, ...]:
    """All that there is to a tree, to the last bit."""
    labels = None if tree.labels is None else list(tree.labels)
    return tree.heads.tolist(), labels, tree.score, tree.bound, tree.is_optimal


@pytest.mark.parametrize("with_limits", [False, True])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS[::3], ids="-".join)
def test_a_batch_has_the_answers_of_its_sentences(names: Any, root: Any, with_limits: bool) -> None:
    scores, given, limits = drawn_batch(names, root, 1)
    options: dict[str, Any] = {"root": root}
    own = {"max_modifiers": limits} if with_limits else {}
    batches = [
        ca.HigherOrderTrees(scores, threads=threads, **given, **own, **options)
        for threads in (1, 3)
    ]
    found = [answer(tree) for tree in batches[0].argmax()]
    assert found == [answer(tree) for tree in batches[1].argmax()]
    for i, arcs in enumerate(scores):
        factors = {name: one[i] for name, one in given.items()}
        limit = {"max_modifiers": limits[i]} if with_limits else {}
        alone = ca.HigherOrderTrees(arcs, **factors, **limit, **options)
        assert answer(alone.argmax()) == found[i]
        # Under a limit of time, rounds are made one by one.
        assert answer(alone.argmax(time_limit=1e3)) == found[i]
        for field, whole, single in zip(
            alone._problem(0)._fields, batches[0]._problem(i), alone._problem(0), strict=True
        ):
            np.testing.assert_array_equal(whole, single, err_msg=field)


def test_labels_in_a_batch() -> None:
    rng = np.random.default_rng(4)
    scores = [rng.normal(size=(n + 1, n + 1, 3)) for n in LENGTHS]
    sibling = [rng.normal(size=(n + 1,) * 3) for n in LENGTHS]
    batch = ca.HigherOrderTrees(scores, sibling=sibling).argmax()
    for arcs, factor, tree in zip(scores, sibling, batch, strict=True):
        assert answer(tree) == answer(ca.HigherOrderTrees(arcs, sibling=factor).argmax())
        words = np.arange(1, len(arcs))
        assert list(tree.labels) == arcs[tree.heads, words].argmax(axis=1).tolist()


def test_a_sentence_without_a_tree_is_named() -> None:
    scores, given, _ = drawn_batch(["sibling", "grandchild"], "single", 2)
    scores[2] = ca.constrain(scores[2], heads={1: 2, 2: 1})
    for threads in (1, 2):
        with pytest.raises(ca.InfeasibleError, match="sentence 2: no tree is possible"):
            ca.HigherOrderTrees(scores, threads=threads, **given).argmax()


def test_limits_without_a_tree() -> None:
    """With one modifier a node there are chains only."""
    scores = [np.zeros((4, 4)), np.zeros((4, 4))]
    scores[1][1:, 1:] = -np.inf  # all words below the root
    trees = ca.HigherOrderTrees(scores, root="multi", max_modifiers=1)
    with pytest.raises(ca.InfeasibleError, match="sentence 1: no tree is possible"):
        trees.argmax()
    assert ca.HigherOrderTrees(scores, root="multi").argmax()[1].heads.tolist() == [0, 0, 0]


def test_no_time_gives_each_sentence_its_substitution() -> None:
    scores, given, _ = drawn_batch(["sibling", "grand_sibling"], "multi", 3)
    trees = ca.HigherOrderTrees(scores, root="multi", **given)
    found = trees.argmax(time_limit=0)
    assert [answer(tree) for tree in found] == [answer(t) for t in trees.argmax("substitution")]
    assert all(tree.bound == math.inf for tree in found)


@pytest.mark.parametrize(
    ("parts", "scores", "message"),
    [
        ([[0, 0, 1], [1, 1, 2], [1, 1, 2]], [1, 2, 3], r"part \[1, 1, 2\] is listed twice"),
        ([[0, 0, 1], [1, 1, 4]], [1, 2], r"part \[1, 1, 4\] is not in a sentence of 3"),
        ([[0, 0, 1], [1, 1, 2]], [1, math.nan], r"\[1, 1, 2\] is nan"),
        ([[0, 1]], [1], "parts have 3 indices"),
        # Not even in a tree: the diagonal.
        ([[1, 2, 2], [1, 2, 2]], [1, 2], r"part \[1, 2, 2\] is listed twice"),
    ],
)
def test_wrong_parts_of_one_sentence(parts: Any, scores: Any, message: str) -> None:
    good, square = ca.Parts([[0, 0, 1]], [1.0]), np.zeros((4, 4))
    with pytest.raises(ca.ScoreError, match=f"sentence 1: sibling.*{message}"):
        ca.HigherOrderTrees([square] * 3, sibling=[good, ca.Parts(parts, scores), good])


def test_parts_in_no_tree_are_passed_over() -> None:
    """By their numbers, which say where marginals are put; neighbours keep theirs."""
    rng = np.random.default_rng(6)
    square = rng.normal(size=(4, 4))
    listed = ca.Parts([[1, 1, 2], [2, 2, 2], [2, 3, 1], [0, 0, 3]], [0.5, 9.0, 9.0, math.nan])
    usable = ca.Parts([[1, 1, 2]], [0.5])
    forbidding = square.copy()
    forbidding[0, 3] = -np.inf  # so that the part that is not a number is in no tree
    batch = ca.HigherOrderTrees([forbidding] * 2, sibling=[listed, usable])
    first, second = batch.argmax()
    assert answer(first) == answer(second)
    assert batch.marginals("sibling")[0].tolist() == [
        *batch.marginals("sibling")[1].tolist(),
        *[0.0] * 3,
    ]


def test_one_round_of_steps_for_learning() -> None:
    """Without tightening a batch stops after its rounds, as one sentence does."""
    scores, given, _ = drawn_batch(["sibling", "grandchild", "tri_sibling"], "single", 5)
    trees = ca.HigherOrderTrees(scores, **given)
    problems = trees._problems
    some = {"tighten": False, "rounds": 1}
    found = solve_some(problems, start_all(problems), 0, len(scores), **some)
    assert max(one.iterations for one in found) <= 25
    for index, one in enumerate(found):
        alone = joined(trees._problem(index))
        [other] = solve_some(alone, start_all(alone), 0, 1, **some)
        assert (other.score, other.bound) == (one.score, one.bound)
        np.testing.assert_array_equal(other.heads, one.heads)
        assert other.bound >= trees.argmax()[index].score

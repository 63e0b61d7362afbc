"""Scores with some decisions already made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import BruteForce
from support.law_base import assert_close
from support.score_strategies import Case, cases, partial_heads

from crossarc import InfeasibleError, ScoreError, SpanningTrees, constrain


def log_partition(scores: Any, rule: str, **constraints: Any) -> float:
    """-inf where the constraints leave no tree, however that is said."""
    try:
        return SpanningTrees(constrain(scores, **constraints), root=rule).log_partition()
    except InfeasibleError:
        return -math.inf


def restricted(case: Case, admits: Any) -> float:
    """log Z over the trees that `admits` keeps."""
    truth = BruteForce(case.scores, case.root)
    kept = [truth.score(tree) for tree in truth.trees if admits(tree)]
    return float(np.logaddexp.reduce(kept)) if kept else -math.inf


moderate = cases(("normal", "ties", "forbidden"), max_words=4)


@given(moderate, st.data())
def test_heads(case: Case, data: st.DataObject) -> None:
    heads = data.draw(partial_heads(case.n))
    expected = restricted(case, lambda tree: tree.has_heads(heads))
    assert_close(log_partition(case.scores, case.root, heads=heads), expected, 1e-11)


@given(moderate, st.data())
def test_forbidden(case: Case, data: st.DataObject) -> None:
    heads = data.draw(partial_heads(case.n))
    arcs = [(h, m) for m, h in heads.items()]
    expected = restricted(case, lambda tree: all(tree.heads[m - 1] != h for h, m in arcs))
    assert_close(log_partition(case.scores, case.root, forbidden=arcs), expected, 1e-11)


@given(moderate, st.data())
def test_labels(case: Case, data: st.DataObject) -> None:
    if not case.labelled:
        return
    label = st.integers(0, case.scores.shape[2] - 1)
    labels = data.draw(st.dictionaries(st.integers(1, case.n), label))
    expected = restricted(
        case, lambda tree: all(tree.labels[m - 1] == name for m, name in labels.items())
    )
    assert_close(log_partition(case.scores, case.root, labels=labels), expected, 1e-11)


@given(moderate, st.data())
def test_root(case: Case, data: st.DataObject) -> None:
    """The word hangs from the root, and no other does."""
    m = data.draw(st.integers(1, case.n))
    expected = restricted(case, lambda tree: tree.heads[m - 1] == 0 and tree.heads.count(0) == 1)
    assert_close(log_partition(case.scores, case.root, root=m), expected, 1e-11)


@given(moderate, st.data())
def test_joint_probability_is_the_share_of_what_remains(case: Case, data: st.DataObject) -> None:
    heads = data.draw(partial_heads(case.n))
    trees = SpanningTrees(case.scores, root=case.root)
    if trees.log_partition() == -math.inf:
        return
    remains = log_partition(case.scores, case.root, heads=heads) - trees.log_partition()
    assert_close(trees.log_prob(heads=heads), min(remains, 0.0), 1e-11)


def test_all_at_once() -> None:
    scores = np.random.default_rng(3).normal(size=(5, 5, 2))
    constrained = constrain(scores, heads={2: 3}, forbidden=[(1, 4)], labels={1: 1}, root=3)
    for root in ("single", "multi"):
        for tree in SpanningTrees(constrained, root=root).kbest(1000):
            assert tree.heads[1] == 3
            assert tree.heads[3] != 1
            assert tree.labels is not None
            assert tree.labels[0] == 1
            assert tree.heads[2] == 0


def test_the_rest_is_untouched_and_so_is_the_input() -> None:
    scores = np.random.default_rng(4).normal(size=(4, 4))
    before = scores.copy()
    scores.flags.writeable = False
    constrained = constrain(scores, heads={2: 3})
    assert scores.tobytes() == before.tobytes()
    assert not np.shares_memory(scores, constrained)
    assert constrained[3, 2] == scores[3, 2]
    assert (constrained[[0, 1], 2] == -np.inf).all()
    np.testing.assert_array_equal(constrained[:, [1, 3]], scores[:, [1, 3]])


def test_no_constraints_make_a_copy() -> None:
    scores = np.zeros((3, 3))
    copy = constrain(scores)
    np.testing.assert_array_equal(copy, scores)
    assert not np.shares_memory(copy, scores)


@pytest.mark.parametrize(
    "constraints",
    [
        {"heads": {1: 2, 2: 1}},
        {"heads": {1: 2, 2: 3, 3: 1}},
        {"heads": {1: 2}, "forbidden": [(2, 1)]},
        {"heads": {1: 0}, "root": 2},
        {"heads": {1: 2}, "root": 1},
        {"forbidden": [(0, 1), (0, 2), (0, 3)]},
    ],
)
def test_conflicts_leave_no_tree(constraints: dict[str, Any]) -> None:
    assert log_partition(np.zeros((4, 4)), "single", **constraints) == -math.inf


@pytest.mark.parametrize(
    "constraints",
    [
        {"heads": {4: 0}},
        {"heads": {0: 1}},
        {"heads": {1: 4}},
        {"heads": {1: -1}},
        {"heads": {2: 2}},
        {"forbidden": [(0, 4)]},
        {"forbidden": [(-1, 2)]},
        {"labels": {1: 2}},
        {"labels": {1: -1}},
        {"labels": {4: 0}},
        {"root": 0},
        {"root": 4},
    ],
)
def test_out_of_range(constraints: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\d") as caught:
        constrain(np.zeros((4, 4, 2)), **constraints)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"heads": {1: "2"}}, "word 1 cannot have head '2'"),
        ({"heads": {1: 2.5}}, "word 1 cannot have head 2.5"),
        ({"heads": {1: None}}, "word 1 cannot have head None"),
        ({"heads": {"1": 2}}, "word '1' is not in 1..3"),
        ({"heads": {np.int64(1): np.int64(9)}}, "word 1 cannot have head 9"),
        ({"forbidden": (1, 2)}, r"forbidden must be arcs, \[\(h, m\), ...\]: got 1 among them"),
        ({"forbidden": [(1, 2, 3)]}, "forbidden must be arcs"),
        ({"forbidden": [(1, "2")]}, "word '2' is not in 1..3"),
        ({"forbidden": 3}, "forbidden must be arcs"),
        ({"labels": {1: "nsubj"}}, "word 1: label 'nsubj' is not in 0..1"),
        ({"root": "1"}, "word '1' is not in 1..3"),
    ],
)
def test_not_numbers(constraints: dict[str, Any], message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        constrain(np.zeros((4, 4, 2)), **constraints)


def test_scores_of_several_sentences() -> None:
    with pytest.raises(ScoreError, match="scores must be the numbers of one sentence"):
        constrain([np.zeros((3, 3)), np.zeros((4, 4))], heads={1: 0})


def test_labels_need_labelled_scores() -> None:
    with pytest.raises(ValueError, match="label"):
        constrain(np.zeros((4, 4)), labels={1: 0})

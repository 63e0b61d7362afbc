"""Arcs pruned by first-order marginals: laws, against marginals by enumeration, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import BruteForce, any_tree, projective_tree, sibling_parts
from support.score_strategies import EVERY_KIND, Case, cases
from support.trees import all_trees

from crossarc import (
    InfeasibleError,
    Parts,
    ProjectiveTrees,
    ScoreError,
    SpanningTrees,
    constrain,
    list_parts,
    prune,
)

THRESHOLDS = st.sampled_from([0.0, 1e-300, 1e-6, 1e-3, 0.05, 0.5, 1.0])
MAX_HEADS = st.sampled_from([None, 1, 2, 3])


def exact(case: Case, projective: bool) -> BruteForce:
    return BruteForce(case.scores, case.root, projective_tree if projective else any_tree)


def log_probs_of_arcs(truth: BruteForce) -> Any:
    """[h, m], labels summed over."""
    logs = truth.log_marginals
    return logs if logs.ndim == 2 else np.logaddexp.reduce(logs, axis=2)


def survivors(pruned: Any) -> Any:
    """[h, m]: which arcs are left, with any label."""
    left = pruned > -np.inf
    return left if left.ndim == 2 else left.any(axis=2)


def pruned(case: Case, threshold: float, max_heads: int | None, projective: bool) -> Any:
    return prune(case.scores, threshold, max_heads=max_heads, projective=projective, root=case.root)


@given(cases(EVERY_KIND, max_words=4), THRESHOLDS, MAX_HEADS, st.booleans())
def test_what_stays_is_probable_or_in_the_best_tree(
    case: Case, threshold: float, max_heads: int | None, projective: bool
) -> None:
    """By marginals from enumeration; arcs whose probability is the threshold may go either way."""
    truth = exact(case, projective)
    if not truth.feasible:
        return
    before = case.scores.copy()
    result = pruned(case, threshold, max_heads, projective)
    np.testing.assert_array_equal(case.scores, before)
    assert result.dtype == np.float64
    assert result.shape == case.scores.shape
    kept, logs = survivors(result), log_probs_of_arcs(truth)
    kind = ProjectiveTrees if projective else SpanningTrees
    best = kind(case.scores, root=case.root).argmax()
    again = kind(result, root=case.root).argmax()
    assert again == best
    assert again.score == best.score
    words = np.arange(1, case.n + 1)
    in_best = np.zeros_like(kept)
    in_best[best.heads, words] = True
    with np.errstate(divide="ignore"):
        limit = np.log(threshold)
    surely, maybe = logs > limit + 1e-9, (logs >= limit - 1e-9) & (logs > -np.inf)
    assert not (kept & ~in_best & ~maybe).any()
    if max_heads is None:
        assert kept[surely | in_best].all()
        return
    assert (kept[:, 1:].sum(axis=0) <= max_heads).all()
    for m in words:
        rivals = logs[surely[:, m] & ~kept[:, m], m]
        others = logs[kept[:, m] & ~in_best[:, m], m]
        if len(rivals):
            assert kept[:, m].sum() == max_heads
            assert (others >= rivals.max() - 1e-9).all()


@given(cases(EVERY_KIND, max_words=4), st.booleans())
def test_threshold_0_removes_no_tree(case: Case, projective: bool) -> None:
    """Not even where probabilities underflow."""
    truth = exact(case, projective)
    if truth.feasible:
        kept = survivors(pruned(case, 0.0, None, projective))
        np.testing.assert_array_equal(kept, log_probs_of_arcs(truth) > -np.inf)


@given(cases(EVERY_KIND, max_words=4), THRESHOLDS, THRESHOLDS, MAX_HEADS, MAX_HEADS, st.booleans())
def test_a_stricter_limit_keeps_a_subset(
    case: Case,
    threshold: float,
    other: float,
    max_heads: int | None,
    other_heads: int | None,
    projective: bool,
) -> None:
    if not exact(case, projective).feasible:
        return
    limits = [one for one in (max_heads, other_heads) if one is not None]
    strict = pruned(case, max(threshold, other), min(limits, default=None), projective)
    loose = pruned(case, threshold, max_heads, projective)
    assert (strict <= loose).all()
    left = strict > -np.inf
    np.testing.assert_array_equal(strict[left], case.scores[left].astype(np.float64))


@given(st.lists(cases(("normal", "forbidden"), labels=False), min_size=1, max_size=4), MAX_HEADS)
def test_batches_are_pruned_sentence_by_sentence(batch: list[Case], max_heads: int | None) -> None:
    arrays = [case.scores for case in batch]
    expected = [prune(one, 0.01, max_heads=max_heads) for one in arrays]
    for ours, theirs in zip(prune(arrays, 0.01, max_heads=max_heads), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    width, lengths = max(map(len, arrays)) + 1, [len(one) - 1 for one in arrays]
    padded = np.full((len(arrays), width, width), np.nan)
    for own, array in zip(padded, arrays, strict=True):
        own[: len(array), : len(array)] = array
    whole = prune(padded, 0.01, max_heads=max_heads, lengths=lengths)
    assert whole.shape == padded.shape
    for own, theirs in zip(whole, expected, strict=True):
        width = len(theirs)
        np.testing.assert_array_equal(own[:width, :width], theirs)
        own[:width, :width] = -np.inf
        assert (own == -np.inf).all()


def test_constraints_are_kept() -> None:
    """Forbidden arcs and labels stay forbidden, and a fixed head stays the only one."""
    scores = constrain(
        np.random.default_rng(0).normal(size=(5, 5, 3)), heads={2: 4}, forbidden=[(1, 3)]
    )
    scores[3, 1, 0] = -np.inf
    left = prune(scores, 0.0) > -np.inf
    assert np.flatnonzero(left[:, 2].any(axis=1)).tolist() == [4]
    assert not left[1, 3].any()
    assert left[3, 1].tolist() == [False, True, True]


def test_labels_of_an_arc_stay_together() -> None:
    """Ten labels with a probability below the threshold each, above it together."""
    scores = np.zeros((3, 3, 10))
    scores[1, 2] = scores[0, 1] = 3.0  # so 0 -> 2 -> 1 has probability exp(-6) / (1 + exp(-6))
    labels = (prune(scores, 1e-3) > -np.inf).sum(axis=2)
    assert labels.tolist() == [[0, 10, 10], [0, 0, 10], [0, 10, 0]]
    labels = (prune(scores, 3e-3) > -np.inf).sum(axis=2)
    assert labels.tolist() == [[0, 10, 0], [0, 0, 10], [0, 0, 0]]


def test_the_best_tree_of_its_kind_stays() -> None:
    """The best tree crosses; the best projective one is improbable among all trees."""
    scores = np.full((5, 5), -20.0)
    scores[[0, 4, 1, 1], [1, 2, 3, 4]] = 0.0  # 1 -> 3 crosses 4 -> 2
    assert ProjectiveTrees(prune(scores)).log_partition() == -np.inf
    left = prune(scores, projective=True)
    assert ProjectiveTrees(left).argmax() == ProjectiveTrees(scores).argmax()


def test_a_limit_of_one_head_leaves_the_best_tree() -> None:
    """Also where a word has a more probable head: 2 -> 1 by three labels, 3 / (3 + exp(0.5))."""
    scores = np.full((3, 3, 3), -np.inf)
    scores[0, 1, 0], scores[1, 2, 0], scores[0, 2, 0], scores[2, 1] = 0.5, 0.0, 0.0, 0.0
    assert SpanningTrees(scores).marginals()[2, 1].sum() == pytest.approx(0.645, abs=1e-3)
    left = prune(scores, max_heads=1) > -np.inf
    assert np.argwhere(left).tolist() == [[0, 1, 0], [1, 2, 0]]


def test_wrong_arguments() -> None:
    scores = np.zeros((4, 4))
    for threshold in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="threshold must be from 0 to 1: got"):
            prune(scores, threshold)
    with pytest.raises(ValueError, match="max_heads must be at least 1: got 0"):
        prune(scores, max_heads=0)
    with pytest.raises(ValueError, match=r"max_heads must be a whole number: got 2\.5"):
        prune(scores, max_heads=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='root must be "single" or "multi"'):
        prune(scores, root="none")  # type: ignore[arg-type]
    with pytest.raises(ScoreError, match=r"got \(4, 5\)"):
        prune(np.zeros((4, 5)))
    scores[:, 2] = -np.inf
    with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
        prune([np.zeros((3, 3)), scores])


def parts_of(part: str, heads: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The parts of a tree, by their definitions."""
    siblings = {m: s for _, s, m in sibling_parts(heads)}
    grandparent = {m: heads[h - 1] for m, h in enumerate(heads, 1) if h > 0}
    arcs = [(h, m) for m, h in enumerate(heads, 1)]
    if part == "sibling":
        return {(h, siblings[m], m) for h, m in arcs}
    if part == "grandchild":
        return {(grandparent[m], h, m) for h, m in arcs if h > 0}
    if part == "grand_sibling":
        return {(grandparent[m], h, siblings[m], m) for h, m in arcs if h > 0}
    return {
        (h, siblings[siblings[m]], siblings[m], m)
        for h, m in arcs
        if siblings[m] != h and siblings[siblings[m]] != h
    }


@pytest.mark.parametrize("part", ["sibling", "grandchild", "grand_sibling", "tri_sibling"])
@pytest.mark.parametrize("projective", [True, False], ids=["projective", "spanning"])
@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_listed_parts(part: Any, projective: bool, root: Any, share: float) -> None:
    """All that some tree has; no others where all arcs are allowed."""
    for n in range(1, 6):
        rng = np.random.default_rng(n)
        scores = np.where(rng.random((n + 1, n + 1)) < share, -np.inf, 0.0)
        found = list_parts(scores, part, projective=projective, root=root)
        listed = [tuple(row) for row in found.tolist()]
        assert found.dtype == np.int32
        assert found.shape[1] == (4 if part in ("grand_sibling", "tri_sibling") else 3)
        assert listed == sorted(set(listed))
        possible, allowed = set(), set()
        for heads in all_trees(n):
            if (projective and not projective_tree(heads)) or (
                root == "single" and heads.count(0) > 1
            ):
                continue
            own = parts_of(part, heads)
            possible |= own
            if all(scores[h, m] > -np.inf for m, h in enumerate(heads, 1)):
                allowed |= own
        assert allowed <= set(listed) <= possible
        if share == 0.0:
            assert set(listed) == possible


def test_factors_of_pruned_scores() -> None:
    """Parts that are listed score what the dense factor does, under the arcs that are left."""
    rng = np.random.default_rng(3)
    scores, sibling = rng.normal(0.0, 3.0, (9, 9, 2)), rng.normal(size=(9, 9, 9))
    left = prune(scores, 0.05, projective=True)
    index = list_parts(left, "sibling")
    assert len(index) < 0.25 * 9**3
    parts = Parts(index, sibling[tuple(index.T)])
    assert ProjectiveTrees(left, sibling=parts).log_partition() == pytest.approx(
        ProjectiveTrees(left, sibling=sibling).log_partition(), rel=1e-14
    )
    with pytest.raises(ValueError, match=r"part must be one of .*: got 'cousin'"):
        list_parts(left, "cousin")  # type: ignore[arg-type]
    with pytest.raises(ScoreError, match="the scores of one sentence: got a list"):
        list_parts([left], "sibling")

"""The best spanning tree against enumeration, a textbook algorithm on exact numbers, and laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from support.trees import all_trees, is_tree, trees

from crossarc.inference.runtime.scoring import best_labels, tree_score
from crossarc.inference.spanning.edmonds.argmax import best_heads, best_heads_batch

WHOLE = st.integers(-3, 3).map(float)
REAL = st.floats(-5, 5, allow_subnormal=False)
HUGE = st.builds(lambda x, e: x * 10.0**e, st.floats(-9, 9), st.integers(-10, 12))
FORBIDDEN = st.just(-math.inf)
ROOT_RULES = pytest.mark.parametrize("single", [True, False], ids=["single", "multi"])


@st.composite
def score_arrays(draw, max_words=5, values=WHOLE | REAL | FORBIDDEN):
    """Scores, often with ties; the entries that no tree can use hold anything."""
    n = draw(st.integers(1, max_words))
    scores = draw(arrays(np.float64, (n + 1, n + 1), elements=values))
    junk = draw(st.sampled_from([math.nan, math.inf, -math.inf, 1e9]))
    scores[:, 0] = junk
    np.fill_diagonal(scores, junk)
    return scores


def arcs(scores, heads):
    return [float(scores[h, m]) for m, h in enumerate(heads, 1)]


def possible_trees(scores, single):
    """Every tree that the scores allow."""
    return [
        heads
        for heads in all_trees(len(scores) - 1)
        if -math.inf not in arcs(scores, heads) and (not single or heads.count(0) == 1)
    ]


def exact(scores, heads):
    return sum(map(Fraction, arcs(scores, heads)))


def textbook(arcs_into):
    """The best arborescence's score by Chu & Liu and Edmonds, with exact weights; None for none.

    `arcs_into[m][h]` is the weight of h -> m; node 0 is the root.
    """
    total = 0
    while True:
        chosen = {}
        for m, heads in arcs_into.items():
            if not heads:
                return None
            chosen[m] = max(heads, key=heads.get)
        on_cycle = next((m for m in chosen if _returns(chosen, m)), None)
        if on_cycle is None:
            return total + sum(arcs_into[m][h] for m, h in chosen.items())
        cycle = [on_cycle]
        while chosen[cycle[-1]] != on_cycle:
            cycle.append(chosen[cycle[-1]])
        total += sum(arcs_into[m][chosen[m]] for m in cycle)
        entering = {}
        for m in cycle:
            for h, weight in arcs_into[m].items():
                if h not in cycle:
                    adjusted = weight - arcs_into[m][chosen[m]]
                    entering[h] = max(adjusted, entering.get(h, adjusted))
        contracted = {on_cycle: entering}
        for m, heads in arcs_into.items():
            if m not in cycle:
                leaving = [weight for h, weight in heads.items() if h in cycle]
                contracted[m] = {h: weight for h, weight in heads.items() if h not in cycle}
                if leaving:
                    contracted[m][on_cycle] = max(leaving)
        arcs_into = contracted


def _returns(chosen, start):
    node = start
    for _ in chosen:
        node = chosen.get(node)
        if node == start:
            return True
    return False


def textbook_score(scores, single):
    """The best score under a root rule; for a single root, the best over the choices of it."""
    n = len(scores) - 1
    into = {
        m: {
            h: Fraction(float(scores[h, m]))
            for h in range(n + 1)
            if h != m and scores[h, m] != -math.inf
        }
        for m in range(1, n + 1)
    }
    if not single:
        return textbook(into)
    found = []
    for root in range(1, n + 1):
        if 0 in into[root]:
            only = {m: {h: w for h, w in into[m].items() if h > 0} for m in into}
            only[root] = {0: into[root][0]}
            found.append(textbook(only))
    return max((score for score in found if score is not None), default=None)


@ROOT_RULES
@given(score_arrays())
def test_is_a_best_tree(single, scores):
    expected = possible_trees(scores, single)
    heads = tuple(best_heads(scores, single))
    if not expected:
        assert set(heads) == {-1}
        return
    assert heads in expected
    best = max(exact(scores, tree) for tree in expected)
    assert exact(scores, heads) == pytest.approx(float(best), rel=0, abs=1e-13)


@ROOT_RULES
@given(score_arrays(values=WHOLE | FORBIDDEN))
def test_whole_numbers_are_exact_under_ties(single, scores):
    expected = possible_trees(scores, single)
    if expected:
        heads = best_heads(scores, single)
        assert exact(scores, heads) == max(exact(scores, tree) for tree in expected)


@ROOT_RULES
@given(score_arrays(max_words=12, values=WHOLE | st.integers(-(10**6), 10**6).map(float)))
def test_agrees_with_the_textbook(single, scores):
    assert exact(scores, best_heads(scores, single)) == textbook_score(scores, single)


@ROOT_RULES
@given(st.integers(2, 12), st.integers(0, 10**6), st.sampled_from([0.5, 0.7, 0.9]))
def test_agrees_with_the_textbook_where_most_arcs_are_forbidden(single, n, seed, share):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-50, 50, (n + 1, n + 1)).astype(float)
    scores[rng.random(scores.shape) < share] = -np.inf
    expected = textbook_score(scores, single)
    heads = best_heads(scores, single)
    assert expected is None if heads[0] < 0 else exact(scores, heads) == expected


@ROOT_RULES
@pytest.mark.parametrize("scale", [1e3, 1e12, 1e-12])
def test_scale_does_not_matter(single, scale):
    rng = np.random.default_rng(1)
    for n in (3, 6, 12):
        for _ in range(20):
            scores = rng.normal(scale=scale, size=(n + 1, n + 1))
            heads = best_heads(scores, single)
            best = textbook_score(scores, single)
            assert float(best - exact(scores, heads)) <= 1e-15 * sum(map(abs, arcs(scores, heads)))


@ROOT_RULES
@given(score_arrays(values=HUGE))
def test_scores_of_different_size(single, scores):
    """Wrong by no more than the rounding of float64 sums over partial trees."""
    heads = best_heads(scores, single)
    best = max(possible_trees(scores, single), key=lambda tree: exact(scores, tree))
    loss = float(exact(scores, best) - exact(scores, heads))
    used = scores[1:, 1:][~np.eye(len(heads), dtype=bool)].tolist() + scores[0, 1:].tolist()
    assert loss <= 1e-14 * max(map(abs, used))


def test_large_scores_outside_the_tree_hide_nothing():
    """2 -> 1 is worth 1e20 but no tree may keep it; what remains differs by 1."""
    scores = np.full((4, 4), -np.inf)
    scores[2, 1], scores[1, 2] = 1e20, 1.0
    scores[0, 1], scores[3, 1], scores[0, 3] = 3.0, 4.0, 0.0
    assert best_heads(scores, False).tolist() == [3, 1, 0]
    assert best_heads(scores, True).tolist() == [3, 1, 0]


@ROOT_RULES
def test_sums_that_overflow(single):
    """Masks such as the smallest float64 stay scores: feasible, and best avoided."""
    low = float(np.finfo(np.float64).min)
    scores = np.full((6, 6), low)
    assert is_tree(tuple(best_heads(scores, single)))
    scores[0] = -np.inf
    scores[0, 3], scores[1, 2], scores[3, 2] = low, -1.0, 0.0
    scores[2, 1] = scores[4, 5] = scores[5, 4] = -low
    heads = best_heads(scores, single)
    assert exact(scores, heads) == max(exact(scores, t) for t in possible_trees(scores, single))


@ROOT_RULES
@given(score_arrays(max_words=8, values=WHOLE), st.data())
def test_a_constant_per_column_changes_nothing(single, scores, data):
    """Every tree has one arc in each column; small whole numbers keep all ties as they are."""
    column = st.integers(-100, 100).map(float)
    shift = np.array([data.draw(column) for _ in scores])
    assert_array_equal(best_heads(scores + shift, single), best_heads(scores, single))


@ROOT_RULES
@given(st.integers(1, 30), st.integers(0, 10**6))
def test_permuted_words_permute_the_tree(single, n, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n + 1, n + 1))
    place = np.concatenate(([0], 1 + rng.permutation(n)))  # word m goes to place[m]
    permuted = np.empty_like(scores)
    permuted[np.ix_(place, place)] = scores
    expected = np.empty(n, np.int64)
    expected[place[1:] - 1] = place[best_heads(scores, single)]
    assert_array_equal(best_heads(permuted, single), expected)


@given(trees(max_words=30))
def test_best_heads_that_form_a_tree_are_returned(heads):
    n = len(heads)
    scores = np.zeros((n + 1, n + 1))
    scores[heads, np.arange(1, n + 1)] = 1.0
    assert best_heads(scores, False).tolist() == heads
    if heads.count(0) == 1:
        assert best_heads(scores, True).tolist() == heads


def test_ties_take_the_smaller_head():
    assert best_heads(np.zeros((4, 4)), False).tolist() == [0, 0, 0]
    scores = np.zeros((4, 4))
    scores[0] = [0.0, 5.0, -1.0, -1.0]
    scores[3, 2] = scores[1, 2] = 2.0
    assert best_heads(scores, True).tolist() == [0, 1, 1]


@ROOT_RULES
@given(score_arrays())
def test_unusable_entries_are_not_read_and_input_is_kept(single, scores):
    cleaned = scores.copy()
    cleaned[:, 0] = -np.inf
    np.fill_diagonal(cleaned, -np.inf)
    before = scores.tobytes()
    scores.flags.writeable = False
    assert_array_equal(best_heads(scores, single), best_heads(cleaned, single))
    assert scores.tobytes() == before


@ROOT_RULES
@given(st.lists(score_arrays(max_words=6), min_size=1, max_size=8), st.data())
def test_a_batch_in_parts_is_its_sentences(single, batch, data):
    sizes = np.array([len(scores) - 1 for scores in batch])
    offsets = np.concatenate(([0], np.cumsum((sizes + 1) ** 2)))[:-1]
    flat = np.concatenate([scores.ravel() for scores in batch])
    out = np.full(sizes.sum(), -9)
    cut = data.draw(st.integers(0, len(batch)))
    best_heads_batch(flat, sizes, offsets, single, out, cut, len(batch))
    assert set(out[: sizes[:cut].sum()]) <= {-9}
    best_heads_batch(flat, sizes, offsets, single, out, 0, cut)
    assert_array_equal(out, np.concatenate([best_heads(scores, single) for scores in batch]))


@given(arrays(np.float64, st.tuples(st.just(3), st.just(3), st.integers(1, 4)), elements=WHOLE))
def test_best_labels(scores):
    scores[1, 1] = np.nan
    best, labels = best_labels(scores)
    for h, m in [(0, 1), (0, 2), (1, 2), (2, 1)]:
        assert best[h, m] == scores[h, m].max()
        assert labels[h, m] == np.argmax(scores[h, m])
    assert best[1, 1] == best[0, 0] == best[2, 0] == -np.inf


def test_score_is_the_exact_sum_rounded_once():
    scores = np.zeros((4, 4))
    scores[0, 1], scores[1, 2], scores[1, 3] = 1e17, 1.0, -1e17
    assert tree_score(scores, np.array([0, 1, 1])) == 1.0
    scores[0, 1], scores[1, 2], scores[1, 3] = 1.5e308, 1.5e308, -1.5e308
    assert tree_score(scores, np.array([0, 1, 1])) == 1.5e308
    assert tree_score(np.arange(8.0).reshape(2, 2, 2), np.array([0]), np.array([1])) == 3.0

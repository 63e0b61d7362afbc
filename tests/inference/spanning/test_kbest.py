"""The k best trees against complete enumeration, a naive partition, and laws."""

from __future__ import annotations

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from support.trees import all_trees, is_tree

from crossarc.inference.runtime.scoring import best_labels, tree_score
from crossarc.inference.spanning.edmonds.argmax import best_heads
from crossarc.inference.spanning.edmonds.kbest import kbest, within

WHOLE = st.integers(-2, 2).map(float)
REAL = st.floats(-5, 5, allow_subnormal=False)
HUGE = st.builds(lambda x, e: x * 10.0**e, st.floats(-9, 9), st.integers(-10, 12))
FORBIDDEN = st.just(-math.inf)
ROOT_RULES = pytest.mark.parametrize("single", [True, False], ids=["single", "multi"])


@st.composite
def score_arrays(draw, max_words=4, labels=0, values=WHOLE | REAL | FORBIDDEN):
    """Scores, often with ties; the entries that no tree can use hold anything."""
    n = draw(st.integers(1, max_words))
    shape = (n + 1, n + 1, draw(st.integers(1, labels))) if labels else (n + 1, n + 1)
    scores = draw(arrays(np.float64, shape, elements=values))
    junk = draw(st.sampled_from([math.nan, math.inf, 1e9]))
    scores[:, 0] = junk
    scores[np.arange(n + 1), np.arange(n + 1)] = junk
    return scores


def enumerate_all(scores, single):
    """Every tree that the scores allow with its score, as (heads, labels) or (heads, None)."""
    n = len(scores) - 1
    labellings = [None]
    if scores.ndim == 3:
        labellings = list(itertools.product(range(scores.shape[2]), repeat=n))
    found = {}
    for heads in all_trees(n):
        if single and heads.count(0) != 1:
            continue
        for labels in labellings:
            cells = (heads, range(1, n + 1)) if labels is None else (heads, range(1, n + 1), labels)
            arcs = [float(scores[cell]) for cell in zip(*cells, strict=True)]
            if -math.inf not in arcs:
                found[heads, labels] = math.fsum(arcs)
    return found


def listed(ranked):
    return [
        ((tuple(heads), None if labels is None else tuple(labels)), score)
        for heads, labels, score in ranked
    ]


def assert_complete(scores, single):
    """All trees, each once, with its own score, in the order of scores."""
    expected = enumerate_all(scores, single)
    ranked = listed(kbest(scores, single))
    assert len(ranked) == len(expected)
    assert dict(ranked) == expected
    assert_allclose(
        [score for _, score in ranked], sorted(expected.values(), reverse=True), rtol=0, atol=1e-12
    )


@ROOT_RULES
@given(score_arrays())
def test_complete_list(single, scores):
    assert_complete(scores, single)


@ROOT_RULES
@given(score_arrays(labels=3, max_words=3))
@settings(max_examples=50)
def test_complete_list_with_labels(single, scores):
    assert_complete(scores, single)


@ROOT_RULES
@given(score_arrays(values=WHOLE | FORBIDDEN))
def test_whole_numbers_are_in_exact_order(single, scores):
    ranked = [score for _, _, score in kbest(scores, single)]
    assert ranked == sorted(enumerate_all(scores, single).values(), reverse=True)


@ROOT_RULES
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_complete_list_of_five_words(single, share):
    """1296 trees, 625 of them with a single root."""
    rng = np.random.default_rng(7)
    for draw in (rng.normal, lambda size: rng.integers(0, 3, size).astype(float)):
        scores = draw(size=(6, 6))
        scores[rng.random(scores.shape) < share] = -np.inf
        assert_complete(scores, single)


@ROOT_RULES
@given(score_arrays(values=HUGE))
def test_scores_of_different_size(single, scores):
    """Nothing is lost or repeated; the order errs by no more than the rounding of large sums."""
    expected = enumerate_all(scores, single)
    ranked = listed(kbest(scores, single))
    assert dict(ranked) == expected
    assert len(ranked) == len(expected)
    used = [abs(scores[h, m]) for h in range(len(scores)) for m in range(1, len(scores)) if h != m]
    assert_allclose(
        [score for _, score in ranked],
        sorted(expected.values(), reverse=True),
        rtol=0,
        atol=1e-14 * max(used),
    )


@ROOT_RULES
def test_sums_that_overflow(single):
    low = float(np.finfo(np.float64).min)
    scores = np.array([[0, 0, 0, low], [0, 0, low, 1], [0, -low, 0, low], [0, 2, low, 0]])
    expected = enumerate_all_exactly(scores, single)
    ranked = [tuple(heads) for heads, _, _ in kbest(scores, single)]
    assert sorted(ranked) == sorted(expected)
    values = [expected[heads] for heads in ranked]
    assert all(a - b >= low * 1e-15 for a, b in itertools.pairwise(values))


def enumerate_all_exactly(scores, single):
    n = len(scores) - 1
    return {
        heads: sum(Fraction(float(scores[h, m])) for m, h in enumerate(heads, 1))
        for heads in all_trees(n)
        if not single or heads.count(0) == 1
    }


def naive(scores, single, k):
    """The k best scores, splitting each subproblem by all arcs of its best tree (Murty 1968)."""
    n = len(scores) - 1
    queue = []

    def push(array, first):
        heads = best_heads(array, single)
        if heads[0] >= 0:
            heapq.heappush(queue, (-tree_score(scores, heads), tuple(heads), first, array))

    push(scores, 1)
    for _ in range(k):
        if not queue:
            return
        loss, heads, first, array = heapq.heappop(queue)
        yield -loss
        array = array.copy()
        for m in range(first, n + 1):
            without = array.copy()
            without[heads[m - 1], m] = -np.inf
            push(without, m)
            array[np.arange(n + 1) != heads[m - 1], m] = -np.inf


@ROOT_RULES
@given(st.integers(6, 14), st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.7]))
@settings(max_examples=25)
def test_longer_sentences_agree_with_a_naive_partition(single, n, seed, whole, share):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n + 1, n + 1))
    if whole:
        scores = np.round(2 * scores)
    scores[rng.random(scores.shape) < share] = -np.inf
    ranked = [score for _, _, score in itertools.islice(kbest(scores, single), 60)]
    assert_allclose(ranked, list(naive(scores, single, 60)), rtol=0, atol=1e-12)


@ROOT_RULES
@pytest.mark.parametrize("scale", [0.0, 1.0, 1000.0, 1e12])
def test_laws_at_forty_words(single, scale):
    rng = np.random.default_rng(3)
    scores = rng.normal(scale=scale, size=(41, 41))
    ranked = list(itertools.islice(kbest(scores, single), 400))
    assert len({tuple(heads) for heads, _, _ in ranked}) == 400
    assert_array_equal(ranked[0][0], best_heads(scores, single))
    for heads, _, score in ranked:
        assert is_tree(tuple(heads))
        assert not single or np.count_nonzero(heads == 0) == 1
        assert score == tree_score(scores, heads)
    for (_, _, better), (_, _, worse) in itertools.pairwise(ranked):
        assert better >= worse - 1e-13 * scale


@ROOT_RULES
@given(score_arrays(labels=3, max_words=5, values=WHOLE | FORBIDDEN))
def test_first_is_the_best_and_runs_are_alike(single, scores):
    ranked = list(itertools.islice(kbest(scores, single), 20))
    again = list(itertools.islice(kbest(scores, single), 20))
    assert listed(ranked) == listed(again)
    best, labels = best_labels(scores)
    heads = best_heads(best, single)
    if heads[0] < 0:
        assert ranked == []
        return
    assert_array_equal(ranked[0][0], heads)
    assert_array_equal(ranked[0][1], labels[heads, np.arange(1, len(scores))])


@ROOT_RULES
@given(score_arrays(), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 3.0, math.inf]))
def test_within_is_the_list_cut_at_the_margin(single, scores, margin):
    everything = listed(kbest(scores, single))
    expected = [item for item in everything if item[1] >= everything[0][1] - margin]
    assert listed(within(scores, single, margin)) == expected


def test_trees_are_read_only_and_the_input_is_kept():
    scores = np.random.default_rng(5).normal(size=(4, 4, 2))
    before = scores.copy()
    scores.flags.writeable = False
    for heads, labels, _ in kbest(scores, True):
        assert not heads.flags.writeable
        assert not labels.flags.writeable
    assert_array_equal(scores, before)


def test_a_fixed_tree_is_the_only_one():
    scores = np.full((4, 4), -np.inf)
    scores[[2, 0, 2], [1, 2, 3]] = [1.0, 2.0, 3.0]
    for single in (True, False):
        assert listed(kbest(scores, single)) == [(((2, 0, 2), None), 6.0)]
    scores[0, 2] = -np.inf
    assert listed(kbest(scores, True)) == listed(within(scores, False, 1.0)) == []

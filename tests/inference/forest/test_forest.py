"""Forests that no parser made: every question against the list of derivations."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numba
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.compiled import from_python
from support.frequencies import assert_distribution

from crossarc.inference.forest import Forest
from crossarc.inference.forest.arrays import add, close, open_chart, trimmed
from crossarc.inference.forest.expectation import (
    divergence,
    entropy,
    expectation,
    hessian_product,
)
from crossarc.inference.forest.inside import inside_weights, log_total, marginals
from crossarc.inference.forest.kbest import ranked, ranked_within
from crossarc.inference.forest.sampling import _select, sample, sample_distinct
from crossarc.inference.forest.viterbi import best_parts, max_marginals

Derivation = tuple[int, ...]


def forest_of(rules: list[list[tuple[int, int, int]]], score: np.ndarray) -> Forest:
    """From the (left, right, part) of the instances of each item."""
    first = np.cumsum([0, *map(len, rules)]).astype(np.int32)
    columns = np.array(list(itertools.chain(*rules)), np.int32).reshape(-1, 3).T.copy()
    arrays = (first, *columns, np.asarray(score, np.float64))
    for array in arrays:
        array.flags.writeable = False
    return Forest(*arrays)


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    """Up to six items; an item may occur twice in a derivation, and parts may be shared."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = draw(st.sampled_from([0.0, 1.0, 300.0]))
    rules: list[list[tuple[int, int, int]]] = []
    for v in range(draw(st.integers(1, 6))):
        own = []
        for _ in range(chance.integers(1, 4)):
            left, right = (int(tail) for tail in chance.integers(-1, v, 2)) if v else (-1, -1)
            left, right = max(left, right), min(left, right)
            own.append((left, right, int(chance.integers(-1, 8))))
        rules.append(own)
    return forest_of(rules, chance.normal(0, scale, 8))


def derivations(forest: Forest, v: int) -> list[Derivation]:
    """The instances of each derivation of an item."""
    found = []
    for e in range(forest.first[v], forest.first[v + 1]):
        tails = [t for t in (forest.left[e], forest.right[e]) if t >= 0]
        for below in itertools.product(*(derivations(forest, t) for t in tails)):
            found.append((e, *itertools.chain(*below)))
    return found


def parts_of(forest: Forest, derivation: Derivation) -> list[int]:
    return [int(forest.part[e]) for e in derivation if forest.part[e] >= 0]


def needed(forest: Forest) -> bool:
    """Whether the goal needs every item, as in what emitters make."""
    used = {e for one in derivations(forest, forest.items - 1) for e in one}
    return len(used) == len(forest.left)


def all_derivations(forest: Forest) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
    """The parts of each derivation, their scores, and the derivations' probabilities."""
    assume(needed(forest))
    listed = [parts_of(forest, one) for one in derivations(forest, forest.items - 1)]
    assume(len(listed) < 300)
    scores = np.array([math.fsum(forest.score[parts]) for parts in listed])
    weights = np.exp(scores - scores.max())
    return listed, scores, weights / weights.sum()


@given(forests())
def test_every_question(forest: Forest) -> None:
    listed, scores, chances = all_derivations(forest)
    log_z = scores.max() + math.log(np.exp(scores - scores.max()).sum())
    assert sum(log_total(forest)) == pytest.approx(log_z, rel=1e-13, abs=1e-13)

    shares, best = np.zeros(8), np.full(8, -math.inf)
    for parts, chance, score in zip(listed, chances, scores, strict=True):
        for part in parts:
            shares[part] += chance
            best[part] = max(best[part], score)
    out = np.empty(8)
    if shares.max() <= 1.0:  # a part may occur twice, and then this is no probability
        marginals(forest, False, out)
        np.testing.assert_allclose(out, shares, rtol=1e-11, atol=1e-290)
    max_marginals(forest, out)
    np.testing.assert_allclose(out, best, atol=1e-10)
    assert math.fsum(forest.score[best_parts(forest)]) == pytest.approx(scores.max(), abs=1e-10)

    values = np.arange(8.0)
    mean = math.fsum(p * values[parts].sum() for p, parts in zip(chances, listed, strict=True))
    assert expectation(forest, values) == pytest.approx(mean, rel=1e-11, abs=1e-12)
    surprise = -math.fsum(p * math.log(p) for p in chances if p > 0)
    assert entropy(forest) == pytest.approx(surprise, rel=1e-11, abs=1e-12)
    other = np.array([math.fsum(values[parts]) for parts in listed])
    log_other = other - (other.max() + math.log(np.exp(other - other.max()).sum()))
    gain = math.fsum(p * (math.log(p) - q) for p, q in zip(chances, log_other, strict=True) if p)
    assert divergence(forest, values) == pytest.approx(gain, rel=1e-11, abs=1e-12)

    found = [math.fsum(forest.score[parts]) for parts in ranked(forest)]
    np.testing.assert_allclose(found, np.sort(scores)[::-1], atol=1e-10)
    assert Counter(tuple(sorted(p)) for p in ranked(forest)) == Counter(
        tuple(sorted(p)) for p in listed
    )
    drawn = sample_distinct(forest, np.random.default_rng(0))
    assert Counter(tuple(sorted(p)) for p in drawn) == Counter(tuple(sorted(p)) for p in listed)


@given(forests())
def test_inside_weights(forest: Forest) -> None:
    mantissas, powers = inside_weights(forest)
    for v in range(forest.items):
        scores = [math.fsum(forest.score[parts_of(forest, d)]) for d in derivations(forest, v)]
        total = math.fsum(math.exp(score - max(scores)) for score in scores)
        log = math.log(mantissas[v]) + int(powers[v]) * math.log(2.0)
        assert 1.0 <= mantissas[v] < 2.0
        assert log == pytest.approx(max(scores) + math.log(total), rel=1e-12, abs=1e-12)


def test_sample_of_shared_items() -> None:
    """Item 1 holds item 0 twice: the two choices are independent."""
    forest = forest_of([[(-1, -1, 0), (-1, -1, 1)], [(0, 0, -1)]], np.log([1.0, 3.0]))
    counts = Counter(tuple(p) for p in sample(forest, 8_000, np.random.default_rng(1)))
    order = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert_distribution([counts[key] for key in order], [1 / 16, 3 / 16, 3 / 16, 9 / 16])


def test_rounding_selects_nothing_impossible() -> None:
    """The shares 1/2, 1/4 and 2^-5000 of a total of 1 end below the random number."""
    select, shares = from_python(_select), np.array([0.5, 0.25, 1.0])
    exponents = np.array([0, 0, -5000])
    found = [select(shares, exponents, 3, 1.0, 0, uniform) for uniform in (0.4, 0.6, 0.9)]
    assert found == [0, 1, 1]


def test_no_derivation() -> None:
    forest = forest_of([], np.zeros(1))
    assert forest.items == 0
    assert log_total(forest) == (-math.inf, 0.0)
    assert list(ranked(forest)) == []
    assert list(sample_distinct(forest, np.random.default_rng(0))) == []
    assert len(best_parts(forest)) == 0


def test_ties_go_to_the_first_instance() -> None:
    forest = forest_of([[(-1, -1, 2), (-1, -1, 0), (-1, -1, 1)]], np.zeros(3))
    assert best_parts(forest).tolist() == [2]
    assert [parts.tolist() for parts in ranked(forest)] == [[2], [0], [1]]


def test_within_a_margin() -> None:
    scores = np.array([0.0, -1.0, -1.0 - 1e-12, -2.0])
    forest = forest_of([[(-1, -1, part) for part in range(4)]], scores)
    assert [int(parts[0]) for parts in ranked_within(forest, 1.0)] == [0, 1]
    assert [int(parts[0]) for parts in ranked_within(forest, 1.5)] == [0, 1, 2]


def test_other_scores() -> None:
    forest = forest_of([[(-1, -1, 0), (-1, -1, 1)]], np.zeros(2))
    other = np.log([0.25, 0.75])
    assert sum(log_total(forest.rescored(other))) == pytest.approx(0.0, abs=1e-15)
    assert other.flags.writeable


def test_divergence_of_nearly_equal_scores() -> None:
    """Half of the step's square times a variance: p log(p / q) - p + q would lose every digit."""
    items = [[(-1, -1, 0), (-1, -1, 1)], [(-1, -1, part) for part in (2, 3, 4)], [(0, 1, -1)]]
    forest = forest_of(items, np.log([1.0, 3.0, 2.0, 1.0, 4.0]))
    values, step, variance = np.array([1.0, -1.0, 2.0, 0.0, 1.0]), 1e-8, 0.0
    for parts in (slice(0, 2), slice(2, 5)):
        weights = np.exp(forest.score[parts])
        p, own = weights / weights.sum(), values[parts]
        variance += float(p @ own**2 - (p @ own) ** 2)
    found = divergence(forest, forest.score + step * values)
    assert found == pytest.approx(step**2 / 2 * variance, rel=1e-6, abs=0.0)


@given(forests())
def test_derivatives_of_marginals(forest: Forest) -> None:
    """d P(part) / d t along scores + t values is a covariance: counts of the part, and values."""
    listed, _, chances = all_derivations(forest)
    values = np.arange(1.0, 9.0)
    totals = np.array([values[parts].sum() for parts in listed])
    counts = np.array([np.bincount(parts, minlength=8) for parts in listed])
    expected = (chances * (totals - chances @ totals)) @ counts
    out = np.empty(8)
    hessian_product(forest, values, out)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-10)


def test_a_chart_that_is_full() -> None:
    """Item 0 has a part of its own, item 1 is not needed; the capacity is just enough."""

    @numba.njit
    def build() -> tuple[
        tuple[int, int, int], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    ]:
        chart = open_chart(3, 4)
        sizes = chart.first.shape[0], chart.left.shape[0], close(chart)
        add(chart, -1, -1, 0)
        close(chart)
        add(chart, -1, -1, 1)
        close(chart)
        add(chart, 0, -1, 2)
        add(chart, 0, 0, 3)
        goal = close(chart)
        return sizes, trimmed(chart, goal)

    sizes, (first, left, right, part) = build()
    assert sizes == (4, 4, -1)  # and an item without instances is none
    assert first.tolist() == [0, 1, 3]
    assert left.tolist() == [-1, 0, 0]
    assert right.tolist() == [-1, -1, 0]
    assert part.tolist() == [0, 2, 3]

"""Every kernel at 13 to 60 words, against determinants, inverses and textbook algorithms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support import matrix_tree_reference as papers
from support.matrix_tree_kernels import kernel_results
from support.precise_matrix_tree import precise_log_marginals

from crossarc import SpanningTrees
from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, LOG_PARTITION, MARGINALS
from crossarc.inference.spanning.edmonds.argmax import best_heads
from crossarc.inference.spanning.matrix_tree.sums import weight_gradients
from crossarc.inference.spanning.sampling.without_replacement import _descend, _weights

Floats = NDArray[np.float64]

ROOTS = pytest.mark.parametrize("root", ["single", "multi"])
KERNELS = pytest.mark.parametrize("wide", [False, True], ids=["float64", "wide"])
WIDTHS = pytest.mark.parametrize("lanes", [1, LANES], ids=["one", "lockstep"])
NO_LABELS = np.empty((0, 0))


def some_scores(n: int, sd: float = 1.0, forbidden: float = 0.0, labels: int = 0) -> Floats:
    rng = np.random.default_rng([n, labels])
    scores = rng.normal(0.0, sd, (n + 1, n + 1, labels) if labels else (n + 1, n + 1))
    lost = rng.random(scores.shape) < forbidden
    lost[np.arange(n), np.arange(1, n + 1)] = False
    scores[lost] = -np.inf
    return scores


@ROOTS
@KERNELS
@WIDTHS
@pytest.mark.parametrize("forbidden", [0.0, 0.5])
def test_sums_against_determinants(lanes: int, wide: bool, forbidden: float, root: str) -> None:
    """Koo et al. (2007). Widths around powers of two and multiples of four, in one batch."""
    lengths = (60, 47, 33, 32, 31, 20, 17, 13)
    sentences = [some_scores(n, forbidden=forbidden) for n in lengths]
    batch, single = Batch(sentences), root == "single"
    totals, _, done = kernel_results(lanes, wide, batch, single, LOG_PARTITION)
    marginal_totals, out, _ = kernel_results(lanes, wide, batch, single, MARGINALS)
    log_totals, logs, _ = kernel_results(lanes, wide, batch, single, LOG_MARGINALS)
    assert done.all()
    np.testing.assert_array_equal(marginal_totals, totals)
    np.testing.assert_array_equal(log_totals, totals)
    for index, scores in enumerate(sentences):
        log_total = math.log(papers.koo_partition(scores, root))
        assert totals[0, index] == pytest.approx(log_total, abs=1e-11)
        expected = papers.koo_marginals(scores, root)
        np.testing.assert_allclose(batch.square(index, out), expected, rtol=1e-9, atol=1e-13)
        found = batch.square(index, logs)
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-9, atol=1e-13)
        assert (found[expected == 0.0] == -np.inf).all()


@ROOTS
@KERNELS
@WIDTHS
def test_sums_over_labels(lanes: int, wide: bool, root: str) -> None:
    sentences = [some_scores(n, labels=3) for n in (34, 21, 13)]
    batch, single = Batch(sentences), root == "single"
    for quantity in (MARGINALS, LOG_MARGINALS):
        totals, out, done = kernel_results(lanes, wide, batch, single, quantity)
        assert done.all()
        for index, scores in enumerate(sentences):
            log_total = math.log(papers.koo_partition(scores, root))
            assert totals[0, index] == pytest.approx(log_total, abs=1e-11)
            expected = papers.koo_marginals(scores, root).sum(axis=2)
            found = batch.square(index, out)
            found = np.exp(found) if quantity == LOG_MARGINALS else found
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)


@ROOTS
@WIDTHS
@pytest.mark.parametrize(
    ("n", "sd", "forbidden"), [(13, 300.0, 0.0), (13, 200.0, 0.6), (19, 150.0, 0.3)]
)
def test_large_scores_against_two_thousand_digits(
    n: int, sd: float, forbidden: float, lanes: int, root: str
) -> None:
    scores = some_scores(n, sd, forbidden)
    log_total, expected = precise_log_marginals(scores, root)
    batch, single = Batch([scores, scores[: n - 3, : n - 3]]), root == "single"
    totals, logs, _ = kernel_results(lanes, True, batch, single, LOG_MARGINALS)
    assert totals[0, 0] == pytest.approx(log_total, rel=1e-15)
    np.testing.assert_allclose(batch.square(0, logs), expected, rtol=1e-13, atol=1e-14)
    _, marginals, _ = kernel_results(lanes, True, batch, single, MARGINALS)
    common = expected > -700.0
    np.testing.assert_allclose(
        batch.square(0, marginals)[common], np.exp(expected[common]), rtol=1e-12
    )


@WIDTHS
@pytest.mark.parametrize("n", [13, 60, 200])
def test_a_single_root_that_no_tree_has(n: int, lanes: int) -> None:
    """All words have the root as their only head: n roots in the only tree."""
    scores = np.full((n + 1, n + 1), -np.inf)
    scores[0] = 0.0
    batch = Batch([scores, scores])
    totals, marginals, _ = kernel_results(lanes, True, batch, True, MARGINALS)
    assert totals[0].tolist() == [-np.inf, -np.inf]
    assert not marginals.any()
    totals, marginals, _ = kernel_results(lanes, True, batch, False, MARGINALS)
    assert totals[0].tolist() == [0.0, 0.0]
    assert (batch.square(1, marginals)[0, 1:] == 1.0).all()


@ROOTS
@pytest.mark.parametrize("n", [13, 33, 60])
def test_weight_gradients(n: int, root: str) -> None:
    """Of forbidden arcs, too; a single root's weights are scaled, and their gradients back."""
    scores = some_scores(n, forbidden=0.3)
    batch = Batch([scores])
    tables = weight_gradients(batch.square(0), NO_LABELS, root == "single")
    weights, weight_exponents, gradients, gradient_exponents = tables
    expected = papers.koo_weight_gradients(scores, root)
    column_max = np.array(
        [batch.square(0)[1 if root == "single" else 0 :, m].max() for m in range(1, n + 1)]
    )
    for m in range(n):
        scale = math.exp(column_max[m])
        for h in range(n):
            found = math.ldexp(gradients[m, h], int(gradient_exponents[m, h])) / scale
            if h != m:
                assert found == pytest.approx(expected[h + 1, m + 1], rel=1e-8, abs=1e-12)
        product = weights[m, n] * gradients[m, n]
        power = int(weight_exponents[m, n] + gradient_exponents[m, n])
        marginal = math.ldexp(product, power) if product > 0.0 else 0.0
        usable = scores[0, m + 1] > -np.inf
        exact = expected[0, m + 1] * math.exp(scores[0, m + 1]) if usable else 0.0
        assert marginal == pytest.approx(exact, rel=1e-9, abs=1e-13)


@ROOTS
@pytest.mark.parametrize(("n", "labels"), [(13, 0), (20, 2), (33, 0), (60, 0)])
def test_derivatives(n: int, labels: int, root: Any) -> None:
    scores = some_scores(n, labels=labels)
    direction = np.random.default_rng(n).normal(size=scores.shape)
    expected = papers.koo_derivatives(scores, root, direction)
    found = SpanningTrees(scores, root=root).hessian_product(direction)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


@ROOTS
@pytest.mark.parametrize("n", [13, 30])
def test_two_arcs_at_once(n: int, root: Any) -> None:
    """P(e, f) = P(f) P(e | f), with f as the only arc into its word."""
    scores = some_scores(n)
    marginals = papers.koo_marginals(scores, root)
    trees = SpanningTrees(scores, root=root)
    table = trees.mutual_information()
    j = n // 2
    joint = np.zeros((n + 1, n + 1, n + 1))  # of k -> j and h -> m
    for k in range(n + 1):
        if k != j:
            given = scores.copy()
            given[np.arange(n + 1) != k, j] = -np.inf
            joint[k] = marginals[k, j] * papers.koo_marginals(given, root)
    for m in range(1, n + 1):
        if m == j:
            continue
        heads = [(h, k) for h in range(n + 1) for k in range(n + 1) if h != m and k != j]
        first = np.array([(h, m) for h, _ in heads])
        second = np.array([(k, j) for _, k in heads])
        both = np.array([joint[k, h, m] for h, k in heads])
        np.testing.assert_allclose(trees.joint(first, second), both, rtol=0.0, atol=1e-12)
        apart = np.array([marginals[h, m] * marginals[k, j] for h, k in heads])
        possible = both > 1e-300
        information = (both[possible] * np.log(both[possible] / apart[possible])).sum()
        assert table[m - 1, j - 1] == pytest.approx(information, abs=1e-11)


def contracted(scores: Floats) -> float:
    """The best score of a tree with any number of roots: cycles by recursion, O(n^3)."""
    n = len(scores) - 1
    heads = np.array([0, *(int(scores[:, m].argmax()) for m in range(1, n + 1))])
    cycle = next((found for m in range(1, n + 1) if (found := _cycle(heads, m))), [])
    if not cycle:
        return math.fsum(scores[heads[m], m] for m in range(1, n + 1))
    rest = [x for x in range(n + 1) if x not in cycle]
    smaller = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    smaller[:-1, :-1] = scores[np.ix_(rest, rest)]
    smaller[-1, :-1] = scores[np.ix_(cycle, rest)].max(axis=0)
    gains = scores[np.ix_(rest, cycle)] - [scores[heads[x], x] for x in cycle]
    smaller[:-1, -1] = gains.max(axis=1)
    smaller[:, 0] = -np.inf
    return contracted(smaller) + math.fsum(scores[heads[x], x] for x in cycle)


def _cycle(heads: NDArray[np.int64], start: int) -> list[int]:
    """The cycle that contains a word, or nothing."""
    path, x = [start], int(heads[start])
    while x not in (0, start) and x not in path:
        path.append(x)
        x = int(heads[x])
    return path if x == start else []


@ROOTS
@pytest.mark.parametrize("forbidden", [0.0, 0.8])
@pytest.mark.parametrize("n", [13, 30, 60])
def test_best_trees(n: int, forbidden: float, root: str) -> None:
    """Edmonds' algorithm as in textbooks, on whole numbers, so that sums are exact."""
    scores = np.round(some_scores(n, 1000.0, forbidden))
    np.fill_diagonal(scores, -np.inf)
    scores[:, 0] = -np.inf
    heads = best_heads(scores, root == "single")
    found = scores[heads, np.arange(1, n + 1)].sum()
    if root == "multi":
        assert found == contracted(scores)
        return
    # A large reward for each arc that is not of the root: as few root arcs as there can be.
    reward = 2.0**30
    rewarded = scores.copy()
    rewarded[1:] += reward
    assert (heads == 0).sum() == 1
    assert found == contracted(rewarded) - (n - 1) * reward


@ROOTS
@pytest.mark.parametrize("sd", [1.0, 200.0])
def test_heads_drawn_word_by_word(sd: float, root: Any) -> None:
    """What was passed by on the way to a tree: the log-probability of each prefix of heads."""
    n = 15
    scores = some_scores(n, sd)
    trees = SpanningTrees(scores, root=root)
    weights, exponents = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    _weights(Batch([scores]).square(0), NO_LABELS, root == "single", weights, exponents)
    most = n * (n + 1)
    choices, places = np.empty(n, np.int32), np.empty((most, 2), np.int32)
    values, noise = np.empty((most, 2)), np.random.default_rng(1).standard_exponential(most)
    prefix, no_labels = np.empty(0, np.int32), np.empty((0, 0, 0))
    passed = _descend(
        weights, exponents, no_labels, prefix, 0.0, 0.0, noise, choices, places, values
    )
    assert passed > n
    for (step, head), (log, _) in list(zip(places[:passed], values[:passed], strict=True))[::7]:
        heads = {m + 1: int(choices[m]) for m in range(step)} | {int(step) + 1: int(head)}
        assert log == pytest.approx(trees.log_prob(heads=heads), rel=1e-11, abs=1e-11)

"""Kernels of projective trees: against forests, against each other, whatever stands beside them.

`test_enumeration` and the laws compare what ProjectiveTrees answers, which is what kernels find,
with all trees of a few words. Here sentences are longer, and the arithmetics are told apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.drawn_scores import drawn
from support.forest_trees import ProjectiveForests
from support.law_base import assert_accurate, assert_log_marginals, assert_marginals
from support.projective_reference import highest, over_trees

from crossarc import InfeasibleError, ProjectiveTrees
from crossarc.inference.projective.first_order import sums as first_order_sums
from crossarc.inference.projective.sibling import sums as sibling_sums
from crossarc.inference.projective.sibling.factor import SiblingFactor
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, LOG_PARTITION, MARGINALS

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]
#: Lengths around the kernels' blocks of eight columns, the root among them.
LENGTHS = st.sampled_from([1, 2, 6, 7, 8, 9, 14, 15, 16, 23, 24, 31])
SCALES = st.sampled_from([0.0, 1.0, 10.0, 40.0, 100.0, 1000.0])
SEEDS = st.integers(0, 2**32 - 1)


def assert_same(ours: ProjectiveTrees, oracle: ProjectiveForests, parts: tuple[str, ...]) -> None:
    """log Z, marginals and their logarithms as accurate as promised, and a tree as good."""
    assert_accurate(ours.log_partition(), oracle.log_partition())
    for part in parts:
        assert_marginals(ours.marginals(part), oracle.marginals(part))
        assert_log_marginals(ours.log_marginals(part), oracle.log_marginals(part))
    score = oracle.argmax().score
    assert ours.argmax().score == pytest.approx(score, rel=1e-13, abs=1e-13)


@settings(max_examples=80)
@given(LENGTHS, SCALES, st.sampled_from([0.0, 0.3, 0.8]), st.sampled_from([0, 2]), SEEDS)
def test_first_order(n: int, scale: float, forbidden: float, labels: int, seed: int) -> None:
    scores = drawn(n, scale, seed, forbidden, labels)
    for root in ROOTS:
        assert_same(
            ProjectiveTrees(scores, root=root), ProjectiveForests(scores, root=root), ("arc",)
        )


@settings(max_examples=40)
@given(LENGTHS, SCALES, st.sampled_from([0.0, 0.3, 0.8]), st.booleans(), SEEDS)
def test_short_and_long(n: int, scale: float, forbidden: float, single: bool, seed: int) -> None:
    """The kernels for short and long sentences are two implementations of the same algorithm."""
    scores = drawn(n, scale, seed, forbidden)
    for quantity in (LOG_PARTITION, MARGINALS, LOG_MARGINALS):
        (total, table), (other, expected) = (
            infer(scores, single, quantity, False) for infer in (lockstep, blocks)
        )
        assert (total == math.inf) == (other == math.inf)
        if math.isfinite(total):
            assert_accurate(total, other)
        if math.isfinite(total) and quantity != LOG_PARTITION:
            np.testing.assert_array_equal(np.isneginf(table), np.isneginf(expected))
            possible = np.isfinite(expected)
            np.testing.assert_allclose(table[possible], expected[possible], 1e-12, 1e-14)


@settings(max_examples=50)
@given(LENGTHS, SCALES, st.sampled_from([0.0, 0.3, 0.8]), st.sampled_from([0, 2]), SEEDS)
def test_sibling(n: int, scale: float, forbidden: float, labels: int, seed: int) -> None:
    scores = drawn(n, scale, seed, forbidden, labels)
    factor = np.random.default_rng(seed).normal(0, scale, (n + 1,) * 3)
    for root in ROOTS:
        ours = ProjectiveTrees(scores, root=root, sibling=factor)
        assert_same(ours, ProjectiveForests(scores, root=root, sibling=factor), ("arc", "sibling"))


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("root", ROOTS)
def test_against_the_recursive_definition(root: str, with_factor: bool) -> None:
    """Nine words, so that a sentence has two blocks; the definition in plain Python."""
    scores = drawn(9, 3.0, 4, forbidden=0.2)
    factor = np.random.default_rng(5).normal(0, 3.0, (10, 10, 10)) if with_factor else None
    trees = ProjectiveTrees(scores, root=root, sibling=factor)
    assert_accurate(trees.log_partition(), over_trees(scores, root, factor))
    best = over_trees(scores, root, factor, highest)
    assert trees.argmax().score == pytest.approx(best, rel=1e-14)


def blocks(scores: Floats, single: bool, quantity: int, wide: bool) -> tuple[float, Floats]:
    """By the kernel for long sentences; log Z is infinite where float64 is refused."""
    return first_order(scores, single, quantity, wide, in_blocks=not wide)


def lockstep(scores: Floats, single: bool, quantity: int, wide: bool) -> tuple[float, Floats]:
    """By the kernel for short sentences."""
    return first_order(scores, single, quantity, wide, in_blocks=False)


def first_order(
    scores: Floats, single: bool, quantity: int, wide: bool, *, in_blocks: bool
) -> tuple[float, Floats]:
    batch, totals = Batch([scores]), np.empty((2, 1))
    out, members = np.zeros(len(batch.arcs)), np.zeros(1, np.int64)
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets)
    arguments = (*arrays, single, quantity, out, totals)
    if in_blocks:
        first_order_sums._in_blocks(batch, members, arguments, np.empty(0), 1)
    else:
        first_order_sums._in_lockstep(batch, members, arguments, wide, 1)
    return float(totals.sum()), batch.square(0, out)


def second_order(scores: Floats, single: bool, quantity: int, wide: bool) -> tuple[float, Floats]:
    """With a sibling factor that belongs to the scores."""
    batch, totals = Batch([scores]), np.empty((2, 1))
    width = len(scores)
    cube = np.random.default_rng(width).normal(0, max(1.0, np.std(scores)), (width,) * 3)
    factor = SiblingFactor([cube], batch, single)
    out, parts = np.zeros(len(batch.arcs)), np.zeros_like(factor.rows)
    members, results = np.zeros(1, np.int64), (out, parts, totals)
    sibling_sums._sum(batch, factor, single, quantity, members, results, 1, wide=wide)
    return float(totals.sum()), np.concatenate([out, factor.unpacked(0, parts, 0.0).reshape(-1)])


@pytest.mark.parametrize("infer", [blocks, lockstep, second_order])
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(("n", "scale"), [(1, 1.0), (5, 10.0), (12, 1.0), (20, 3.0)])
def test_two_arithmetics(infer: Any, single: bool, n: int, scale: float) -> None:
    scores = drawn(n, scale, 1)
    for quantity in (LOG_PARTITION, MARGINALS, LOG_MARGINALS):
        float64, wide = (infer(scores, single, quantity, way) for way in (False, True))
        assert math.isfinite(float64[0])
        assert float64[0] == pytest.approx(wide[0], rel=1e-14, abs=1e-14)
        np.testing.assert_allclose(float64[1], wide[1], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("infer", [blocks, lockstep, second_order])
@pytest.mark.parametrize("single", [True, False])
def test_float64_refuses_what_it_cannot_hold(infer: Any, single: bool) -> None:
    """Standard deviation 1000, and one arc that is 2,000 below all others."""
    rare = np.zeros((7, 7))
    rare[2, 5] = -2000.0
    for scores in (drawn(20, 1000.0, 1), rare):
        assert infer(scores, single, MARGINALS, False)[0] == math.inf


@pytest.mark.parametrize("with_factor", [False, True])
def test_results_do_not_depend_on_neighbours_or_threads(with_factor: bool) -> None:
    """To the last bit, also beside sentences that overflow float64, and in any order."""
    kinds = [(5, 1.0, 0.0), (30, 1000.0, 0.0), (5, 1.0, 0.5), (17, 40.0, 0.0), (1, 1.0, 0.0)]
    kinds += [(6, 2.0, 0.0), (60, 1.0, 0.0), (50, 1.0, 0.2), (4, 1.0, 0.8), (51, 40.0, 0.0)]
    batch = [drawn(n, scale, place, lost) for place, (n, scale, lost) in enumerate(kinds)]
    factors = [np.random.default_rng(len(one)).normal(size=(len(one),) * 3) for one in batch]

    def ask(places: list[int], threads: int) -> dict[int, Any]:
        sibling: Any = [factors[place] for place in places] if with_factor else None
        trees = ProjectiveTrees(
            [batch[place] for place in places], sibling=sibling, threads=threads
        )
        answers = zip(
            trees.log_partition(),
            trees.marginals(),
            trees.log_marginals(),
            trees.argmax(),
            strict=True,
        )
        return dict(zip(places, answers, strict=True))

    everywhere = [ask(list(range(10)), threads) for threads in (1, 3)]
    everywhere.append(ask(list(range(9, -1, -1)), 1))
    for place in range(10):
        alone = ask([place], 1)[place]
        for found in everywhere:
            assert found[place][0] == alone[0]
            np.testing.assert_array_equal(found[place][1], alone[1])
            np.testing.assert_array_equal(found[place][2], alone[2])
            assert found[place][3] == alone[3]


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize("root", ROOTS)
def test_sentences_in_lockstep(root: str, labels: int) -> None:
    """Eight lanes of like lengths, and a ninth sentence: each as it is alone, to the last bit.

    Standard deviation 30 needs the potentials of the envelope, 300 the wide exponents; the last
    sentence but one has no tree.
    """
    lengths, scales = [19, 22, 22, 21, 22, 18, 22, 20, 22], [1.0, 30.0, 1.0, 300.0, 3.0] * 2
    batch = [
        drawn(n, scale, place, 0.2 * (place % 2), labels)
        for place, (n, scale) in enumerate(zip(lengths, scales, strict=False))
    ]
    batch[7][:, 3] = -np.inf
    together = ProjectiveTrees(batch, root=root)
    with pytest.raises(InfeasibleError, match="sentence 7"):
        together.marginals()
    for place, scores in enumerate(batch):
        alone = ProjectiveTrees(scores, root=root)
        assert together.log_partition()[place] == alone.log_partition()
        if place != 7:
            for logs in (False, True):
                ours, theirs = together._marginals(place, logs), alone._marginals(0, logs)
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize("root", ROOTS)
def test_sibling_sentences_in_lockstep(root: str, labels: int) -> None:
    """Eight lanes of like lengths, and a ninth sentence: each as it is alone, to the last bit.

    Standard deviation 15 needs the potentials of the best tree, 200 the wide exponents.
    """
    lengths, scales = [9, 12, 12, 11, 12, 8, 12, 10, 12], [1.0, 15.0, 1.0, 200.0, 3.0] * 2
    batch = [
        drawn(n, scale, place, 0.2 * (place % 2), labels)
        for place, (n, scale) in enumerate(zip(lengths, scales, strict=False))
    ]
    factors = [
        np.random.default_rng(place).normal(0, scales[place], (len(one),) * 3)
        for place, one in enumerate(batch)
    ]
    together = ProjectiveTrees(batch, root=root, sibling=factors)
    for place, (scores, factor) in enumerate(zip(batch, factors, strict=True)):
        alone = ProjectiveTrees(scores, root=root, sibling=factor)
        assert together.log_partition()[place] == alone.log_partition()
        for part in ("arc", "sibling"):
            np.testing.assert_array_equal(together.marginals(part)[place], alone.marginals(part))
            ours, theirs = together.log_marginals(part)[place], alone.log_marginals(part)
            np.testing.assert_array_equal(ours, theirs)
        assert together.argmax()[place] == alone.argmax()
        assert together.argmax()[place].score == alone.argmax().score


def test_scores_that_overflow_have_a_best_tree() -> None:
    scores = np.full((10, 10), -1.7e308)
    scores[np.arange(9), np.arange(1, 10)] = 1.7e308
    assert ProjectiveTrees(scores).argmax().heads.tolist() == list(range(9))
    factor = np.zeros((10, 10, 10))
    assert ProjectiveTrees(scores, sibling=factor).argmax().heads.tolist() == list(range(9))

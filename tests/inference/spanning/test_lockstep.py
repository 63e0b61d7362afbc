"""Sentences in lockstep: the same numbers as one by one, whatever the neighbours are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import BruteForce
from support.guarded_cells import GuardedCells
from support.matrix_tree_kernels import kernel_results

from crossarc import SpanningTrees
from crossarc.inference.arithmetic.lanes import LANES
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, LOG_PARTITION, MARGINALS, in_groups

ROOTS = ["single", "multi"]


QUANTITIES = [LOG_PARTITION, MARGINALS, LOG_MARGINALS]


def some_scores(seed: int, n: int, sd: float = 1.0, forbidden: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng([seed, n])
    scores = rng.normal(scale=sd, size=(n + 1, n + 1))
    scores[rng.random(scores.shape) < forbidden] = -np.inf
    return scores


class TestOneSentenceAndEight:
    @given(
        st.lists(st.integers(1, 24), min_size=1, max_size=8),
        st.integers(0, 10**6),
        st.sampled_from([1.0, 10.0, 100.0, 1e4]),
        st.sampled_from([0.0, 0.1, 0.5]),
        st.booleans(),
        st.sampled_from(QUANTITIES),
        st.booleans(),
    )
    def test_every_bit_is_the_same(
        self,
        lengths: list[int],
        seed: int,
        sd: float,
        forbidden: float,
        single: bool,
        quantity: int,
        wide: bool,
    ) -> None:
        batch = Batch([some_scores(seed + i, n, sd, forbidden) for i, n in enumerate(lengths)])
        totals, out, done = kernel_results(LANES, wide, batch, single, quantity)
        other_totals, other_out, other_done = kernel_results(1, wide, batch, single, quantity)
        np.testing.assert_array_equal(done, other_done)
        np.testing.assert_array_equal(totals, other_totals)
        assert done.all() or not wide
        if quantity != LOG_PARTITION:
            for index in np.flatnonzero(done):
                np.testing.assert_array_equal(
                    batch.square(index, out), batch.square(index, other_out)
                )

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("n", [13, 31, 33, 60])
    def test_longer_sentences_in_wide_numbers(self, n: int, root: str) -> None:
        batch = Batch([some_scores(i, n - i, 500.0) for i in range(8)])
        for quantity in QUANTITIES:
            totals, out, _ = kernel_results(LANES, True, batch, root == "single", quantity)
            other_totals, other_out, _ = kernel_results(1, True, batch, root == "single", quantity)
            np.testing.assert_array_equal(totals, other_totals)
            np.testing.assert_array_equal(out, other_out)

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("n", [31, 32, 33, 61, 65, 100])
    def test_longer_sentences_and_longer_neighbours(self, n: int, root: str) -> None:
        """Widths around powers of two, at which blocks are divided."""
        batch = [some_scores(7, n), *(some_scores(i, n + i) for i in range(7))]
        one, all_of_them = SpanningTrees(batch[0], root=root), SpanningTrees(batch, root=root)
        np.testing.assert_array_equal(all_of_them.marginals()[0], one.marginals())
        np.testing.assert_array_equal(all_of_them.log_marginals()[0], one.log_marginals())
        assert all_of_them.log_partition()[0] == one.log_partition()

    @pytest.mark.parametrize("root", ROOTS)
    def test_labels(self, root: str) -> None:
        rng = np.random.default_rng(3)
        for sd in (1.0, 500.0):
            batch = [rng.normal(0.0, sd, (n + 1, n + 1, 3)) for n in (9, 10, 11, 12, 9, 4, 11)]
            found = SpanningTrees(batch, root=root).marginals()
            for marginals, scores in zip(found, batch, strict=True):
                expected = SpanningTrees(scores, root=root).marginals()
                np.testing.assert_array_equal(marginals, expected)

    @pytest.mark.parametrize("root", ROOTS)
    def test_log_partition_comes_with_marginals_or_without(self, root: str) -> None:
        batch = [some_scores(1, n) for n in (40, 39, 38, 37, 20, 19, 18, 3)]
        first, second = SpanningTrees(batch, root=root), SpanningTrees(batch, root=root)
        first.marginals()
        assert first.log_partition() == second.log_partition()


class TestRule:
    """What float64 answers, wide numbers confirm; what it cannot, it leaves."""

    @pytest.mark.parametrize("single", [False, True])
    @pytest.mark.parametrize("forbidden", [0.0, 0.3])
    @pytest.mark.parametrize("sd", [1.0, 30.0, 150.0])
    def test_against_wide_numbers(self, sd: float, forbidden: float, single: bool) -> None:
        batch = Batch([some_scores(i, 23 - i, sd, forbidden) for i in range(8)])
        for quantity in (MARGINALS, LOG_MARGINALS):
            totals, out, done = kernel_results(LANES, False, batch, single, quantity)
            wide_totals, wide_out, _ = kernel_results(1, True, batch, single, quantity)
            assert done.any() or sd > 100
            for index in np.flatnonzero(done):
                expected, found = batch.square(index, wide_out), batch.square(index, out)
                near_zero = 1e-300 if quantity == MARGINALS else 1e-14
                np.testing.assert_allclose(found, expected, rtol=1e-13, atol=near_zero)
                assert totals[0, index] == pytest.approx(wide_totals[0, index], rel=1e-14)

    @pytest.mark.parametrize("root", ROOTS)
    def test_a_hard_sentence_does_not_disturb_its_neighbours(self, root: str) -> None:
        """Scores beyond float64, a word without a head, and no word for the root."""
        easy = [some_scores(i, 12) for i in range(8)]
        hard = some_scores(8, 12, sd=1000.0)
        headless, rootless = some_scores(9, 12), some_scores(10, 12)
        headless[:, 5] = -np.inf
        rootless[0] = -np.inf
        mixed = SpanningTrees(
            [*easy[:2], headless, *easy[2:5], rootless, hard, *easy[5:]], root=root
        )
        expected = SpanningTrees(easy, root=root).log_partition()
        found = mixed.log_partition()
        assert found[2] == found[6] == -np.inf
        assert found[7] == SpanningTrees(hard, root=root).log_partition()
        assert [*found[:2], *found[3:6], *found[8:]] == expected

    @pytest.mark.parametrize("root", ROOTS)
    def test_an_underflow_that_matters_is_seen(self, root: str) -> None:
        """From word 1, the root is reached before word 2 by two steps of weight e^-600 in a row."""
        scores = np.full((5, 5), -np.inf)
        scores[2, 1] = scores[1, 2] = scores[4, 3] = scores[3, 4] = scores[2, 4] = 0.0
        scores[3, 1] = scores[3, 2] = scores[0, 3] = -600.0
        batch = Batch([scores] * 8)
        assert not kernel_results(LANES, False, batch, root == "single", MARGINALS)[2].any()
        trees, truth = SpanningTrees([scores] * 8, root=root), BruteForce(scores, root)
        assert trees.log_partition()[7] == pytest.approx(truth.log_partition(), rel=1e-15)
        found = trees.log_marginals()[7]
        np.testing.assert_allclose(found, truth.log_marginals, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
@pytest.mark.parametrize("sd", [1.0, 500.0])
@pytest.mark.parametrize("lengths", [[1], [4], [17], [33], [13, 20, 17, 20, 19, 20, 20, 18, 20]])
def test_kernels_stay_in_their_workspaces(
    lengths: list[int], sd: float, forbidden: float, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what these held before is not read."""
    batch = [some_scores(i, n, sd, forbidden) for i, n in enumerate(lengths)]
    for scores in batch:
        words = np.arange(1, len(scores))
        scores[words - 1, words] = 0.0  # so that there is a tree

    def answers() -> list[np.ndarray]:
        trees = SpanningTrees(batch, root=root)
        totals = np.array(trees.log_partition())
        return [totals, *trees.marginals(), *trees.log_marginals()]

    guards = GuardedCells(monkeypatch)
    guarded = answers()
    guards.assert_intact()
    monkeypatch.undo()
    for found, expected in zip(guarded, answers(), strict=True):
        np.testing.assert_array_equal(found, expected)


class TestGroups:
    @given(st.lists(st.integers(1, 300), max_size=60))
    def test_every_sentence_once(self, lengths: list[int]) -> None:
        sizes = np.array(lengths, np.int64)
        lockstep, starts, others = in_groups(sizes, 256)
        assert sorted([*lockstep, *others]) == list(range(len(sizes)))
        assert starts[0] == 0
        assert starts[-1] == len(lockstep)
        assert (np.diff(starts) <= 8).all()
        assert (np.diff(starts) > 1).all()
        for begin, end in pairwise(starts):
            assert (np.diff(sizes[lockstep[begin:end]]) <= 0).all()

    def test_equal_sentences_share_lanes(self) -> None:
        lockstep, starts, others = in_groups(np.full(20, 30), 256)
        assert starts.tolist() == [0, 8, 16, 20]
        assert len(lockstep) == 20
        assert len(others) == 0

    def test_a_long_one_is_in_no_group(self) -> None:
        lockstep, starts, others = in_groups(np.array([10, 10, 60, 10, 10]), 256)
        assert others.tolist() == [2]
        assert starts.tolist() == [0, 4]
        assert sorted(lockstep) == [0, 1, 3, 4]

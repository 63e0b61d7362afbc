"""Sentences in lockstep: the same numbers as alone, whoever the neighbours are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import BruteForce

from crossarc import SpanningTrees
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.groups import in_groups
from crossarc.inference.runtime.quantities import LOG_MARGINALS, LOG_PARTITION, MARGINALS
from crossarc.inference.runtime.work_queue import in_turns
from crossarc.inference.spanning.plain.alone import infer_alone
from crossarc.inference.spanning.plain.together import infer_together
from crossarc.inference.spanning.wide_infer import infer_wide

ROOTS = ["single", "multi"]


def some_scores(seed: int, n: int, sd: float = 1.0, forbidden: float = 0.0) -> np.ndarray:
    chance = np.random.default_rng([seed, n])
    scores = chance.normal(scale=sd, size=(n + 1, n + 1))
    scores[chance.random(scores.shape) < forbidden] = -np.inf
    return scores


def answers(kernel: object, batch: Batch, single: bool, wanted: int) -> tuple[np.ndarray, ...]:
    """Totals, results and what is certain, all sentences in one group or each in its own."""
    order = np.argsort(-batch.sizes, kind="stable")
    starts = np.array([0, len(batch)]) if kernel is infer_together else np.arange(len(batch) + 1)
    totals, done = np.full((2, len(batch)), np.nan), np.zeros(len(batch), np.bool_)
    out = np.full(0 if wanted == LOG_PARTITION else len(batch.arcs), np.nan)
    before = (
        batch.arcs,
        batch.label_sums,
        batch.sizes,
        batch.offsets,
        order,
        starts,
        single,
        wanted,
    )
    in_turns(
        lambda progress: kernel(*before, out, totals, done, progress, np.empty(0)),
        len(starts) - 1,
        1,
    )
    return totals, out, done


class TestTogetherAndAlone:
    @given(
        st.lists(st.integers(1, 24), min_size=1, max_size=8),
        st.integers(0, 10**6),
        st.sampled_from([1.0, 10.0, 100.0]),
        st.sampled_from([0.0, 0.1, 0.5]),
        st.booleans(),
        st.sampled_from([LOG_PARTITION, MARGINALS, LOG_MARGINALS]),
    )
    def test_every_bit_is_the_same(
        self,
        lengths: list[int],
        seed: int,
        sd: float,
        forbidden: float,
        single: bool,
        wanted: int,
    ) -> None:
        batch = Batch([some_scores(seed + i, n, sd, forbidden) for i, n in enumerate(lengths)])
        totals, out, done = answers(infer_together, batch, single, wanted)
        other_totals, other_out, other_done = answers(infer_alone, batch, single, wanted)
        np.testing.assert_array_equal(done, other_done)
        np.testing.assert_array_equal(totals, other_totals)
        if wanted != LOG_PARTITION:
            for index in np.flatnonzero(done):
                np.testing.assert_array_equal(
                    batch.square(index, out), batch.square(index, other_out)
                )

    @pytest.mark.parametrize("root", ROOTS)
    @pytest.mark.parametrize("n", [31, 32, 33, 61, 65, 100])
    def test_longer_sentences_and_longer_neighbours(self, n: int, root: str) -> None:
        """Widths around powers of two, at which blocks are divided."""
        batch = [some_scores(7, n), *(some_scores(i, n + i) for i in range(7))]
        alone, together = SpanningTrees(batch[0], root=root), SpanningTrees(batch, root=root)
        np.testing.assert_array_equal(together.marginals()[0], alone.marginals())
        np.testing.assert_array_equal(together.log_marginals()[0], alone.log_marginals())
        assert together.log_partition()[0] == alone.log_partition()

    @pytest.mark.parametrize("root", ROOTS)
    def test_labels(self, root: str) -> None:
        chance = np.random.default_rng(3)
        batch = [chance.normal(size=(n + 1, n + 1, 3)) for n in (9, 10, 11, 12, 9, 4, 11)]
        together = SpanningTrees(batch, root=root)
        for index, scores in enumerate(batch):
            alone = SpanningTrees(scores, root=root)
            np.testing.assert_array_equal(together.marginals()[index], alone.marginals())

    @pytest.mark.parametrize("root", ROOTS)
    def test_log_partition_comes_with_marginals_or_without(self, root: str) -> None:
        batch = [some_scores(1, n) for n in (40, 39, 38, 37, 20, 19, 18, 3)]
        first, second = SpanningTrees(batch, root=root), SpanningTrees(batch, root=root)
        first.marginals()
        assert first.log_partition() == second.log_partition()


class TestRule:
    """What plain floats answer, wide numbers confirm; what they cannot, they leave."""

    @pytest.mark.parametrize("single", [False, True])
    @pytest.mark.parametrize("forbidden", [0.0, 0.3])
    @pytest.mark.parametrize("sd", [1.0, 30.0, 150.0])
    def test_against_wide_numbers(self, sd: float, forbidden: float, single: bool) -> None:
        batch = Batch([some_scores(i, 23 - i, sd, forbidden) for i in range(8)])
        for wanted in (MARGINALS, LOG_MARGINALS):
            totals, out, done = answers(infer_together, batch, single, wanted)
            wide_totals, wide_out = np.empty_like(totals), np.empty_like(out)
            infer_wide(
                batch.arcs,
                batch.label_sums,
                batch.sizes,
                batch.offsets,
                np.arange(len(batch)),
                single,
                wanted,
                wide_out,
                wide_totals,
                0,
                len(batch),
            )
            assert done.any() or sd > 100
            for index in np.flatnonzero(done):
                expected, found = batch.square(index, wide_out), batch.square(index, out)
                near_zero = 1e-300 if wanted == MARGINALS else 1e-14
                np.testing.assert_allclose(found, expected, rtol=1e-13, atol=near_zero)
                assert totals[0, index] == pytest.approx(wide_totals[0, index], rel=1e-14)

    @pytest.mark.parametrize("root", ROOTS)
    def test_a_hard_sentence_does_not_disturb_its_neighbours(self, root: str) -> None:
        """Scores beyond plain floats, a word without a head, and no word for the root."""
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
        assert not answers(infer_together, batch, root == "single", MARGINALS)[2].any()
        trees, truth = SpanningTrees([scores] * 8, root=root), BruteForce(scores, root)
        assert trees.log_partition()[7] == pytest.approx(truth.log_partition(), rel=1e-15)
        found = trees.log_marginals()[7]
        np.testing.assert_allclose(found, truth.log_marginals, rtol=1e-13, atol=1e-15)


class TestGroups:
    @given(st.lists(st.integers(1, 300), max_size=60))
    def test_every_sentence_once(self, lengths: list[int]) -> None:
        sizes = np.array(lengths, np.int64)
        together, starts, alone = in_groups(sizes)
        assert sorted([*together, *alone]) == list(range(len(sizes)))
        assert starts[0] == 0
        assert starts[-1] == len(together)
        assert (np.diff(starts) <= 8).all()
        assert (np.diff(starts) > 1).all()
        for begin, end in pairwise(starts):
            assert (np.diff(sizes[together[begin:end]]) <= 0).all()

    def test_equal_sentences_share_lanes(self) -> None:
        together, starts, alone = in_groups(np.full(20, 30))
        assert starts.tolist() == [0, 8, 16, 20]
        assert len(together) == 20
        assert len(alone) == 0

    def test_a_long_one_stays_alone(self) -> None:
        together, starts, alone = in_groups(np.array([10, 10, 60, 10, 10]))
        assert alone.tolist() == [2]
        assert starts.tolist() == [0, 4]
        assert sorted(together) == [0, 1, 3, 4]

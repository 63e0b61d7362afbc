"""Laws of how heads depend on each other: given arcs, pairs of arcs, mutual information."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from crossarc import ScoreError
from support.law_base import LawBase, assert_accurate, assert_close, assert_marginals, law
from support.score_strategies import FORBIDDEN, NORMAL, OFFSETS, TIES, Case, partial_heads


def arcs_of(case: Case, data: st.DataObject, count: int) -> np.ndarray:
    """Some arcs, possible or not, with labels or without."""
    words = [
        data.draw(st.tuples(st.integers(0, case.n), st.integers(1, case.n)).filter(_is_arc))
        for _ in range(count)
    ]
    if not case.labelled or data.draw(st.booleans()):
        return np.array(words)
    labels = [data.draw(st.integers(0, case.scores.shape[2] - 1)) for _ in words]
    return np.array([(*arc, label) for arc, label in zip(words, labels, strict=True)])


def _is_arc(arc: tuple[int, int]) -> bool:
    return arc[0] != arc[1]


class DependenceLaws(LawBase):
    @law(examples=40)
    def test_given_heads_and_labels(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data)
        heads = data.draw(partial_heads(case.n))
        labels = {}
        if case.labelled:
            words = data.draw(st.lists(st.integers(1, case.n), unique=True))
            labels = {m: data.draw(st.integers(0, case.scores.shape[2] - 1)) for m in words}
        given = distribution.given(heads, labels=labels or None)
        assert type(given) is type(distribution)
        expected = truth.given(heads, labels)
        assert_accurate(given.log_partition(), expected.log_partition())
        if expected.feasible:
            assert_marginals(given.marginals(), expected.marginals)
            assert_close(given.entropy(), expected.entropy(), 1e-9)

    @law(examples=40)
    def test_joint_probabilities_of_arcs(self, data: st.DataObject) -> None:
        """Absolute errors: pairs may be differences."""
        distribution, truth, case = self.feasible_case(data)
        first, second = arcs_of(case, data, 3), arcs_of(case, data, 2)
        found = distribution.joint(first[:, None], second)
        assert found.shape == (3, 2)
        for i, j in np.ndindex(3, 2):
            a, b = tuple(first[i].tolist()), tuple(second[j].tolist())
            assert_close(found[i, j], truth.joint(a, b), 1e-11)
            single = distribution.joint(a, b)
            assert isinstance(single, float)
            assert_close(single, distribution.joint(b, a), 1e-11)

    @law(examples=40)
    def test_conditional_probabilities_of_arcs(self, data: st.DataObject) -> None:
        distribution, truth, case = self.feasible_case(data, (NORMAL, TIES, OFFSETS, FORBIDDEN))
        arc, given = (tuple(arcs_of(case, data, 1)[0].tolist()) for _ in range(2))
        alone = truth.joint(given, given)
        found = distribution.conditional(arc, given)
        if alone == 0.0:
            assert math.isnan(found)
        else:
            assert_close(found, truth.joint(arc, given) / alone, 1e-11 / alone)

    @law(examples=40)
    def test_entropy_drop_is_the_entropy_before_less_the_mean_after(
        self, data: st.DataObject
    ) -> None:
        distribution, truth, case = self.feasible_case(data, max_words=4)
        drops = distribution.entropy_drop()
        assert drops.shape == (case.n,)
        for m in range(1, case.n + 1):
            after = []
            for cell in np.ndindex(case.scores.shape):
                if cell[1] == m and (chance := truth.marginals[cell]) > 0.0:
                    labels = {m: cell[2]} if case.labelled else {}
                    after.append(chance * truth.given({m: cell[0]}, labels).entropy())
            assert_close(drops[m - 1], truth.entropy() - math.fsum(after), 1e-9)

    @law(examples=40)
    def test_mutual_information(self, data: st.DataObject) -> None:
        distribution, truth, _ = self.feasible_case(data, max_words=4)
        found, expected = distribution.mutual_information(), truth.mutual_information()
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)
        np.testing.assert_array_equal(found, found.T)
        assert found.min() >= 0.0
        heads = distribution.entropy_drop(labels=False)
        np.testing.assert_allclose(np.diag(found), heads, rtol=0.0, atol=1e-13)

    def test_no_word_says_anything_in_a_sure_tree(self) -> None:
        scores = np.full((4, 4), -np.inf)
        scores[[0, 1, 2], [1, 2, 3]] = [5.0, -3.0, 0.5]
        distribution = self.distribution(scores)
        assert distribution.entropy_drop().tolist() == [0.0] * 3
        assert distribution.mutual_information().tolist() == [[0.0] * 3] * 3

    def test_arcs_that_do_not_exist(self) -> None:
        distribution = self.distribution(np.zeros((4, 4)))
        with pytest.raises(ScoreError, match=r"no such arc: \(2, 2\). Heads are 0..3"):
            distribution.joint((0, 1), (2, 2))
        for wrong in ((0, 1, 0), 3, (0.5, 1.0)):
            with pytest.raises(ScoreError, match=r"an arc is \(h, m\), whole numbers: got"):
                distribution.joint(wrong, (0, 1))
        batch = self.distribution([np.zeros((4, 4))] * 2)
        with pytest.raises(ScoreError, match="sentence 1: no such arc"):
            batch.joint([(0, 1), (0, 1)], [(0, 2), (0, 4)])
        with pytest.raises(ScoreError, match="arcs for 1 sentences were given, there are 2"):
            batch.joint([(0, 1)], [(0, 1)])
        with pytest.raises(
            ValueError, match="expected a list of 2, one for each sentence, each a dict"
        ):
            batch.given({1: 2})

    def test_batches(self) -> None:
        arrays = [np.zeros((4, 4)), np.random.default_rng(0).normal(size=(3, 3))]
        batch, alone = self.distribution(arrays), [self.distribution(one) for one in arrays]
        pairs = batch.joint([(0, 1), (0, 2)], [(1, 2), (2, 1)])
        assert pairs == [alone[0].joint((0, 1), (1, 2)), alone[1].joint((0, 2), (2, 1))]
        given = batch.given([{1: 0}, {}])
        expected = [alone[0].given({1: 0}).log_partition(), alone[1].log_partition()]
        assert given.log_partition() == expected

"""Factors as users pass them: shapes, places, what is refused and what is never read."""

from __future__ import annotations

import numpy as np
import pytest
from support.sibling_cases import mirrored_factor, usable_parts

from crossarc import LimitError, Parts, ProjectiveTrees, ScoreError


@pytest.mark.parametrize(
    ("index", "score", "message"),
    [
        ([[0, 0, 1]], [0.0, 1.0], r"score must be \(1,\), one number a part: got float64 \(2,\)"),
        ([0, 0, 1], [0.0], r"index must be whole numbers \(parts, k\): got int64 \(3,\)"),
        ([[0.0, 0.0, 1.0]], [0.0], "index must be whole numbers"),
        ([[0, -1, 1]], [0.0], "index must not be negative"),
        ([[0, 0, 1]], ["x"], "score must be"),
    ],
)
def test_parts_refuses(index: object, score: object, message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        Parts(index, score)


def test_parts_are_copies() -> None:
    index, score = np.array([[0, 0, 1]]), np.array([1.5])
    parts = Parts(index, score)
    index[:], score[:] = 7, 7.0
    assert parts.index.tolist() == [[0, 0, 1]]
    assert parts.index.dtype == np.int32
    assert parts.score.tolist() == [1.5]
    assert len(parts) == 1
    with pytest.raises(ValueError, match="read-only"):
        parts.score[0] = 0.0


@pytest.mark.parametrize(
    ("sibling", "message"),
    [
        (np.zeros((3, 3)), r"sibling must be real numbers \(3, 3, 3\), \[h, s, m\]: got float64"),
        (np.zeros((4, 4, 4)), r"got float64 \(4, 4, 4\)"),
        (np.full((3, 3, 3), "x"), "real numbers"),
        (Parts([[0, 1]], [1.0]), r"sibling parts have 3 indices, \[h, s, m\]: got 2"),
        (Parts([[0, 0, 3]], [1.0]), r"sibling part \[0, 0, 3\] is not in a sentence of 2"),
        (Parts([[1, 1, 2], [0, 0, 1], [1, 1, 2]], [1.0, 2.0, 3.0]), r"\[1, 1, 2\] is listed twice"),
    ],
)
def test_wrong_factors(sibling: object, message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        ProjectiveTrees(np.zeros((3, 3)), sibling=sibling)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_factors_are_finite_where_a_tree_has_the_part(value: float) -> None:
    scores = np.zeros((4, 4))
    scores[3, 1] = -np.inf
    for place in np.ndindex(4, 4, 4):
        h, s, m = place
        used = place in usable_parts(3) and scores[h, m] == 0.0
        used = used and (s == h or scores[h, s] == 0.0)
        dense = np.zeros((4, 4, 4))
        dense[place] = value
        for sibling in (dense, Parts([place], [value])):
            if used:
                with pytest.raises(ScoreError, match=rf"sentence 1: sibling\[{h}, {s}, {m}\] is"):
                    ProjectiveTrees(
                        [scores] * 2, root="multi", sibling=[np.zeros((4,) * 3), sibling]
                    )
            else:
                trees = ProjectiveTrees(scores, root="multi", sibling=sibling)
                free = ProjectiveTrees(scores, root="multi")
                assert trees.log_partition() == pytest.approx(free.log_partition(), abs=1e-15)
                assert np.ravel(trees.marginals("sibling")).max() <= 1.0


def test_a_single_root_has_no_siblings() -> None:
    """sibling[0, s, m] is read for s = 0 only."""
    dense = np.zeros((4, 4, 4))
    dense[0, 1:] = np.nan
    assert ProjectiveTrees(np.zeros((4, 4)), sibling=dense).log_partition() == pytest.approx(
        np.log(7)
    )


def test_batches() -> None:
    scores = [np.zeros((n + 1, n + 1)) for n in (2, 3, 4)]
    factors = [mirrored_factor(n) for n in (2, 3, 4)]
    together = ProjectiveTrees(scores, sibling=factors)
    alone = [ProjectiveTrees(s, sibling=f) for s, f in zip(scores, factors, strict=True)]
    assert together.log_partition() == [trees.log_partition() for trees in alone]
    for ours, theirs in zip(together.marginals("sibling"), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs.marginals("sibling"))
    padded, wide = np.zeros((3, 5, 5)), np.full((3, 5, 5, 5), np.nan)
    for place, factor in enumerate(factors):
        wide[(place, *(slice(n) for n in factor.shape))] = factor
    for sibling in (wide, factors):
        trees = ProjectiveTrees(padded, sibling=sibling, lengths=[2, 3, 4])
        assert trees.log_partition() == together.log_partition()
    with pytest.raises(ScoreError, match="sibling must be a list of 3 arrays or Parts"):
        ProjectiveTrees(scores, sibling=factors[:2])
    with pytest.raises(ScoreError, match="sibling must be a list of 3 arrays or Parts"):
        ProjectiveTrees(scores, sibling=Parts([[0, 0, 1]], [1.0]))


def test_inputs_are_copied() -> None:
    factor = mirrored_factor(3).copy()
    trees = ProjectiveTrees(np.zeros((4, 4)), sibling=factor)
    factor[:] = 9.0
    again = ProjectiveTrees(np.zeros((4, 4)), sibling=mirrored_factor(3))
    assert trees.log_partition() == again.log_partition()


def test_names_of_parts() -> None:
    with pytest.raises(ValueError, match=r"part must be one of \['arc'\]: got 'sibling'"):
        ProjectiveTrees(np.zeros((3, 3))).marginals("sibling")
    trees = ProjectiveTrees(np.zeros((3, 3)), sibling=np.zeros((3, 3, 3)))
    with pytest.raises(ValueError, match="got 'grandchild'"):
        trees.max_marginals("grandchild")


def test_large_scores() -> None:
    """Beyond 1e12 there are no sums; the best tree is found for any, also where sums overflow."""
    factor = np.zeros((4, 4, 4))
    factor[1, 1, 2] = 1e13
    trees = ProjectiveTrees(np.zeros((4, 4)), sibling=factor)
    for ask in (trees.log_partition, trees.marginals, trees.entropy, lambda: trees.sample(1)):
        with pytest.raises(ScoreError, match="scores beyond 1e12 cannot be summed over"):
            ask()
    assert trees.argmax().score == 1e13
    scores = np.full((4, 4), -1.5e308)
    scores[0, 1], scores[1, 2] = -1.0e308, -1.2e308
    found = list(ProjectiveTrees(scores).kbest(100))
    assert found[0].heads.tolist()[:2] == [0, 1]
    assert found[0].score == -np.inf  # -3.7e308 is no float64
    assert len(found) == 7


def test_too_long_for_a_forest() -> None:
    scores = np.broadcast_to(np.float32(0.0), (1300, 1300))
    with pytest.raises(LimitError, match="too large for a packed forest"):
        ProjectiveTrees(scores).kbest(2)

"""ForestTrees: an emitter is all that a distribution needs."""

from __future__ import annotations

import numpy as np
import pytest
from support.forest_trees import ProjectiveForests
from support.sibling_laws import SiblingLaws

from crossarc import ProjectiveTrees


class TestProjectiveForests(SiblingLaws):
    """Every question, labels and Parts included, by forests alone."""

    kind = ProjectiveForests

    def test_no_word_says_anything_in_a_sure_tree(self) -> None:
        """Up to rounding: 1 / Z times Z need not be 1."""
        scores = np.full((4, 4), -np.inf)
        scores[[0, 1, 2], [1, 2, 3]] = [5.0, -3.0, 0.5]
        trees = self.distribution(scores)
        np.testing.assert_allclose(trees.entropy_drop(), 0.0, atol=1e-15)
        np.testing.assert_allclose(trees.mutual_information(), 0.0, atol=1e-15)


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("labels", [0, 3])
def test_flat_marginals(labels: int, logs: bool) -> None:
    """Labels summed over, sentences end to end: kernels and forests agree."""
    rng = np.random.default_rng(0)
    shapes = [(n + 1, n + 1, labels) if labels else (n + 1, n + 1) for n in (3, 5, 1)]
    scores = [rng.normal(size=shape) for shape in shapes]
    scores[1][2, 3] = -np.inf
    found, expected = (
        kind(scores)._flat_marginals(logs) for kind in (ProjectiveForests, ProjectiveTrees)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


def test_one_part_of_a_batch() -> None:
    """Tables of several factors and sentences are cut at the right numbers."""
    rng = np.random.default_rng(1)
    scores = [rng.normal(size=(n + 1, n + 1)) for n in (4, 2)]
    factors = [rng.normal(size=(n + 1,) * 3) for n in (4, 2)]
    forests, trees = (
        kind(scores, sibling=factors) for kind in (ProjectiveForests, ProjectiveTrees)
    )
    for ours, theirs in zip(
        [*forests.max_marginals("sibling"), *forests.max_marginals()],
        [*trees.max_marginals("sibling"), *trees.max_marginals()],
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    # Each arc has one sibling part: the best tree with it has one of these.
    for arcs, parts in zip(forests.max_marginals(), forests.max_marginals("sibling"), strict=True):
        np.testing.assert_allclose(parts.max(axis=1), arcs, rtol=1e-14)

"""What the laws have in common: hooks for the distribution under test, oracles, tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.brute_force import BruteForce, Heads, Labels, ScoredTree
from support.score_strategies import EVERY_KIND, Case, Scores, cases

#: Below this, a marginal may have lost digits to gradual underflow; its logarithm may not.
SMALLEST = 1e-290


def law(examples: int = 40) -> Callable[[Callable[..., None]], Any]:
    """A hypothesis test that several classes may inherit; it draws from its `data`.

    It has so many examples in each class, but under the profile that explores as many as that says.
    """
    profile = settings()

    def decorate(test: Callable[..., None]) -> Any:
        rules = settings(
            max_examples=examples if profile.derandomize else profile.max_examples,
            suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
        )
        return rules(given(data=st.data())(test))

    return decorate


class LawBase:
    """Override `distribution`, and what differs of the rest."""

    max_words = 5
    max_labelled_words = 3
    #: Whether the distribution takes scores[h, m, l].
    takes_labels = True
    #: Whether words in any order have the same trees; if not, their mirror image has.
    permutable = True

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> Any:
        raise NotImplementedError

    def in_support(self, heads: Heads) -> bool:
        """Which trees the distribution is about, apart from the root rule."""
        return True

    def enumerate(self, scores: Scores, root: str) -> BruteForce:
        return BruteForce(scores, root, self.in_support)

    def case(
        self, data: st.DataObject, kinds: tuple[str, ...] = EVERY_KIND, max_words: int = 5
    ) -> Case:
        case = data.draw(
            cases(
                kinds,
                min(max_words, self.max_words),
                min(max_words, self.max_labelled_words),
                self.takes_labels,
            )
        )
        note(f"{case.kind}, {case.root}-root, {case.scores!r}")
        return case

    def feasible_case(
        self, data: st.DataObject, kinds: tuple[str, ...] = EVERY_KIND, max_words: int = 5
    ) -> tuple[Any, BruteForce, Case]:
        """A distribution that has trees, and its oracle."""
        case = self.case(data, kinds, max_words)
        truth = self.enumerate(case.scores, case.root)
        assume(truth.feasible)
        return self.distribution(case.scores, case.root), truth, case


def score_scale(scores: Scores) -> float:
    """The sum of the largest scores of each word: a tree's score is rounded at this scale."""
    total = 0.0
    for m in range(1, len(scores)):
        column = np.delete(scores[:, m], m, axis=0)
        total += float(np.abs(column[np.isfinite(column)]).max(initial=0.0))
    return max(1.0, total)


def assert_accurate(actual: float, expected: float, error: float = 1e-13) -> None:
    """Within 1e-13, relative above 1; the size of the scores behind it is no excuse."""
    assert_close(actual, expected, error * max(1.0, abs(expected)))


def assert_close(actual: float, expected: float, tolerance: float) -> None:
    """Equal, or both finite and not further apart than `tolerance`."""
    assert not math.isnan(actual)
    assert actual == expected or abs(actual - expected) <= tolerance, (
        f"{actual!r} should be {expected!r} to {tolerance:.1e}, is {actual - expected:.1e} off"
    )


def assert_marginals(actual: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    """Relative error 1e-12 down to 1e-290, and nothing large below."""
    assert actual.shape == expected.shape
    assert not np.isnan(actual).any()
    large = expected >= SMALLEST
    np.testing.assert_allclose(actual[large], expected[large], rtol=1e-12, atol=0.0)
    assert (actual[~large] <= 1.01 * SMALLEST).all()
    assert (actual >= 0.0).all()


def assert_log_marginals(found: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    """Logarithms of probabilities, -inf in the same entries."""
    np.testing.assert_array_equal(found == -np.inf, expected == -np.inf)
    possible = expected > -np.inf
    np.testing.assert_allclose(found[possible], expected[possible], rtol=1e-12, atol=1e-12)


def key_of(tree: Any) -> tuple[Heads, Labels | None]:
    """Heads and labels of a crossarc.Tree as tuples."""
    labels = None if tree.labels is None else tuple(int(label) for label in tree.labels)
    return tuple(int(head) for head in tree.heads), labels


def entry_of(truth: BruteForce, tree: Any) -> ScoredTree:
    """The enumerated tree that equals this one; the tree must be in the support."""
    found = truth.find(*key_of(tree))
    assert found is not None, f"{tree} is not a tree of this distribution"
    return found


def assert_ranked(trees: Any, truth: BruteForce) -> None:
    """The best tree, all trees best first, and max-marginals."""
    rounding = 1e-13 * max(1.0, np.abs(truth.tree_scores()).max())
    assert trees.argmax().score == pytest.approx(truth.score(truth.trees[0]), abs=rounding)
    ranked = list(trees.kbest(len(truth.trees) + 1))
    assert {key_of(tree) for tree in ranked} == {tree.key for tree in truth.trees}
    assert len(ranked) == len(truth.trees)
    found = [tree.score for tree in ranked]
    np.testing.assert_allclose(found, truth.tree_scores(), rtol=0.0, atol=rounding)
    np.testing.assert_allclose(trees.max_marginals(), truth.max_marginals(), atol=rounding)

"""Statistical tests, for counts drawn at a fixed seed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import bdtr, chdtrc


def assert_share(successes: int, trials: int, probability: float) -> None:
    """The count lies in the central 99.99 % of its exact binomial distribution."""
    assert bdtr(successes, trials, probability) >= 0.00005
    assert successes == 0 or bdtr(successes - 1, trials, probability) < 0.99995


def assert_distribution(counts: Iterable[float], probabilities: Iterable[float]) -> None:
    """A chi-square test does not reject at 0.001, and what has probability 0 does not occur."""
    observed, expected = np.array(list(counts)), np.array(list(probabilities))
    assert not observed[expected == 0.0].any()
    observed, expected = observed[expected > 0.0], expected[expected > 0.0]
    if len(observed) > 1:
        expected *= observed.sum() / expected.sum()
        statistic = ((observed - expected) ** 2 / expected).sum()
        assert chdtrc(len(observed) - 1, statistic) > 0.001

"""Statistical tests, for counts drawn at a fixed seed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.stats import binom, chisquare


def assert_share(successes: int, trials: int, probability: float) -> None:
    """The count lies in the central 99.99 % of its exact binomial distribution."""
    low, high = binom.interval(0.9999, trials, probability)
    assert low <= successes <= high


def assert_distribution(counts: Iterable[float], probabilities: Iterable[float]) -> None:
    """A chi-square test does not reject at 0.001, and what has probability 0 does not occur."""
    observed, expected = np.array(list(counts)), np.array(list(probabilities))
    assert not observed[expected == 0.0].any()
    observed, expected = observed[expected > 0.0], expected[expected > 0.0]
    if len(observed) > 1:
        assert chisquare(observed, expected / expected.sum() * observed.sum()).pvalue > 0.001

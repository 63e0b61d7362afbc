"""Statistical tests, for counts drawn at a fixed seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import bdtr, chdtrc

from support.brute_force import BruteForce
from support.law_base import key_of


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


def assert_frequencies(trees: Any, truth: BruteForce, draws: int = 20_000) -> None:
    """Trees are drawn as often as they are probable."""
    counts = Counter(map(key_of, trees.sample(draws, seed=1)))
    assert sum(counts.values()) == draws
    assert set(counts) <= {tree.key for tree in truth.trees}
    probabilities = [math.exp(truth.log_prob(tree.heads, tree.labels)) for tree in truth.trees]
    # The rare trees together, so that the chi-square test has enough in each class.
    common = [i for i, p in enumerate(probabilities) if p * draws > 10]
    seen = [counts[truth.trees[i].key] for i in common]
    rest = 1.0 - math.fsum(probabilities[i] for i in common)
    assert_distribution(
        [*seen, draws - sum(seen)], [*(probabilities[i] for i in common), max(rest, 0.0)]
    )


def assert_order_beside_a_tree_with_all_the_mass(kind: Any) -> None:
    """Without replacement: after the first tree 1 - p is rounded to 0, yet the others keep their
    proportions."""
    scores = np.full((4, 4), -np.inf)
    scores[0, 1], scores[1, 2] = 0.0, 0.0
    scores[2, 3], scores[1, 3], scores[0, 3] = 800.0, math.log(3.0), 0.0
    trees = kind(scores, root="multi")
    orders = Counter(
        tuple(int(tree.heads[2]) for tree in trees.sample(3, seed=seed, replace=False))
        for seed in range(2_000)
    )
    assert set(orders) <= {(2, 1, 0), (2, 0, 1)}
    assert_distribution([orders[2, 1, 0], orders[2, 0, 1]], [0.75, 0.25])

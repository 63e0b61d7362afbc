"""Random scores of sentences that have a projective tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["drawn"]

Floats = NDArray[np.float64]


def drawn(n: int, scale: float, seed: int, forbidden: float = 0.0, labels: int = 0) -> Floats:
    """Random scores; arcs are forbidden at random, those of the chain 0 -> 1 -> 2 ... never."""
    chance = np.random.default_rng([seed, n])
    shape = (n + 1, n + 1, labels) if labels else (n + 1, n + 1)
    scores = chance.normal(0, scale, shape)
    lost = chance.random(shape) < forbidden
    lost[np.arange(n), np.arange(1, n + 1)] = False
    scores[lost] = -np.inf
    return scores

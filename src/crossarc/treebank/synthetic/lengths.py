"""How many words a sentence has: probabilities of 0, 1, 2, ... words as arrays."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from crossarc.errors import TreebankError
from crossarc.treebank.synthetic.grammar import Floats

__all__ = ["geometric_lengths", "length_weights", "poisson_lengths", "uniform_lengths"]

_TAIL = 1e-15


def uniform_lengths(shortest: int, longest: int) -> Floats:
    """Probabilities of 0, 1, 2, ... words: all lengths from shortest to longest alike."""
    if not 1 <= shortest <= longest:
        raise TreebankError(
            f"lengths {shortest} to {longest}: the shortest must be 1 or more, the longest no less"
        )
    return (np.arange(longest + 1) >= shortest) / (longest - shortest + 1)


def poisson_lengths(mean: float) -> Floats:
    """Probabilities of 0, 1, 2, ... words: one word and a Poisson number of others."""
    others = _checked_mean(mean) - 1.0
    if others == 0.0:
        return np.array([0.0, 1.0])
    counts = np.arange(1.0, int(others + 12.0 * math.sqrt(others) + 40.0))
    logs = np.cumsum(np.log(others / counts)) - others
    return np.concatenate(([0.0, math.exp(-others)], np.exp(logs)))


def geometric_lengths(mean: float) -> Floats:
    """Probabilities of 0, 1, 2, ... words; the sentence ends after any with probability 1/mean."""
    stay = 1.0 - 1.0 / _checked_mean(mean)
    count = 1 if stay == 0.0 else math.ceil(math.log(_TAIL) / math.log(stay))
    return np.concatenate(([0.0], (1.0 - stay) * stay ** np.arange(count)))


def length_weights(lengths: int | ArrayLike | None) -> Floats:
    """Weights of 0, 1, 2, ... words, checked."""
    if lengths is None:
        return poisson_lengths(20.0)
    if isinstance(lengths, int | np.integer):
        return uniform_lengths(int(lengths), int(lengths))
    weights = np.asarray(lengths, dtype=np.float64)
    good = weights.ndim == 1 and bool(np.isfinite(weights).all()) and bool((weights >= 0.0).all())
    if not good or not weights.sum() > 0.0 or weights[0] != 0.0:
        raise TreebankError(
            "lengths must be a whole number or weights, not negative, of 0, 1, 2, ... words,"
            " the first of them 0"
        )
    return weights


def _checked_mean(mean: float) -> float:
    if not 1.0 <= mean < math.inf:
        raise TreebankError(f"mean length {mean}: a sentence has at least 1 word")
    return float(mean)

"""n-gram models, and mixtures of models: what tree models are compared and combined with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.models.generative.corpus import Corpus, Unit, Vocabulary, Words, read_units

__all__ = ["NgramModel", "log_mixture", "mixture_weights"]

Floats = NDArray[np.float64]

_History = tuple[int, ...]


class _Order:
    """Counts of one order: (count - D) / total, and D types / total for the next lower order."""

    def __init__(self, counts: Counter[_History]) -> None:
        self.counts = counts
        self.totals: Counter[_History] = Counter()
        self.types: Counter[_History] = Counter()
        for ngram, count in counts.items():
            self.totals[ngram[:-1]] += count
            self.types[ngram[:-1]] += 1
        once, twice = (sum(count == k for count in counts.values()) for k in (1, 2))
        # Ney, Essen & Kneser (1994), equation 32; where nothing was seen once or twice, a half.
        self.discount = once / (once + 2 * twice) if once and twice else 0.5


class NgramModel:
    """Interpolated Kneser-Ney (Kneser & Ney 1995; Chen & Goodman 1998, section 2.7).

    Without an end symbol, so that the probabilities of all strings of n words sum to 1: it gives
    p(x | n), as tree models do.

    Args:
        unit: as of `BigramModel`; words of two columns are one symbol.
        order: n-grams of up to so many words.
        vocabularies: those of the model to compare with, one a column.
    """

    def __init__(self, unit: Unit, vocabularies: Sequence[Vocabulary], *, order: int = 3) -> None:
        if order < 1:
            raise ValueError(f"order must be at least 1: got {order}")
        self.unit, self.vocabularies, self.order = unit, tuple(vocabularies), order
        self._orders: list[_Order] = []

    @property
    def _outcomes(self) -> int:
        return math.prod(map(len, self.vocabularies))

    def fit(self, sentences: Iterable[Words]) -> NgramModel:
        """Count n-grams, and of shorter ones the different words that they follow."""
        counts: Counter[_History] = Counter()
        for numbers in self._numbers(sentences):
            padded = self._padded(numbers)
            counts.update(zip(*(padded[k:] for k in range(self.order)), strict=False))
        self._orders = [_Order(counts)]
        for _ in range(self.order - 1):
            self._orders.insert(0, _Order(Counter(ngram[1:] for ngram in self._orders[0].counts)))
        return self

    def log_probs(self, sentences: Iterable[Words]) -> Floats:
        """log p(x | n) of each sentence."""
        return np.array([self._log_prob(numbers) for numbers in self._numbers(sentences)])

    def _log_prob(self, numbers: Sequence[int]) -> float:
        padded = self._padded(numbers)
        ngrams = zip(*(padded[k:] for k in range(self.order)), strict=False)
        return math.fsum(math.log(self._probability(ngram)) for ngram in ngrams)

    def _probability(self, ngram: _History) -> float:
        p = 1.0 / self._outcomes
        for order, one in enumerate(self._orders, 1):
            own = ngram[-order:]
            total = one.totals.get(own[:-1], 0)
            if not total:
                break
            kept = max(one.counts.get(own, 0) - one.discount, 0.0)
            p = (kept + one.discount * one.types[own[:-1]] * p) / total
        return p

    def _padded(self, numbers: Sequence[int]) -> list[int]:
        return [-1] * (self.order - 1) + list(numbers)

    def _numbers(self, sentences: Iterable[Words]) -> Iterable[list[int]]:
        """One symbol a word."""
        for words in sentences:
            corpus = Corpus.encode([read_units(words, self.unit)], self.vocabularies)
            symbols = np.zeros(len(words), np.int64)
            for column, vocabulary in zip(corpus.units, self.vocabularies, strict=True):
                symbols = symbols * len(vocabulary) + column
            yield symbols.tolist()


def mixture_weights(log_probs: Floats, *, tolerance: float = 1e-8) -> Floats:
    """Weights of models that make sentences most probable, by EM.

    Sentences are interpolated, not words: sum_k w_k p_k(x | n), since tree models give no
    probabilities of next words.

    Args:
        log_probs: (models, sentences); sentences that no model allows count nothing.
    """
    allowed = log_probs[:, np.isfinite(log_probs).any(axis=0)]
    weights: Floats = np.full(len(log_probs), 1.0 / len(log_probs))
    before = -np.inf
    while allowed.shape[1]:
        joint = np.log(np.maximum(weights, 1e-300))[:, None] + allowed
        totals = np.logaddexp.reduce(joint, axis=0)
        weights = np.exp(joint - totals).mean(axis=1)
        if totals.sum() - before <= tolerance * abs(totals.sum()):
            break
        before = totals.sum()
    return weights


def log_mixture(weights: Floats, log_probs: Floats) -> Floats:
    """log sum_k w_k p_k of each sentence; (models, sentences) in."""
    with np.errstate(divide="ignore"):
        found: Floats = np.logaddexp.reduce(np.log(weights)[:, None] + log_probs, axis=0)
    return found

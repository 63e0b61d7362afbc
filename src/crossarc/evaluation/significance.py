"""Whether one parser is better than another on the same gold sentences, or only luckier.

Sentences are the unit: the words of one sentence stand or fall together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import tee
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError
from crossarc.evaluation.comparison import Comparison, Vocabulary, comparisons
from crossarc.treebank import Sentence

__all__ = [
    "Bootstrap",
    "SentenceCounts",
    "SignTest",
    "paired_bootstrap",
    "sentence_counts",
    "sign_test",
    "sign_test_p",
]

Metric = Literal["uas", "las", "las_full"]

# Draws held at once: 8 MiB of indices.
_DRAWS = 1 << 20


@dataclass(frozen=True, slots=True)
class SentenceCounts:
    """For each sentence: its words, and how many of them system a and system b have right."""

    words: NDArray[np.int64]
    a: NDArray[np.int64]
    b: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Score of a less score of b in percentage points, its 95% interval, two-sided p-value."""

    difference: float
    low: float
    high: float
    p: float
    samples: int


@dataclass(frozen=True, slots=True)
class SignTest:
    """Sentences that a has more words right in than b, fewer, as many; two-sided p-value."""

    better: int
    worse: int
    tied: int
    p: float


def sentence_counts(
    gold: Iterable[Sentence],
    a: Iterable[Sentence],
    b: Iterable[Sentence],
    metric: Metric = "las",
) -> SentenceCounts:
    """Count right words per sentence of two systems, reading all three treebanks in step.

    Args:
        metric: right head (`uas`), head and label without (`las`) or with (`las_full`) subtype.

    Raises:
        TreebankError: the treebanks differ in sentences or words, or there are none.
        ValueError: another metric.
    """
    if metric not in ("uas", "las", "las_full"):
        raise ValueError(f"metric must be 'uas', 'las' or 'las_full': got {metric!r}.")
    for_a, for_b = tee(gold)
    words, right_a, right_b = [], [], []
    for with_a, with_b in zip(
        comparisons(for_a, a, Vocabulary(), name="system a", same_words=True),
        comparisons(for_b, b, Vocabulary(), name="system b", same_words=True),
        strict=True,
    ):
        words.append(with_a.gold.per_sentence(np.ones_like(with_a.heads)))
        right_a.append(_right(with_a, metric))
        right_b.append(_right(with_b, metric))
    if not sum(int(batch.sum()) for batch in words):
        raise TreebankError("nothing to compare: the treebanks have no words. Check the inputs.")
    return SentenceCounts(*(np.concatenate(column) for column in (words, right_a, right_b)))


def _right(comparison: Comparison, metric: Metric) -> NDArray[np.int64]:
    correct = comparison.heads
    if metric != "uas":
        correct = correct & (comparison.relations if metric == "las" else comparison.labels)
    return comparison.gold.per_sentence(correct)


def paired_bootstrap(
    gold: Iterable[Sentence],
    a: Iterable[Sentence],
    b: Iterable[Sentence],
    metric: Metric = "las",
    samples: int = 10_000,
    seed: int = 0,
) -> Bootstrap:
    """Paired bootstrap over sentences (Efron and Tibshirani 1993; Berg-Kirkpatrick et al. 2012).

    Each sample draws as many sentences as there are, with replacement. The interval runs from the
    2.5th to the 97.5th percentile of the samples' differences d*. The p-value is the share of
    samples with |d* - d| >= |d|: how often resampling alone, centred on no difference, gives one
    as large as the observed d. The observed sample is counted in, so p is never 0.
    O(samples * sentences) time; the same result for the same seed.

    Raises:
        TreebankError: as for sentence_counts.
        ValueError: samples < 1, or an unknown metric.
    """
    if samples < 1:
        raise ValueError(f"samples must be at least 1: got {samples}.")
    counts = sentence_counts(gold, a, b, metric)
    gain = counts.a - counts.b
    total_gain, total_words = int(gain.sum()), int(counts.words.sum())
    gains, words = _resample(gain, counts.words, samples, seed)
    # |d* - d| >= |d| times the words of both, in whole numbers: ties are not lost to rounding.
    extreme = np.abs(gains * total_words - total_gain * words) >= np.abs(total_gain) * words
    low, high = np.percentile(100 * (gains / words), [2.5, 97.5])
    return Bootstrap(
        difference=100 * (total_gain / total_words),
        low=float(low),
        high=float(high),
        p=(1 + int(np.count_nonzero(extreme))) / (1 + samples),
        samples=samples,
    )


def _resample(
    gain: NDArray[np.int64], words: NDArray[np.int64], samples: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Summed gain and words of each sample, a few samples at a time."""
    random = np.random.default_rng(seed)
    n = len(words)
    step = max(1, _DRAWS // n)
    gains = np.empty(samples, dtype=np.int64)
    sizes = np.empty(samples, dtype=np.int64)
    for start in range(0, samples, step):
        stop = min(start + step, samples)
        drawn = random.integers(0, n, size=(stop - start, n))
        gains[start:stop] = gain[drawn].sum(axis=1)
        sizes[start:stop] = words[drawn].sum(axis=1)
    return gains, sizes


def sign_test(
    gold: Iterable[Sentence],
    a: Iterable[Sentence],
    b: Iterable[Sentence],
    metric: Metric = "las",
) -> SignTest:
    """Sign test over sentences, as in Koo et al. (2007), footnote 7; ties are left out.

    Raises:
        TreebankError: as for sentence_counts.
    """
    counts = sentence_counts(gold, a, b, metric)
    better = int(np.count_nonzero(counts.a > counts.b))
    worse = int(np.count_nonzero(counts.a < counts.b))
    return SignTest(better, worse, len(counts.words) - better - worse, sign_test_p(better, worse))


def sign_test_p(better: int, worse: int) -> float:
    """Two-sided p-value of the sign test: twice the binomial tail at 1/2, at most 1.

    With n = better + worse fair coins, P(at most min(better, worse) heads), doubled.
    """
    from scipy.special import bdtr

    if better < 0 or worse < 0:
        raise ValueError(f"counts of sentences cannot be negative: got {better} and {worse}.")
    return min(1.0, 2.0 * float(bdtr(min(better, worse), better + worse, 0.5)))

"""Whether probabilities mean what they say: of the arcs given 0.8, are 80% right?

All figures are fractions between 0 and 1, as in the literature, not percentages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.evaluation.comparison import Comparison, Vocabulary, comparisons
from crossarc.evaluation.segments import located_error
from crossarc.treebank import Sentence
from crossarc.treebank.word import head_probability

__all__ = [
    "Calibration",
    "HeadReliability",
    "Reliability",
    "ReliabilityBin",
    "calibration",
    "head_calibration",
]

# HeadProb has four decimals: 1.0000 in a file stands for anything above 0.99995.
_HALF_LAST_PLACE = 5e-5


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Predictions with a probability in [lower, upper); the last bin includes 1.

    `confidence` is their mean probability and `accuracy` the share that is right, both None in
    an empty bin.
    """

    lower: float
    upper: float
    count: int
    confidence: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well probabilities fit what came true.

    count: number of predictions.
    ece: expected calibration error (Naeini et al. 2015): the mean over bins, weighted by count,
        of |accuracy - confidence|.
    brier: mean of (probability - outcome)^2, outcome 1 or 0 (Brier 1950).
    log_loss: mean of -log(probability of the outcome), in nats; inf if a certainty was wrong.
    bins: the reliability table.
    """

    count: int
    ece: float
    brier: float
    log_loss: float
    bins: tuple[ReliabilityBin, ...]


class Reliability:
    """Running sums behind a Calibration: add predictions in any number of pieces, O(bins) memory.

    Probabilities closer than `margin` to 0 or 1 are moved to that distance for log_loss only.
    """

    def __init__(self, bins: int = 10, *, margin: float = 0.0) -> None:
        if bins < 1:
            raise ValueError(f"bins must be at least 1: got {bins}.")
        self._margin = margin
        self._edges = np.arange(bins + 1) / bins
        self._count = np.zeros(bins, dtype=np.int64)
        self._confidence = np.zeros(bins)
        self._right = np.zeros(bins, dtype=np.int64)
        self._squares = 0.0
        self._surprise = 0.0

    def add(self, probabilities: NDArray[np.float64], correct: NDArray[np.bool_]) -> None:
        """Count predictions; `probabilities` must lie in [0, 1]. O(k log bins) for k of them."""
        bins = len(self._count)
        bin_index = np.searchsorted(self._edges[1:-1], probabilities, side="right")
        self._count += np.bincount(bin_index, minlength=bins)
        self._confidence += np.bincount(bin_index, weights=probabilities, minlength=bins)
        self._right += np.bincount(bin_index[correct], minlength=bins)
        self._squares += float(np.sum((probabilities - correct) ** 2))
        inner = np.clip(probabilities, self._margin, 1.0 - self._margin)
        with np.errstate(divide="ignore"):
            self._surprise -= float(np.sum(np.log(np.where(correct, inner, 1.0 - inner))))

    @property
    def count(self) -> int:
        """How many predictions were added."""
        return int(self._count.sum())

    def result(self) -> Calibration:
        """The figures so far, of one prediction or more."""
        total = self.count
        return Calibration(
            count=total,
            # sum_b count_b / total * |right_b / count_b - confidence_b / count_b|
            ece=float(np.abs(self._right - self._confidence).sum()) / total,
            brier=self._squares / total,
            log_loss=self._surprise / total,
            bins=tuple(
                ReliabilityBin(
                    lower=float(self._edges[b]),
                    upper=float(self._edges[b + 1]),
                    count=int(k),
                    confidence=float(self._confidence[b]) / int(k) if k else None,
                    accuracy=int(self._right[b]) / int(k) if k else None,
                )
                for b, k in enumerate(self._count)
            ),
        )


def calibration(probabilities: ArrayLike, correct: ArrayLike, bins: int = 10) -> Calibration:
    """Calibration error, Brier score, log-loss and reliability table of a set of predictions.

    Args:
        probabilities: the probability that each prediction was given, in [0, 1].
        correct: for each prediction, whether it was right.
        bins: number of bins of equal width.

    Raises:
        ValueError: no predictions, lengths that differ, a value outside [0, 1], or bins < 1.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    right = np.asarray(correct, dtype=np.bool_)
    if p.ndim != 1 or p.shape != right.shape or not len(p):
        raise ValueError(
            "probabilities and correct must be two lists of the same length, not empty: "
            f"got shapes {p.shape} and {right.shape}."
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("probabilities must lie between 0 and 1. Take exp() of log-probabilities.")
    sums = Reliability(bins)
    sums.add(p, right)
    return sums.result()


def head_calibration(
    gold: Iterable[Sentence], system: Iterable[Sentence], bins: int = 10
) -> Calibration | None:
    """Calibration of the HeadProb values in MISC of `system` against the heads of `gold`.

    Words without HeadProb and words that are not aligned with one of gold are left out; None if
    there is no other word. Sentences are read in step. For log_loss, a HeadProb of 0 or 1 is read
    as 0.00005 or 0.99995, the furthest that it can be from what was rounded to four decimals.
    O(words), memory of one batch.

    Raises:
        TreebankError: as for evaluate.
    """
    sums = HeadReliability(bins)
    for comparison in comparisons(gold, system, Vocabulary()):
        sums.add_comparison(comparison)
    return sums.result() if sums.count else None


class HeadReliability(Reliability):
    """Running sums over the HeadProb values of parsed sentences."""

    def __init__(self, bins: int = 10) -> None:
        super().__init__(bins, margin=_HALF_LAST_PLACE)

    def add_comparison(self, comparison: Comparison) -> None:
        """Count the aligned words of a batch that have a HeadProb."""
        words: list[int] = []
        values: list[float] = []
        first = 0
        for segment in comparison.segments:
            for number, sentence in enumerate(segment.system, segment.number[1]):
                if "HeadProb=" in "|".join(sentence.misc):
                    for word, probability in _head_probabilities(sentence, number):
                        words.append(first + word - 1)
                        values.append(probability)
                first += len(sentence)
        if words:
            counted = comparison.system.aligned[words]
            right = comparison.in_system(comparison.heads)[words]
            self.add(np.array(values, dtype=np.float64)[counted], right[counted])


def _head_probabilities(sentence: Sentence, number: int) -> Iterator[tuple[int, float]]:
    for word, misc in enumerate(sentence.misc, 1):
        try:
            probability = head_probability(misc)
        except ValueError as error:
            raise located_error(f"word {word} has {error}", sentence, number, word) from None
        if probability is not None:
            yield word, probability

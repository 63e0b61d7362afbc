"""Entropy of tree distributions, and how far one is from another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError

if TYPE_CHECKING:
    from crossarc.inference.hooks import TreeHooks

__all__ = ["check_comparable", "entropy_of_sums", "expected_surprise", "has_several_roots"]

Floats = NDArray[np.float64]

# An entropy from sums is accepted if its relative error is certainly below this.
_ENOUGH = 1e-11


def check_comparable(trees: TreeHooks, other: TreeHooks) -> None:
    """Raise ScoreError unless one can be measured by the other, over the same words and labels."""
    if not trees._is_comparable(other):
        raise ScoreError(
            "two distributions can be compared when they are of one kind and over the same "
            f"words and labels: got {type(trees).__name__} and {type(other).__name__}. Of two "
            "kinds, only projective.kl(spanning) can be asked"
        )
    ours, theirs = trees._batch, other._batch
    same = np.array_equal(ours.sizes, theirs.sizes)
    if not same or any(ours.scores(i).shape != theirs.scores(i).shape for i in range(len(ours))):
        raise ScoreError(
            "two distributions can be compared when they are of one kind and over the same "
            "words and labels"
        )


def expected_surprise(trees: TreeHooks, index: int, other: TreeHooks) -> float:
    """E[-log p_other] = log Z_other - E[score_other], with little cancellation; arcs only.

    Scores are relative to those of each word's most probable arc. The arcs that carry the
    probability then contribute nothing, and log Z shrinks by the same amount, summed exactly.
    """
    probabilities = trees._feasible_marginals(index, False)
    high, low = other._feasible_total(index)
    if _excludes(trees, index, other):
        return math.inf
    reference, terms = _relative_to_likeliest(probabilities, other._batch.scores(index))
    return math.fsum([high, low, *(-reference).tolist(), *(-terms).tolist()])


def entropy_of_sums(total: Sequence[float], parts: Sequence[tuple[Floats, Floats]]) -> float | None:
    """log Z - E[score], or None where cancellation might cost too many digits.

    With scores relative to those of each word's most probable part, the entropy is wrong by at most
    r (1 + sum of p |score - reference|), where r = (8 n + 32) eps bounds the relative errors of
    marginals and the error of log Z. Accepted if that is 1e-11 of the entropy (docs/numerics.md).

    Args:
        total: log Z as a sum of two floats.
        parts: marginals and scores of each kind of parts, axis 1 being the modifier; each word is
            that of exactly one part of a kind.
    """
    words = len(parts[0][0]) - 1
    terms, size, possible = [*total], 1.0, 0
    for probabilities, scores in parts:
        reference, own = _relative_to_likeliest(probabilities, scores)
        terms += [*(-reference).tolist(), -float(own.sum())]
        size += float(np.abs(own).sum())
        possible = max(possible, len(own))
    if possible == words:
        return 0.0  # one tree has all of the probability
    entropy = math.fsum(terms)
    error = (8 * words + 32) * np.finfo(np.float64).eps * size
    return entropy if error <= _ENOUGH * entropy else None


def _relative_to_likeliest(probabilities: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """For each word the score of its most probable part, and what all parts add to E[score] then.

    Args:
        probabilities: of parts, in the shape of the scores; axis 1 is the modifier, and each word
            is that of exactly one part.

    Returns:
        The references, one a word; and p (score - reference) of the parts with p > 0.
    """
    by_word = probabilities.swapaxes(0, 1)[1:].reshape(len(probabilities) - 1, -1)
    scores_by_word = scores.swapaxes(0, 1)[1:].reshape(len(scores) - 1, -1)
    likeliest = by_word.argmax(axis=1)
    reference: Floats = scores_by_word[np.arange(len(likeliest)), likeliest]
    words, columns = np.nonzero(by_word)
    differences = scores_by_word[words, columns] - reference[words]
    terms: Floats = by_word[words, columns] * differences
    return reference, terms


def _excludes(trees: TreeHooks, index: int, other: TreeHooks) -> bool:
    """Whether the other rules out a tree that is possible here, however improbable."""
    if other.root != trees.root and has_several_roots(trees, index):
        return True
    impossible = other._batch.scores(index) == -np.inf
    if not (impossible & (trees._batch.scores(index) > -np.inf)).any():
        return False
    return bool((trees._marginals(index, True)[impossible] > -np.inf).any())


def has_several_roots(trees: TreeHooks, index: int) -> bool:
    """Whether some tree has more than one root, by looking for the one with most."""
    if trees.root == "single":
        return False
    counts = np.where(trees._batch.scores(index) > -np.inf, 0.0, -np.inf)
    counts[0] += 1.0
    most = trees._best_under(index, counts)
    return most is not None and not most.is_single_root

"""Train the weights of the tags: once to see which weights matter, once more with these alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crossarc.models.tagging.classes import Classes
from crossarc.models.tagging.perceptron import BITS
from crossarc.models.tagging.perceptron_training import train_epoch
from crossarc.models.tagging.sparse import rounded, strongest
from crossarc.models.tagging.words import Words

__all__ = ["train_tags"]

Weights = NDArray[np.int16]

_KEPT = 350_000
_EXPLORING, _SETTLING = 3, 10


def train_tags(
    words: Words,
    gold: NDArray[np.int64],
    classes: Classes,
    *,
    seed: int,
    quality: Callable[[Weights], float] | None = None,
) -> Weights:
    """Weights for the tags of words, O(epochs x words x (features x parts + classes)).

    Args:
        quality: if given, the weights of the best round are taken instead of the last.
    """
    size = (1 << BITS) + classes.part_count
    kept = np.ones(size, np.bool_)
    average = np.zeros(size)
    tags = np.zeros(len(gold), np.int64)
    random = np.random.default_rng(seed)
    best, best_quality = rounded(average), -1.0
    for epochs in (_EXPLORING, _SETTLING):
        weights, sums, step = np.rint(average).astype(np.int32), np.zeros(size), 0
        for _ in range(epochs):
            step = train_epoch(
                random.permutation(len(words.firsts) - 1),
                words.firsts,
                words.atoms,
                words.hashes,
                classes.coarse,
                classes.parts,
                classes.shared,
                classes.part_count,
                weights,
                sums,
                kept,
                BITS,
                step,
                gold,
                tags,
            )
            if quality is not None and epochs == _SETTLING:
                now = rounded(weights - sums / step)
                if (value := quality(now)) > best_quality:
                    best, best_quality = now, value
        average = weights - sums / max(step, 1)
        kept = strongest(average, _KEPT)
        average[~kept] = 0
    return best if quality is not None else rounded(average)

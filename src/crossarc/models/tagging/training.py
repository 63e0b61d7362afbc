"""Train the weights of the tags: the mean of several runs over sentences in different orders.

Each run is twofold: once to see which weights matter, once more with only these.
"""

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
    runs: int,
    seed: int,
    quality: Callable[[Weights], float] | None = None,
) -> Weights:
    """Weights for the tags of words, O(runs x epochs x words x (features x parts + classes)).

    Args:
        quality: if given, the weights of the best round of each run are taken, not the last.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros((1 << BITS) + classes.part_count)
    for _ in range(runs):
        total += _run(words, gold, classes, rng, quality)
    total[~strongest(total, _KEPT)] = 0
    return rounded(total / runs)


def _run(
    words: Words,
    gold: NDArray[np.int64],
    classes: Classes,
    rng: np.random.Generator,
    quality: Callable[[Weights], float] | None,
) -> NDArray[np.float64]:
    size = (1 << BITS) + classes.part_count
    kept = np.ones(size, np.bool_)
    average = np.zeros(size)
    tags = np.zeros(len(gold), np.int64)
    best, best_quality = average, -1.0
    for epochs in (_EXPLORING, _SETTLING):
        weights, sums, step = np.rint(average).astype(np.int32), np.zeros(size), 0
        for _ in range(epochs):
            step = train_epoch(
                rng.permutation(len(words.firsts) - 1),
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
                now = weights - sums / step
                if (value := quality(rounded(now))) > best_quality:
                    best, best_quality = now, value
        average = weights - sums / max(step, 1)
        kept = strongest(average, _KEPT)
        average[~kept] = 0
    return best if quality is not None else average

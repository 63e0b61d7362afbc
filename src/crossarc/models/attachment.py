"""How many words get the right head and relation, while a model is learnt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.models.encode import Encoded

__all__ = ["attachment_scores"]

Ints = NDArray[np.int64]


def attachment_scores(
    gold: Encoded, heads: Ints, labels: Ints, names: Sequence[str]
) -> dict[str, float]:
    """LAS and UAS in percent of the words that have a head; subtypes of labels do not count.

    Args:
        heads, labels: of all words, sentence after sentence.
        names: of the labels.
    """
    gold_heads, gold_labels = gold.gold_arcs()
    given = gold_heads >= 0
    right = (heads == gold_heads)[given]
    plain = np.unique([name.partition(":")[0] for name in names], return_inverse=True)[1]
    same = ((gold_labels >= 0) & (plain[labels] == plain[gold_labels]))[given]
    return {"las": 100.0 * float(np.mean(right & same)), "uas": 100.0 * float(np.mean(right))}

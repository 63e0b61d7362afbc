"""Models of higher order for tests."""

from __future__ import annotations

from typing import Literal

import numpy as np

from crossarc import Sentence
from crossarc.models.first_order.model import LinearModel
from crossarc.models.higher_order.model import HigherOrderModel
from support.small_treebank import WORKED, toy_treebank

#: A tree in which arcs cross: 5 -> 2 and 1 -> 4 over 3.
CROSSING = Sentence.build(
    ["dogs", "the", "chase", "often", "cats"],
    upos=["NOUN", "DET", "VERB", "ADV", "NOUN"],
    heads=[3, 5, 0, 1, 3],
    deprels=["nsubj", "det", "root", "advmod", "obj"],
)


def weighted_model(
    order: int = 3,
    *,
    bits: int = 12,
    projective: bool = False,
    root: Literal["single", "multi"] = "single",
    spread: float = 1.0,
    threshold: float | None = 0.0,
) -> HigherOrderModel:
    """A model whose weights are drawn at random; the threshold is that of pruning."""
    sentences = [WORKED, *toy_treebank(5, seed=0)]
    first = LinearModel.build(sentences, cutoff=1, arc_bits=bits, label_bits=bits)
    model = HigherOrderModel(
        first, order=order, projective=projective, root=root, bits=bits, threshold=threshold
    )
    rng = np.random.default_rng(1)
    for scorer in (first.arcs, first.label_scorer, *model.scorers.values()):
        scorer.weights[:] = spread * rng.normal(size=len(scorer.weights))
    return model

"""What is known of a sentence once its tree is found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.app.server.schema import Constraints
from crossarc.treebank import Sentence

__all__ = ["Decoded", "Ranked"]

Floats = NDArray[np.float64]


@dataclass(slots=True)
class Ranked:
    """One of the k best trees."""

    heads: list[int]
    deprels: list[str]
    log_prob: float


@dataclass(slots=True)
class Decoded:
    """A sentence with its tree.

    Attributes:
        sentence: with tags; heads and relations are those of the input.
        constraints: that the tree satisfies.
        marginals: the probability of each arc [h, m] under the constraints; none where the model
            gives one tree only. So are the fields below.
        candidates: for each word, heads with their probability and relation.
        relations: for each word, relations to its head with their probability.
        log_prob: of the heads, summed over relations.
        information: of each word's head about all heads, in nats.
        compared: a second tree, if one was asked for.
    """

    sentence: Sentence
    constraints: Constraints
    heads: list[int]
    deprels: list[str]
    marginals: Floats | None = None
    deprel_probabilities: Floats | None = None
    candidates: list[list[tuple[int, float, str]]] | None = None
    relations: list[list[tuple[str, float]]] | None = None
    log_prob: float | None = None
    entropy: float | None = None
    information: Floats | None = None
    kbest: list[Ranked] | None = None
    compared: Ranked | None = None

"""Sums as packed forests give them; `ProjectiveTrees` itself asks faster kernels."""

from __future__ import annotations

import numpy as np

import crossarc as ca
from crossarc.inference.forest.inside import marginals

__all__ = ["ask_forests"]


def ask_forests(trees: ca.ProjectiveTrees, sentences: int) -> None:
    """log Z and marginals of each sentence."""
    for index in range(sentences):
        forest = trees._forest(index)
        marginals(forest, False, np.empty(len(forest.score)))

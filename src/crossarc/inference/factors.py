"""Factors beyond arcs: scores of pairs and triples of arcs, dense or as a list of parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import ScoreError

__all__ = ["Given", "Parts"]

Floats = NDArray[np.float64]
Shorts = NDArray[np.int32]


class Parts:
    """A sparse factor: the scores of some parts; those not listed score 0.

    Args:
        index: (p, k), the place of each part in the dense array of the factor; no place twice.
        score: (p,), finite natural logarithms.

    Raises:
        ScoreError: arrays of a wrong shape or kind.
    """

    def __init__(self, index: ArrayLike, score: ArrayLike) -> None:
        places, scores = np.asarray(index), np.asarray(score)
        if places.size == 0 and places.dtype.kind == "f":
            places = places.astype(np.int32)
        if places.ndim != 2 or places.dtype.kind not in "iu":
            raise ScoreError(
                f"Parts: index must be whole numbers (parts, k): got {places.dtype} {places.shape}"
            )
        if scores.shape != (len(places),) or scores.dtype.kind not in "fiu":
            raise ScoreError(
                f"Parts: score must be ({len(places)},), one number a part: got {scores.dtype} "
                f"{scores.shape}"
            )
        if places.size and (places.min() < 0 or places.max() >= 1 << 30):
            raise ScoreError("Parts: index must not be negative or beyond 2^30")
        self.index: Shorts = places.astype(np.int32)
        self.score: Floats = scores.astype(np.float64)
        self.index.flags.writeable = self.score.flags.writeable = False

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"Parts({len(self)} of order {self.index.shape[1]})"


Given = NDArray[Any] | Parts

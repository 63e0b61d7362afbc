"""Factors beyond arcs: scores of pairs and triples of arcs, dense or as a list of parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import ScoreError
from crossarc.inference.batch import Batch
from crossarc.inference.packing import pack_siblings

__all__ = ["Given", "Parts", "SiblingFactor", "sibling_parts"]

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


class SiblingFactor:
    """`sibling[h, s, m]` of every sentence of a batch, checked and copied.

    One part for every arc h -> m; s is the modifier of h nearest to m between h and m, or s = h
    when there is none. Entries that no tree can use are never read.

    Args:
        given: an array or Parts; for a batch a list, for padded scores also a padded array.
        batch: the scores of the same sentences.
        single: whether the root has one modifier.

    Raises:
        ScoreError: a wrong shape or place, or a score that is not finite.
    """

    name = "sibling"

    def __init__(self, given: Given | Sequence[Given], batch: Batch, single: bool) -> None:
        self._batch = batch
        self._single = single
        listed = self._listed(given)
        #: For each sentence the scores: flat (n + 1)^3, or one a listed part.
        self.scores: list[Floats] = []
        #: For each sentence None, or the dense place of each listed part (-1: no tree has it).
        self.places: list[NDArray[np.int64] | None] = []
        for index, one in enumerate(listed):
            take = self._take_parts if isinstance(one, Parts) else self._take_dense
            take(index, one)

    def _listed(self, given: Any) -> list[Any]:
        batch = self._batch
        if not batch.is_batch:
            return [given]
        if isinstance(given, Parts) or len(given) != len(batch):
            raise ScoreError(
                f"{self.name} must be a list of {len(batch)} arrays or Parts, as there are "
                "sentences"
            )
        if isinstance(given, np.ndarray) and given.ndim == 4:
            widths = (batch.sizes + 1).tolist()
            return [one[:w, :w, :w] for one, w in zip(given, widths, strict=True)]
        return list(given)

    def _usable(self, index: int) -> NDArray[np.bool_]:
        """Where the parts of trees stand: both arcs allowed, s between h and m or h itself."""
        allowed = self._batch.square(index) > -np.inf
        siblings = allowed | np.eye(len(allowed), dtype=bool)
        if self._single:
            siblings[0, 1:] = False
        between = _between(len(allowed))
        return between & allowed[:, None, :] & siblings[:, :, None]

    def _take_dense(self, index: int, given: Any) -> None:
        width = int(self._batch.sizes[index]) + 1
        array = np.asarray(given)
        name = self._batch.name(index)
        if array.shape != (width,) * 3 or array.dtype.kind not in "fiu":
            raise ScoreError(
                f"{name}{self.name} must be real numbers {(width,) * 3}, [h, s, m]: got "
                f"{array.dtype} {array.shape}"
            )
        scores = np.array(array, np.float64, order="C")
        if not np.isfinite(scores).all():
            given, scores = scores, np.zeros(array.shape)
            bad = pack_siblings(given, self._batch.square(index), self._single, scores)
            if bad >= 0:
                where = [int(i) for i in np.unravel_index(bad, scores.shape)]
                self._refuse(index, where, float(given.reshape(-1)[bad]))
        self._keep(scores.reshape(-1), None)

    def _take_parts(self, index: int, given: Parts) -> None:
        width = int(self._batch.sizes[index]) + 1
        name = self._batch.name(index)
        if given.index.shape[1] != 3:
            raise ScoreError(
                f"{name}{self.name} parts have 3 places, [h, s, m]: got {given.index.shape[1]}"
            )
        outside = (given.index >= width).any(axis=1)
        if outside.any():
            where = given.index[outside][0].tolist()
            raise ScoreError(f"{name}{self.name} part {where} is not in a sentence of {width - 1}")
        places = np.ravel_multi_index(tuple(given.index.T.astype(np.int64)), (width,) * 3)
        if len(np.unique(places)) < len(places):
            order = np.sort(places)
            twice = order[:-1][order[1:] == order[:-1]][0]
            where = [int(i) for i in np.unravel_index(twice, (width,) * 3)]
            raise ScoreError(f"{name}{self.name} part {where} is listed twice")
        usable = self._usable(index).reshape(-1)[places]
        scores = np.where(usable, given.score, 0.0)
        bad = ~np.isfinite(scores)
        if bad.any():
            self._refuse(index, given.index[bad][0].tolist(), scores[bad][0])
        self._keep(scores, np.where(usable, places, -1))

    def _refuse(self, index: int, where: list[int], value: float) -> None:
        place = ", ".join(map(str, where))
        raise ScoreError(
            f"{self._batch.name(index)}{self.name}[{place}] is {value}: use finite numbers; arcs "
            "are forbidden by -inf in scores"
        )

    def _keep(self, scores: Floats, places: NDArray[np.int64] | None) -> None:
        scores.flags.writeable = False
        self.scores.append(scores)
        self.places.append(places)

    def dense(self, index: int) -> Floats:
        """The scores of a sentence as (n + 1, n + 1, n + 1), finite where no tree has a part."""
        width = int(self._batch.sizes[index]) + 1
        places = self.places[index]
        if places is None:
            return self.scores[index].reshape((width,) * 3)
        full = np.zeros(width**3)
        full[places[places >= 0]] = self.scores[index][places >= 0]
        return full.reshape((width,) * 3)

    def given(self, index: int) -> Given:
        """The factor of one sentence, as it was given."""
        places = self.places[index]
        if places is None:
            return self.dense(index)
        width = int(self._batch.sizes[index]) + 1
        used = places >= 0
        places_used = np.unravel_index(places[used], (width,) * 3)
        return Parts(np.stack(places_used, axis=1), self.scores[index][used])

    def of_tree(
        self, index: int, heads: NDArray[np.int64], siblings: NDArray[np.int64] | None = None
    ) -> list[float]:
        """The scores of the parts of a tree, whose siblings may be known."""
        width = int(self._batch.sizes[index]) + 1
        if siblings is None:
            siblings = np.array([s for _, s, _ in sibling_parts(heads.tolist())])
        wanted = (heads * width + siblings) * width + np.arange(1, width)
        scores, places = self.scores[index], self.places[index]
        if places is None:
            return [float(score) for score in scores[wanted]]
        _, listed, _ = np.intersect1d(places, wanted, return_indices=True)
        return [float(score) for score in scores[listed]]


@lru_cache(maxsize=8)
def _between(width: int) -> NDArray[np.bool_]:
    """Where s is strictly between h and m, or h itself."""
    h, s, m = np.ogrid[:width, :width, :width]
    between: NDArray[np.bool_] = ((h < s) & (s < m)) | ((m < s) & (s < h))
    between |= (s == h) & (h != m)
    return between


def sibling_parts(heads: Sequence[int]) -> list[tuple[int, int, int]]:
    """(h, s, m) for every arc of a tree, words in order."""
    parts = []
    for m, h in enumerate(heads, 1):
        step = 1 if h < m else -1
        nearer = [s for s in range(m - step, h, -step) if heads[s - 1] == h]
        parts.append((h, nearer[0] if nearer else h, m))
    return parts

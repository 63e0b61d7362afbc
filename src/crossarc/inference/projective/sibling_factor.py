"""The sibling factor of a batch of sentences, as the kernels read it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.factors import Given, Parts
from crossarc.inference.projective.sibling.charts import rows_of
from crossarc.inference.projective.sibling.pack import pack, part_scores, unpack
from crossarc.inference.runtime.batch import Batch

__all__ = ["SiblingFactor", "sibling_parts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
        counts = [rows_of(words) for words in batch.sizes.tolist()]
        ends = list(accumulate(counts))
        #: For each sentence, where its scores begin in `rows`.
        self.starts: Ints = np.array([0, *ends[:-1]] if ends else [], np.int64)
        used = ends[-1] if ends else 0
        #: The scores of parts, as `sibling.charts` places them; finite.
        self.rows: Floats = np.empty(used + 2 * max(batch.sizes.tolist(), default=0))
        self.rows[used:] = 0.0  # read beside a longer sentence
        #: For each sentence, the size of its largest score or more.
        self.largest: Floats = np.empty(len(batch))
        #: For each sentence None, or of listed parts the scores and places in the dense array, -1
        #: for one that no tree has.
        self.listed: list[tuple[Floats, Ints] | None] = [None] * len(listed)
        for index, (one, end, count) in enumerate(zip(listed, ends, counts, strict=True)):
            if isinstance(one, Parts):
                self.listed[index] = self._check_parts(index, one)
                dense = self._spread(index)
            else:
                dense = self._check_dense(index, one)
            self.largest[index] = pack(dense, single, self.rows[end - count :])
            if np.isnan(self.largest[index]):
                self._pack_usable(index, dense)

    def own(self, index: int, rows: Floats | None = None) -> Floats:
        """A sentence's part of `rows`, or of an array like it."""
        return (self.rows if rows is None else rows)[self.starts[index] :]

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

    def _check_dense(self, index: int, given: Any) -> Floats:
        width = self._batch.width(index)
        array = np.asarray(given)
        if array.shape != (width,) * 3 or array.dtype.kind not in "fiu":
            raise ScoreError(
                f"{self._batch.name(index)}{self.name} must be real numbers {(width,) * 3}, "
                f"[h, s, m]: got {array.dtype} {array.shape}"
            )
        return np.ascontiguousarray(array, np.float64)

    def _spread(self, index: int) -> Floats:
        """Listed parts in a dense array."""
        width = self._batch.width(index)
        kept = self.listed[index]
        assert kept is not None
        scores, places = kept
        full = np.zeros(width**3)
        full[places[places >= 0]] = scores[places >= 0]
        return full.reshape((width,) * 3)

    def _pack_usable(self, index: int, scores: Floats) -> None:
        """The same where some numbers are not finite: in places where no tree has a part?"""
        usable = self._usable(index)
        bad = np.flatnonzero(usable & ~np.isfinite(scores))
        if len(bad):
            where = [int(i) for i in np.unravel_index(bad[0], scores.shape)]
            self._refuse(index, where, float(scores.reshape(-1)[bad[0]]))
        clean = np.where(usable, scores, 0.0)
        self.largest[index] = pack(clean, self._single, self.own(index))

    def _check_parts(self, index: int, given: Parts) -> tuple[Floats, Ints]:
        width = self._batch.width(index)
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
        return scores, np.where(usable, places, -1)

    def _refuse(self, index: int, where: list[int], value: float) -> None:
        place = ", ".join(map(str, where))
        raise ScoreError(
            f"{self._batch.name(index)}{self.name}[{place}] is {value}: use finite numbers; arcs "
            "are forbidden by -inf in scores"
        )

    def dense(self, index: int) -> Floats:
        """The scores of a sentence as (n + 1, n + 1, n + 1), 0 where no tree has a part."""
        return self.unpacked(index, self.rows, 0.0)

    def unpacked(self, index: int, rows: Floats, empty: float) -> Floats:
        """A sentence's numbers of an array like `rows` as a dense array."""
        width = self._batch.width(index)
        full = np.full((width,) * 3, empty)
        unpack(self.own(index, rows), self._single, full)
        return full

    def parts(self, index: int) -> tuple[Floats, Ints | None]:
        """The scores of all parts, laid flat, or of those that are listed, and their places."""
        kept = self.listed[index]
        return (self.dense(index).reshape(-1), None) if kept is None else kept

    def given(self, index: int) -> Given:
        """The factor of one sentence, as it was given."""
        kept = self.listed[index]
        if kept is None:
            return self.dense(index)
        scores, places = kept
        width, used = self._batch.width(index), places >= 0
        places_used = np.unravel_index(places[used], (width,) * 3)
        return Parts(np.stack(places_used, axis=1), scores[used])

    def of_tree(
        self, index: int, heads: NDArray[np.int64], siblings: NDArray[np.int64] | None = None
    ) -> list[float]:
        """The scores of the parts of a tree, whose siblings may be known."""
        if siblings is None:
            siblings = np.array([s for _, s, _ in sibling_parts(heads.tolist())])
        scores = np.empty(len(heads))
        part_scores(self.own(index), heads, siblings, scores)
        return [float(score) for score in scores]


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

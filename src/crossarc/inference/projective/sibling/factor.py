"""The sibling factor of a batch of sentences, as the kernels read it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import SIBLING, FactorScores, Given, Parts
from crossarc.inference.projective.sibling.charts import rows_of
from crossarc.inference.projective.sibling.pack import pack, part_scores, unpack
from crossarc.inference.runtime.batch import Batch

__all__ = ["SiblingFactor"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SiblingFactor(FactorScores):
    """`sibling[h, s, m]` packed: a third of the dense array, the parts that trees can have.

    Attributes:
        rows: the scores of parts of all sentences, as `charts` lays them out; 0 for forbidden ones.
        starts: for each sentence, where its scores begin in `rows`.
        largest: for each sentence, the size of its largest score or more.
    """

    def __init__(self, given: Given | Sequence[Given], batch: Batch, single: bool) -> None:
        super().__init__(SIBLING, given, batch, single)

    def _allocate(self) -> None:
        sizes: list[int] = self._batch.sizes.tolist()
        ends = [0, *accumulate(map(rows_of, sizes))]
        self.starts: Ints = np.array(ends[:-1], np.int64)
        self._begins = ends
        self.rows: Floats = np.empty(ends[-1] + 2 * max(sizes, default=0))
        self.rows[ends[-1] :] = 0.0  # read beside a longer sentence
        self.largest: Floats = np.empty(len(sizes))
        # The dense arrays of sentences with forbidden parts.
        self._forbidden: dict[int, Floats] = {}

    def _accept_parts(self, index: int, given: Parts) -> None:
        super()._accept_parts(index, given)
        listed = self.listed[index]
        assert listed is not None
        self._keep_array(index, self._unlisted(index, *listed))

    def _keep_array(self, index: int, given: NDArray[Any]) -> None:
        array = np.ascontiguousarray(given, np.float64)
        self.largest[index] = largest = pack(array, self._single, self.own(index))
        if math.isnan(largest):
            clean = self._usable_only(index, array)
            if self.forbids(index):  # kernels have no weight of 0 for a part
                self._forbidden[index] = clean
                clean = np.where(clean > -np.inf, clean, 0.0)
            self.largest[index] = pack(clean, self._single, self.own(index))

    def own(self, index: int, rows: Floats | None = None) -> Floats:
        """A sentence's part of `rows`, or of an array like it."""
        return (self.rows if rows is None else rows)[self._begins[index] :]

    def dense(self, index: int) -> Floats:
        """As (n + 1, n + 1, n + 1), 0 where no tree has a part."""
        forbidden = self._forbidden.get(index)
        return self.unpacked(index, self.rows, 0.0) if forbidden is None else forbidden

    def unpacked(self, index: int, rows: Floats, empty: float) -> Floats:
        """A sentence's numbers of an array like `rows` as a dense array."""
        full = np.full(self.factor.shape(self._batch.width(index)), empty)
        unpack(self.own(index, rows), self._single, full)
        return full

    def of_tree(self, index: int, heads: Ints) -> list[float]:
        """The scores of the parts of a tree."""
        if self.forbids(index):
            return super().of_tree(index, heads)
        siblings = np.ascontiguousarray(self.factor.parts_of(heads)[:, 1])
        scores = np.empty(len(heads))
        part_scores(self.own(index), heads, siblings, scores)
        found: list[float] = scores.tolist()
        return found

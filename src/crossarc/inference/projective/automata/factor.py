"""Factors of a batch, packed: only parts that projective trees over the allowed arcs have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import (
    GRAND_SIBLING,
    GRANDCHILD,
    SIBLING,
    TRI_SIBLING,
    Factor,
    FactorScores,
    Given,
    Parts,
    weighted,
)
from crossarc.inference.projective.automata.layout import (
    GRAND_SIBLING_PARTS,
    GRANDCHILD_PARTS,
    SIBLING_PARTS,
    TRI_SIBLING_PARTS,
    Layout,
    lay_out,
    locate,
    part_cells,
    part_count,
)
from crossarc.inference.runtime.batch import Batch

__all__ = ["PackedArray", "PackedFactor", "layout_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_KINDS = {
    SIBLING.name: SIBLING_PARTS,
    GRANDCHILD.name: GRANDCHILD_PARTS,
    GRAND_SIBLING.name: GRAND_SIBLING_PARTS,
    TRI_SIBLING.name: TRI_SIBLING_PARTS,
}


def layout_of(scores: Floats, limits: Ints) -> Layout:
    """The layout of a sentence's scores, with or without labels."""
    return lay_out(scores.reshape(*scores.shape[:2], -1), limits)


class PackedArray:
    """What was given as a dense array, as one distribution hands it to another."""

    def __init__(self, kind: int, layout: Layout, score: Floats) -> None:
        self.kind, self.layout, self.score = kind, layout, score

    def at(self, cells: Ints) -> Floats:
        """The scores of parts by their indices in the flat dense array; 0 where there is none."""
        numbers = locate(self.layout, self.kind, cells)
        found = np.zeros(len(cells))
        found[numbers >= 0] = self.score[numbers[numbers >= 0]]
        return found


class PackedFactor(FactorScores):
    """A factor packed as `layout` numbers its parts.

    Args:
        limits: for each sentence, the most modifiers of each node.
    """

    def __init__(
        self, factor: Factor, given: Given | Sequence[Given], batch: Batch, limits: Sequence[Ints]
    ) -> None:
        self._kind = _KINDS[factor.name]
        self._layouts = [layout_of(batch.scores(i), one) for i, one in enumerate(limits)]
        self._packed: list[Floats] = []
        # The number of each listed part, -1 where no tree has it; None for an array.
        self._numbers: list[Ints | None] = []
        self._given: list[Parts | PackedArray] = []
        super().__init__(factor, given, batch, single=False)

    def _accept_parts(self, index: int, given: Parts) -> None:
        layout = self._layouts[index]
        indices = self._flat_indices(index, given)
        numbers = locate(layout, self._kind, indices)
        usable, packed = numbers >= 0, np.zeros(part_count(layout, self._kind))
        packed[numbers[usable]] = 1.0
        if np.count_nonzero(packed) < np.count_nonzero(usable) or not usable.all():
            self._check_distinct(index, indices)
        scores = self._read_scores(index, given, usable)
        packed[numbers[usable]] = scores[usable]
        self.listed[index] = scores, np.where(usable, indices, -1)
        self._packed.append(packed)
        self._numbers.append(numbers)
        self._given.append(given)

    def _checked_array(self, index: int, given: Any) -> Any:
        return given if isinstance(given, PackedArray) else super()._checked_array(index, given)

    def _keep_array(self, index: int, given: NDArray[Any] | PackedArray) -> None:
        layout = self._layouts[index]
        cells = part_cells(layout, self._kind, part_count(layout, self._kind))
        if isinstance(given, PackedArray):
            values = given.at(cells)
        else:
            values = np.where(cells >= 0, given.reshape(-1)[cells], 0.0).astype(np.float64)
            shape = given.shape
            if not np.isfinite(values).all():
                self._note_forbidden(
                    index, values, lambda first: np.unravel_index(cells[first], shape)
                )
        self._packed.append(values)
        self._numbers.append(None)
        self._given.append(PackedArray(self._kind, layout, values))

    def count(self, index: int) -> int:
        """How many parts `scores` has."""
        return len(self._packed[index])

    def scores(self, index: int) -> Floats:
        """The scores of all parts that trees may have."""
        return self._packed[index]

    def dense(self, index: int) -> Floats:
        """As a dense array, 0 where no tree has a part."""
        return self._scattered(index, self._packed[index], 0.0)

    def shaped(self, index: int, values: Floats, missing: float) -> Floats:
        """One value for each of `scores`, in the shape that was given."""
        numbers = self._numbers[index]
        if numbers is None:
            return self._scattered(index, values, missing)
        out = np.full(len(numbers), missing)
        out[numbers >= 0] = values[numbers[numbers >= 0]]
        return out

    def _scattered(self, index: int, values: Floats, missing: float) -> Floats:
        out = np.full(self.factor.shape(self._batch.width(index)), missing)
        cells = part_cells(self._layouts[index], self._kind, len(values))
        out.reshape(-1)[cells[cells >= 0]] = values[cells >= 0]
        return out

    def part_numbers(self, index: int, first: int) -> Shorts | None:
        """Those of `scores` follow each other."""
        return None

    def given(self, index: int, weight: float = 1.0) -> Parts | PackedArray:
        """The factor of one sentence, for another distribution, times a weight."""
        own = self._given[index]
        if isinstance(own, PackedArray):
            return PackedArray(self._kind, self._layouts[index], weighted(own.score, weight))
        return Parts(own.index, weighted(own.score, weight))

    def of_tree(self, index: int, heads: Ints) -> list[float]:
        """The scores of the parts of a tree."""
        shape = self.factor.shape(len(heads) + 1)
        cells = np.ravel_multi_index(tuple(self.factor.parts_of(heads).T), shape)
        numbers = locate(self._layouts[index], self._kind, cells.astype(np.int64))
        found: list[float] = self._packed[index][numbers[numbers >= 0]].tolist()
        return found

"""The model of all factors and of limits of arity: the smallest automata that serve them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.factors import (
    GRAND_SIBLING,
    GRANDCHILD,
    SIBLING,
    TRI_SIBLING,
    Factor,
    FactorScores,
    Given,
)
from crossarc.inference.forest.arrays import NOT_SCORED, Arrays, Numbering
from crossarc.inference.projective.model import Model
from crossarc.inference.runtime.batch import Batch

__all__ = ["HeadAutomata"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Instances and items are numbered in 32 bits.
_MOST_INSTANCES = (1 << 31) - 1


class HeadAutomata(Model):
    """Sibling, grandchild, grand-sibling and tri-sibling factors, any of them; limits of arity."""

    factors: ClassVar[tuple[Factor, ...]] = (SIBLING, GRANDCHILD, GRAND_SIBLING, TRI_SIBLING)
    has_limits = True
    is_packed = True

    def emit(self, scores: Floats, limits: Ints, numbering: Mapping[str, Numbering]) -> Arrays:
        """See `Model`."""
        from crossarc.inference.projective.automata.factor import layout_of
        from crossarc.inference.projective.automata.rules import emit_automata
        from crossarc.inference.projective.automata.system import FirstParts, most_instances

        layout = layout_of(scores, limits)
        grand = GRANDCHILD.name in numbering or GRAND_SIBLING.name in numbering
        second = TRI_SIBLING.name in numbering
        most = most_instances(layout, grand, second) + len(layout.head) * scores.shape[2]
        if most > _MOST_INSTANCES:
            raise ScoreError(
                f"{len(layout.head)} arcs and these factors are too many for a packed forest: "
                "forbid improbable arcs by -inf in scores"
            )
        first = [numbering.get(factor.name, NOT_SCORED).first for factor in self.factors]
        return emit_automata(scores, layout, grand, second, FirstParts(*first), most)

    def hold(
        self,
        factor: Factor,
        given: Given | Sequence[Given],
        batch: Batch,
        limits: Sequence[Ints],
    ) -> FactorScores:
        """Packed: the parts of trees over allowed arcs."""
        from crossarc.inference.projective.automata.factor import PackedFactor

        return PackedFactor(factor, given, batch, limits)

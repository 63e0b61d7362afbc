"""The parts of a batch of sentences, and the weights that score them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import Parts
from crossarc.inference.part_lists import batch_parts
from crossarc.learning import GROUPS, WeightTable
from crossarc.models.encode import Encoded
from crossarc.models.features import Plan
from crossarc.models.first_order.scorers import Scorer
from crossarc.models.higher_order.kernels import gather_parts, score_parts
from crossarc.parallel import over_ranges

__all__ = ["PartList", "PartScorer"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
T = TypeVar("T")

# Parts whose first word is the grandparent.
_UPWARD = ("grandchild", "grand_sibling")


@dataclass(frozen=True, slots=True)
class PartList:
    """Parts of one factor, sentence after sentence.

    Attributes:
        index: (parts, words of a part), as `Parts.index`.
        offsets: where the parts of each sentence begin, and where the last ones end.
    """

    index: Shorts
    offsets: Ints

    @classmethod
    def of_arcs(
        cls, allowed: Bools, encoded: Encoded, factor: str, *, projective: bool, single: bool
    ) -> PartList:
        """All parts that trees over the allowed arcs may have."""
        widths = encoded.sizes + 1
        return cls(*batch_parts(allowed, widths, factor, projective=projective, single=single))

    def split(self, scores: Floats) -> list[Parts]:
        """The factor of each sentence, given the scores of all parts."""
        ranges = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return [Parts(self.index[begin:end], scores[begin:end]) for begin, end in ranges]

    def __len__(self) -> int:
        return len(self.index)


class PartScorer(Scorer):
    """Scores of parts of one factor.

    Args:
        bits: the table has 2**bits weights.
    """

    def __init__(self, factor: str, plan: Plan, *, bits: int) -> None:
        part = bits - (GROUPS.bit_length() - 1)
        super().__init__(plan, bits=part, tag=(0, 0), size=1 << bits)
        self._is_upward = factor in _UPWARD

    def _on(self, kernel: Callable[..., T], encoded: Encoded, parts: PartList) -> Callable[..., T]:
        """A kernel with its first arguments filled in."""
        words = encoded.codes, encoded.sizes, encoded.starts
        templates = self.plan.atoms, self.plan.bounds, self.bits
        return partial(kernel, *words, *templates, parts.index, parts.offsets, self._is_upward)

    def scores(self, encoded: Encoded, parts: PartList, threads: int | None = None) -> Floats:
        """The score of each part."""
        score = self._on(score_parts[self.weights.dtype], encoded, parts)
        out = np.empty(len(parts))

        def work(begin: int, end: int) -> None:
            score(self.weights, self.scale, out, begin, end)

        over_ranges(work, (np.diff(parts.offsets) + 20).tolist(), threads)
        return out

    def gather(
        self,
        encoded: Encoded,
        parts: PartList,
        gradient: Floats,
        table: WeightTable,
        threads: int | None = None,
    ) -> None:
        """Gather the gradient in the weights, given that in the scores of parts."""
        gather = self._on(gather_parts, encoded, parts)
        table.update(partial(gather, gradient), _no_step, threads)


def _no_step(group: int) -> None:
    """Weights are changed when the gradients of all tables are known."""

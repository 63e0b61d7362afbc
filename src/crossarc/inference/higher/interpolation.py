"""Beliefs, interpolated with the exact probabilities of trees that are scored by arcs only.

Belief propagation is surest where it is wrong: its messages go round in loops. Without factors
probabilities are exact, and of linear interpolation (Jelinek & Mercer 1980)

    p(h -> m) = (1 - share) belief(h -> m) + share p_arcs(h -> m)

the sums over the heads of a word, and with a single root over the words at the root, stay 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.spanning import SpanningTrees
from crossarc.inference.typed import Root

__all__ = ["FirstOrder", "Interpolation"]

Floats = NDArray[np.float64]


class FirstOrder(NamedTuple):
    """A distribution over trees by scores of arcs only, and how much it counts.

    Attributes:
        share: from 0 to 1.
        offset: [h, m], finite: what its scores have more than the scores of arcs beside which it is
            given. So whatever constrains those constrains this distribution, too.
    """

    share: float
    offset: Floats


class Interpolation:
    """The first-order distributions of the sentences of a batch.

    Args:
        given: of one sentence, or a list with one for each.

    Raises:
        ScoreError: another number of them, a share that is not from 0 to 1, or a wrong offset.
    """

    def __init__(self, given: FirstOrder | Sequence[FirstOrder], batch: Batch, root: Root) -> None:
        listed = given if batch.is_batch else [given]
        is_list = isinstance(listed, Sequence) and not isinstance(listed, FirstOrder)
        own: list[Any] = list(listed) if is_list else []
        if len(own) != len(batch) or not all(isinstance(one, FirstOrder) for one in own):
            form = f"a list of {len(batch)} FirstOrder" if batch.is_batch else "a FirstOrder"
            raise ScoreError(f"first_order must be {form}: got {given!r:.60}")
        for index, one in enumerate(own):
            _check(one, batch, index)
        self._given, self._batch, self._root = own, batch, root
        self._trees: dict[int, SpanningTrees] = {}

    def marginals(self, index: int, beliefs: Floats) -> Floats:
        """Probabilities of the arcs of a sentence, in the shape of its scores."""
        mixed: Floats = self._mixed(index, beliefs, lambda trees: trees.marginals())
        return mixed

    def entropy(self, index: int, bethe: float) -> float:
        """The mean of both entropies: that of the mixture is up to log 2 more."""
        return float(self._mixed(index, bethe, lambda trees: trees.entropy()))

    def _mixed(self, index: int, beliefs: Any, exact: Any) -> Any:
        share = self._given[index].share
        return (1.0 - share) * beliefs + share * exact(self._distribution(index))

    def _distribution(self, index: int) -> SpanningTrees:
        if index not in self._trees:
            scores, offset = self._batch.scores(index), self._given[index].offset
            if scores.ndim == 3:
                offset = offset[:, :, None]
            self._trees[index] = SpanningTrees(scores + offset, root=self._root, threads=1)
        return self._trees[index]


def _check(one: FirstOrder, batch: Batch, index: int) -> None:
    where, width = batch.name(index), batch.width(index)
    if not 0.0 <= one.share <= 1.0:
        raise ScoreError(f"{where}first_order has a share from 0 to 1: got {one.share}")
    if np.shape(one.offset) != (width, width) or not np.isfinite(one.offset).all():
        raise ScoreError(
            f"{where}the offset of first_order must be finite numbers ({width}, {width}): got "
            f"{np.shape(one.offset)}"
        )

"""The entropy of labelled trees, from that of trees: of what labels add, as much as is printed.

The labels of an arc are drawn given the arc, so that

    H(labelled trees) = H(trees) + sum over arcs of p(h -> m) H(l | h, m)

and an arc adds at most p(h -> m) log L, where L labels are possible. The arcs whose bounds sum to
less than `ROUGH` are left out at first. What they might add says whether the printed digits could
change; where they could, all but `FINE` nats are computed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.models.protocol import ArcIndex, BatchScores, LabelEntropies

__all__ = ["FINE", "ROUGH", "labelled_entropies", "printed_entropy"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: What is left out of the entropy of a sentence, in nats, at most: at first, and at last.
ROUGH, FINE = 1e-5, 1e-9
# Log-probabilities of all labels need much memory: so many arcs at a time.
_ARCS_AT_ONCE = 20_000
_NO_ARCS: ArcIndex = (np.empty(0, np.int64), np.empty(0, np.int64))


def printed_entropy(entropy: float) -> str:
    """An entropy as the comment of a sentence has it."""
    return f"{entropy:.4f}"


def labelled_entropies(
    batch: BatchScores, labels: int, marginals: Sequence[Floats], of_trees: Sequence[float]
) -> list[float]:
    """Entropies of the labelled trees of each sentence, in nats.

    They are too low by `FINE` at most, or by so little that `printed_entropy` does not show it.

    Args:
        labels: how many there are.
        marginals, of_trees: probabilities [h, m] of arcs of each sentence, entropies of its trees.
    """
    counts = batch.label_counts if isinstance(batch, LabelEntropies) else (labels, labels)
    limits = np.log(counts)
    rests = [_Rest(table, limits) for table in marginals]
    entropies: Floats = np.array(of_trees, np.float64)
    entropies += _added(batch, [rest.take(ROUGH) for rest in rests], marginals)
    undecided = [
        printed_entropy(entropy) != printed_entropy(entropy + rest.bound)
        for entropy, rest in zip(entropies.tolist(), rests, strict=True)
    ]
    if any(undecided):
        arcs = [
            rest.take(FINE) if again else _NO_ARCS
            for rest, again in zip(rests, undecided, strict=True)
        ]
        entropies += _added(batch, arcs, marginals)
    result: list[float] = entropies.tolist()
    return result


class _Rest:
    """The arcs of a sentence whose labels have not been counted yet.

    Attributes:
        bound: what they add to the entropy, at most.
    """

    __slots__ = ("_left", "_table", "bound")

    def __init__(self, marginals: Floats, limits: Floats) -> None:
        # By modifier: arcs to the same word share features, which are then computed once.
        self._table = marginals.T[1:] * limits[1]
        self._table[:, 0] = marginals[0, 1:] * limits[0]
        self._left = self._table > 0.0
        self.bound = float(self._table.sum())

    def take(self, rest: float) -> ArcIndex:
        """The arcs that must be counted so that others add at most `rest`, the fewest."""
        shares = np.sort(self._table[self._left])
        sums = np.cumsum(shares)
        kept = int(np.searchsorted(sums, rest, side="right"))
        if kept == len(shares):
            return _NO_ARCS
        chosen = self._left & (self._table >= shares[kept])
        self._left &= ~chosen
        self.bound = float(sums[kept - 1]) if kept else 0.0
        modifiers, heads = np.nonzero(chosen)
        return heads, modifiers + 1


def _added(
    batch: BatchScores, arcs: Sequence[ArcIndex], marginals: Sequence[Floats]
) -> list[float]:
    """What the labels of some arcs of each sentence add to its entropy."""
    if isinstance(batch, LabelEntropies):
        found = batch.label_entropies(arcs)
        return [
            float(table[own] @ one) for table, own, one in zip(marginals, arcs, found, strict=True)
        ]
    part = np.cumsum([len(heads) for heads, _ in arcs]) // _ARCS_AT_ONCE
    added = [0.0] * len(arcs)
    for number in np.unique(part):
        own = [one if p == number else _NO_ARCS for one, p in zip(arcs, part, strict=True)]
        for k, logs in enumerate(batch.label_log_probs(own)):
            probabilities = np.exp(logs)
            entropy = -(probabilities * np.where(probabilities > 0.0, logs, 0.0)).sum(axis=1)
            added[k] += float(marginals[k][own[k]] @ entropy)
    return added

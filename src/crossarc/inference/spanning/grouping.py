"""Which sentences of a batch are summed over in lockstep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_groups"]

Ints = NDArray[np.int64]

_LANES = 8
# A group takes as long as this many sentences of its longest one's length one by one.
_WORTH = 2.5


def in_groups(sizes: Ints) -> tuple[Ints, Ints, list[float]]:
    """An order of the sentences, where in it groups begin and end, and the cost of each group.

    Eight sentences that follow each other in length make a group, from the longest down, unless the
    first is so much longer that it is better left to itself. A group depends on nothing but lengths.
    """
    order = np.argsort(-sizes, kind="stable")
    works = (sizes[order] ** 3 + 100.0).tolist()
    starts, costs, place = [0], [], 0
    while place < len(works):
        together = works[place : place + _LANES]
        if sum(together) >= _WORTH * together[0]:
            place += len(together)
            costs.append(_WORTH * together[0])
        else:
            place += 1
            costs.append(together[0])
        starts.append(place)
    return order, np.array(starts, np.int64), costs

"""Which sentences of a batch are summed over in lockstep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_groups"]

Ints = NDArray[np.int64]

_LANES = 8
# Measured: a group takes as long as 1.6 to 2 sentences of its longest one's length, or 2 to 4 if
# that is long. Groups of very long sentences would need much memory.
_WORTH, _WORTH_IF_LONG = 2.0, 4.0
_LONG, _TOO_LONG = 64, 256


def in_groups(sizes: Ints) -> tuple[Ints, Ints, Ints]:
    """Sentences in groups for lockstep, where groups begin and end, and the other sentences.

    Eight sentences that follow each other in length make a group, from the longest down; one that
    is so much longer than the next that it is better left to itself is not in any.
    """
    order = np.argsort(-sizes, kind="stable")
    lengths, works = sizes[order].tolist(), (sizes[order] ** 3 + 100).tolist()
    together: list[int] = []
    starts, alone, place = [0], [], 0
    while place < len(works):
        group = works[place : place + _LANES]
        longest = lengths[place]
        worth = _WORTH if longest <= _LONG else _WORTH_IF_LONG
        if longest <= _TOO_LONG and sum(group) >= worth * group[0]:
            together.extend(range(place, place + len(group)))
            starts.append(len(together))
            place += len(group)
        else:
            alone.append(place)
            place += 1
    return order[together], np.array(starts, np.int64), order[alone]

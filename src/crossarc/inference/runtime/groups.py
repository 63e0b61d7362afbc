"""Which sentences of a batch are summed over in lockstep."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["in_groups", "longest_of"]

Ints = NDArray[np.int64]

_LANES = 8
# Measured: a group takes as long as 1.6 to 2 sentences of its longest one's length, or 2 to 4 if
# that is long. Groups of very long sentences would need much memory.
_WORTH, _WORTH_IF_LONG = 2.0, 4.0
_LONG, _TOO_LONG = 64, 256
_NOBODY = np.empty(0, np.int64)


def in_groups(sizes: Ints, longest: int = _TOO_LONG) -> tuple[Ints, Ints, Ints]:
    """Sentences in groups for lockstep, where groups begin and end, and the other sentences.

    Eight sentences that follow each other in length make a group, from the longest down; one that
    is so much longer than the next that it is better left to itself, or longer than `longest`, is
    not in any.
    """
    if len(sizes) < _WORTH:
        return _NOBODY, np.zeros(1, np.int64), np.arange(len(sizes))
    if (sizes == sizes[0]).all():
        return _alike(len(sizes), int(sizes[0]), longest)
    return _groups(sizes, longest)


@lru_cache
def _alike(count: int, words: int, longest: int) -> tuple[Ints, Ints, Ints]:
    """The groups of sentences of one length."""
    found = _groups(np.full(count, words), longest)
    for array in found:
        array.flags.writeable = False
    return found


def _groups(sizes: Ints, longest: int) -> tuple[Ints, Ints, Ints]:
    order = np.argsort(-sizes, kind="stable")
    lengths = sizes[order].tolist()
    starts: list[int] = []
    alone: list[int] = []
    place = 0
    while place < len(lengths):
        group = lengths[place : place + _LANES]
        if group[0] <= longest and _is_worth_it(group):
            starts.append(place - len(alone))
            place += len(group)
        else:
            alone.append(place)
            place += 1
    starts.append(place - len(alone))
    together = np.delete(order, alone) if alone else order
    return together, np.array(starts, np.int64), order[alone]


def _is_worth_it(lengths: list[int]) -> bool:
    longest = lengths[0]
    worth = _WORTH if longest <= _LONG else _WORTH_IF_LONG
    if lengths[-1] == longest:
        return len(lengths) >= worth
    return sum((n / longest) ** 3 for n in lengths) >= worth


@subkernel()
def longest_of(sizes: Ints, order: Ints, starts: Ints, begin: int, end: int) -> int:
    """The words of the longest sentence in groups begin..end-1, for kernels."""
    longest = 0
    for g in range(begin, end):
        longest = max(longest, sizes[order[starts[g]]])
    return longest

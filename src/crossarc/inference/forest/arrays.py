"""A forest as compact arrays, and how a deduction system writes one.

Items are numbered so that tails come before heads; the goal is the last one. The rule instances
that build an item (its hyperedges) are consecutive. An instance has no, one or two tails, and at
most one part, whose score it counts. Twelve bytes an instance, four an item.

An emitter adds the instances of one item after another, in an order in which tails come first, and
`trimmed` then removes what the goal does not need. So every instance of a complete forest is in
some derivation of the goal; forbidden arcs leave no trace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_FLOAT, subkernel

__all__ = [
    "FOREST",
    "NOT_SCORED",
    "Arrays",
    "Chart",
    "Forest",
    "Numbering",
    "add",
    "close",
    "emitter",
    "join",
    "numbered",
    "open_chart",
    "part_number",
    "trimmed",
]

Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]
#: What an emitter returns: all of a forest but the scores.
Arrays = tuple[Shorts, Shorts, Shorts, Shorts]


class Forest(NamedTuple):
    """Derivations that share what they have in common."""

    #: The instances of item v are first[v] .. first[v + 1] - 1; length items + 1.
    first: Shorts
    #: The tails of each instance, -1 where there is none; one tail is the left one.
    left: Shorts
    #: See `left`.
    right: Shorts
    #: The part of each instance, -1 for none.
    part: Shorts
    #: The score of each part.
    score: Floats

    @property
    def items(self) -> int:
        """How many items there are; 0 when the goal cannot be built."""
        return len(self.first) - 1

    def rescored(self, scores: Floats) -> Forest:
        """The same derivations under other scores of their parts."""
        own = scores.view()
        own.flags.writeable = False
        return self._replace(score=own)


_READ = types.Array(types.int32, 1, "C", readonly=True)
#: The type of a forest as an argument of kernels: all arrays are read-only.
FOREST = types.NamedTuple((_READ, _READ, _READ, _READ, READ_FLOAT), Forest)
#: The type of `Arrays`.
_ARRAYS = types.UniTuple(types.int32[::1], 4)


class Numbering(NamedTuple):
    """Which numbers the parts of a factor have in a forest."""

    #: The number of the first part, if `listed` is empty: the others follow in C order.
    first: int
    #: The number of each part, flat in C order, -1 for a part that is not scored; read-only.
    listed: Shorts


def numbered(first: int, listed: Shorts | None = None) -> Numbering:
    """A numbering from `first` on, or by `listed`, which becomes read-only."""
    numbers = np.empty(0, np.int32) if listed is None else listed
    numbers.flags.writeable = False
    return Numbering(first, numbers)


_NUMBERING = types.NamedTuple((types.int64, _READ), Numbering)


def emitter(factors: int = 0) -> Any:
    """The signature of an emitter: scores [h, m, l], whether one root, and so many numberings."""
    scores = types.Array(types.float64, 3, "C", readonly=True)
    return _ARRAYS(scores, types.boolean, *[_NUMBERING] * factors)


#: No part of the factor is scored.
NOT_SCORED = numbered(-1)


@subkernel()
def part_number(listed: Shorts, first: int, index: int) -> int:
    """The number of the part with this index in the flat factor; -1 if it is not scored."""
    if listed.shape[0] > 0:
        return int(listed[index])
    return first + index if first >= 0 else -1


class Chart(NamedTuple):
    """A forest while it is written: arrays with spare capacity, and how much of them is used."""

    used: Shorts
    first: Shorts
    left: Shorts
    right: Shorts
    part: Shorts


@subkernel()
def open_chart(items: int, instances: int) -> Chart:
    """Capacity for so many items and instances; pages never written take no memory."""
    first = np.empty(items + 1, np.int32)
    first[0] = 0
    return Chart(
        np.zeros(2, np.int32),
        first,
        np.empty(instances, np.int32),
        np.empty(instances, np.int32),
        np.empty(instances, np.int32),
    )


@subkernel()
def add(chart: Chart, left: int, right: int, part: int) -> None:
    """Another instance of the item that is being written."""
    e = chart.used[1]
    chart.left[e], chart.right[e], chart.part[e] = left, right, part
    chart.used[1] = e + 1


@subkernel()
def join(chart: Chart, lefts: Shorts, rights: Shorts) -> None:
    """Instances without a part, of each pair of tails that could both be built."""
    for k in range(lefts.shape[0]):
        if lefts[k] >= 0 and rights[k] >= 0:
            add(chart, lefts[k], rights[k], -1)


@subkernel()
def close(chart: Chart) -> int:
    """The number of the item whose instances have been added; -1 when it has none."""
    item = chart.used[0]
    if chart.used[1] == chart.first[item]:
        return -1
    chart.used[0] = item + 1
    chart.first[item + 1] = chart.used[1]
    return int(item)


@subkernel()
def _needed(chart: Chart, goal: int) -> NDArray[np.bool_]:
    """Which items some derivation of the goal has."""
    needed = np.zeros(chart.used[0], np.bool_)
    needed[goal] = True
    for v in range(goal, -1, -1):
        if needed[v]:
            for e in range(chart.first[v], chart.first[v + 1]):
                if chart.left[e] >= 0:
                    needed[chart.left[e]] = True
                if chart.right[e] >= 0:
                    needed[chart.right[e]] = True
    return needed


@subkernel()
def trimmed(chart: Chart, goal: int) -> tuple[Shorts, Shorts, Shorts, Shorts]:
    """The arrays of a forest with what the goal needs; no items when it is -1."""
    first, left, right, part = chart.first, chart.left, chart.right, chart.part
    if goal < 0:
        return np.zeros(1, np.int32), left[:0], right[:0], part[:0]
    needed = _needed(chart, goal)
    number = np.full(chart.used[0], -1, np.int32)
    items, instances = 0, 0
    for v in range(goal + 1):
        if not needed[v]:
            continue
        begin, end = first[v], first[v + 1]
        first[items] = instances
        for e in range(begin, end):
            left[instances] = number[left[e]] if left[e] >= 0 else -1
            right[instances] = number[right[e]] if right[e] >= 0 else -1
            part[instances] = part[e]
            instances += 1
        number[v] = items
        items += 1
    first[items] = instances
    return first[: items + 1], left[:instances], right[:instances], part[:instances]

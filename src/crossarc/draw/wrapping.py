"""A picture in as many lines as its width asks for, broken where few arcs pass."""

from __future__ import annotations

from itertools import accumulate

from crossarc.draw.arches import Layout
from crossarc.draw.line import Line
from crossarc.draw.picture import Picture

__all__ = ["wrap"]

# What a line break costs, besides 1 for each arc that it cuts.
_ANOTHER_LINE = 2.0
_EMPTINESS = 40.0
_FIRST_TRY, _NEXT_TRY = 1.0, 0.96


def wrap(picture: Picture, width: float | None) -> list[Line]:
    """The lines of a picture, none wider than `width` unless it holds a single word.

    None: one line, however wide.
    """
    n = len(picture.forms)
    whole = Layout(picture, 1, n)
    if width is None or whole.width <= width or n == 1:
        return [whole.line()]
    limit = width * _FIRST_TRY
    while True:
        ends = _breaks(picture, whole, limit)
        starts = [1, *(end + 1 for end in ends[:-1])]
        lines = [Layout(picture, *line) for line in zip(starts, ends, strict=True)]
        # Words of a line may need more room than in the long one, for what leads to other lines.
        if all(line.width <= width or line.first == line.last for line in lines):
            return [line.line() for line in lines]
        limit *= _NEXT_TRY


def _breaks(picture: Picture, whole: Layout, limit: float) -> list[int]:
    """The last word of each line: the cheapest way to break the long line, by dynamic programming.

    A line costs the arcs that pass over its end and the square of its empty share.
    """
    n = len(picture.forms)
    cut = _arcs_over(picture)
    places = list(zip(whole.centres, whole.cells, strict=True))
    left = [centre - cell / 2 for centre, cell in places]
    right = [centre + cell / 2 for centre, cell in places]
    cost = [0.0] + [float("inf")] * n
    start = [0] * (n + 1)
    for end in range(1, n + 1):
        for first in range(end, 0, -1):
            used = right[end - 1] - left[first - 1]
            if used > limit and first < end:
                break
            empty = max(0.0, 1 - used / limit)
            this = _ANOTHER_LINE + _EMPTINESS * empty * empty / (2 if end == n else 1) + cut[end]
            if cost[first - 1] + this < cost[end]:
                cost[end], start[end] = cost[first - 1] + this, first
    ends = []
    end = n
    while end:
        ends.append(end)
        end = start[end] - 1
    return ends[::-1]


def _arcs_over(picture: Picture) -> list[int]:
    """How many arcs between words pass over the end of each word; the first entry is for none."""
    change = [0] * (len(picture.forms) + 1)
    for arc in picture.arcs:
        if arc.head:
            change[min(arc.head, arc.word)] += 1
            change[max(arc.head, arc.word)] -= 1
    return list(accumulate(change))

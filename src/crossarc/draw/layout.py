"""Where the arcs of a tree go: lines between words, stacked into levels without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Stem", "stack", "stems"]


class Stem(NamedTuple):
    """The arcs from one head to its dependents on one side, as one line over `first` .. `last`.

    The head is one end of the line, its farthest dependent on that side the other.
    """

    head: int
    first: int
    last: int
    level: int


def stems(heads: Sequence[int]) -> dict[tuple[int, bool], Stem]:
    """The stems of a tree by (head, whether its dependents follow it); arcs from 0 have none.

    In a projective tree no line from a word to a stem meets another stem on the way; in any other
    tree some line does, if words that hang from 0 have a line to the far side of all stems.
    """
    spans: dict[tuple[int, bool], tuple[int, int]] = {}
    for word, head in enumerate(heads, 1):
        if head:
            first, last = spans.get((head, word > head), (head, head))
            spans[head, word > head] = (min(first, word), max(last, word))
    levels = stack(list(spans.values()))
    return {
        key: Stem(key[0], *span, level)
        for (key, span), level in zip(spans.items(), levels, strict=True)
    }


def stack(spans: Sequence[tuple[int, int]]) -> list[int]:
    """A level, 0 or more, for each span of positions, so that no two on a level share a position.

    Shorter spans are placed first, each as low as it can go, so that a span is above all spans
    inside it. O(s log n) steps for s spans, on bit sets of one bit per level.
    """
    size = 1 << max((last for _, last in spans), default=0).bit_length()
    # A binary tree over the positions: the levels of the spans that cover a node's positions
    # wholly, and the levels of all spans at or below the node.
    through, anywhere = [0] * (2 * size), [0] * (2 * size)
    levels = [0] * len(spans)
    for index in sorted(range(len(spans)), key=lambda i: (spans[i][1] - spans[i][0], spans[i])):
        inner, outer = _cover(size, *spans[index])
        used = 0
        for node in inner:
            used |= anywhere[node]
        for node in outer:
            used |= through[node]
        free = ~used & (used + 1)
        for node in inner:
            through[node] |= free
            anywhere[node] |= free
        for node in outer:
            anywhere[node] |= free
        levels[index] = free.bit_length() - 1
    return levels


def _cover(size: int, first: int, last: int) -> tuple[list[int], set[int]]:
    """The largest nodes of the tree over positions that make up first .. last, and those above."""
    inner: list[int] = []
    low, high = size + first, size + last + 1
    while low < high:
        if low & 1:
            inner.append(low)
            low += 1
        if high & 1:
            high -= 1
            inner.append(high)
        low >>= 1
        high >>= 1
    outer: set[int] = set()
    for node in inner:
        while (node := node >> 1) and node not in outer:
            outer.add(node)
    return inner, outer

"""Arcs as spans of words: which are non-projective, and which levels keep them apart.

Without compiled code, so that a drawing appears at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["nonprojective", "stack"]


def nonprojective(heads: Sequence[int]) -> list[bool]:
    """For each word, whether its arc passes over a word that its head does not dominate.

    The same as `Tree.nonprojective_arcs`, by another way: number the nodes in preorder, so that a
    subtree is a range of numbers; h -> m is projective iff the smallest and the largest number
    strictly between h and m lie in the range of h. O(n log n), by tables of minima over 2^k words;
    O(n) for projective trees, whose subtrees are runs of words.
    """
    n = len(heads)
    order, first, size = _preorder(heads)
    if _is_projective(heads, order, size):
        return [False] * n
    head = np.asarray(heads, np.int64)
    word = np.arange(1, n + 1)
    low, high = np.minimum(head, word) + 1, np.maximum(head, word)
    length = high - low
    asked = np.flatnonzero((head > 0) & (length > 0))
    found = np.zeros(n, np.bool_)
    if len(asked):
        low, high, length, head = low[asked], high[asked], length[asked], head[asked]
        smallest, largest = _extremes(np.asarray(first), low, high, length)
        begin = np.asarray(first)[head]
        found[asked] = (smallest < begin) | (largest >= begin + np.asarray(size)[head])
    return found.tolist()


def _is_projective(heads: Sequence[int], order: list[int], size: list[int]) -> bool:
    """Whether every subtree is a run of as many words as it has."""
    low, high = list(range(len(size))), list(range(len(size)))
    for node in reversed(order[1:]):
        if high[node] - low[node] + 1 != size[node]:
            return False
        head = heads[node - 1]
        if low[node] < low[head]:
            low[head] = low[node]
        if high[node] > high[head]:
            high[head] = high[node]
    return True


def _preorder(heads: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Nodes in preorder, the number of each in it, and the size of its subtree."""
    children: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads, 1):
        children[head].append(word)
    first, size = [0] * len(children), [1] * len(children)
    order: list[int] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        first[node] = len(order)
        order.append(node)
        waiting += children[node]
    for node in reversed(order[1:]):
        size[heads[node - 1]] += size[node]
    return order, first, size


def _extremes(
    values: np.ndarray, low: np.ndarray, high: np.ndarray, length: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and largest of values[low:high], for arrays of non-empty ranges.

    A range is covered by two of the largest power of two that fits, one from each end.
    """
    power = np.frexp(length)[1] - 1
    smallest, largest = np.empty_like(low), np.empty_like(low)
    minima = maxima = values
    for k in range(int(power.max()) + 1):
        if k:
            half = 1 << (k - 1)
            minima = np.minimum(minima[:-half], minima[half:])
            maxima = np.maximum(maxima[:-half], maxima[half:])
        here = power == k
        start, end = low[here], high[here] - (1 << k)
        smallest[here] = np.minimum(minima[start], minima[end])
        largest[here] = np.maximum(maxima[start], maxima[end])
    return smallest, largest


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

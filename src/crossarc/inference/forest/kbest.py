"""All derivations, best first, each found when it is asked for.

Algorithm 3 of Huang & Chiang (2005), without recursion. A record is a derivation of an item: an
instance, and a record for each of its tails. Record v is the best derivation of item v; further
ones are made when they are asked for. Each item keeps a queue of candidates. When its latest record
(e, a, b) is to be followed, its neighbours

    (e, a, next of b)    and, while b is the first of its item,    (e, next of a, b)

join the queue, so that every pair of tails enters once and none is looked up; the best candidate
becomes the next record. The next records of a and b are found first, by an explicit stack. A sum
of floats does not fall when a summand rises, so records of an item come in the order of their
(rounded) scores. Candidates of equal score come in the order in which they were made.

The queues are pairing heaps over one pool of records. A further derivation costs O(n log k) in the
best case, and once O(instances) for each item that is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.viterbi import best_scores, scale_of
from crossarc.kernels import kernel, subkernel

__all__ = ["ranked", "ranked_within"]

Floats = NDArray[np.float64]
Shorts = NDArray[np.int32]

# Fields of a record: its instance, its tails' records, links of its heap, the next of its item, and
# how many instances the derivation has.
_EDGE, _LEFT, _RIGHT, _CHILD, _SIBLING, _NEXT, _SIZE = 0, 1, 2, 3, 4, 5, 6
_FIELDS = 7
_UNKNOWN, _NONE, _CLOSED = -1, -2, -2


class _Search(NamedTuple):
    """What is known: records and their scores, each item's latest record and queue."""

    records: Shorts
    scores: Floats
    latest: Shorts
    queues: Shorts
    used: Shorts


_S1, _S2 = types.int32[::1], types.int32[:, ::1]
_SEARCH = types.NamedTuple((_S2, types.float64[::1], _S1, _S1, _S1), _Search)


@subkernel()
def _size(records: Shorts, left: int, right: int) -> int:
    """The number of instances of a derivation with these tails."""
    size = 1
    if left >= 0:
        size += records[left, _SIZE]
    if right >= 0:
        size += records[right, _SIZE]
    return size


@kernel(_SEARCH(FOREST, types.float64))
def _begin(forest: Forest, scale: float) -> _Search:
    """The best record of each item."""
    items = forest.first.shape[0] - 1
    best, choice = best_scores(forest, scale)
    records, scores = np.full((items + 64, _FIELDS), -1, np.int32), np.empty(items + 64)
    for v in range(items):
        left, right = forest.left[choice[v]], forest.right[choice[v]]
        records[v, _EDGE], records[v, _LEFT], records[v, _RIGHT] = choice[v], left, right
        scores[v], records[v, _SIZE] = best[v], _size(records, left, right)
    latest, queues = np.empty(items, np.int32), np.empty(items, np.int32)
    for v in range(items):
        latest[v], queues[v] = v, _CLOSED
    used = np.empty(1, np.int32)
    used[0] = items
    return _Search(records, scores, latest, queues, used)


@kernel(types.float64(FOREST))
def _scale(forest: Forest) -> float:
    return scale_of(forest)


@subkernel()
def _meld(records: Shorts, scores: Floats, a: int, b: int) -> int:
    """Two heaps as one; returns its top, the smaller record where scores tie."""
    if a < 0 or b < 0:
        return max(a, b)
    if scores[b] > scores[a] or (scores[b] == scores[a] and b < a):
        a, b = b, a
    records[b, _SIBLING] = records[a, _CHILD]
    records[a, _CHILD] = b
    return a


@subkernel()
def _without_top(records: Shorts, scores: Floats, top: int) -> int:
    """The heap less its top: children melded in pairs, then the pairs (Fredman et al. 1986)."""
    pairs, child = -1, records[top, _CHILD]
    while child >= 0:
        other = records[child, _SIBLING]
        following = records[other, _SIBLING] if other >= 0 else -1
        pair = _meld(records, scores, child, other)
        records[pair, _SIBLING] = pairs
        pairs, child = pair, following
    heap = -1
    while pairs >= 0:
        following = records[pairs, _SIBLING]
        heap = _meld(records, scores, heap, pairs)
        pairs = following
    return heap


@subkernel()
def _candidate(
    forest: Forest, scale: float, search: _Search, heap: int, e: int, left: int, right: int
) -> int:
    """Put another record in a heap; returns its new top."""
    records, scores = search.records, search.scores
    new = search.used[0]
    search.used[0] = new + 1
    total = forest.score[forest.part[e]] * scale if forest.part[e] >= 0 else 0.0
    if left >= 0:
        total += scores[left]
    if right >= 0:
        total += scores[right]
    scores[new] = total
    records[new, _EDGE], records[new, _LEFT], records[new, _RIGHT] = e, left, right
    records[new, _CHILD] = records[new, _SIBLING] = -1
    records[new, _NEXT], records[new, _SIZE] = _UNKNOWN, _size(records, left, right)
    return _meld(records, scores, heap, new)


@subkernel()
def _follow(forest: Forest, scale: float, search: _Search, v: int) -> None:
    """The next record of an item, those of its tails being known."""
    records, items = search.records, search.latest.shape[0]
    latest, heap = search.latest[v], search.queues[v]
    e, left, right = records[latest, _EDGE], records[latest, _LEFT], records[latest, _RIGHT]
    if heap == _CLOSED:
        heap = -1
        for other in range(forest.first[v], forest.first[v + 1]):
            if other != e:
                heap = _candidate(
                    forest, scale, search, heap, other, forest.left[other], forest.right[other]
                )
    if right >= 0 and records[right, _NEXT] >= 0:
        heap = _candidate(forest, scale, search, heap, e, left, records[right, _NEXT])
    if right < items and left >= 0 and records[left, _NEXT] >= 0:
        heap = _candidate(forest, scale, search, heap, e, records[left, _NEXT], right)
    records[latest, _NEXT] = _NONE if heap < 0 else heap
    if heap >= 0:
        search.latest[v] = heap
        top, heap = heap, _without_top(records, search.scores, heap)
        records[top, _CHILD] = records[top, _SIBLING] = -1
    search.queues[v] = heap


@subkernel()
def _with_capacity(search: _Search, more: int) -> _Search:
    """The same search with capacity for so many more records."""
    used, capacity = search.used[0], search.scores.shape[0]
    if used + more <= capacity:
        return search
    records = np.empty((2 * (used + more), _FIELDS), np.int32)
    scores = np.empty(2 * (used + more))
    for i in range(used):
        scores[i] = search.scores[i]
        for field in range(_FIELDS):
            records[i, field] = search.records[i, field]
    return _Search(records, scores, search.latest, search.queues, search.used)


@kernel(_SEARCH(FOREST, types.float64, _SEARCH))
def _advance(forest: Forest, scale: float, search: _Search) -> _Search:
    """Find the next record of the goal."""
    items = search.latest.shape[0]
    agenda, waiting = np.empty(items, np.int32), 1
    agenda[0] = items - 1
    while waiting > 0:
        v = agenda[waiting - 1]
        records, latest = search.records, search.latest[v]
        e, left, right = records[latest, _EDGE], records[latest, _LEFT], records[latest, _RIGHT]
        if right >= 0 and records[right, _NEXT] == _UNKNOWN:
            agenda[waiting] = forest.right[e]
            waiting += 1
        elif right < items and left >= 0 and records[left, _NEXT] == _UNKNOWN:
            agenda[waiting] = forest.left[e]
            waiting += 1
        else:
            search = _with_capacity(search, forest.first[v + 1] - forest.first[v] + 2)
            _follow(forest, scale, search, v)
            waiting -= 1
    return search


@kernel(_S1(FOREST, _SEARCH, types.int64))
def _parts(forest: Forest, search: _Search, record: int) -> Shorts:
    """The parts of a derivation."""
    size = search.records[record, _SIZE]
    agenda, parts = np.empty(size + 1, np.int32), np.empty(size, np.int32)
    agenda[0], waiting, found = record, 1, 0
    while waiting > 0:
        waiting -= 1
        fields = search.records[agenda[waiting]]
        if forest.part[fields[_EDGE]] >= 0:
            parts[found] = forest.part[fields[_EDGE]]
            found += 1
        for tail in (fields[_RIGHT], fields[_LEFT]):
            if tail >= 0:
                agenda[waiting] = tail
                waiting += 1
    return parts[:found]


def ranked(forest: Forest) -> Iterator[Shorts]:
    """The parts of every derivation, best first; those of equal score in a fixed order."""
    if forest.items == 0:
        return
    scale = _scale(forest)
    search = _begin(forest, scale)
    record = forest.items - 1
    while record >= 0:
        yield _parts(forest, search, record)
        search = _advance(forest, scale, search)
        record = int(search.records[record, _NEXT])


def ranked_within(forest: Forest, margin: float) -> Iterator[Shorts]:
    """The derivations of `ranked` that score at least the best score less `margin`.

    The search runs a little past the margin, by what sums in float64 may be wrong by.
    """
    limit = end = -np.inf
    for rank, parts in enumerate(ranked(forest)):
        score = exact_sum(forest.score[parts].tolist())
        if rank == 0:
            size = exact_sum(np.abs(forest.score[parts]).tolist()) + margin
            limit = score - margin
            end = limit - 4 * len(parts) * np.finfo(np.float64).eps * size
        if score < end:
            return
        if score >= limit:
            yield parts

"""Which slots of the table an arc's features have: the one place that scoring and learning share.

A table of weights has GROUPS parts of equal size, one for each group of templates. Everything here
is about one group: scoring asks for all groups, learning gives each thread a group of its own.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import subkernel
from crossarc.models.features import MISSING
from crossarc.models.hashing import half, hash_code, hash_start, pair_slot

__all__ = [
    "ARC_KEYS",
    "READ_CODES",
    "READ_PLAN",
    "READ_WEIGHTS",
    "TAGS",
    "arc_key",
    "between_slots",
    "direct_slots",
    "key_hashes",
    "tags_between",
    "word_halves",
    "word_slots",
]

Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

READ_CODES = types.Array(types.int64, 2, "C", readonly=True)
READ_PLAN = types.Array(types.int64, 3, "C", readonly=True)
READ_WEIGHTS = types.Array(types.float32, 1, "C", readonly=True)

#: Classes of distances: 1, 2, 3, 4, 5 to 6, 7 to 10, and beyond.
_DISTANCES = 7
#: Numbers of direction and distance together.
ARC_KEYS = 2 * _DISTANCES
#: Tags between two words are told apart by their code modulo this.
TAGS = 32
#: Tags between two words are counted up to this.
_MANY = 3
# Where the keys of directions, and of tags with their counts, begin.
_DIRECTION = ARC_KEYS
_TAG = _DIRECTION + 2
_KEYS = _TAG + TAGS * (_MANY + 1)


@subkernel()
def arc_key(h: int, m: int) -> int:
    """Direction and distance of an arc as one number below ARC_KEYS."""
    gap = abs(h - m)
    distance = gap - 1
    if gap > 4:
        distance = 4 if gap <= 6 else (5 if gap <= 10 else 6)
    return distance if h < m else _DISTANCES + distance


@subkernel()
def key_hashes() -> Halves:
    """Hashes of all that templates are conjoined with: distances, directions, tags between."""
    keys = np.empty(_KEYS, np.uint32)
    for k in range(_KEYS):
        keys[k] = half(hash_code(hash_start(-1), k))
    return keys


@subkernel()
def word_halves(codes: Ints, row: int, plan: Ints, begin: int, end: int, out: Halves) -> None:
    """A word's halves of templates begin..end-1, as a head and as a modifier."""
    flat = codes.reshape(-1)
    start = row * codes.shape[1]
    for t in range(begin, end):
        for side in range(2):
            places = plan[t, side]
            x = hash_start(2 * t + side)
            k = 0
            while places[k] != MISSING:
                x = hash_code(x, flat[start + places[k]])
                k += 1
            out[side, t] = half(x)


@subkernel()
def tags_between(codes: Ints, row: int, n: int, tag: int, counts: Ints, sets: Ints) -> None:
    """counts[i, b]: words before i with tag b; sets[i, j]: bits of the tags between i and j."""
    counts[0, :] = 0
    for i in range(n + 1):
        for b in range(TAGS):
            counts[i + 1, b] = counts[i, b]
        counts[i + 1, codes[row + i, tag] % TAGS] += 1
        seen = 0
        sets[i, i] = 0
        for j in range(i + 1, n + 1):
            sets[i, j] = sets[j, i] = seen
            seen |= 1 << (codes[row + j, tag] % TAGS)


@subkernel()
def _pair_slots(
    head: Halves, modifier: Halves, key: np.uint32, begin: int, end: int, bits: int, slots: Halves
) -> None:
    """Slots of templates begin..end-1 with a key, from 0 up to 2**bits."""
    for t in range(begin, end):
        slots[t - begin] = pair_slot(np.uint32(head[t] ^ key), modifier[t], bits)


@subkernel()
def direct_slots(
    head: Halves,
    modifier: Halves,
    h: int,
    m: int,
    bounds: Ints,
    keys: Halves,
    bits: int,
    slots: Halves,
) -> int:
    """Slots of an arc's features of two words with direction, and with distance; how many."""
    begin, distance_end, pairs_end = bounds[0], bounds[1], bounds[2]
    direction = keys[_DIRECTION] if h < m else keys[_DIRECTION + 1]
    _pair_slots(head, modifier, direction, begin, pairs_end, bits, slots)
    count = pairs_end - begin
    _pair_slots(head, modifier, keys[arc_key(h, m)], begin, distance_end, bits, slots[count:])
    return int(count + distance_end - begin)


@subkernel()
def between_slots(
    head: Halves,
    modifier: Halves,
    h: int,
    m: int,
    bounds: Ints,
    counts: Ints,
    tags: int,
    keys: Halves,
    bits: int,
    slots: Halves,
) -> int:
    """Slots of features with each tag between two words, and with its count; returns how many."""
    begin, end = bounds[2], bounds[3]
    count = 0
    if begin == end:
        return count
    direction = keys[_DIRECTION] if h < m else keys[_DIRECTION + 1]
    low, high = counts[min(h, m) + 1], counts[max(h, m)]
    b = 0
    while tags >> b:
        if (tags >> b) & 1:
            first = _TAG + b * (_MANY + 1)
            for key in (first, first + min(high[b] - low[b], _MANY)):
                both = np.uint32(direction ^ keys[key])
                _pair_slots(head, modifier, both, begin, end, bits, slots[count:])
                count += end - begin
        b += 1
    return count


@subkernel()
def word_slots(half_row: Halves, key: np.uint32, bounds: Ints, bits: int, slots: Halves) -> int:
    """Slots of the features that one word has with a direction and distance; returns how many."""
    for t in range(bounds[3], bounds[4]):
        slots[t - bounds[3]] = pair_slot(half_row[t], key, bits)
    return int(bounds[4] - bounds[3])

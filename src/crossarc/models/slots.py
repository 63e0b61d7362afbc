"""Which slots of the table an arc's features have: shared by scoring and learning.

An arc is conjoined with some *keys*: its direction, its direction and distance, and its direction
with each tag that stands between head and modifier. A feature is a template and a key.
Keys are numbered, and sixteen keys of one template and pair of words are adjacent in the table:
the first sixteen are the directions and distances, and each later sixteen four tags.
Template t has its slots in part t modulo GROUPS of the table, which is 2**bits long.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import subkernel
from crossarc.learning.tables import GROUPS
from crossarc.models.features import MISSING
from crossarc.models.hashing import half, hash_code, hash_start, near_slot

__all__ = [
    "ARC_KEYS",
    "MOST_KEYS",
    "READ_CODES",
    "READ_PLAN",
    "READ_WEIGHTS",
    "TAGS",
    "arc_key",
    "arc_keys",
    "count_tags",
    "first_of_group",
    "key_hashes",
    "key_range",
    "table_slot",
    "word_halves",
]

Ints = NDArray[np.int64]
Halves = NDArray[np.uint32]

READ_CODES = types.Array(types.int64, 2, "C", readonly=True)
READ_PLAN = types.Array(types.int64, 3, "C", readonly=True)
#: Weights are float32 while they are learnt, and int16 with a scale afterwards.
READ_WEIGHTS = {
    np.dtype(kind.name): types.Array(kind, 1, "C", readonly=True)
    for kind in (types.float32, types.int16)
}

# Classes of distances: 1, 2, 3, 4, 5 to 6, 7 to 10, and more.
_DISTANCES = 7
#: Number of pairs of direction and distance.
ARC_KEYS = 2 * _DISTANCES
#: Tags between two words are identified by their code modulo this, and counted up to _MANY.
TAGS = 32
_MANY = 3
# The first keys of directions, and of tags with their counts, to the right and left.
_DIRECTION = ARC_KEYS
_TAG = _DIRECTION + 2
_SIDE = TAGS * (_MANY + 1)
_KEYS = _TAG + 2 * _SIDE
# Keys have another seed than all templates.
_KEY = 1 << 32
#: An arc has at most so many keys.
MOST_KEYS = 2 + 2 * TAGS


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
    """Hashes of keys, and of blocks of sixteen keys."""
    hashes = np.empty(_KEYS, np.uint32)
    for k in range(_KEYS):
        hashes[k] = half(hash_code(hash_start(_KEY), k))
    return hashes


@subkernel()
def word_halves(
    codes: Ints, start: int, plan: Ints, side: int, first: int, step: int, out: Halves, i: int
) -> None:
    """out[i, t]: a word's half of every step-th template t, as head (side 0) or modifier (1).

    The word's codes begin at `start` in `codes`, which is flat.
    """
    for t in range(first, plan.shape[0], step):
        x = hash_start(2 * t + side)
        k = 0
        while plan[t, side, k] != MISSING:
            x = hash_code(x, codes[start + plan[t, side, k]])
            k += 1
        out[i, t] = half(x)


@subkernel()
def count_tags(codes: Ints, row: int, n: int, tag: int, counts: Ints) -> None:
    """counts[i, b]: how many of the root and words before i have tag b."""
    counts[0, :] = 0
    for i in range(n + 1):
        for b in range(TAGS):
            counts[i + 1, b] = counts[i, b]
        counts[i + 1, codes[row + i, tag] % TAGS] += 1


@subkernel()
def arc_keys(h: int, m: int, counts: Ints, low: int, high: int, tags: int, out: Ints) -> int:
    """The keys of an arc: direction, distance, then two for each tag between; how many.

    Tag b, from 0 to tags - 1, stands counts[high, b] - counts[low, b] times between the words.
    """
    out[0] = _DIRECTION if h < m else _DIRECTION + 1
    out[1] = arc_key(h, m)
    side = _TAG if h < m else _TAG + _SIDE
    found = 2
    for b in range(tags):
        many = counts[high, b] - counts[low, b]
        if many > 0:
            out[found] = side + b * (_MANY + 1)
            out[found + 1] = out[found] + min(many, _MANY)
            found += 2
    return found


@subkernel()
def key_range(k: int, bounds: Ints) -> tuple[int, int]:
    """The templates that the k-th key of an arc is conjoined with, from and up to."""
    if k < 2:
        return 0, bounds[1] if k == 0 else bounds[0]
    return bounds[1], bounds[2]


@subkernel()
def first_of_group(begin: int, group: int) -> int:
    """The first template from `begin` on that belongs to a group."""
    return begin + (group - begin) % GROUPS


@subkernel()
def table_slot(head: np.uint32, modifier: np.uint32, key: int, t: int, bits: int) -> np.uint32:
    """The slot of template t, given the halves of its feature and the index of its key."""
    part = np.uint32(np.uint32(t % GROUPS) << np.uint32(bits))
    return np.uint32(part | near_slot(head, modifier, key, bits))

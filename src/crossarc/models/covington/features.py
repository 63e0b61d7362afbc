"""The features of a decision: words at places around a pair, numbers of the pair, and slots.

The table of weights has a run of weights for each feature, one an outcome, from its slot on; runs
of different features may overlap, as hashed features may.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import HEAD, ROWS, degree_of_pair
from crossarc.inference.transition.system import LEFT_ARC, link
from crossarc.kernels import subkernel
from crossarc.models.covington.templates import NUMBERS, PLACES
from crossarc.models.hashing import hash_code, hash_start, slot

__all__ = [
    "LABEL",
    "MODEL_ROWS",
    "NUMBER_COUNT",
    "PLACE_COUNT",
    "add_arc",
    "feature_slots",
    "look_at_arc",
    "look_at_pair",
    "look_at_root",
    "seeds_of",
]

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Array = NDArray[Any]

PLACE_COUNT, NUMBER_COUNT = len(PLACES), len(NUMBERS)
# Rows of a forest that features need: the label of a word's arc plus 1, its first and last
# child, and how many it has on either side.
LABEL, FIRST, LAST, LEFTS, RIGHTS = range(ROWS, ROWS + 5)
MODEL_ROWS = ROWS + 5
_LABELS = NUMBERS.index("i.label")
_MANY = 3


@subkernel()
def add_arc(forest: Ints, action: int, i: int, j: int, label: int) -> None:
    """Make the arc of an action, with its label."""
    link(forest, action, i, j)
    m = j if action == LEFT_ARC else i
    h = i + j - m
    forest[LABEL, m] = label + 1
    if forest[FIRST, h] == 0 or m < forest[FIRST, h]:
        forest[FIRST, h] = m
    forest[LAST, h] = max(forest[LAST, h], m)
    forest[LEFTS if m < h else RIGHTS, h] += 1


@subkernel()
def look_at_pair(forest: Ints, i: int, j: int, places: Ints, numbers: Ints) -> None:
    """What a choice of action is based on."""
    state = (forest[HEAD, i] > 0) + 2 * (forest[HEAD, j] > 0)
    _look(forest, i, j, state, degree_of_pair(forest, i, j), places, numbers)


@subkernel()
def look_at_arc(forest: Ints, h: int, m: int, places: Ints, numbers: Ints) -> None:
    """What the choice of a label for h -> m is based on."""
    _look(forest, h, m, int(h < m), 0, places, numbers)


@subkernel()
def look_at_root(forest: Ints, m: int, places: Ints, numbers: Ints) -> None:
    """What the choice of m as the root is based on."""
    _look(forest, m, 0, 0, 0, places, numbers)


@subkernel()
def _look(
    forest: Ints, i: int, j: int, state: int, pieces: int, places: Ints, numbers: Ints
) -> None:
    """Fill in the words at PLACES and the NUMBERS."""
    head = forest[HEAD]
    places[0], places[1] = i, j
    places[2], places[3], places[4] = head[i], head[j], head[head[j]]
    places[5], places[6] = forest[FIRST, i], forest[LAST, i]
    places[7], places[8] = forest[FIRST, j], forest[LAST, j]
    numbers[0] = _distance(abs(i - j))
    numbers[1] = state
    numbers[2] = min(pieces, _MANY)
    numbers[3] = min(forest[LEFTS, i], _MANY)
    numbers[4] = min(forest[LEFTS, j], _MANY)
    numbers[5] = min(forest[RIGHTS, j], _MANY)
    for p in range(PLACE_COUNT):
        numbers[_LABELS + p] = forest[LABEL, places[p]]


@subkernel()
def _distance(gap: int) -> int:
    """1, 2, 3, 4, 5 to 6, 7 to 10, and beyond."""
    if gap > 4:
        return 5 if gap <= 6 else (6 if gap <= 10 else 7)
    return gap


@subkernel()
def seeds_of(templates: int) -> Hashes:
    """The hash of each template before any atom."""
    seeds = np.empty(templates, np.uint64)
    for t in range(templates):
        seeds[t] = hash_start(t)
    return seeds


@subkernel()
def feature_slots(
    codes: Ints,
    row: int,
    plan: Ints,
    seeds: Hashes,
    begin: int,
    end: int,
    bits: int,
    places: Ints,
    numbers: Ints,
    slots: Ints,
) -> None:
    """The slots of templates begin..end-1, from the first place on.

    Args:
        row: that of the root of the sentence.
    """
    width = codes.shape[1]
    flat = codes.reshape(-1)
    for t in range(begin, end):
        x = seeds[t]
        k = 0
        while plan[t, k, 0] != -2:
            place, offset = plan[t, k, 0], plan[t, k, 1]
            if place < 0:
                code = numbers[offset]
            elif places[place] == 0 and place > 1:
                # No such word: a row of padding stands before the root.
                code = flat[(row - 1) * width + offset]
            else:
                code = flat[(row + places[place]) * width + offset]
            x = hash_code(x, code)
            k += 1
        slots[t - begin] = slot(x, bits)

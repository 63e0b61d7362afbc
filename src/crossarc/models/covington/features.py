"""The features of a decision: words at addresses around a pair, numbers of the pair, slots.

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
from crossarc.models.covington.templates import ADDRESSES, NUMBERS
from crossarc.models.hashing import hash_code, hash_start, slot

__all__ = [
    "ADDRESS_COUNT",
    "LABEL",
    "MODEL_ROWS",
    "NUMBER_COUNT",
    "add_arc",
    "describe_arc",
    "describe_pair",
    "describe_root",
    "feature_slots",
    "seeds_of",
]

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Array = NDArray[Any]

ADDRESS_COUNT, NUMBER_COUNT = len(ADDRESSES), len(NUMBERS)
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
def describe_pair(forest: Ints, i: int, j: int, addresses: Ints, numbers: Ints) -> None:
    """What the decision for a transition is based on."""
    state = (forest[HEAD, i] > 0) + 2 * (forest[HEAD, j] > 0)
    _describe(forest, i, j, state, degree_of_pair(forest, i, j), addresses, numbers)


@subkernel()
def describe_arc(forest: Ints, h: int, m: int, addresses: Ints, numbers: Ints) -> None:
    """What the decision for a label of h -> m is based on."""
    _describe(forest, h, m, int(h < m), 0, addresses, numbers)


@subkernel()
def describe_root(forest: Ints, m: int, addresses: Ints, numbers: Ints) -> None:
    """What the decision for m as the root is based on."""
    _describe(forest, m, 0, 0, 0, addresses, numbers)


@subkernel()
def _describe(
    forest: Ints, i: int, j: int, state: int, pieces: int, addresses: Ints, numbers: Ints
) -> None:
    """Fill in the words at ADDRESSES and the NUMBERS."""
    head = forest[HEAD]
    addresses[0], addresses[1] = i, j
    addresses[2], addresses[3], addresses[4] = head[i], head[j], head[head[j]]
    addresses[5], addresses[6] = forest[FIRST, i], forest[LAST, i]
    addresses[7], addresses[8] = forest[FIRST, j], forest[LAST, j]
    numbers[0] = _distance(abs(i - j))
    numbers[1] = state
    numbers[2] = min(pieces, _MANY)
    numbers[3] = min(forest[LEFTS, i], _MANY)
    numbers[4] = min(forest[LEFTS, j], _MANY)
    numbers[5] = min(forest[RIGHTS, j], _MANY)
    for p in range(ADDRESS_COUNT):
        numbers[_LABELS + p] = forest[LABEL, addresses[p]]


@subkernel()
def _distance(gap: int) -> int:
    """1, 2, 3, 4, 5 to 6, 7 to 10, and more."""
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
    addresses: Ints,
    numbers: Ints,
    slots: Ints,
) -> None:
    """The slots of templates begin..end-1, in order.

    Args:
        row: that of the root of the sentence.
    """
    width = codes.shape[1]
    flat = codes.reshape(-1)
    for t in range(begin, end):
        x = seeds[t]
        k = 0
        while plan[t, k, 0] != -2:
            address, offset = plan[t, k, 0], plan[t, k, 1]
            if address < 0:
                code = numbers[offset]
            elif addresses[address] == 0 and address > 1:
                # No such word: a row of padding stands before the root.
                code = flat[(row - 1) * width + offset]
            else:
                code = flat[(row + addresses[address]) * width + offset]
            x = hash_code(x, code)
            k += 1
        slots[t - begin] = slot(x, bits)

"""The tabular algorithm of Cohen et al. (2011), sections 4 and 6, rule by rule, as a packed forest.

Of degree D, items [s1 .. s(D-1), i, e1 .. eD, j] replace s on top of the stack by e and read i ..
j-1; cent is -1, of which D - 1 lie below `$`. With m = m1 .. m(D-1),

    shift   [s, i, e1 m, j]                             =>  [m, j, m j, j+1]
    la_d    [s, i, e1 m, k]  [m, k, e2 .. e(D+1), j]    =>  [s, i, e without e(D+1-d), j]
    ra_d    [s, i, e1 m, k]  [m, k, e2 .. e(D+1), j]    =>  [s, i, e without e(D+1), j]

and goal [cent .. cent, 0, cent .. cent 0, n+1]. The antecedent of shift is a filter: in the forest
a shift is an axiom, whose weight counts once however many antecedents it has. Items may begin with
more symbols than the rules replace, those below s: with three symbols and D = 2, every transition
can depend on b3 b2 b1, as in the first parametrisation of section 3. O(n^(3D+2)) rule instances.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.forest.arrays import Arrays
from crossarc.inference.transition.attardi.machine import LEFT, RIGHT, SHIFT

__all__ = ["Parts", "deduce"]

Shorts = NDArray[np.int32]
Stack = tuple[int, ...]
#: The numbers of the parts that a transition may count, by its code, the top of the stack before it
#: and the next node: an instance for each; -1 for none.
Parts = Callable[[int, Stack, int], Sequence[int]]
_Instance = tuple[int, int, int]


class _Item(NamedTuple):
    context: Stack
    start: int
    top: Stack
    end: int


class _Deduction:
    """The items of a sentence, with their numbers, in an order in which tails come first."""

    def __init__(self, words: int, degree: int, context: int, single: bool, parts: Parts) -> None:
        self.words, self.parts, self.single = words, parts, single
        # Reductions of degree 1 alone still leave two symbols on top: items of degree 2.
        self.degree, self.size = degree, max(degree, 2)
        self.context = max(context, self.size - 1)
        self.first, self.instances = [0], list[_Instance]()
        # Items that end at k with m on top, by k and the context of what may follow them.
        self.left: defaultdict[tuple[int, Stack], list[tuple[_Item, int]]] = defaultdict(list)

    def following(self, item: _Item) -> Stack:
        """The context of items that follow."""
        below = item.context[: len(item.context) - (self.size - 1)]
        return (*below, *item.top)[-self.context :]

    def close(self, instances: Sequence[_Instance]) -> int:
        self.instances.extend(instances)
        self.first.append(len(self.instances))
        return len(self.first) - 2

    def run(self) -> int:
        """Deduce all items; the number of the goal, -1 if it cannot be built."""
        bottom = (-1,) * self.context
        pending: dict[_Item, list[_Instance]] = {
            _Item(bottom, 0, (*bottom[: self.size - 1], 0), 1): [(-1, -1, -1)]
        }
        goal = -1
        for end in range(1, self.words + 2):
            by_start: list[dict[_Item, list[_Instance]]] = [{} for _ in range(end)]
            for item, instances in pending.items():
                by_start[item.start][item] = instances
            for start in range(end - 1, -1, -1):
                for item, instances in by_start[start].items():
                    number = self.close(instances)
                    self.left[end, self.following(item)].append((item, number))
                    if item.start == 0 and end == self.words + 1 and item.top[-2:] == (-1, 0):
                        goal = number
                    self.reduce(item, number, by_start)
            pending = self.shifts(end) if end <= self.words else {}
        return goal

    def shifts(self, node: int) -> dict[_Item, list[_Instance]]:
        found = {}
        for end, context in list(self.left):
            if end == node:
                parts = self.parts(SHIFT, context, node)
                item = _Item(context, node, (*context[1 - self.size :], node), node + 1)
                if parts:
                    found[item] = [(-1, -1, part) for part in parts]
        return found

    def reduce(
        self, right: _Item, number: int, by_start: Sequence[dict[_Item, list[_Instance]]]
    ) -> None:
        for left, left_number in self.left.get((right.start, right.context), ()):
            below = left.context[: len(left.context) - (self.size - 1)]
            ends = (left.top[0], *right.top)
            for d in range(1, self.degree + 1):
                low = ends[-1 - d]
                if low < 0:
                    continue
                codes = [RIGHT + d] if low == 0 else [LEFT + d, RIGHT + d]
                if self.single and low == 0 and not self.is_last(left, right, d):
                    continue
                for code in codes:
                    removed = len(ends) - 1 - d if code < RIGHT else len(ends) - 1
                    top = (*ends[:removed], *ends[removed + 1 :])
                    item = _Item(left.context, left.start, top, right.end)
                    for part in self.parts(code, (*below, *ends), right.end):
                        instances = by_start[left.start].setdefault(item, [])
                        instances.append((left_number, number, part))

    def is_last(self, left: _Item, right: _Item, d: int) -> bool:
        """Whether an arc from `$` is the last of a computation: then it is the only one."""
        return d == 1 and left.end == 1 and right.end == self.words + 1


def deduce(
    words: int,
    parts: Parts,
    *,
    degree: int = 2,
    context: int = 1,
    single_root: bool = False,
) -> Arrays:
    """The forest of all computations on so many words; without items if there is none.

    Args:
        parts: see `Parts`; the stack has at least `context` symbols, and all that are replaced.
        degree: the largest one of transitions.
        context: how many symbols the shift sees.
        single_root: whether `$` has one modifier.
    """
    deduction = _Deduction(words, degree, context, single_root, parts)
    goal = deduction.run()
    first = np.array(deduction.first, np.int32)
    table = np.array(deduction.instances, np.int32).reshape(-1, 3)
    arrays = _needed(first, table, goal)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _needed(first: Shorts, table: Shorts, goal: int) -> Arrays:
    """The items that some derivation of the goal has, renumbered."""
    if goal < 0:
        none = np.empty(0, np.int32)
        return np.zeros(1, np.int32), none, none, none
    needed = np.zeros(len(first), bool)
    needed[goal] = True
    for item in range(goal, -1, -1):
        if needed[item]:
            needed[table[first[item] : first[item + 1], :2]] = True
    needed[-1] = False  # which a tail of -1 has marked
    numbers = np.append(np.cumsum(needed[:-1]) - 1, -1).astype(np.int32)
    counts = np.diff(first)
    kept = np.repeat(needed[:-1], counts)
    tails = numbers[table[kept, :2]]
    new_first = np.concatenate([[0], np.cumsum(counts[needed[:-1]])]).astype(np.int32)
    return (
        new_first,
        np.ascontiguousarray(tails[:, 0]),
        np.ascontiguousarray(tails[:, 1]),
        np.ascontiguousarray(table[kept, 2]),
    )

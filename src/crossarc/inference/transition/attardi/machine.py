"""Attardi's transition system of any degree D, as a machine (Cohen et al. 2011, sections 2.2, 6).

A configuration is a stack, its top on the right, and the next node of the buffer. With i1 .. i(d+1)
on top of the stack,

    sh     moves the next node to the stack
    la_d   i(d+1) -> i1, removes i1
    ra_d   i1 -> i(d+1), removes i(d+1)

for 1 <= d <= D; none is defined on the bottom marker, which is -1. `$`, node 0, keeps to the stack,
since a complete computation ends with it. Transitions have codes: 0 for sh, d for la_d, and 2^16 +
d for ra_d.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_INT, kernel

__all__ = [
    "LEFT",
    "RIGHT",
    "SHIFT",
    "Configuration",
    "arc_of",
    "initial",
    "oracle",
    "replay",
    "transition_code",
    "transition_name",
]

Ints = NDArray[np.int64]

SHIFT, LEFT, RIGHT = 0, 0, 1 << 16


def transition_name(code: int) -> str:
    """ "sh", "la1", "ra2" and so on."""
    if code == SHIFT:
        return "sh"
    return f"ra{code - RIGHT}" if code > RIGHT else f"la{code}"


def transition_code(name: str) -> int:
    """The inverse of `transition_name`."""
    if name == "sh":
        return SHIFT
    return int(name[2:]) + (RIGHT if name.startswith("ra") else LEFT)


def arc_of(code: int, stack: tuple[int, ...]) -> tuple[int, int]:
    """Head and modifier of the arc that a reduction makes."""
    if code > RIGHT:
        return stack[-1 - (code - RIGHT)], stack[-1]
    return stack[-1], stack[-1 - code]


class Configuration(NamedTuple):
    """A stack, the next node of the buffer, and the arcs (head, modifier) made so far."""

    stack: tuple[int, ...]
    buffer: int
    arcs: tuple[tuple[int, int], ...]
    words: int

    @property
    def is_terminal(self) -> bool:
        """Whether the computation is complete: only `$` is left."""
        return self.buffer > self.words and self.stack == (-1, 0)

    def transitions(self, degree: int = 2) -> Iterator[int]:
        """The codes of the transitions up to this degree that are defined here."""
        if self.buffer <= self.words:
            yield SHIFT
        for d in range(1, min(degree, len(self.stack) - 2) + 1):
            if self.stack[-1 - d] > 0:
                yield LEFT + d
            yield RIGHT + d

    def apply(self, code: int) -> Configuration:
        """The next configuration.

        Raises:
            ValueError: the transition is not defined here.
        """
        stack, d = self.stack, code - (RIGHT if code > RIGHT else LEFT)
        if code not in self.transitions(degree=d):
            raise ValueError(f"{transition_name(code)} is not defined on stack {stack}")
        if code == SHIFT:
            return self._replace(stack=(*stack, self.buffer), buffer=self.buffer + 1)
        arcs = (*self.arcs, arc_of(code, stack))
        if code > RIGHT:
            return self._replace(stack=stack[:-1], arcs=arcs)
        kept = (*stack[: len(stack) - 1 - d], *stack[len(stack) - d :])
        return self._replace(stack=kept, arcs=arcs)


def initial(words: int) -> Configuration:
    """([cent], all nodes), for so many words."""
    return Configuration((-1,), 0, (), words)


def replay(codes: Iterable[int], words: int) -> Iterator[tuple[Configuration, int]]:
    """Each configuration of a computation with the transition made there; the end with -1."""
    configuration = initial(words)
    for code in codes:
        yield configuration, code
        configuration = configuration.apply(code)
    yield configuration, -1


@kernel(types.boolean(READ_INT, types.int64, types.int64[::1], types.int64[::1]))
def _reduce_early(heads: Ints, limit: int, codes: Ints, degrees: Ints) -> bool:
    n = heads.shape[0]
    waiting = np.zeros(n + 1, np.int64)  # modifiers that have not been attached
    for m in range(n):
        waiting[heads[m]] += 1
    stack = np.empty(n + 1, np.int64)
    height, buffer, step = 0, 0, 0
    degrees[:] = 0
    while True:
        # A stack node is linked to the top if it can be: the nearest first.
        found = 0
        for d in range(1, min(limit, height - 1) + 1):
            low, top = stack[height - 1 - d], stack[height - 1]
            if low > 0 and heads[low - 1] == top and waiting[low] == 0:
                found = LEFT + d
                for p in range(height - 1 - d, height - 1):
                    stack[p] = stack[p + 1]
                degrees[low - 1] = d
                waiting[top] -= 1
            elif heads[top - 1] == low and waiting[top] == 0:
                found = RIGHT + d
                degrees[top - 1] = d
                waiting[low] -= 1
            if found:
                height -= 1
                break
        if not found:
            if buffer > n:
                return height == 1
            stack[height] = buffer
            height += 1
            buffer += 1
        codes[step] = found
        step += 1


def oracle(heads: Iterable[int], degree: int | None = None) -> tuple[Ints, Ints] | None:
    """A computation that makes a tree, and the degree at which it attaches each word.

    Reductions go before shifts, those of the lowest degree first. To remove a node that has all its
    modifiers brings the others nearer and makes no arc impossible, so a computation is found if
    there is one. Without a limit it may use higher degrees than others that shift first.

    Args:
        heads: that of word 1 first, of a tree.
        degree: the highest degree of reductions; None for any.

    Returns:
        codes and degrees; None for a tree that no such computation derives.
    """
    array = np.ascontiguousarray(heads, np.int64)
    codes, degrees = np.empty(2 * len(array) + 1, np.int64), np.empty(len(array), np.int64)
    limit = len(array) if degree is None else degree
    return (codes, degrees) if _reduce_early(array, limit, codes, degrees) else None

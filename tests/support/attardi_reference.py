"""Attardi's system by its definition: every computation of a short sentence, one by one.

Stacks are tuples with the top on the right, -1 the bottom marker, 0 the node of `$`. Written from
sections 2.2, 3 and 6 of Cohen et al. (2011), without the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

Stack = tuple[int, ...]
Arcs = tuple[tuple[int, int], ...]


class Step(NamedTuple):
    """A transition: "sh", "la1", "ra2" ...; the stack before it; the node shifted, if any."""

    name: str
    stack: Stack
    shifted: int = -1


class Run(NamedTuple):
    """A complete computation and the heads of the words, that of word 1 first."""

    steps: tuple[Step, ...]
    heads: tuple[int, ...]


def computations(words: int, degree: int = 2) -> Iterator[Run]:
    """All complete computations from ([cent], 0 .. n) to ([cent, 0], [])."""

    def extend(steps: tuple[Step, ...], stack: Stack, buffer: int, arcs: Arcs) -> Iterator[Run]:
        if buffer > words and stack == (-1, 0):
            heads = dict((m, h) for h, m in arcs)
            yield Run(steps, tuple(heads[m] for m in range(1, words + 1)))
            return
        if buffer <= words:
            step = Step("sh", stack, buffer)
            yield from extend((*steps, step), (*stack, buffer), buffer + 1, arcs)
        for d in range(1, degree + 1):
            if len(stack) < d + 1 or stack[-1 - d] == -1:
                continue
            low, top = stack[-1 - d], stack[-1]
            if low != 0:  # the end needs node 0 on the stack
                rest = (*stack[: len(stack) - 1 - d], *stack[len(stack) - d :])
                step = Step(f"la{d}", stack)
                yield from extend((*steps, step), rest, buffer, (*arcs, (top, low)))
            step = Step(f"ra{d}", stack)
            yield from extend((*steps, step), stack[:-1], buffer, (*arcs, (low, top)))

    yield from extend((), (-1,), 0, ())


def probability(run: Run, of_step: Callable[[Step], float]) -> float:
    """The product over the steps of a computation."""
    product = 1.0
    for step in run.steps:
        product *= of_step(step)
    return product


def original_system(words: int) -> set[Arcs]:
    """The arcs of all computations of Attardi's own system of degree 2, in the order made.

    Configurations are (stack, buffer). A link is made between the first buffer node and a stack
    node. If the buffer node is the modifier, it is removed, and the top of the stack is pushed back
    into the buffer (Attardi 2006, section 2.2).
    """
    found: set[Arcs] = set()

    def extend(stack: Stack, buffer: Stack, arcs: Arcs) -> None:
        if not stack and buffer == (0,):
            found.add(arcs)
        if len(buffer) > 1:  # shift
            extend((*stack, buffer[0]), buffer[1:], arcs)
        for d in (1, 2):
            if len(stack) < d:
                continue
            low, first = stack[-d], buffer[0]
            kept = (*stack[: len(stack) - d], *stack[len(stack) - d + 1 :])
            if low != 0:
                extend(kept, buffer, (*arcs, (first, low)))
            extend(stack[:-1], (stack[-1], *buffer[1:]), (*arcs, (low, first)))

    extend((), tuple(range(words + 1)), ())
    return found

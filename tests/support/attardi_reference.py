"""Attardi's system by its definition: every computation of a short sentence, one by one.

Stacks are tuples with the top on the right, -1 the bottom marker, 0 the node of `$`. Written from
sections 2.2, 3 and 6 of Cohen et al. (2011), without the library but for the type of scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np

from crossarc.inference.transition.attardi import TransitionScores

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


@cache
def computations(words: int, degree: int = 2) -> tuple[Run, ...]:
    """All complete computations from ([cent], 0 .. n) to ([cent, 0], [])."""

    def extend(steps: tuple[Step, ...], stack: Stack, buffer: int, arcs: Arcs) -> Iterator[Run]:
        if buffer > words and stack == (-1, 0):
            heads = {m: h for h, m in arcs}
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

    return tuple(extend((), (-1,), 0, ()))


def table_index(step: Step) -> tuple[int, tuple[int, ...]]:
    """The table of `TransitionScores` that has a step, and its entry there."""
    if step.name == "sh":
        return 0, (step.stack[-1], step.shifted)
    degree = int(step.name[2])
    return ("la1", "ra1", "la2", "ra2").index(step.name) + 1, step.stack[-1 - degree :]


class Summed(NamedTuple):
    """What follows from the listed computations."""

    log_total: float
    expectations: TransitionScores
    best: Run
    best_score: float
    #: Probabilities of computations and of trees.
    runs: dict[tuple[str, ...], float]
    trees: Counter[tuple[int, ...]]


def summed(scores: TransitionScores, *, single_root: bool = False) -> Summed:
    """Over all computations of a sentence; the first shift scores 0."""
    found = []
    for run in computations(len(scores.sh) - 1):
        if not single_root or run.heads.count(0) == 1:
            entries = [table_index(step) for step in run.steps[1:]]
            found.append((math.fsum(scores[t][e] for t, e in entries), run, entries))
    highest = max(score for score, _, _ in found)
    total = highest + math.log(math.fsum(math.exp(score - highest) for score, _, _ in found))
    expected = TransitionScores(*(np.zeros_like(table) for table in scores))
    runs: dict[tuple[str, ...], float] = {}
    trees: Counter[tuple[int, ...]] = Counter()
    for score, run, entries in found:
        p = math.exp(score - total)
        for table, entry in entries:
            expected[table][entry] += p
        runs[tuple(step.name for step in run.steps)] = p
        trees[run.heads] += p
    best_score, best, _ = max(found, key=lambda one: one[0])
    return Summed(total, expected, best, best_score, runs, trees)


def all_trees(words: int) -> Iterator[tuple[int, ...]]:
    """The heads of all trees, with one root or several."""
    for heads in product(range(words + 1), repeat=words):
        if all(_is_below_root(heads, m) for m in range(1, words + 1)):
            yield heads


def _is_below_root(heads: Sequence[int], node: int) -> bool:
    for _ in heads:
        node = heads[node - 1] if node else 0
    return node == 0


def model_probability(parameters: Mapping[str, np.ndarray], ids: Sequence[int], run: Run) -> float:
    """p(computation) by section 3: ids are the symbols of nodes, 0 the bottom marker's."""

    def of_step(step: Step) -> float:
        symbols = [0 if node < 0 else ids[node] for node in step.stack]
        b1 = symbols[-1]
        if step.name == "sh":
            return float(parameters["sh"][b1, ids[step.shifted]])
        b2 = symbols[-2]
        if step.name in ("la1", "ra1"):
            return float(parameters["rd"][b1] * parameters[step.name][b2, b1])
        both = parameters["rd"][b1] * parameters["rd2"][b2, b1]
        return float(both * parameters[step.name][symbols[-3], b2, b1])

    return probability(run, of_step)


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

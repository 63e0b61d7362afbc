"""A pass of the perceptron with the dynamic oracle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.oracle import cheapest
from crossarc.inference.transition.pieces import HEAD, begin_word, end_word, leave_pair
from crossarc.inference.transition.system import LEFT_ARC, NO_ARC, SHIFT
from crossarc.kernels import kernel, subkernel
from crossarc.models.covington.decisions import (
    LEARN_ARGUMENTS,
    Model,
    Scratch,
    best_allowed,
    best_label,
    best_root,
    make_scratch,
    next_choice,
    score_actions,
    score_root,
    start_forest,
    without_given,
)
from crossarc.models.covington.features import add_arc, seeds_of
from crossarc.models.hashing import hash_code, hash_start, slot

__all__ = [
    "Gold",
    "Memory",
    "add_to_weight",
    "gold_of",
    "learn_end",
    "learn_greedily",
    "learn_transition",
]

Ints = NDArray[np.int64]
Array = NDArray[Any]


class Memory(NamedTuple):
    """Weights, and for their mean the sum of all changes, each times the steps before it.

    Of `counts`, the first is the number of steps, the second that of mistakes.
    """

    weights: Array
    drift: Array
    counts: Ints


class Gold(NamedTuple):
    """Heads and labels of a sentence, those of word 1 at index 1; -1 where there is none."""

    heads: Ints
    labels: Ints


@subkernel()
def gold_of(heads: Ints, labels: Ints, first: int, n: int) -> Gold:
    """The gold tree of n words that begin at `first`."""
    gold = Gold(np.full(n + 1, -1, np.int64), np.full(n + 1, -1, np.int64))
    gold.heads[1:] = heads[first : first + n]
    gold.labels[1:] = labels[first : first + n]
    return gold


@subkernel()
def correct(memory: Memory, scratch: Scratch, features: int, right: int, wrong: int) -> None:
    """Count a step; if the outcomes differ, raise one and lower the other (Collins 2002)."""
    memory.counts[0] += 1
    if right != wrong:
        memory.counts[1] += 1
        change(memory, scratch, features, right, 1)
        change(memory, scratch, features, wrong, -1)


@subkernel()
def change(memory: Memory, scratch: Scratch, features: int, outcome: int, amount: int) -> None:
    """Add to the weights of an outcome for the features of the decision."""
    for k in range(features):
        add_to_weight(memory, scratch.slots[k] + outcome, amount)


@subkernel(inline=True)
def add_to_weight(memory: Memory, index: int, amount: int) -> None:
    """Change one weight."""
    memory.weights[index] += amount
    memory.drift[index] += amount * memory.counts[0]


@subkernel()
def _learn_label(
    model: Model,
    memory: Memory,
    scratch: Scratch,
    gold: Gold,
    forest: Ints,
    row: int,
    h: int,
    m: int,
) -> int:
    """Choose the label of an arc; if the arc is gold, learn its label."""
    label = best_label(model, scratch, forest, row, h, m)
    if gold.heads[m] == h and gold.labels[m] >= 0:
        correct(memory, scratch, model.bounds[1] - model.bounds[0], gold.labels[m], label)
    return label


@subkernel(inline=True)
def learn_transition(
    model: Model,
    memory: Memory,
    scratch: Scratch,
    gold: Gold,
    forest: Ints,
    row: int,
    action: int,
    i: int,
    j: int,
) -> int:
    """Make a transition at (i, j), and learn the label of its arc; returns the next j."""
    if action == SHIFT:
        return 0
    if action != NO_ARC:
        h, m = (i, j) if action == LEFT_ARC else (j, i)
        label = _learn_label(model, memory, scratch, gold, forest, row, h, m)
        add_arc(forest, action, i, j, label)
    leave_pair(forest, j)
    return j - 1


@subkernel()
def learn_end(
    model: Model, memory: Memory, scratch: Scratch, gold: Gold, forest: Ints, row: int, single: bool
) -> None:
    """Learn the root among words without head, and the labels of the arcs that they get."""
    root, right = 0, 0
    if single:
        root = best_root(model, scratch, forest, row, np.full_like(gold.heads, -1))
        for m in range(1, gold.heads.shape[0]):
            if gold.heads[m] == 0 and forest[HEAD, m] == 0:
                right = m
        features = model.bounds[2] - model.bounds[1]
        memory.counts[0] += 1
        if right > 0 and root != right:
            score_root(model, scratch, forest, row, right)
            change(memory, scratch, features, 0, 1)
            score_root(model, scratch, forest, row, root)
            change(memory, scratch, features, 0, -1)
            root = right
    for m in range(1, gold.heads.shape[0]):
        if forest[HEAD, m] == 0:
            _learn_label(model, memory, scratch, gold, forest, row, 0 if m == root else root, m)


@subkernel()
def _uniform(seed: int, step: int) -> float:
    """A pseudo-random number from 0 to 1."""
    return slot(hash_code(hash_start(seed), step), 30) / (1 << 30)


@kernel(types.void(*LEARN_ARGUMENTS, types.float64, types.int64))
def learn_greedily(
    codes: Ints,
    sizes: Ints,
    starts: Ints,
    words: Ints,
    plan: Ints,
    bounds: Ints,
    bits: int,
    weights: Array,
    permitted: Array,
    bound: int,
    single: bool,
    gold_heads: Ints,
    gold_labels: Ints,
    drift: Array,
    counts: Ints,
    exploring: float,
    seed: int,
) -> None:
    """Learn from sentences, one transition after the other.

    Args:
        codes, sizes, starts, words: as in `Encoded`.
        exploring: how often, from 0 to 1, the best transition by the weights is followed even
            where it is wrong, instead of the best one that costs nothing.
    """
    model = Model(codes, plan, seeds_of(plan.shape[0]), bounds, bits, weights, permitted)
    memory = Memory(weights, drift, counts)
    scratch = make_scratch(plan.shape[0], permitted.shape[1])
    for s in range(sizes.shape[0]):
        n, row = sizes[s], starts[s]
        gold = gold_of(gold_heads, gold_labels, words[s], n)
        rules = without_given(bound, n)
        forest = start_forest(rules)
        for i in range(1, n + 1):
            begin_word(forest)
            j = i - 1
            while True:
                j, allowed = next_choice(rules, forest, i, j)
                if j == 0:
                    break
                right = cheapest(forest[HEAD], gold.heads, bound, allowed, i, j)
                if right >> SHIFT & 1:
                    # Where nothing is lost, fewer pairs are tried.
                    right &= ~(1 << NO_ARC)
                score_actions(model, scratch, forest, row, i, j)
                action = best_allowed(scratch.actions, allowed)
                free = best_allowed(scratch.actions, right)
                wrong = not right >> action & 1
                correct(memory, scratch, bounds[0], free if wrong else action, action)
                if wrong and _uniform(seed, counts[0]) >= exploring:
                    action = free
                j = learn_transition(model, memory, scratch, gold, forest, row, action, i, j)
            end_word(forest, i)
        learn_end(model, memory, scratch, gold, forest, row, single)

"""A pass of the structured perceptron with a beam.

A sentence is searched while the gold derivation is followed beside the beam: the one that makes
every gold arc that is permissible, and shifts as soon as there is none to come. Where the best item
leads by most, its transitions are lowered and the gold ones raised: the update of maximum violation
(Huang, Fayong & Guo 2012). Labels and roots are learnt along the gold derivation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import begin_word, end_word
from crossarc.inference.transition.system import (
    LEFT_ARC,
    NO_ARC,
    RIGHT_ARC,
    SHIFT,
    begin_given,
)
from crossarc.kernels import kernel, subkernel
from crossarc.models.covington.beam import (
    Beam,
    advance,
    best_item,
    end_pairs,
    follow,
    make_beam,
    start_pairs,
)
from crossarc.models.covington.decisions import (
    LEARN_ARGUMENTS,
    Model,
    Rules,
    Scratch,
    apply_transition,
    make_scratch,
    next_choice,
    score_actions,
    start_forest,
    without_given,
)
from crossarc.models.covington.features import seeds_of
from crossarc.models.covington.learning import (
    Gold,
    Memory,
    add_to_weight,
    gold_of,
    learn_end,
    learn_transition,
)

__all__ = ["learn_with_beam"]

Ints = NDArray[np.int64]
Bytes = NDArray[np.int8]
Array = NDArray[Any]


@subkernel()
def _gold_action(gold: Gold, reach: Ints, allowed: int, i: int, j: int) -> int:
    """The transition of the gold derivation; `reach` as for given arcs."""
    if gold.heads[i] == j and allowed >> RIGHT_ARC & 1:
        return RIGHT_ARC
    if gold.heads[j] == i and allowed >> LEFT_ARC & 1:
        return LEFT_ARC
    return NO_ARC if reach[i] < j else SHIFT


@subkernel()
def _first_difference(beam: Beam, b: int, c: int) -> int:
    """Where the transitions of two items part; -1 if they are the same."""
    shorter = min(beam.steps[b], beam.steps[c])
    for k in range(shorter):
        if beam.past[b, k] != beam.past[c, k]:
            return k
    return -1 if beam.steps[b] == beam.steps[c] else int(shorter)


@subkernel()
def _search(
    model: Model, scratch: Scratch, rules: Rules, gold: Gold, reach: Ints, beam: Beam, row: int
) -> tuple[int, int, Bytes]:
    """Fill the beam, with the gold derivation in its last entry.

    Returns:
        how many gold transitions there were where the best item led by most, and its transitions
        up to there; 0 if the gold derivation wins in the end, or never falls behind.
    """
    width = beam.alive.shape[0] - 1
    beam.alive[width] = True
    lead, gold_steps, other_steps = -1, 0, 0
    other = np.zeros(beam.past.shape[1], np.int8)
    for i in range(1, gold.heads.shape[0]):
        start_pairs(rules, beam, i)
        while True:
            j = beam.pairs[beam.alive].max()
            if j == 0:
                break
            if beam.pairs[width] == j:
                action = _gold_action(gold, reach, beam.allowed[width], i, j)
                score_actions(model, scratch, beam.forests[width], row, i, j)
                beam.scores[width] += scratch.actions[action]
                follow(model, scratch, rules, beam, row, width, action, i)
            advance(model, scratch, rules, beam, row, i, j)
            best = best_item(beam)
            ahead = beam.scores[best] - beam.scores[width]
            if ahead > lead and _first_difference(beam, best, width) >= 0:
                lead, gold_steps, other_steps = ahead, beam.steps[width], beam.steps[best]
                other[:other_steps] = beam.past[best, :other_steps]
        end_pairs(beam, i)
    if lead < 0 or _first_difference(beam, best_item(beam), width) < 0:
        return 0, 0, other
    return gold_steps, other_steps, other


@subkernel()
def _features(
    model: Model,
    scratch: Scratch,
    rules: Rules,
    row: int,
    past: Bytes,
    steps: int,
) -> Ints:
    """The weights that the score of a derivation is the sum of."""
    forest = start_forest(rules)
    features = model.bounds[0]
    found = np.empty(steps * features, np.int64)
    k = 0
    for i in range(1, rules.given.shape[0]):
        begin_word(forest)
        j = i - 1
        while k < steps:
            j, _ = next_choice(rules, forest, i, j)
            if j == 0:
                break
            score_actions(model, scratch, forest, row, i, j)
            found[k * features : (k + 1) * features] = scratch.slots[:features] + past[k]
            j = apply_transition(model, scratch, forest, row, past[k], i, j)
            k += 1
        end_word(forest, i)
    return found


@subkernel()
def _add(memory: Memory, slots: Ints, amount: int) -> None:
    for slot in slots:
        add_to_weight(memory, slot, amount)


@subkernel()
def _learn_labels(
    model: Model,
    memory: Memory,
    scratch: Scratch,
    rules: Rules,
    gold: Gold,
    row: int,
    past: Bytes,
    single: bool,
) -> None:
    """Learn labels, and the root, along a derivation."""
    forest = start_forest(rules)
    k = 0
    for i in range(1, gold.heads.shape[0]):
        begin_word(forest)
        j = i - 1
        while True:
            j, _ = next_choice(rules, forest, i, j)
            if j == 0:
                break
            j = learn_transition(model, memory, scratch, gold, forest, row, past[k], i, j)
            k += 1
        end_word(forest, i)
    learn_end(model, memory, scratch, gold, forest, row, single)


@kernel(types.void(*LEARN_ARGUMENTS, types.int64))
def learn_with_beam(
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
    width: int,
) -> None:
    """Learn from sentences, one after the other, with a beam of `width` items."""
    model = Model(codes, plan, seeds_of(plan.shape[0]), bounds, bits, weights, permitted)
    memory = Memory(weights, drift, counts)
    scratch = make_scratch(plan.shape[0], permitted.shape[1])
    for s in range(sizes.shape[0]):
        n, row = sizes[s], starts[s]
        gold = gold_of(gold_heads, gold_labels, words[s], n)
        rules = without_given(bound, n)
        reach = np.empty(n + 1, np.int64)
        beam = make_beam(width, n, rules, n * (n - 1) // 2)
        begin_given(beam.forests[width], gold.heads, reach)
        begin_given(beam.forests[width], rules.given, rules.reach)
        right, wrong, other = _search(model, scratch, rules, gold, reach, beam, row)
        counts[0] += 1
        if right > 0:
            counts[1] += 1
            raised = _features(model, scratch, rules, row, beam.past[width], right)
            lowered = _features(model, scratch, rules, row, other, wrong)
            _add(memory, raised, 1)
            _add(memory, lowered, -1)
        _learn_labels(model, memory, scratch, rules, gold, row, beam.past[width], single)

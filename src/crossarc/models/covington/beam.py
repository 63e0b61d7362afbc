"""The parser with a beam: the best derivation found among those that start well.

All items of a beam have come to the same pair of words.
At every pair, an item for which it is active is replaced by one for each transition; an item that
has done with the word, or for which the pair is not active, waits. So items are compared that have
all seen the same pairs, whatever the number of transitions they made, and the best are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import MARGIN, begin_word, end_word
from crossarc.inference.transition.system import ACTIONS, begin_given
from crossarc.kernels import kernel, subkernel
from crossarc.models.covington.decisions import (
    PARSE_ARGUMENTS,
    RESULT_ARGUMENTS,
    Model,
    Rules,
    Scratch,
    apply_transition,
    finish,
    is_choice,
    make_scratch,
    next_choice,
    rules_of,
    score_actions,
)
from crossarc.models.covington.features import MODEL_ROWS, seeds_of

__all__ = [
    "Beam",
    "advance",
    "best_item",
    "end_pairs",
    "follow",
    "make_beam",
    "parse_with_beam",
    "start_pairs",
]

Ints = NDArray[np.int64]
Array = NDArray[Any]

_WAIT = -1


class Beam(NamedTuple):
    """Items, and one entry more for a derivation that is followed beside them.

    forests: one an item.
    alive: which entries hold an item.
    scores: sum of the scores of an item's transitions.
    pairs, allowed: the j of an item's next choice, 0 if it has done with i, and the transitions.
    past, steps: the transitions of an item, as far as the array goes, and their number.
    """

    forests: NDArray[np.int64]
    alive: NDArray[np.bool_]
    scores: Ints
    pairs: Ints
    allowed: Ints
    past: NDArray[np.int8]
    steps: Ints


@subkernel()
def make_beam(width: int, n: int, rules: Rules, max_steps: int) -> Beam:
    """A beam with one item, that has no arc."""
    beam = Beam(
        np.zeros((width + 1, MODEL_ROWS, n + MARGIN), np.int64),
        np.zeros(width + 1, np.bool_),
        np.zeros(width + 1, np.int64),
        np.zeros(width + 1, np.int64),
        np.zeros(width + 1, np.int64),
        np.zeros((width + 1, max_steps), np.int8),
        np.zeros(width + 1, np.int64),
    )
    beam.alive[0] = True
    for b in range(width + 1):
        begin_given(beam.forests[b], rules.given, rules.reach)
    return beam


@subkernel()
def start_pairs(rules: Rules, beam: Beam, i: int) -> None:
    """Go to the first choice of word i."""
    for b in range(beam.alive.shape[0]):
        if beam.alive[b]:
            begin_word(beam.forests[b])
            beam.pairs[b], beam.allowed[b] = next_choice(rules, beam.forests[b], i, i - 1)


@subkernel()
def end_pairs(beam: Beam, i: int) -> None:
    """Have done with word i."""
    for b in range(beam.alive.shape[0]):
        if beam.alive[b]:
            end_word(beam.forests[b], i)


@subkernel()
def best_item(beam: Beam) -> int:
    """The item with the best score; the first of equals."""
    best = -1
    for b in range(beam.alive.shape[0] - 1):
        if beam.alive[b] and (best < 0 or beam.scores[b] > beam.scores[best]):
            best = b
    return best


@subkernel()
def follow(
    model: Model,
    scratch: Scratch,
    rules: Rules,
    beam: Beam,
    row: int,
    b: int,
    action: int,
    i: int,
) -> None:
    """Make a transition in one item and go on to its next choice."""
    if beam.steps[b] < beam.past.shape[1]:
        beam.past[b, beam.steps[b]] = action
    beam.steps[b] += 1
    forest = beam.forests[b]
    j = apply_transition(model, scratch, forest, row, action, i, beam.pairs[b])
    beam.pairs[b], beam.allowed[b] = next_choice(rules, forest, i, j)


@subkernel()
def advance(
    model: Model, scratch: Scratch, rules: Rules, beam: Beam, row: int, i: int, j: int
) -> int:
    """Let all items see the pair (i, j); returns for how many of them it was active."""
    width = beam.alive.shape[0] - 1
    scores = np.empty(width * ACTIONS, np.int64)
    items = np.empty(width * ACTIONS, np.int64)
    actions = np.empty(width * ACTIONS, np.int64)
    found, active = 0, 0
    for b in range(width):
        if not beam.alive[b]:
            continue
        if beam.pairs[b] < j:
            scores[found], items[found], actions[found] = beam.scores[b], b, _WAIT
            found += 1
            continue
        scratch.actions[:] = 0
        if is_choice(beam.allowed[b]):
            active += 1
            score_actions(model, scratch, beam.forests[b], row, i, j)
        for action in range(ACTIONS):
            if beam.allowed[b] >> action & 1:
                scores[found] = beam.scores[b] + scratch.actions[action]
                items[found], actions[found] = b, action
                found += 1
    chosen = np.argsort(-scores[:found], kind="mergesort")[:width]
    entries = _allocate(beam, items[chosen], i)
    for k in range(len(chosen)):
        b, action = entries[k], actions[chosen[k]]
        beam.scores[b] = scores[chosen[k]]
        if action != _WAIT:
            follow(model, scratch, rules, beam, row, b, action, i)
    return active


@subkernel()
def _allocate(beam: Beam, items: Ints, i: int) -> Ints:
    """Entries for copies of items: the first copy stays, others go where no item is left."""
    width = beam.alive.shape[0] - 1
    entries = np.full(items.shape[0], -1, np.int64)
    beam.alive[:width] = False
    for k in range(items.shape[0]):
        if not beam.alive[items[k]]:
            beam.alive[items[k]] = True
            entries[k] = items[k]
    empty = 0
    for k in range(items.shape[0]):
        if entries[k] >= 0:
            continue
        while beam.alive[empty]:
            empty += 1
        _copy(beam, items[k], empty, i)
        entries[k] = empty
    return entries


@subkernel()
def _copy(beam: Beam, b: int, to: int, i: int) -> None:
    # Nothing is known yet of words after i.
    filled = i + MARGIN
    beam.forests[to, :, :filled] = beam.forests[b, :, :filled]
    beam.alive[to] = True
    beam.pairs[to], beam.allowed[to] = beam.pairs[b], beam.allowed[b]
    beam.steps[to] = beam.steps[b]
    kept = min(beam.steps[b], beam.past.shape[1])
    beam.past[to, :kept] = beam.past[b, :kept]


@kernel(types.void(*PARSE_ARGUMENTS, types.int64, *RESULT_ARGUMENTS))
def parse_with_beam(
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
    width: int,
    given: Ints,
    heads: Ints,
    labels: Ints,
    pair_counts: Ints,
    begin: int,
    end: int,
) -> None:
    """As `parse_greedily`, with a beam of `width` items; a pair counts once for each item.

    Items are copied, O(n) each time, so that the time grows as n^2 in the end.
    """
    model = Model(codes, plan, seeds_of(plan.shape[0]), bounds, bits, weights, permitted)
    scratch = make_scratch(plan.shape[0], permitted.shape[1])
    for s in range(begin, end):
        n, row, first = sizes[s], starts[s], words[s]
        rules = rules_of(bound, given, first, n)
        beam = make_beam(width, n, rules, 0)
        pair_counts[s] = 0
        for i in range(1, n + 1):
            start_pairs(rules, beam, i)
            while True:
                j = beam.pairs[:width][beam.alive[:width]].max()
                if j == 0:
                    break
                pair_counts[s] += advance(model, scratch, rules, beam, row, i, j)
            end_pairs(beam, i)
        forest = beam.forests[best_item(beam)]
        finish(model, scratch, forest, row, rules, single, first, heads, labels)

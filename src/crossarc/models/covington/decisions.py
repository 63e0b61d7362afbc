"""The decisions of a parser by the scores of outcomes: a transition, a label, a root.

An outcome's score is the sum of its weights over the features of the decision. All weights are
integers, so sums are the same in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import HEAD, MARGIN, is_closed, leave_pair, reach_pair
from crossarc.inference.transition.system import (
    ACTIONS,
    LEFT_ARC,
    NO_ARC,
    SHIFT,
    begin_given,
    choices,
    given_arc,
    is_pending,
)
from crossarc.kernels import READ_INT, subkernel
from crossarc.models.covington.features import (
    ADDRESS_COUNT,
    LABEL,
    MODEL_ROWS,
    NUMBER_COUNT,
    Hashes,
    add_arc,
    describe_arc,
    describe_pair,
    describe_root,
    feature_slots,
)

__all__ = [
    "LEARN_ARGUMENTS",
    "PARSE_ARGUMENTS",
    "RESULT_ARGUMENTS",
    "Model",
    "Rules",
    "Scratch",
    "apply_transition",
    "best_allowed",
    "best_label",
    "best_root",
    "finish",
    "is_choice",
    "make_scratch",
    "next_choice",
    "rules_of",
    "score_actions",
    "score_root",
    "start_forest",
    "without_given",
]

Ints = NDArray[np.int64]
Array = NDArray[Any]

# Types of the arguments of kernels.
_INTS = types.int64[::1]
# codes, sizes, starts, words; plan, bounds, bits
_FIRST = (
    types.Array(types.int64, 2, "C", readonly=True),
    READ_INT,
    READ_INT,
    READ_INT,
    types.Array(types.int64, 3, "C", readonly=True),
    READ_INT,
    types.int64,
)
# permitted, bound, single
_RULES = (types.Array(types.boolean, 2, "C", readonly=True), types.int64, types.boolean)
#: Of parsing, first: with frozen weights.
PARSE_ARGUMENTS = (*_FIRST, types.Array(types.int16, 1, "C", readonly=True), *_RULES)
#: Of parsing, last: given, heads, labels, pair counts, begin, end.
RESULT_ARGUMENTS = (READ_INT, _INTS, _INTS, _INTS, types.int64, types.int64)
#: Of learning, first: with weights that change, then gold heads and labels, drift and counts.
LEARN_ARGUMENTS = (
    *_FIRST,
    types.int32[::1],
    *_RULES,
    READ_INT,
    READ_INT,
    types.float64[::1],
    _INTS,
)


class Model(NamedTuple):
    """What scores are computed from; `permitted[0]` says which labels arcs of the root may have,
    `permitted[1]` other arcs."""

    codes: Ints
    plan: Ints
    seeds: Hashes
    bounds: Ints
    bits: int
    weights: Array
    permitted: NDArray[np.bool_]


class Rules(NamedTuple):
    """What trees of a sentence are looked for: the bound on degrees, and the arcs that are given,
    as in `begin_given`."""

    bound: int
    given: Ints
    reach: Ints


class Scratch(NamedTuple):
    """Arrays for the features and scores of one decision."""

    addresses: Ints
    numbers: Ints
    slots: Ints
    actions: Ints
    labels: Ints
    root: Ints


@subkernel()
def make_scratch(templates: int, labels: int) -> Scratch:
    """The arrays for a model."""
    return Scratch(
        np.zeros(ADDRESS_COUNT, np.int64),
        np.zeros(NUMBER_COUNT, np.int64),
        np.zeros(templates, np.int64),
        np.zeros(ACTIONS, np.int64),
        np.zeros(labels, np.int64),
        np.zeros(1, np.int64),
    )


@subkernel()
def without_given(bound: int, n: int) -> Rules:
    """The rules of n words, no arc of which is given."""
    return Rules(bound, np.full(n + 1, -1, np.int64), np.empty(n + 1, np.int64))


@subkernel()
def rules_of(bound: int, given: Ints, first: int, n: int) -> Rules:
    """The rules of n words, whose given heads begin at `first`."""
    rules = without_given(bound, n)
    rules.given[1:] = given[first : first + n]
    return rules


@subkernel()
def start_forest(rules: Rules) -> Ints:
    """A forest without arcs."""
    forest = np.zeros((MODEL_ROWS, rules.given.shape[0] - 1 + MARGIN), np.int64)
    begin_given(forest, rules.given, rules.reach)
    return forest


@subkernel()
def next_choice(rules: Rules, forest: Ints, i: int, j: int) -> tuple[int, int]:
    """The next pair of i that is active or has a given arc, from (i, j) on; 0 if there is none.

    Returns:
        its j, and the transitions there, a bit each: for a given arc only that one.
    """
    while j > 0:
        if is_closed(forest, rules.bound) and not is_pending(rules.reach, i, j + 1):
            break
        reach_pair(forest, i, j)
        arc = given_arc(rules.given, i, j)
        if arc != NO_ARC:
            return j, 1 << arc
        allowed = choices(forest, rules.given, rules.reach, rules.bound, i, j)
        if allowed != 0:
            return j, allowed
        leave_pair(forest, j)
        j -= 1
    return 0, 0


@subkernel()
def is_choice(allowed: int) -> bool:
    """Whether there is more than a given arc."""
    return allowed & (1 << NO_ARC) != 0


@subkernel()
def apply_transition(
    model: Model, scratch: Scratch, forest: Ints, row: int, action: int, i: int, j: int
) -> int:
    """Make a transition at (i, j), with the best label for its arc; returns the next j."""
    if action == SHIFT:
        return 0
    if action != NO_ARC:
        h, m = (i, j) if action == LEFT_ARC else (j, i)
        add_arc(forest, action, i, j, best_label(model, scratch, forest, row, h, m))
    leave_pair(forest, j)
    return j - 1


@subkernel()
def score_actions(model: Model, scratch: Scratch, forest: Ints, row: int, i: int, j: int) -> None:
    """The scores of all transitions at (i, j)."""
    describe_pair(forest, i, j, scratch.addresses, scratch.numbers)
    _score(model, scratch, row, 0, model.bounds[0], scratch.actions)


@subkernel()
def best_allowed(scores: Ints, allowed: int) -> int:
    """The outcome with the best score, of those with a bit; the first of equals."""
    best = -1
    for outcome in range(scores.shape[0]):
        if allowed >> outcome & 1 and (best < 0 or scores[outcome] > scores[best]):
            best = outcome
    return best


@subkernel()
def best_label(model: Model, scratch: Scratch, forest: Ints, row: int, h: int, m: int) -> int:
    """The label of h -> m with the best score, of those permitted; the first of equals."""
    describe_arc(forest, h, m, scratch.addresses, scratch.numbers)
    _score(model, scratch, row, model.bounds[0], model.bounds[1], scratch.labels)
    permitted = model.permitted[min(h, 1)]
    best = -1
    for label in range(scratch.labels.shape[0]):
        if permitted[label] and (best < 0 or scratch.labels[label] > scratch.labels[best]):
            best = label
    return best


@subkernel()
def _score(model: Model, scratch: Scratch, row: int, begin: int, end: int, scores: Ints) -> None:
    feature_slots(
        model.codes,
        row,
        model.plan,
        model.seeds,
        begin,
        end,
        model.bits,
        scratch.addresses,
        scratch.numbers,
        scratch.slots,
    )
    scores[:] = 0
    for k in range(end - begin):
        first = scratch.slots[k]
        for outcome in range(scores.shape[0]):
            scores[outcome] += model.weights[first + outcome]


@subkernel()
def best_root(model: Model, scratch: Scratch, forest: Ints, row: int, given: Ints) -> int:
    """The word without head to be the root of a tree with a single one: a given one, else that
    with the best score; the first of equals."""
    best, best_score = 0, 0
    for m in range(1, given.shape[0]):
        if given[m] == 0:
            return m
        if forest[HEAD, m] > 0:
            continue
        score = score_root(model, scratch, forest, row, m)
        if best == 0 or score > best_score:
            best, best_score = m, score
    return best


@subkernel()
def score_root(model: Model, scratch: Scratch, forest: Ints, row: int, m: int) -> int:
    """The score of m as the root."""
    describe_root(forest, m, scratch.addresses, scratch.numbers)
    _score(model, scratch, row, model.bounds[1], model.bounds[2], scratch.root)
    return int(scratch.root[0])


@subkernel()
def finish(
    model: Model,
    scratch: Scratch,
    forest: Ints,
    row: int,
    rules: Rules,
    single: bool,
    first: int,
    heads: Ints,
    labels: Ints,
) -> None:
    """Heads and labels of all words, those of the first word to `first`."""
    n = rules.given.shape[0] - 1
    _attach_rest(model, scratch, forest, row, rules.given, single)
    heads[first : first + n] = forest[HEAD, 1 : n + 1]
    labels[first : first + n] = forest[LABEL, 1 : n + 1] - 1


@subkernel()
def _attach_rest(
    model: Model, scratch: Scratch, forest: Ints, row: int, given: Ints, single: bool
) -> None:
    """Heads and labels of the words that have no head: 0, or under a single root the root word.

    The root word dominates all others in the end, so an arc from it has degree 0, and raises that
    of no other arc: every bound is kept.
    """
    root = best_root(model, scratch, forest, row, given) if single else 0
    for m in range(1, given.shape[0]):
        if forest[HEAD, m] > 0:
            continue
        h = 0 if m == root or given[m] == 0 else root
        forest[LABEL, m] = best_label(model, scratch, forest, row, h, m) + 1
        # Labels of the others are chosen as if the root word had no more children.
    for m in range(1, given.shape[0]):
        if forest[HEAD, m] == 0 and m != root and given[m] != 0:
            forest[HEAD, m] = root

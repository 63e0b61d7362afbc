"""The greedy parser: the best transition at every pair."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import begin_word, end_word
from crossarc.kernels import kernel
from crossarc.models.covington.decisions import (
    PARSE_ARGUMENTS,
    RESULT_ARGUMENTS,
    Model,
    apply_transition,
    best_allowed,
    finish,
    is_choice,
    make_scratch,
    next_choice,
    rules_of,
    score_actions,
    start_forest,
)
from crossarc.models.covington.features import seeds_of

__all__ = ["parse_greedily"]

Ints = NDArray[np.int64]
Array = NDArray[Any]


@kernel(types.void(*PARSE_ARGUMENTS, *RESULT_ARGUMENTS))
def parse_greedily(
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
    given: Ints,
    heads: Ints,
    labels: Ints,
    pair_counts: Ints,
    begin: int,
    end: int,
) -> None:
    """Heads and labels of the sentences begin..end-1, and how many pairs were active.

    O(n) memory; time O(active pairs), and for pairs that are not active a few steps each.

    Args:
        codes, sizes, starts, words: as in `Encoded`.
        given: heads that are given, all words of all sentences; -1 for none.
    """
    model = Model(codes, plan, seeds_of(plan.shape[0]), bounds, bits, weights, permitted)
    scratch = make_scratch(plan.shape[0], permitted.shape[1])
    for s in range(begin, end):
        n, row, first = sizes[s], starts[s], words[s]
        rules = rules_of(bound, given, first, n)
        forest = start_forest(rules)
        pair_counts[s] = 0
        for i in range(1, n + 1):
            begin_word(forest)
            j = i - 1
            while True:
                j, allowed = next_choice(rules, forest, i, j)
                if j == 0:
                    break
                if is_choice(allowed):
                    pair_counts[s] += 1
                    score_actions(model, scratch, forest, row, i, j)
                action = best_allowed(scratch.actions, allowed)
                j = apply_transition(model, scratch, forest, row, action, i, j)
            end_word(forest, i)
        finish(model, scratch, forest, row, rules, single, first, heads, labels)

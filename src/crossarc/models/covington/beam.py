"""The parser with a beam: the best derivation found among those that start well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.pieces import HEAD
from crossarc.kernels import kernel
from crossarc.models.covington.beams import (
    advance,
    best_item,
    end_pairs,
    make_beam,
    start_pairs,
)
from crossarc.models.covington.choosing import Model, Rules, finish, make_scratch
from crossarc.models.covington.features import LABEL, seeds_of
from crossarc.models.covington.signatures import PARSE_ARGUMENTS, RESULT_ARGUMENTS

__all__ = ["parse_with_beam"]

Ints = NDArray[np.int64]
Array = NDArray[Any]


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
    asked: Ints,
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
        own = np.full(n + 1, -1, np.int64)
        own[1:] = given[first : first + n]
        rules = Rules(bound, own, np.empty(n + 1, np.int64))
        beam = make_beam(width, n, rules, 0)
        asked[s] = 0
        for i in range(1, n + 1):
            start_pairs(rules, beam, i)
            while True:
                j = beam.pairs[:width][beam.alive[:width]].max()
                if j == 0:
                    break
                asked[s] += advance(model, scratch, rules, beam, row, i, j)
            end_pairs(beam, i)
        forest = beam.forests[best_item(beam)]
        finish(model, scratch, forest, row, own, single)
        heads[first : first + n] = forest[HEAD, 1 : n + 1]
        labels[first : first + n] = forest[LABEL, 1 : n + 1] - 1

"""Sums over trees and best trees under sibling factors: what goes in lockstep, what alone.

The sibling model of Eisner (1996) and McDonald & Pereira (2006), O(n^3), in float64 where that is
certain to be enough and in numbers with a wide exponent elsewhere, by the rule of `eisner_sums`.
Each kernel is loaded when it is first needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.projective.sibling_factor import SiblingFactor
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import in_lockstep
from crossarc.parallel import over_ranges

__all__ = ["best_trees", "sum_over_trees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NONE = np.empty(0, np.int64)
# Groups of longer sentences would need much memory.
_LONGEST = 128


def _best_kernel(together: bool) -> Any:
    if together:
        from crossarc.inference.projective.sibling_best_together import best_together

        return best_together
    from crossarc.inference.projective.sibling_best_alone import best_alone

    return best_alone


def _sum_kernel(together: bool) -> Any:
    if together:
        from crossarc.inference.projective.sibling_sums_together import sum_together

        return sum_together
    from crossarc.inference.projective.sibling_sums_alone import sum_alone

    return sum_alone


def best_trees(
    batch: Batch, factor: SiblingFactor, single: bool, members: Ints, threads: int | None
) -> tuple[Ints, Ints, Floats]:
    """Heads of the members' best trees, all -1 where there is none, siblings, and scores.

    Heads and siblings have an entry for each word of the batch; scores are right where finite.
    """
    heads, siblings = np.empty((2, int(batch.sizes.sum())), np.int64)
    scores = np.empty(len(batch))
    before = (batch.arcs, batch.sizes, batch.offsets, factor.rows, factor.starts)
    after = (single, _firsts(batch), heads, siblings, scores)
    in_lockstep(_best_kernel, batch.sizes, members, _LONGEST, before, after, threads)
    return heads, siblings, scores


def sum_over_trees(
    batch: Batch,
    factor: SiblingFactor,
    single: bool,
    quantity: int,
    out: Floats,
    out_parts: Floats,
    threads: int | None,
) -> Floats:
    """log Z, (2, sentences), as a sum of two floats; NaN where scores are too large.

    Args:
        quantity: LOG_PARTITION, MARGINALS or LOG_MARGINALS.
        out: marginals of arcs or their logarithms, flat; where there is no arc it is left alone.
        out_parts: the same for parts, as `factor.rows`; or empty if they are not quantity.
    """
    totals = np.empty((2, len(batch)))
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets, factor.rows, factor.starts)
    before, rest = (*arrays, factor.largest), (out, out_parts, totals)
    everybody = np.arange(len(batch))
    after, sizes = (single, quantity, _NONE, _NONE, _NONE, *rest), batch.sizes
    in_lockstep(_sum_kernel, sizes, everybody, _LONGEST, before, after, threads)
    left = np.flatnonzero(np.isposinf(totals[0]))
    if len(left):
        heads, siblings, _ = best_trees(batch, factor, single, left, threads)
        trees = (_firsts(batch), heads, siblings)
        after = (single, quantity, *trees, *rest)
        in_lockstep(_sum_kernel, sizes, left, _LONGEST, before, after, threads)
        left = np.flatnonzero(np.isposinf(totals[0]))
    if len(left):
        from crossarc.inference.projective.sibling_wide import sum_wide

        def work(begin: int, end: int) -> None:
            sum_wide(*arrays, left, single, quantity, *rest, begin, end)

        over_ranges(work, (batch.sizes[left] ** 3 + 100.0).tolist(), threads)
    return totals


def _firsts(batch: Batch) -> Ints:
    """Where the words of each sentence begin."""
    firsts: Ints = np.cumsum(batch.sizes) - batch.sizes
    return firsts

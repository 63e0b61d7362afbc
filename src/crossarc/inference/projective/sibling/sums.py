"""log Z, marginals and best trees of a batch with sibling factors: which kernel does what.

In float64 where that is certain to be enough, relative to the best score into each word or to the
scores of the best tree, and in wide numbers elsewhere (docs/numerics.md). Each kernel is loaded
when it is first needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.projective.sibling_factor import SiblingFactor
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import run_in_lockstep

__all__ = ["best_trees", "sum_over_trees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NONE = np.empty(0, np.int64)
# Groups of longer sentences would need much memory.
_LONGEST_GROUP = 128


def best_trees(
    batch: Batch, factor: SiblingFactor, single: bool, members: Ints, threads: int | None
) -> tuple[Ints, Ints, Floats]:
    """Heads of the members' best trees, all -1 where there is none, siblings, and scores.

    Heads and siblings have an entry for each word of the batch; scores are right where finite.
    """
    from crossarc.inference.projective.sibling import best

    heads, siblings = np.empty((2, int(batch.sizes.sum())), np.int64)
    scores = np.empty(len(batch))
    arrays = (batch.arcs, batch.sizes, batch.offsets, factor.rows, factor.starts)
    run_in_lockstep(
        lambda lanes: best.best_one if lanes == 1 else best.best_eight,
        batch.sizes,
        members,
        (*arrays, single, batch.word_offsets, heads, siblings, scores),
        workspace_size=best.workspace_size,
        longest_group=_LONGEST_GROUP,
        threads=threads,
    )
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
        out_parts: the same for parts, as `factor.rows`; or empty.
    """
    from crossarc.inference.projective.sibling import lockstep

    totals = np.empty((2, len(batch)))
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets)
    first = (*arrays, factor.rows, factor.starts, factor.largest, single, quantity)

    def kernels(lanes: int, wide: bool) -> Any:
        if wide:
            return lockstep.sum_one_wide if lanes == 1 else lockstep.sum_eight_wide
        return lockstep.sum_one if lanes == 1 else lockstep.sum_eight

    def run(members: Ints, heads: Ints, siblings: Ints, wide: bool = False) -> Ints:
        """Sum over the trees of some sentences; returns those for which float64 is not enough."""
        trees = (batch.word_offsets, heads, siblings)
        run_in_lockstep(
            lambda lanes: kernels(lanes, wide),
            batch.sizes,
            members,
            (*first, *trees, out, out_parts, totals),
            workspace_size=lockstep.workspace_size,
            longest_group=_LONGEST_GROUP,
            wide=wide,
            threads=threads,
        )
        return np.flatnonzero(np.isposinf(totals[0]))

    unsafe = run(np.arange(len(batch)), _NONE, _NONE)
    if len(unsafe):
        heads, siblings, _ = best_trees(batch, factor, single, unsafe, threads)
        unsafe = run(unsafe, heads, siblings)
    if len(unsafe):
        run(unsafe, _NONE, _NONE, wide=True)
    return totals

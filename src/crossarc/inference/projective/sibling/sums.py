"""log Z, marginals and best trees of a batch with sibling factors: which kernel does what.

In float64 where that is certain to be enough, relative to the best score into each word or to the
scores of the best tree, and in wide numbers elsewhere (docs/numerics.md). Each kernel is loaded
when it is first needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.projective.sibling.factor import SiblingFactor
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
        best.KERNELS,
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
    totals = np.empty((2, len(batch)))
    results = (out, out_parts, totals)
    everybody = np.arange(len(batch))
    unsafe = _sum(batch, factor, single, quantity, everybody, results, threads)
    if len(unsafe):
        heads, siblings, _ = best_trees(batch, factor, single, unsafe, threads)
        trees = (heads, siblings)
        unsafe = _sum(batch, factor, single, quantity, unsafe, results, threads, trees=trees)
    if len(unsafe):
        _sum(batch, factor, single, quantity, unsafe, results, threads, wide=True)
    return totals


def _sum(
    batch: Batch,
    factor: SiblingFactor,
    single: bool,
    quantity: int,
    members: Ints,
    results: tuple[Floats, Floats, Floats],
    threads: int | None,
    *,
    trees: tuple[Ints, Ints] = (_NONE, _NONE),
    wide: bool = False,
) -> Ints:
    """Sums of some sentences; returns those for which float64 might not be enough.

    Args:
        results: where marginals of arcs and parts, and totals go.
        trees: heads and siblings of trees whose scores are taken as potentials.
    """
    from crossarc.inference.projective.sibling import lockstep

    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets)
    factors = (factor.rows, factor.starts, factor.largest)
    run_in_lockstep(
        lockstep.KERNELS,
        batch.sizes,
        members,
        (*arrays, *factors, single, quantity, batch.word_offsets, *trees, *results),
        workspace_size=lockstep.workspace_size,
        longest_group=_LONGEST_GROUP,
        wide=wide,
        threads=threads,
    )
    return np.flatnonzero(np.isposinf(results[2][0]))

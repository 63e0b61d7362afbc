"""log Z, marginals and best trees of a batch: which kernel does what.

Eisner's algorithm (1996) as inside and outside pass (Koo et al. 2007, section 2.2), O(n^3), in
float64 after taking a potential from the scores into each word: first their maximum; if items then
lie too far apart for float64, those of `envelope`. Otherwise in wide numbers. docs/numerics.md
proves the rule. Each kernel is loaded when it is first needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import run_in_lockstep, run_one_by_one

__all__ = ["best_trees", "sum_over_trees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Eight sentences of up to so many words are faster in lockstep than one after the other in blocks:
# 2.5 times at 20, 1.7 times at 50. One by itself is not, but has the same result in this way.
_SHORT = 50
_LONGEST_WIDE_GROUP = 128


def sum_over_trees(
    batch: Batch, single: bool, quantity: int, out: Floats, threads: int | None
) -> Floats:
    """log Z, (2, sentences), as a sum of two floats; NaN where scores are too large.

    Args:
        quantity: LOG_PARTITION, MARGINALS or LOG_MARGINALS.
        out: marginals or their logarithms, flat as the scores are; column 0 and the diagonal are
            left alone.
    """
    totals = np.empty((2, len(batch)))
    arrays = batch.arcs, batch.label_sums, batch.sizes, batch.offsets
    arguments = (*arrays, single, quantity, out, totals)
    is_short = batch.sizes <= _SHORT
    _in_lockstep(batch, np.flatnonzero(is_short), arguments, False, threads)
    _in_blocks(batch, np.flatnonzero(~is_short), arguments, np.empty(0), threads)
    unsafe = np.flatnonzero(np.isposinf(totals[0]))
    if len(unsafe):
        potentials = _envelope(batch, single, unsafe, threads)
        _in_blocks(batch, unsafe, arguments, potentials, threads)
        unsafe = np.flatnonzero(np.isposinf(totals[0]))
        _in_lockstep(batch, unsafe, arguments, True, threads)
    return totals


def _in_lockstep(
    batch: Batch, members: Ints, arguments: tuple[Any, ...], wide: bool, threads: int | None
) -> None:
    if not len(members):
        return
    from crossarc.inference.projective.first_order import lockstep

    run_in_lockstep(
        lockstep.KERNELS,
        batch.sizes,
        members,
        arguments,
        workspace_size=lockstep.workspace_size,
        longest_group=_LONGEST_WIDE_GROUP if wide else _SHORT,
        wide=wide,
        threads=threads,
    )


def _in_blocks(
    batch: Batch,
    members: Ints,
    arguments: tuple[Any, ...],
    potentials: Floats,
    threads: int | None,
) -> None:
    if not len(members):
        return
    from crossarc.inference.projective.first_order.blocked_sums import sum_blocked
    from crossarc.inference.projective.first_order.blocks import workspace_size

    more = (*arguments, potentials, batch.word_offsets)
    run_one_by_one(sum_blocked, batch.sizes, members, more, workspace_size, threads)


def _envelope(batch: Batch, single: bool, members: Ints, threads: int | None) -> Floats:
    from crossarc.inference.projective.first_order.blocks import workspace_size
    from crossarc.inference.projective.first_order.envelope import envelope

    potentials = np.empty(int(batch.sizes.sum()))
    arguments = (batch.arcs, batch.sizes, batch.offsets, single, potentials, batch.word_offsets)
    run_one_by_one(envelope, batch.sizes, members, arguments, workspace_size, threads)
    return potentials


def best_trees(batch: Batch, single: bool, threads: int | None) -> tuple[Ints, Floats]:
    """Heads of the best trees, end to end, all -1 where there is none, and scores.

    Scores are right where finite.
    """
    from crossarc.inference.projective.first_order.best import best_heads
    from crossarc.inference.projective.first_order.blocks import workspace_size
    from crossarc.inference.runtime.scoring import score_trees

    heads, scores = np.empty(int(batch.sizes.sum()), np.int64), np.empty(len(batch))
    everybody = np.arange(len(batch))
    arguments = (batch.arcs, batch.sizes, batch.offsets, single, heads, batch.word_offsets)
    run_one_by_one(best_heads, batch.sizes, everybody, arguments, workspace_size, threads)
    score_trees(batch.arcs, batch.sizes, batch.offsets, heads, scores, 0, len(batch))
    return heads, scores

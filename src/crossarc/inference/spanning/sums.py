"""log Z and marginals of a batch: what goes in lockstep, what alone, what in wide numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.groups import in_groups
from crossarc.inference.runtime.quantities import LOG_PARTITION
from crossarc.inference.runtime.work_queue import in_turns
from crossarc.inference.runtime.workspace import keep_space, kept_space
from crossarc.parallel import over_ranges

__all__ = ["sum_over_trees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sum_over_trees(
    batch: Batch, single: bool, quantity: int, threads: int | None
) -> tuple[Floats, Floats]:
    """log Z as a sum of two floats, (2, sentences), and what is quantity, flat as the scores are.

    log Z is NaN where scores are too large. Each kernel is loaded when it is first needed.
    """
    totals = np.empty((2, len(batch)))
    out = np.empty(0 if quantity == LOG_PARTITION else batch.arcs.shape[0])
    done = np.zeros(len(batch), np.bool_)

    def run(kernel: Any, order: Ints, starts: Ints) -> None:
        def work(progress: Ints) -> None:
            needed = kernel(
                batch.arcs,
                batch.label_sums,
                batch.sizes,
                batch.offsets,
                order,
                starts,
                single,
                quantity,
                out,
                totals,
                done,
                progress,
                kept_space(),
            )
            keep_space(needed)

        in_turns(work, len(starts) - 1, threads)

    together, starts, alone = in_groups(batch.sizes)
    if len(together):
        from crossarc.inference.spanning.plain.together import infer_together

        run(infer_together, together, starts)
    if len(alone):
        from crossarc.inference.spanning.plain.alone import infer_alone

        run(infer_alone, alone, np.arange(len(alone) + 1))
    if not done.all():
        _in_wide_numbers(batch, single, quantity, threads, np.flatnonzero(~done), out, totals)
    return totals, out


def _in_wide_numbers(
    batch: Batch,
    single: bool,
    quantity: int,
    threads: int | None,
    members: Ints,
    out: Floats,
    totals: Floats,
) -> None:
    from crossarc.inference.spanning.wide_infer import infer_wide

    def work(begin: int, end: int) -> None:
        infer_wide(
            batch.arcs,
            batch.label_sums,
            batch.sizes,
            batch.offsets,
            members,
            single,
            quantity,
            out,
            totals,
            begin,
            end,
        )

    over_ranges(work, _costs(batch.sizes[members]), threads)


def _costs(sizes: Ints) -> Ints:
    return sizes**3 + 100

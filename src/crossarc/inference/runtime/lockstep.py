"""Kernels that treat sentences in lockstep: which go together, which alone, over threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.runtime.groups import in_groups
from crossarc.inference.runtime.workspace import keep_space, kept_space
from crossarc.parallel import over_ranges

__all__ = ["in_lockstep"]

Ints = NDArray[np.int64]


def in_lockstep(
    kernels: Callable[[bool], Any],
    sizes: Ints,
    members: Ints,
    longest: int,
    before: tuple[Any, ...],
    after: tuple[Any, ...],
    threads: int | None,
) -> None:
    """Call kernels for the members of a batch.

    Args:
        kernels: gives that for groups, or that for sentences by themselves.
        longest: groups of longer sentences would need too much memory.
        before, after: arguments of kernels before and after the groups.
    """
    together, groups, alone = in_groups(sizes[members], longest)

    def run(kernel: Any, order: Ints, starts: Ints) -> None:
        def work(begin: int, end: int) -> None:
            keep_space(kernel(*before, order, starts, *after, begin, end, kept_space()))

        over_ranges(work, (sizes[order[starts[:-1]]] ** 3 + 100.0).tolist(), threads)

    if len(together):
        run(kernels(True), members[together], groups)
    if len(alone):
        run(kernels(False), members[alone], np.arange(len(alone) + 1))

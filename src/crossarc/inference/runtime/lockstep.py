"""Kernels that treat sentences in lockstep: which go in groups, which one by one, over threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import LANES
from crossarc.inference.runtime.groups import in_groups
from crossarc.inference.runtime.work_queue import in_turns
from crossarc.inference.runtime.workspace import cells_workspace

__all__ = ["run_in_lockstep", "run_one_by_one"]

Ints = NDArray[np.int64]


def run_in_lockstep(
    kernels: Callable[[int], Any],
    sizes: Ints,
    members: Ints,
    arguments: tuple[Any, ...],
    *,
    workspace_size: Callable[[int], int],
    longest_group: int,
    wide: bool = False,
    threads: int | None,
) -> None:
    """Call a kernel for the members of a batch: groups of eight, and sentences by themselves.

    A kernel takes `arguments` and then order, starts, progress and workspace: group g is
    order[starts[g]:starts[g + 1]], the longest sentence first; groups are claimed from the work
    queue `progress`.

    Args:
        kernels: from the number of lanes, 1 or LANES, to the kernel.
        sizes: the words of each sentence of the batch.
        workspace_size: from a number of nodes to the cells that a kernel needs.
        longest_group: groups of longer sentences would need too much memory.
        wide: whether kernels work in wide numbers.
    """
    grouped, group_starts, others = in_groups(sizes[members], longest_group)

    def run(lanes: int, order: Ints, starts: Ints) -> None:
        cells = workspace_size(int(sizes[order[0]]) + 1)
        _run(kernels(lanes), arguments, order, starts, (cells, lanes, wide), threads)

    if len(grouped):
        run(LANES, members[grouped], group_starts)
    if len(others):
        run(1, members[others], np.arange(len(others) + 1))


def run_one_by_one(
    kernel: Any,
    sizes: Ints,
    members: Ints,
    arguments: tuple[Any, ...],
    workspace_size: Callable[[int], int],
    threads: int | None,
) -> None:
    """The same for a kernel that knows no groups, the longest sentence first."""
    order = members
    if len(members) > 1:
        order = members[np.argsort(-sizes[members], kind="stable")]
    if len(order):
        cells = workspace_size(int(sizes[order[0]]) + 1)
        starts = np.arange(len(order) + 1)
        _run(kernel, arguments, order, starts, (cells, 1, False), threads)


def _run(
    kernel: Any,
    arguments: tuple[Any, ...],
    order: Ints,
    starts: Ints,
    cells: tuple[int, int, bool],
    threads: int | None,
) -> None:
    def work(progress: Ints) -> None:
        kernel(*arguments, order, starts, progress, cells_workspace(*cells))

    in_turns(work, len(starts) - 1, threads)

"""Kernels that treat sentences in lockstep: which go in groups, which one by one, over threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.cell_types import LANES
from crossarc.inference.runtime.work_queue import run_queue
from crossarc.inference.runtime.workspace import cells_for

__all__ = ["in_groups", "run_in_lockstep", "run_one_by_one"]

Ints = NDArray[np.int64]

# Measured: a group takes as long as 1.6 to 2 sentences of its longest one's length, or 2 to 4 if
# that is long. Groups of very long sentences would need much memory.
_WORTH, _WORTH_IF_LONG = 2.0, 4.0
_LONG = 64
_NOBODY = np.empty(0, np.int64)


def in_groups(sizes: Ints, longest: int) -> tuple[Ints, Ints, Ints]:
    """Sentences in groups for lockstep, where groups begin and end, and the other sentences.

    Eight sentences that follow each other in length make a group, from the longest down; one that
    is so much longer than the next that it is better left to itself, or longer than `longest`, is
    not in any.
    """
    if len(sizes) < _WORTH:
        return _NOBODY, np.zeros(1, np.int64), np.arange(len(sizes))
    if (sizes == sizes[0]).all():
        return _alike(len(sizes), int(sizes[0]), longest)
    return _groups(sizes, longest)


@lru_cache
def _alike(count: int, words: int, longest: int) -> tuple[Ints, Ints, Ints]:
    """The groups of sentences of one length."""
    found = _groups(np.full(count, words), longest)
    for array in found:
        array.flags.writeable = False
    return found


def _groups(sizes: Ints, longest: int) -> tuple[Ints, Ints, Ints]:
    order = np.argsort(-sizes, kind="stable")
    lengths = sizes[order].tolist()
    starts: list[int] = []
    alone: list[int] = []
    place = 0
    while place < len(lengths):
        group = lengths[place : place + LANES]
        if group[0] <= longest and _is_worth_it(group):
            starts.append(place - len(alone))
            place += len(group)
        else:
            alone.append(place)
            place += 1
    starts.append(place - len(alone))
    together = np.delete(order, alone) if alone else order
    return together, np.array(starts, np.int64), order[alone]


def _is_worth_it(lengths: list[int]) -> bool:
    longest = lengths[0]
    worth = _WORTH if longest <= _LONG else _WORTH_IF_LONG
    if lengths[-1] == longest:
        return len(lengths) >= worth
    return sum((n / longest) ** 3 for n in lengths) >= worth


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
        kernel(*arguments, order, starts, progress, cells_for(*cells))

    run_queue(work, len(starts) - 1, threads)

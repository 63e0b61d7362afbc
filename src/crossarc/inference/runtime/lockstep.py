"""Sentences of a batch on their way through kernels that treat them in lockstep.

On Python's side: which sentences go in groups of eight and which one by one, over threads, and the
memory that kernels work in. On the kernels' side: what is asked for, a work queue from which
threads claim groups without waiting for the interpreter, and the rows of eight sentences.

The queue `progress` is an array of two counters, of items claimed and of items completed, on
different lines of the cache. A kernel claims items until there are no more:

    item = claim(progress)
    while item < count:
        ...
        complete(progress)
        item = claim(progress)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import LANES, AnyCells, Eight, load_vector
from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.parallel import run_in_threads, thread_count

__all__ = [
    "LOG_MARGINALS",
    "LOG_PARTITION",
    "MARGINALS",
    "PROGRESS",
    "WEIGHT_GRADIENTS",
    "arc_entry",
    "cells_for",
    "claim",
    "common_words",
    "complete",
    "eight_cells",
    "eight_rows",
    "in_groups",
    "lockstep_instances",
    "new_queue",
    "run_in_lockstep",
    "run_one_by_one",
    "run_queue",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Quantities that kernels are asked for: log Z alone, with marginals, with their logarithms.
LOG_PARTITION, MARGINALS, LOG_MARGINALS = 0, 1, 2
#: log Z with its derivatives by the weights of arcs, which stay in the workspace.
WEIGHT_GRADIENTS = 3

# Python's side: groups.

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
    others: list[int] = []
    position = 0
    while position < len(lengths):
        group = lengths[position : position + LANES]
        if group[0] <= longest and _is_worth_it(group):
            starts.append(position - len(others))
            position += len(group)
        else:
            others.append(position)
            position += 1
    starts.append(position - len(others))
    grouped = np.delete(order, others) if others else order
    return grouped, np.array(starts, np.int64), order[others]


def _is_worth_it(lengths: list[int]) -> bool:
    longest = lengths[0]
    worth = _WORTH if longest <= _LONG else _WORTH_IF_LONG
    if lengths[-1] == longest:
        return len(lengths) >= worth
    return sum((n / longest) ** 3 for n in lengths) >= worth


def run_in_lockstep(
    kernels: Mapping[tuple[int, bool], Any],
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
        kernels: by the number of lanes, 1 or LANES, and whether numbers are wide.
        sizes: the words of each sentence of the batch.
        workspace_size: from a number of nodes to the cells that a kernel needs.
        longest_group: groups of longer sentences would need too much memory.
        wide: whether kernels work in wide numbers.
    """
    grouped, group_starts, others = in_groups(sizes[members], longest_group)

    def run(lanes: int, order: Ints, starts: Ints) -> None:
        cells = workspace_size(int(sizes[order[0]]) + 1)
        _run(kernels[lanes, wide], arguments, order, starts, (cells, lanes, wide), threads)

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


# Python's side: threads and memory.


def new_queue() -> Ints:
    """A queue of which nothing is claimed."""
    return np.zeros(_LENGTH, np.int64)


def run_queue(work: Callable[[Ints], None], count: int, threads: int | None) -> None:
    """Call `work(progress)` in several threads, which claim `count` items."""
    progress = new_queue()
    workers = min(thread_count(threads), count)
    if workers <= 1:
        work(progress)
    else:
        run_in_threads(lambda: work(progress), workers, lambda: _wait(progress, count))


# A fresh array costs a page fault every 4 KiB, which for short sentences takes longer than the
# work, so a thread keeps its workspace, up to 32 MiB.
_MOST = 1 << 22

# glibc gives freed memory back to the system once it is twice as much as the largest array freed
# so far (of up to 32 MiB), and takes a page fault for every 4 KiB when it is needed again. Freed
# once, untouched, this array makes it keep what the next batch needs.
np.empty(_MOST - 1024)


class _Kept(threading.local):
    """A thread's workspace."""

    floats: Floats = np.empty(0)


_kept = _Kept()


def cells_for(count: int, lanes: int, wide: bool) -> NDArray[Any]:
    """So many cells of a kind (`arithmetic.lanes` tells them), each beginning a cache line.

    They lie in this thread's workspace, and are valid until the thread asks for others. What they
    hold is undefined.

    Args:
        lanes: sentences in lockstep, 1 or LANES.
        wide: whether the numbers have a wide exponent.
    """
    needed = count * lanes * (2 if wide else 1)
    floats = _kept.floats
    if floats.shape[0] < needed:
        floats = _aligned(needed)
        if needed <= _MOST:
            _kept.floats = floats
    cells: NDArray[Any] = floats[:needed]
    if wide:
        cells = cells.view(np.complex128)
    return cells.reshape(count, LANES) if lanes > 1 else cells


def _aligned(count: int) -> Floats:
    floats = np.empty(count + LANES)
    first = -(floats.__array_interface__["data"][0] // 8) % LANES
    return floats[first : first + count]


# The kernels' side: the work queue.

PROGRESS = types.int64[::1]

_WORKSPACES = {
    (1, False): types.float64[::1],
    (LANES, False): types.float64[:, ::1],
    (1, True): types.complex128[::1],
    (LANES, True): types.complex128[:, ::1],
}


def lockstep_instances(name: str, *arguments: Any) -> Iterator[tuple[tuple[int, bool], str, Any]]:
    """Lanes and whether numbers are wide, name and signature of kernels for `run_in_lockstep`.

    Args:
        name: what the names begin with: sum_groups_one, sum_groups_eight, sum_groups_one_wide ...
        arguments: the types of what comes before order, starts, progress and workspace.
    """
    for (lanes, wide), workspace in _WORKSPACES.items():
        own = f"{name}_{'one' if lanes == 1 else 'eight'}{'_wide' if wide else ''}"
        yield (lanes, wide), own, types.void(*arguments, READ_INT, READ_INT, PROGRESS, workspace)


_CLAIMED, _COMPLETED, _LENGTH = 0, 16, 32
# About a millisecond: to fall asleep and be woken may take half of it.
_PATIENCE = 2_000_000


def _counter(context: Any, builder: Any, kind: Any, array: Any, index: int) -> Any:
    data = context.make_array(kind)(context, builder, value=array).data
    return builder.gep(data, [ir.Constant(ir.IntType(64), index)])


def _increment(index: int) -> Any:
    def typed(typing: Any, progress: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            pointer = _counter(context, builder, sig.args[0], values[0], index)
            return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "acq_rel")

        return types.int64(progress), emit

    return typed


def _completed(typing: Any, progress: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = _counter(context, builder, sig.args[0], values[0], _COMPLETED)
        return builder.load_atomic(pointer, "acquire", align=8)

    return types.int64(progress), emit


#: The next item, counted from 0; no other thread gets it.
claim: Callable[[Ints], int] = intrinsic(_increment(_CLAIMED))
#: To be called after each item: what was written is seen by those who wait.
complete: Callable[[Ints], int] = intrinsic(_increment(_COMPLETED))
_count_completed: Callable[[Ints], int] = intrinsic(_completed)


@kernel(types.boolean(PROGRESS, types.int64))
def _wait(progress: Ints, count: int) -> bool:
    """Whether all items are completed soon; to go to sleep would take longer."""
    looks = 0
    while _count_completed(progress) < count and looks < _PATIENCE:
        looks += 1
    return looks < _PATIENCE


# The kernels' side: rows of sentences and lanes. Eights of words go through registers, in which
# eight vectors of eight numbers are transposed; the last eight begins early enough to be whole.


@subkernel()
def common_words(sizes: Ints, members: Ints) -> int:
    """How many words each of eight sentences has; 0 if there are not eight of them."""
    if members.shape[0] < LANES:
        return 0
    shortest = int(sizes[members[0]])
    for lane in range(1, LANES):
        shortest = min(shortest, int(sizes[members[lane]]))
    return shortest


@subkernel()
def arc_entry(sizes: Ints, offsets: Ints, member: int, h: int, m: int) -> int:
    """Where a sentence has arc (h, m + 1)."""
    return int(offsets[member] + h * (sizes[member] + 1) + m + 1)


@subkernel()
def eight_rows(flat: Floats, sizes: Ints, offsets: Ints, members: Ints, h: int, m: int) -> Eight:
    """Of each sentence, eight neighbours in row h."""
    return (
        load_vector(flat, arc_entry(sizes, offsets, members[0], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[1], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[2], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[3], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[4], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[5], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[6], h, m)),
        load_vector(flat, arc_entry(sizes, offsets, members[7], h, m)),
    )


@subkernel()
def eight_cells(cells: AnyCells, first: int) -> Eight:
    """Eight cells, as they follow each other."""
    return (
        load_vector(cells, first * LANES),
        load_vector(cells, (first + 1) * LANES),
        load_vector(cells, (first + 2) * LANES),
        load_vector(cells, (first + 3) * LANES),
        load_vector(cells, (first + 4) * LANES),
        load_vector(cells, (first + 5) * LANES),
        load_vector(cells, (first + 6) * LANES),
        load_vector(cells, (first + 7) * LANES),
    )

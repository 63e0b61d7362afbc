"""A work queue inside kernels: threads claim items without waiting for the interpreter.

`progress` is an array of two counters, of items claimed and of items completed, on different lines
of the cache. A kernel claims items until there are no more:

    item = claim(progress)
    while item < count:
        ...
        complete(progress)
        item = claim(progress)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from crossarc.kernels import kernel
from crossarc.parallel import all_at_once, thread_count

__all__ = ["PROGRESS", "claim", "complete", "new_queue", "run_queue"]

Ints = NDArray[np.int64]

PROGRESS = types.int64[::1]

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
        all_at_once(lambda: work(progress), workers, lambda: _wait(progress, count))

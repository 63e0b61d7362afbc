"""Items that threads take in turn, inside kernels: nobody waits for the interpreter between two.

`progress` is an array of two counters, of items taken and of items finished, on different lines of
the cache. A kernel takes items until there are no more:

    item = take(progress)
    while item < count:
        ...
        finish(progress)
        item = take(progress)
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

__all__ = ["PROGRESS", "finish", "in_turns", "take"]

Ints = NDArray[np.int64]

PROGRESS = types.int64[::1]

_TAKEN, _FINISHED, _LENGTH = 0, 16, 32
# About a millisecond: to fall asleep and be woken may take half of it.
_PATIENCE = 2_000_000


def _counter(context: Any, builder: Any, kind: Any, array: Any, place: int) -> Any:
    data = context.make_array(kind)(context, builder, value=array).data
    return builder.gep(data, [ir.Constant(ir.IntType(64), place)])


def _one_more(place: int) -> Any:
    def typed(typing: Any, progress: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            pointer = _counter(context, builder, sig.args[0], values[0], place)
            return builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "acq_rel")

        return types.int64(progress), emit

    return typed


def _finished(typing: Any, progress: Any) -> Any:
    def emit(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        pointer = _counter(context, builder, sig.args[0], values[0], _FINISHED)
        return builder.load_atomic(pointer, "acquire", align=8)

    return types.int64(progress), emit


#: The next item, counted from 0; nobody else gets it.
take: Callable[[Ints], int] = intrinsic(_one_more(_TAKEN))
#: To be said after each item: what was written is seen by those who wait.
finish: Callable[[Ints], int] = intrinsic(_one_more(_FINISHED))
_count_finished: Callable[[Ints], int] = intrinsic(_finished)


@kernel(types.boolean(PROGRESS, types.int64))
def _wait(progress: Ints, count: int) -> bool:
    """Whether all items are finished soon; to go to sleep would take longer."""
    looks = 0
    while _count_finished(progress) < count and looks < _PATIENCE:
        looks += 1
    return looks < _PATIENCE


def in_turns(work: Callable[[Ints], None], count: int, threads: int | None) -> None:
    """Call `work(progress)` in several threads, which take `count` items in turn."""
    progress = np.zeros(_LENGTH, np.int64)
    workers = min(thread_count(threads), count)
    if workers <= 1:
        work(progress)
    else:
        all_at_once(lambda: work(progress), workers, lambda: _wait(progress, count))

"""Work over threads: ranges of a batch for kernels that release the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_ranges", "thread_count"]

_CHUNKS_A_THREAD = 4


def thread_count(threads: int | None = None) -> int:
    """How many threads to use: as asked, else `CROSSARC_THREADS`, else one a core."""
    if threads is None:
        setting = os.environ.get("CROSSARC_THREADS", "")
        if not setting:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        try:
            threads = int(setting)
        except ValueError:
            raise ValueError(f"CROSSARC_THREADS must be a whole number: got {setting!r}") from None
    if not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads must be a whole number from 1 up: got {threads!r}")
    return threads


def over_ranges(
    work: Callable[[int, int], None],
    costs: Sequence[float] | NDArray[Any],
    threads: int | None = None,
) -> None:
    """Call `work(begin, end)` for ranges that cover all items, of about equal cost.

    Items are independent of each other, so the result does not depend on how they are split.
    """
    workers = min(thread_count(threads), len(costs))
    if workers <= 1:
        work(0, len(costs))
        return
    listed = costs.tolist() if isinstance(costs, np.ndarray) else costs
    waiting = deque(_ranges(listed, workers * _CHUNKS_A_THREAD))

    def take_part() -> None:
        while waiting:
            try:
                begin, end = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            work(begin, end)

    # This thread takes part, too. So nobody waits for a thread that waits itself, even where
    # `work` shares out work of its own.
    others = [_helpers(workers - 1).submit(take_part) for _ in range(workers - 1)]
    try:
        take_part()
    finally:
        waiting.clear()
        for other in others:
            if not other.cancel():
                other.result()


@lru_cache
def _helpers(count: int) -> ThreadPoolExecutor:
    """Threads that are kept: to start them takes longer than many a batch."""
    return ThreadPoolExecutor(count, "crossarc")


if hasattr(os, "register_at_fork"):
    # A forked process has the pools, but none of their threads.
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def _ranges(costs: Sequence[float], parts: int) -> list[tuple[int, int]]:
    share = sum(costs) / parts
    ranges: list[tuple[int, int]] = []
    begin, spent = 0, 0.0
    for item, cost in enumerate(costs, 1):
        spent += cost
        if spent >= share or item == len(costs):
            ranges.append((begin, item))
            begin, spent = item, 0.0
    return ranges

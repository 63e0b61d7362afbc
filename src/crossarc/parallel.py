"""Work over threads: ranges of a batch for kernels that release the GIL."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["over_ranges", "run_in_threads", "thread_count"]

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
        if len(costs):
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
            try:
                work(begin, end)
            except BaseException:
                waiting.clear()
                raise

    run_in_threads(take_part, workers)


def run_in_threads(
    work: Callable[[], None], workers: int, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Call `work()` in several threads, which share it out among themselves.

    This thread takes part, too. So nobody waits for a thread that waits itself, even where `work`
    shares out work of its own.

    Args:
        is_done: asked when this thread has no more to do; others need not be waited for then.
    """
    tasks = [_Task(work) for _ in range(workers - 1)]
    for task in tasks:
        _tasks(workers - 1).put(task)
    try:
        work()
    finally:
        begun = [task for task in tasks if not task.claim()]
        if begun and not is_done():
            for task in begun:
                task.wait()


class _Task:
    """Something that another thread is to do, unless it is called back before that."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self._tokens = [None]  # whoever takes the only one decides
        self._is_over = threading.Lock()
        self._is_over.acquire()

    def claim(self) -> bool:
        """Whether nobody has begun it or called it back so far; then nobody else will."""
        try:
            self._tokens.pop()
        except IndexError:
            return False
        return True

    def run(self) -> None:
        if not self.claim():
            return
        try:
            self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._is_over.release()

    def wait(self) -> None:
        self._is_over.acquire()
        if self._error is not None:
            raise self._error


@lru_cache
def _tasks(count: int) -> SimpleQueue[_Task]:
    """A queue with so many threads behind it. They are kept: to start them takes longer than many
    a batch. (The executors of the standard library take five times as long to submit work.)
    """
    waiting: SimpleQueue[_Task] = SimpleQueue()
    for number in range(count):
        name = f"crossarc-{number}"
        threading.Thread(target=_run_tasks, args=(waiting,), name=name, daemon=True).start()
    return waiting


def _run_tasks(waiting: SimpleQueue[_Task]) -> None:
    while True:
        waiting.get().run()


if hasattr(os, "register_at_fork"):
    # A forked process has the queues, but none of the threads.
    os.register_at_fork(after_in_child=_tasks.cache_clear)


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

"""The rows of an inside pass over threads, each as soon as the rows that it needs are filled.

A row (h1, i) needs the rows (h3, k) with h3 >= i. Rows are begun from the last i to the first, and
of one i from the last h1 down: those that the next i needs come first, and few threads ever wait.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from crossarc.parallel import run_in_threads

__all__ = ["fill_rows"]

# A call of the kernel for a chunk takes some microseconds.
_CHUNKS = 160


class _Chunk(NamedTuple):
    """Rows (h1, i), `begin` <= h1 < `end`."""

    i: int
    begin: int
    end: int


@lru_cache(maxsize=128)
def _chunks(nodes: int, last: int) -> tuple[_Chunk, ...]:
    """All rows from i = `last` down, chunks of about the same cost in the order to begin them."""

    def cost(h1: int, i: int) -> float:
        rest = float(nodes - i)
        return rest**5 + 20.0 * h1 * h1 * rest**3 if h1 else rest**4

    every = [(i, h1) for i in range(last, 0, -1) for h1 in range(i - 1, -1, -1)]
    share = sum(cost(h1, i) for i, h1 in every) / _CHUNKS
    found, spent, end = [], 0.0, last
    for i, h1 in every:
        spent += cost(h1, i)
        if spent >= share or h1 == 0:
            found.append(_Chunk(i, h1, end))
            spent, end = 0.0, h1 if h1 > 0 else i - 1
    return tuple(found)


def fill_rows(fill: Callable[[int, int, int], None], nodes: int, last: int, threads: int) -> None:
    """Call `fill(i, begin, end)` for all rows of i = `last` and below; those above are filled."""
    waiting = deque(_chunks(nodes, last))
    # Rows (h1, i) that are not yet filled, by h1.
    missing = [max(last - h1, 0) for h1 in range(nodes)]
    changed = threading.Condition()

    def run(chunk: _Chunk) -> None:
        with changed:
            while missing[chunk.i] > 0:  # what it needs has been begun before it
                changed.wait()
        fill(*chunk)
        with changed:
            for h1 in range(chunk.begin, chunk.end):
                missing[h1] -= 1
            changed.notify_all()

    def take_part() -> None:
        while waiting:
            try:
                chunk = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                run(chunk)
            except BaseException:
                with changed:  # nobody waits for what will not be filled
                    waiting.clear()
                    missing[:] = [0] * nodes
                    changed.notify_all()
                raise

    run_in_threads(take_part, threads)

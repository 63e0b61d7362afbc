"""Compiling ahead of time.

Kernels of one room share sub-kernels, which a process translates once. So a process compiles whole
rooms; where there are more processes than that keeps busy, large rooms are divided.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any, NamedTuple

from crossarc.kernels import kernels_of
from crossarc.kernels.announcement import announcer
from crossarc.kernels.rooms import ROOMS, kernel_modules, room_of

__all__ = ["Job", "compile_named", "jobs", "warmup"]


class Job(NamedTuple):
    """What one process compiles at a time: the modules of a room, or some of them."""

    modules: tuple[str, ...]
    seconds: float


def compile_named(names: Sequence[str]) -> None:
    """Compile kernels by their names, "module:kernel", or find them in the cache."""
    with announcer.muted():
        for module, _, name in (one.partition(":") for one in names):
            importlib.import_module(module)
            for one in kernels_of(module):
                if one.__qualname__ == name:
                    one.compile()


def jobs(modules: Sequence[str], workers: int) -> list[Job]:
    """Modules as jobs, the longest first.

    A room is divided where it would take longer than its share of the processes' time.
    """
    rooms: dict[str, list[str]] = {}
    for module in modules:
        rooms.setdefault(room_of(module), []).append(module)
    total = sum(ROOMS[room].seconds for room in rooms)
    found = []
    for room, own in rooms.items():
        seconds = ROOMS[room].seconds
        count = min(len(own), math.ceil(seconds * workers / total))
        cuts = [len(own) * part // count for part in range(count + 1)]
        found += [Job(tuple(own[i:j]), seconds / count) for i, j in itertools.pairwise(cuts)]
    return sorted(found, key=lambda job: -job.seconds)


def _compile(modules: Sequence[str], report: Callable[[str], None]) -> None:
    with announcer.muted():
        for module in modules:
            importlib.import_module(module)
            for one in kernels_of(module):
                one.compile()
            report(module)


_finished: Any = None


def _begin(finished: Any) -> None:
    """What a new process is given: where to tell of finished modules."""
    global _finished
    _finished = finished


def _compile_job(job: Job) -> None:
    _compile(job.modules, _finished.put)


def warmup(
    parts: Sequence[str] = (),
    *,
    workers: int = 1,
    on_progress: Callable[[str], None] | None = None,
) -> None:
    """Compile kernels, or find them in the cache.

    Args:
        parts: names of `PARTS`; by default all kernels.
        workers: processes, as the compiler works for one thread at a time; with 1, only this one.
        on_progress: called with the name of each module that is ready.
    """
    report = on_progress or (lambda module: None)
    waiting = jobs(kernel_modules(parts), workers)
    if workers == 1:
        for job in waiting:
            _compile(job.modules, report)
        return
    context = get_context("spawn")
    finished = context.SimpleQueue()
    with ProcessPoolExecutor(workers, context, _begin, (finished,)) as pool:
        running = {pool.submit(_compile_job, job) for job in waiting}
        while running:
            done, running = wait(running, timeout=0.1)
            while not finished.empty():
                report(finished.get())
            for future in done:
                future.result()


if __name__ == "__main__":
    compile_named(sys.argv[1:])

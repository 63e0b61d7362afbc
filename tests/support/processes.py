"""Processes that a process has started, as Linux tells."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["descendants", "end_of", "wait_until"]


def descendants(pid: int) -> set[int]:
    """Its children, their children and so on."""
    children = set(_children(pid))
    return children.union(*(descendants(child) for child in children))


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                found.append(int(path.parent.name))
    return found


def wait_until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to become true, and fail if it does not."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def end_of(pids: set[int]) -> None:
    """Wait until none of the processes runs, and fail if one goes on."""

    def all_gone() -> bool:
        return not any(_runs(pid) for pid in pids)

    wait_until(all_gone)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""Compiling on a second core, while a command compiles what it needs first, what it needs later.

The compiler works for one thread at a time, so that takes a process of its own. It is started by
the first kernel that is not in the cache, for the kernels that were named before, and ends with the
command. Kernels are found in the cache by whoever comes second.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["expect", "start", "while_in_command"]

_is_in_command = False
_names: tuple[str, ...] = ()


def while_in_command() -> None:
    """Say that this process is a command, whose interpreter may be started again."""
    global _is_in_command
    _is_in_command = True


def expect(names: Sequence[str]) -> None:
    """Name kernels that will be needed, as "module:kernel", what takes longest first."""
    global _names
    _names = tuple(names)


def start() -> None:
    """Begin to compile the kernels that are expected, in a command on several cores, once."""
    global _names
    names, _names = _names, ()
    if not (names and _is_in_command and _cores() > 1):
        return
    import subprocess

    command = [sys.executable, "-P", "-m", "crossarc.kernels.warmup", *names]
    with contextlib.suppress(OSError):
        nowhere = subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        atexit.register(_end, process)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _end(process: Any) -> None:
    process.terminate()
    process.wait()

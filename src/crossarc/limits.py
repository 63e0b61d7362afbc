"""What one sentence may take: memory that there is, and time that somebody would wait.

Whoever is about to compute a table of n^2 numbers or more says here what it will take; a sentence
that would end in an out-of-memory kill, or in hours without a word, is refused with one line before
the work begins. Estimates come from measured constants and known exponents (docs/limits.md).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from crossarc.errors import LimitError

__all__ = ["available_memory", "require"]

# Less is not worth asking the system about.
_SMALL = 256 << 20
_HOUR = 3600.0
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_GROUP = Path("/sys/fs/cgroup")


def require(memory: float, seconds: float, what: str, remedy: str = "split the sentence") -> None:
    """Refuse work that takes more memory than there is, or more time than an hour.

    The environment sets other limits: `CROSSARC_MAX_MEMORY`, in bytes or as "8G", and
    `CROSSARC_MAX_SECONDS`.

    Args:
        memory: bytes, estimated.
        seconds: of one core, estimated.
        what: the work, as the subject of the message.

    Raises:
        LimitError: it takes more.
    """
    if memory > _SMALL and memory > (limit := available_memory()):
        raise LimitError(
            f"{what} takes about {_shown(memory)} of memory, and {_shown(limit)} are available: "
            f"{remedy}, or set CROSSARC_MAX_MEMORY"
        )
    if seconds > 1.0 and seconds > (most := _setting("CROSSARC_MAX_SECONDS", _HOUR)):
        raise LimitError(
            f"{what} takes about {seconds:,.0f} s, and the limit is {most:,.0f} s: "
            f"{remedy}, or set CROSSARC_MAX_SECONDS"
        )


def available_memory() -> float:
    """Bytes that this process can still take, as `CROSSARC_MAX_MEMORY` or the system says."""
    limit = _setting("CROSSARC_MAX_MEMORY", 0.0)
    if limit:
        return limit
    return min(_free_memory(), _group_memory(), _address_space())


def _setting(name: str, default: float) -> float:
    text = os.environ.get(name, "")
    if not text:
        return default
    unit = _UNITS.get(text[-1:].upper(), 1)
    try:
        value = float(text[:-1] if unit > 1 else text) * unit
    except ValueError:
        value = 0.0
    if not value > 0.0:
        raise LimitError(f"{name} must be a number above 0, such as 8G: got {text!r}")
    return value


def _free_memory() -> float:
    """What the machine has, without swapping."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return float("inf")


def _group_memory() -> float:
    """What the container has left; caches of files can be taken back."""
    try:
        most = (_GROUP / "memory.max").read_text(encoding="ascii").strip()
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        cached = 0
        for line in (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("inactive_file "):
                cached = int(line.split()[1])
        return float("inf") if most == "max" else float(int(most) - used + cached)
    except (OSError, ValueError):
        return float("inf")


def _address_space() -> float:
    """What `ulimit -v` leaves."""
    if sys.platform != "linux":
        return float("inf")
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return float("inf")
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return float(max(0, limit - pages * resource.getpagesize()))


def _shown(size: float) -> str:
    for unit, name in ((1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{max(size, 0):,.0f} bytes"

"""Telling whoever waits that kernels are being compiled, for what and about how long."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator

from crossarc import beside
from crossarc.kernels.rooms import PARTS, ROOMS, room_of
from crossarc.kernels.sources import source_size

__all__ = ["announcer"]

# Compilations with less than this between them are one wait; below the other, it is none.
_PAUSE, _SHORTEST = 2.0, 1.8
# Of one core, measured over all kernels.
_SECONDS, _SECONDS_A_BYTE = 1.0, 6e-5


class Announcer:
    """One line for each wait; another one if it takes longer than was said."""

    def __init__(self) -> None:
        self._is_muted = False
        self._last_end = self._expected_end = -float("inf")

    @contextlib.contextmanager
    def muted(self) -> Iterator[None]:
        """For those who say themselves what they compile."""
        self._is_muted = True
        try:
            yield
        finally:
            self._is_muted = False

    def begin(self, module: str) -> None:
        """A kernel of this module is about to be compiled."""
        beside.start()
        now = time.monotonic()
        is_told = now < self._expected_end and now < self._last_end + _PAUSE
        if self._is_muted or is_told:
            return
        title, seconds = _forecast(module)
        if seconds < _SHORTEST:
            return
        # The first kernel of a wait has no end yet.
        self._expected_end, self._last_end = now + seconds, now + seconds
        _say(f"compiling kernels for {title}, about {seconds:.0f} s, once per installation")

    def end(self) -> None:
        """A kernel has been compiled."""
        self._last_end = time.monotonic()


announcer = Announcer()


def _forecast(module: str) -> tuple[str, float]:
    """What a kernel of this module is compiled for, and how long all that is needed takes."""
    room = room_of(module)
    for part in PARTS.values():
        if not room.startswith("inference") and part.has(module):
            return part.title, part.seconds
    return ROOMS[room].title, _SECONDS + _SECONDS_A_BYTE * source_size(module)


def _say(message: str) -> None:
    """To the log where one is kept, else to a terminal or a notebook, else to nobody."""
    logger = logging.getLogger("crossarc")
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(message)
    elif sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(f"crossarc: {message} ...", file=sys.stderr, flush=True)

"""What is said on the terminal while a command works."""

from __future__ import annotations

import sys

__all__ = ["StatusLine"]


class StatusLine:
    """A line on stderr that changes; none where that is not a terminal.

    Args:
        quiet: say nothing where standard output is the terminal, too.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.is_visible = sys.stderr.isatty() and not (quiet and sys.stdout.isatty())
        self._is_shown = False

    def show(self, line: str, *, stays: bool = False) -> None:
        """Put this line in place of the one before; one that stays is followed by a new one."""
        if self.is_visible:
            end = "\n" if stays else ""
            print(f"\r\x1b[K{line}", end=end, file=sys.stderr, flush=True)
            self._is_shown = not stays

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self.show("")
            self._is_shown = False

"""What may be written into a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError

__all__ = ["checked_comments", "checked_values", "head_fields", "missing_break"]

_NOT_IN_A_COLUMN = re.compile(r"[\t\n\r]")


def missing_break(raw: bytes) -> bytes:
    """The line breaks that a sentence at the end of a file may lack."""
    if raw.endswith((b"\n\n", b"\n\r\n")):
        return b""
    return b"\n" if raw.endswith(b"\n") else b"\n\n"


def head_fields(heads: NDArray[np.int64]) -> list[str]:
    """The HEAD column of an array of heads."""
    return ["_" if head < 0 else str(head) for head in heads.tolist()]


def checked_values(values: list[str], n: int) -> list[str]:
    """The values of a column, if there are n and each can stand between tabs."""
    if len(values) != n:
        raise TreebankError(f"{n} words need {n} values: got {len(values)}")
    joined = "\x1f".join(values)
    if "" in values or _NOT_IN_A_COLUMN.search(joined):
        raise TreebankError(
            "a column value is empty or holds a tab or line break: write _ where there is none"
        )
    return values


def checked_comments(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines, if each is a comment."""
    checked = (lines,) if isinstance(lines, str) else tuple(lines)
    for line in checked:
        if not line.startswith("#") or "\n" in line or "\r" in line:
            raise TreebankError(f"a comment is one line that starts with #: got {line!r}")
    return checked

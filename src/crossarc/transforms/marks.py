"""What a label says about lifting, as text.

    text = label [↑ [head [↑ rank]]] [↓]

    ↑       the word was lifted
    head    label of the head that it was lifted from
    rank    which of the words so labelled, in the order of the search; left out if the first
    ↓       the arc lies on a path along which a word was lifted

In labels themselves ↑, ↓ and the backslash have a backslash before them, so that any label can be
written and read back. A label with none of the three is written as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Mark", "read_mark", "write_mark"]

_SPECIAL = re.compile(r"[\\↑↓]")
_ESCAPED = re.compile(r"\\([\\↑↓_])")
_PIECE = r"((?:[^\\↑↓]|\\.)*)"
_MARKED = re.compile(rf"{_PIECE}(↑{_PIECE}(?:↑([1-9][0-9]{{0,8}}))?)?(↓)?", re.DOTALL)

# Stands for an empty label of a head, where nothing at all means that no label is given.
_EMPTY = r"\_"


class Mark(NamedTuple):
    """A label and what it says about lifting."""

    label: str
    lifted: bool = False
    head_label: str | None = None
    rank: int = 1
    on_path: bool = False


@lru_cache(maxsize=4096)
def write_mark(mark: Mark) -> str:
    """The mark as text."""
    text = _SPECIAL.sub(r"\\\g<0>", mark.label)
    if mark.lifted:
        text += "↑"
        if mark.head_label is not None:
            text += _SPECIAL.sub(r"\\\g<0>", mark.head_label) or _EMPTY
            if mark.rank > 1:
                text += f"↑{mark.rank}"
    return text + "↓" if mark.on_path else text


@lru_cache(maxsize=4096)
def read_mark(text: str) -> Mark:
    """The mark of a text; what follows no rule is a label that says nothing."""
    match = _MARKED.fullmatch(text)
    if match is None:
        return Mark(text)
    label, lifted, head_label, rank, on_path = match.groups()
    return Mark(
        _unescaped(label),
        lifted is not None,
        _unescaped(head_label) if head_label else None,
        int(rank or 1),
        on_path is not None,
    )


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: "" if match[1] == "_" else match[1], text)

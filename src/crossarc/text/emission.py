"""Tokens to sentences in CoNLL-U, from which the text can be rebuilt.

MISC says what follows a token: nothing at all for one space, `SpaceAfter=No` for no space, else
`SpacesAfter=` with the white space itself, as UDPipe writes it: `\\s` space, `\\t` tab, `\\n` and
`\\r` line breaks. Other white space is written `\\uXXXX`. Space before the first token of the text
is in its `SpacesBefore=`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crossarc.treebank import Sentence
from crossarc.treebank.columns import COLUMNS, FORM

__all__ = ["build_sentence", "escape_spaces", "following", "unescape_spaces"]

_ESCAPES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {"s": " ", "t": "\t", "n": "\n", "r": "\r"}
_BETWEEN = "\t_" * (COLUMNS - FORM - 2) + "\t"


def escape_spaces(spaces: str) -> str:
    """White space as it stands in MISC."""
    return "".join(_ESCAPES.get(c) or f"\\u{ord(c):04X}" for c in spaces)


def unescape_spaces(value: str) -> str:
    """White space from its form in MISC."""
    pieces = value.split("\\")[1:]
    return "".join(
        chr(int(piece[1:], 16)) if piece.startswith("u") else _UNESCAPES[piece] for piece in pieces
    )


def following(spaces: str) -> str:
    """The MISC entry of a token that this white space follows, empty for one space."""
    if spaces == " ":
        return ""
    return f"SpacesAfter={escape_spaces(spaces)}" if spaces else "SpaceAfter=No"


def build_sentence(
    comments: str,
    forms: Sequence[str],
    misc: Sequence[str],
    ranges: Sequence[tuple[int, tuple[str, ...]]],
) -> Sentence:
    """A sentence of tokens that are known to be good values.

    Args:
        comments: comment lines, each with its line break.
        ranges: tokens by position, from 0, that stand for several words, in order.
    """
    if not ranges:
        rows = [
            f"{number}\t{form}{_BETWEEN}{other}"
            for number, (form, other) in enumerate(zip(forms, misc, strict=True), 1)
        ]
        n = len(rows)
    else:
        rows, n = _rows_with_ranges(forms, misc, dict(ranges))
    head, body = comments.encode(), "\n".join(rows).encode()
    return Sentence(
        head + body + b"\n\n", len(head), len(head) + len(body), _no_heads(n), not ranges
    )


def _rows_with_ranges(
    forms: Sequence[str], misc: Sequence[str], ranges: dict[int, tuple[str, ...]]
) -> tuple[list[str], int]:
    rows: list[str] = []
    n = 0
    for k, (form, other) in enumerate(zip(forms, misc, strict=True)):
        words = ranges.get(k)
        if words is None:
            n += 1
            rows.append(f"{n}\t{form}{_BETWEEN}{other}")
            continue
        rows.append(f"{n + 1}-{n + len(words)}\t{form}{_BETWEEN}{other}")
        for word in words:
            n += 1
            rows.append(f"{n}\t{word}{_BETWEEN}_")
    return rows, n


def _no_heads(n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    heads = np.full(n, -1, np.int64)
    heads.flags.writeable = False
    return heads

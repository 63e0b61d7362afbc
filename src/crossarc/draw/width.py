"""How many columns of a terminal a string takes, and strings made safe to stand in a column."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["cut", "display_width", "isolated", "printable"]

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
# Controls, marks that turn the direction of text, halves of pairs, and what XML cannot hold.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_SOFT_HYPHEN = "\u00ad"


def display_width(text: str) -> int:
    """Columns that a terminal uses: 2 for East Asian wide characters, 0 for combining marks."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    zero = unicodedata.category(character) in ("Mn", "Me", "Cf") and character != _SOFT_HYPHEN
    # Vowels and final consonants of conjoining Korean letters join the one before them.
    return 0 if zero or "\u1160" <= character <= "\u11ff" else 1


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits before an ellipsis."""
    if display_width(text) <= width:
        return text
    used = 0
    for place, character in enumerate(text):
        used += _character_width(character)
        if used > width - 1:
            return text[:place] + "…"
    return text


def printable(text: str) -> str:
    """The text with a replacement mark for characters that would steer what shows it."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def isolated(text: str) -> str:
    """The text, in Unicode isolation marks (of no width) if it holds right-to-left characters.

    A terminal that reorders such text then does so inside the word alone.
    """
    if text.isascii() or all(unicodedata.bidirectional(c) not in ("R", "AL", "AN") for c in text):
        return text
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}"

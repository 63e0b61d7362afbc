"""Characters as numbers: code points, their classes, and their folded forms.

A class is a Unicode category or a group of them, with the scripts that are written without spaces
apart. Folding removes what a rare character does not share with its class: case, the value of
digits, which currency, which emoji. Tables are filled when a character is first met, from
`unicodedata`, so nothing is computed for the million code points that no text uses.
"""

from __future__ import annotations

import unicodedata

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BREAK",
    "CLASSES",
    "CLOSE",
    "CURRENCY",
    "DASH",
    "DIGIT",
    "EMOJI",
    "HAN",
    "JOINER",
    "KATAKANA",
    "MARK",
    "NUMBER",
    "OPEN",
    "OUTSIDE",
    "REGIONAL",
    "SPACE",
    "UPPER",
    "Characters",
    "characters",
    "is_space",
    "lower_case",
]

Codes = NDArray[np.int32]
Kinds = NDArray[np.uint8]

(
    OUTSIDE,
    SPACE,
    BREAK,
    UPPER,
    LOWER,
    LETTER,
    HAN,
    HIRAGANA,
    KATAKANA,
    DIGIT,
    NUMBER,
    MARK,
    JOINER,
    OPEN,
    CLOSE,
    DASH,
    PUNCTUATION,
    SIGN,
    CURRENCY,
    SYMBOL,
    EMOJI,
    REGIONAL,
    OTHER,
) = range(23)
CLASSES = 32  # a class fits five bits

_CATEGORIES = {
    "Lu": UPPER,
    "Lt": UPPER,
    "Ll": LOWER,
    "Nd": DIGIT,
    "Nl": NUMBER,
    "No": NUMBER,
    "Ps": OPEN,
    "Pi": OPEN,
    "Pe": CLOSE,
    "Pf": CLOSE,
    "Pd": DASH,
    "Po": PUNCTUATION,
    "Pc": PUNCTUATION,
    "Sc": CURRENCY,
    "Sm": SIGN,
    "Sk": SYMBOL,
    "So": SYMBOL,
}
_RANGES = (
    (0x3041, 0x309F, HIRAGANA),
    (0x30A0, 0x30FF, KATAKANA),
    (0x31F0, 0x31FF, KATAKANA),
    (0xFF66, 0xFF9F, KATAKANA),
    (0x2E80, 0x2FDF, HAN),
    (0x3005, 0x3007, HAN),
    (0x3400, 0x4DBF, HAN),
    (0x4E00, 0x9FFF, HAN),
    (0xF900, 0xFAFF, HAN),
    (0x20000, 0x3FFFF, HAN),
    (0x1F1E6, 0x1F1FF, REGIONAL),
    # Skin tones and tags modify the emoji before them, as a mark does.
    (0x1F3FB, 0x1F3FF, MARK),
    (0xE0020, 0xE007F, MARK),
    (0x231A, 0x231B, EMOJI),
    (0x23E9, 0x23F3, EMOJI),
    (0x2600, 0x2775, EMOJI),
    (0x2B50, 0x2B55, EMOJI),
    (0x1F000, 0x1FAFF, EMOJI),
)
# Each of these stands for all characters of its class.
_FOLDED_CURRENCY = ord("$")
_FOLDED_EMOJI = 0x1F600
_ZERO_WIDTH = "\u200b\ufeff"
_JOINERS = "\u200c\u200d\u2060"
_ALL = 0x110000


class Characters:
    """The characters of a text, one entry each: `codes`, `kinds` (classes) and `folded`."""

    __slots__ = ("codes", "folded", "kinds")

    def __init__(self, codes: Codes, kinds: Kinds, folded: Codes) -> None:
        self.codes = codes
        self.kinds = kinds
        self.folded = folded


_kinds: Kinds = np.zeros(_ALL, np.uint8)
_folded: Codes = np.zeros(_ALL, np.int32)


def characters(text: str) -> Characters:
    """The characters of a text as arrays; O(length)."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
    kinds = _kinds[codes]
    unknown = codes[kinds == OUTSIDE]
    if len(unknown):
        for code in np.unique(unknown).tolist():
            kind = _classify(chr(code))
            # Another thread may read: a code whose class is set has its folded form.
            _folded[code] = _fold(chr(code), kind)
            _kinds[code] = kind
        kinds = _kinds[codes]
    return Characters(codes, kinds, _folded[codes])


def is_space(character: str) -> bool:
    """Whether a character stands between tokens: white space, or a space of no width."""
    return character.isspace() or character in _ZERO_WIDTH


def lower_case(text: str) -> str:
    """Lower case that keeps the number of characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(map(_lower, text))


def _lower(character: str) -> str:
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _classify(character: str) -> int:
    if is_space(character):
        # Only a space character may stand inside a token, as in `10 000`.
        return SPACE if unicodedata.category(character) == "Zs" else BREAK
    if character in _JOINERS:
        return JOINER
    category = unicodedata.category(character)
    if category.startswith("M"):
        return MARK
    code = ord(character)
    if not category.startswith("P"):
        for first, last, kind in _RANGES:
            if first <= code <= last:
                return kind
    return _CATEGORIES.get(category, LETTER if category.startswith("L") else OTHER)


def _fold(character: str, kind: int) -> int:
    if kind in (SPACE, BREAK):
        return ord(" ")
    if unicodedata.category(character) == "Nd":
        return ord("0")
    if kind == CURRENCY:
        return _FOLDED_CURRENCY
    return _FOLDED_EMOJI if kind == EMOJI else ord(_lower(character))

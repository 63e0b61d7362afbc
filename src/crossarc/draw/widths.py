"""How wide a text is: in ems of a sans-serif font, and in columns of a terminal.

The font of a reader is not known, so ems are estimates that err on the wide side: for letters of
common scripts, the widest advance among DejaVu Sans, Liberation Sans (as wide as Arial), Noto Sans,
Roboto and Open Sans; for other scripts one figure a block; for East Asian wide characters one em.
Marks that stand on a letter have no width. In scripts that join their letters the sum of separate
letters is more than enough.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

__all__ = ["advance", "cut", "display_width", "isolated", "printable"]

# Hundredths of an em.
_LETTERS = {
    30: "'ijlıłіјآأإاـ",
    35: " ,.:;I·ŀſ‘’‚‛ΙιІ،؛",
    40: "!()-[]ft¡²³¹ŧ‐‑‹›",
    45: "/\\r",
    50: '"ª°¸º․ءدذرزژ',
    55: "*Jcsz|¦¯‖‗“”„‟εζЈгзсэєѕ؟ةهوؤ",
    60: "?L_`kvxy¨´ĳĸĿŁ†‡•‣Γγκλνξςτχвктухьяعغ",
    65: "$0123456789FTabdeghnopqu{}¢£¥§«µ¶»¿ßðøþđŋŦ‒ΞΣΤβδηθμορσυГЗТУабеилнопрчђћџجحخم",
    70: "ABEKPSVXYZÞħ–‥ΑΒΕΖΚΛΡΥΧαπЅАБВЕРХЧЬдцچ",
    75: "CHRU¤ΔΗΠφЄЏКЛНПСЭЯмъلن",
    80: "&DGNOQÐØĐŊΘΝΟΦΩψДИОЦыئقىيی",
    85: "#+<=>^w~¬±×÷ĲŉΨωЋЪфю",
    90: "ЂФЫжњكکگ",
    95: "%MĦΜМшщљطظ",
    100: "Wm©®¼½¾Ææ—―…→←≠بتثپ",
    105: "@œف",
    110: "ŒЉЊЖШЩЮ",
    125: "سش",
    135: "‰صض",
}
_KNOWN = {letter: width for width, letters in _LETTERS.items() for letter in letters}
_BLOCKS = (
    (0x0020, 0x024F, 105),
    (0x0250, 0x02AF, 105),
    (0x02B0, 0x036F, 60),
    (0x0370, 0x03FF, 95),
    (0x0400, 0x052F, 120),
    (0x0530, 0x058F, 100),
    (0x0590, 0x05FF, 75),
    (0x0600, 0x06FF, 135),
    (0x0900, 0x097F, 105),
    (0x0980, 0x09FF, 120),
    (0x0B80, 0x0BFF, 220),
    (0x0D00, 0x0D7F, 205),
    (0x0E00, 0x0E7F, 95),
    (0x0E80, 0x0EFF, 105),
    (0x1000, 0x109F, 160),
    (0x10A0, 0x10FF, 110),
    (0x1200, 0x137F, 130),
    (0x1780, 0x17FF, 140),
    (0x1E00, 0x1FFF, 110),
    (0x2010, 0x206F, 140),
)
_OTHER = 165
_HALF_WIDTH, _FULL_WIDTH, _PICTURE = 60, 100, 135

_FIRST_STRONG_ISOLATE, _POP_ISOLATE = "\u2068", "\u2069"
# Controls, marks that turn the direction of text, halves of pairs, and what XML cannot hold.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_SOFT_HYPHEN = "\u00ad"


@lru_cache(maxsize=20_000)
def advance(text: str) -> float:
    """The width of a text in ems: at least what common sans-serif fonts take."""
    return sum(map(_hundredths, text)) / 100


@cache
def _hundredths(character: str) -> int:
    if character in _KNOWN:
        return _KNOWN[character]
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Cf"):
        return 0
    wide = unicodedata.east_asian_width(character)
    if wide in "WF":
        return _PICTURE if category == "So" else _FULL_WIDTH
    if wide == "H":
        return _HALF_WIDTH
    base = unicodedata.normalize("NFD", character)[0]
    if base in _KNOWN:
        return _KNOWN[base]
    code = ord(character)
    return next((width for low, high, width in _BLOCKS if low <= code <= high), _OTHER)


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
    for index, character in enumerate(text):
        used += _character_width(character)
        if used > width - 1:
            return text[:index] + "…"
    return text


def printable(text: str) -> str:
    """The text with a replacement mark for characters that would steer what shows it."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def isolated(text: str) -> str:
    """The text, in Unicode isolation marks (of no width) if it holds right-to-left characters.

    A terminal that reorders such text then does so only inside the word.
    """
    if text.isascii() or all(unicodedata.bidirectional(c) not in ("R", "AL", "AN") for c in text):
        return text
    return f"{_FIRST_STRONG_ISOLATE}{text}{_POP_ISOLATE}"

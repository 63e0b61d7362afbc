"""Strings to small integer codes, and back.

A vocabulary is fixed when it is built. Three codes are reserved: strings that were not seen often
enough share UNKNOWN, what lies outside a sentence is BOUNDARY, and the artificial root is ROOT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOUNDARY", "FIRST", "ROOT", "UNKNOWN", "Vocabulary"]

UNKNOWN, BOUNDARY, ROOT, FIRST = range(4)


class Vocabulary:
    """Codes from FIRST up for known strings, UNKNOWN for all others.

    Args:
        strings: distinct strings in the order of their codes.

    `build` orders strings by how often they occur, so that codes do not depend on the order of
    sentences, nor on anything else but the counts.
    """

    __slots__ = ("_codes", "strings")

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = tuple(strings)
        self._codes = {string: code for code, string in enumerate(self.strings, FIRST)}
        if len(self._codes) != len(self.strings):
            raise ValueError("the strings of a vocabulary must differ from each other")

    @classmethod
    def build(cls, strings: Iterable[str], *, at_least: int = 1) -> Vocabulary:
        """A vocabulary of the strings that occur `at_least` so often; the most frequent first."""
        counts = Counter(strings)
        kept = [string for string, count in counts.items() if count >= at_least]
        return cls(sorted(kept, key=lambda string: (-counts[string], string)))

    def __len__(self) -> int:
        """Number of codes, the reserved ones included: codes are below this."""
        return FIRST + len(self.strings)

    def __contains__(self, string: str) -> bool:
        return string in self._codes

    def code(self, string: str) -> int:
        """The code of one string."""
        return self._codes.get(string, UNKNOWN)

    def encode(self, strings: Sequence[str]) -> NDArray[np.int64]:
        """The codes of many strings; one dict lookup each."""
        get = self._codes.get
        return np.array([get(string, UNKNOWN) for string in strings], np.int64)

"""A set of strings in a few bits each, which now and then holds one more."""

from __future__ import annotations

import zlib
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordSet"]

_BITS = 8  # a string, at least


class WordSet:
    """Strings by their hashes (Bloom 1970, with one hash function).

    A string of the set is always found; of other strings, fewer than one in eight is.

    Args:
        table: the bits, in bytes; a power of two of them.
    """

    def __init__(self, table: NDArray[np.uint8]) -> None:
        self.table = table
        self._bytes = table.tobytes()

    @classmethod
    def build(cls, strings: Collection[str]) -> WordSet:
        """The set of these strings."""
        table = bytearray(1 << (max(len(strings), 1) * _BITS // 8).bit_length())
        for string in strings:
            byte, bit = _address(string, len(table))
            table[byte] |= 1 << bit
        return cls(np.frombuffer(bytes(table), np.uint8))

    def __contains__(self, string: str) -> bool:
        byte, bit = _address(string, len(self._bytes))
        return bool(self._bytes[byte] >> bit & 1)


def _address(string: str, size: int) -> tuple[int, int]:
    return divmod(zlib.crc32(string.encode("utf-8", "surrogatepass")) % (8 * size), 8)

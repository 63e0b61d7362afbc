"""A set of strings in a few bits each, which now and then holds one more."""

from __future__ import annotations

import zlib
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordSet"]

_BITS = 16  # a string, at least
_HASHES = 4


class WordSet:
    """Strings by their hashes (Bloom 1970).

    A string of the set is always found; of other strings, fewer than one in two hundred is.

    Args:
        table: the bits, in bytes; a power of two of them.

    Raises:
        ValueError: there are none.
    """

    def __init__(self, table: NDArray[np.uint8]) -> None:
        if not len(table):
            raise ValueError("a set of words has no bits")
        self.table = table
        self._bytes = table.tobytes()

    @classmethod
    def build(cls, strings: Collection[str]) -> WordSet:
        """The set of these strings."""
        table = bytearray(1 << (max(len(strings), 1) * _BITS // 8).bit_length())
        for string in strings:
            for index in _bit_indices(string, 8 * len(table)):
                table[index >> 3] |= 1 << (index & 7)
        return cls(np.frombuffer(bytes(table), np.uint8))

    def __contains__(self, string: str) -> bool:
        table = self._bytes
        return all(table[p >> 3] >> (p & 7) & 1 for p in _bit_indices(string, 8 * len(table)))


def _bit_indices(string: str, size: int) -> list[int]:
    """The bits of a string: two hashes, and sums of them (Kirsch & Mitzenmacher 2006)."""
    first = zlib.crc32(string.encode("utf-8", "surrogatepass"))
    step = zlib.crc32(first.to_bytes(4, "little")) | 1
    return [(first + k * step) % size for k in range(_HASHES)]

"""Integer codes to slots of a table: hashes that are the same everywhere.

A feature is a template and the codes of its atoms. Its hash starts from the template's number and
takes in one code after another; each step multiplies and shifts, so that every bit of every code
reaches all bits of the hash. Nothing depends on the platform or on Python's seed for strings.

A feature of two words is hashed in two halves, one a word, that meet in `pair_slot`. Halves are
computed once a word and not once an arc, and the meeting costs an exclusive or, a multiplication
and a shift, in 32 bits so that it becomes vector instructions.
"""

from __future__ import annotations

import numpy as np

from crossarc.kernels import subkernel

__all__ = ["half", "hash_code", "hash_start", "near_slot", "pair_slot", "slot"]

# The multipliers of Steele, Lea & Flood (2014), SplitMix64, and the golden ratio, both odd.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_MEET = np.uint32(0x9E3779B1)
_15 = np.uint32(15)
_27, _30, _31, _32, _64 = (np.uint64(k) for k in (27, 30, 31, 32, 64))


@subkernel()
def hash_start(template: int) -> np.uint64:
    """The hash of a template's number, before any code."""
    return hash_code(np.uint64(0), template)


@subkernel()
def hash_code(before: np.uint64, code: int) -> np.uint64:
    """The hash that also takes in `code`; the order of codes matters."""
    x = (before + np.uint64(code) + np.uint64(1)) * _STEP
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return np.uint64(x ^ (x >> _31))


@subkernel()
def half(x: np.uint64) -> np.uint32:
    """The upper 32 bits of a hash: one word's part of a feature of two words."""
    return np.uint32(x >> _32)


@subkernel()
def slot(x: np.uint64, bits: int) -> int:
    """The slot of a hash in a table of 2**bits, bits from 1 to 63."""
    return int(x >> (_64 - np.uint64(bits)))


@subkernel()
def pair_slot(head: np.uint32, modifier: np.uint32, bits: int) -> np.uint32:
    """The slot of a feature of two words in a table of 2**bits, bits from 1 to 31."""
    met = np.uint32(np.uint32(head ^ modifier) * _MEET)
    return np.uint32(met >> np.uint32(32 - bits))


@subkernel()
def near_slot(head: np.uint32, modifier: np.uint32, index: int, bits: int) -> np.uint32:
    """The slot of a pair and an index from 0 to 15, in a table of 2**bits, bits from 5 to 31.

    The 16 slots of a pair are adjacent, so that they come with one access to memory. Their order
    differs from pair to pair, so that all slots are used alike.
    """
    met = np.uint32(np.uint32(head ^ modifier) * _MEET)
    line = np.uint32(np.uint32(met >> np.uint32(36 - bits)) << np.uint32(4))
    return np.uint32(line | np.uint32((np.uint32(met >> np.uint32(4)) ^ np.uint32(index)) & _15))

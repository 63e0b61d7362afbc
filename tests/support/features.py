"""Hashing of features, in plain Python integers."""

from __future__ import annotations

from collections.abc import Sequence

MASK = (1 << 64) - 1


def plain_hash(*codes: int) -> int:
    """The hash of a template number and codes, one SplitMix64 step each."""
    x = 0
    for code in codes:
        x = (x + code + 1) * 0x9E3779B97F4A7C15 & MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        x = x ^ x >> 31
    return x


def plain_pair_slot(head: Sequence[int], modifier: Sequence[int], bits: int) -> int:
    """The slot of a feature of two words, from the codes of each."""
    met = (plain_hash(*head) ^ plain_hash(*modifier)) >> 32
    return (met * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)

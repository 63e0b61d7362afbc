"""Hashes: the same as in plain Python, and spread evenly."""

from __future__ import annotations

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.features import plain_hash, plain_pair_slot

from crossarc.models.hashing import half, hash_code, hash_start, pair_slot, slot


@numba.njit
def _hash(codes):  # type: ignore[no-untyped-def]
    x = hash_start(codes[0])
    for code in codes[1:]:
        x = hash_code(x, code)
    return x


@numba.njit
def _slot(codes, bits):  # type: ignore[no-untyped-def]
    return slot(_hash(codes), bits)


@numba.njit
def _pair_slot(head, modifier, bits):  # type: ignore[no-untyped-def]
    return pair_slot(half(_hash(head)), half(_hash(modifier)), bits)


@numba.njit
def _slots(count, bits):  # type: ignore[no-untyped-def]
    """Slots of all pairs of `count` heads and modifiers."""
    out = np.empty(count * count, np.int64)
    for h in range(count):
        for m in range(count):
            head = half(hash_code(hash_start(0), h))
            modifier = half(hash_code(hash_start(1), m))
            out[h * count + m] = pair_slot(head, modifier, bits)
    return out


CODES = st.lists(st.integers(0, 2**40), min_size=1, max_size=5)


@given(CODES, st.integers(1, 63))
def test_hash_is_that_of_plain_python(codes: list[int], bits: int) -> None:
    expected = plain_hash(*codes)
    assert int(_hash(np.array(codes))) == expected
    assert _slot(np.array(codes), bits) == expected >> (64 - bits)


@given(CODES, CODES, st.integers(1, 31))
def test_pair_slot_is_that_of_plain_python(head: list[int], modifier: list[int], bits: int) -> None:
    got = _pair_slot(np.array(head), np.array(modifier), bits)
    assert got == plain_pair_slot(head, modifier, bits)


def test_known_values() -> None:
    """SplitMix64 from state 0 begins with these numbers (the generator's reference values)."""
    assert plain_hash(0) == 0xE220A8397B1DCDAF
    assert plain_hash(1) == 0x6E789E6AA1B965F4


def test_every_bit_of_a_code_reaches_every_bit_of_the_hash() -> None:
    flips = np.zeros((16, 64))
    for code in range(500):
        x = plain_hash(7, code)
        for bit in range(16):
            changed = x ^ plain_hash(7, code ^ (1 << bit))
            flips[bit] += [(changed >> k) & 1 for k in range(64)]
    # Binomial(500, 1/2): six standard deviations are 0.134.
    assert np.abs(flips / 500 - 0.5).max() < 0.134


def test_pairs_fill_a_table_evenly() -> None:
    """10^6 pairs in 2^16 slots: 15.26 a slot, Poisson, so that the index of dispersion is 1."""
    counts = np.bincount(_slots(1000, 16), minlength=1 << 16)
    assert 0.9 < counts.var() / counts.mean() < 1.2

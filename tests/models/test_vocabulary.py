"""Strings to codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossarc.models.vocabulary import BOUNDARY, FIRST, ROOT, UNKNOWN, Vocabulary


def test_frequent_strings_come_first_and_rare_ones_are_unknown() -> None:
    words = Vocabulary.build(["b", "a", "c", "b", "a", "b", "_"], at_least=2)
    assert words.strings == ("b", "a")
    assert words.encode(["a", "b", "c", "_", ""]).tolist() == [4, 3, 0, 0, 0]
    assert words.code("b") == FIRST
    assert "a" in words
    assert "c" not in words
    assert len(words) == 5


def test_reserved_codes_are_apart() -> None:
    assert sorted({UNKNOWN, BOUNDARY, ROOT, FIRST}) == [0, 1, 2, 3]


@given(st.lists(st.text(max_size=3)), st.integers(1, 3), st.randoms(use_true_random=False))
def test_order_of_strings_does_not_matter(strings: list[str], at_least: int, chance) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(strings)
    chance.shuffle(shuffled)
    words = Vocabulary.build(strings, at_least=at_least)
    assert words.strings == Vocabulary.build(shuffled, at_least=at_least).strings
    assert Vocabulary(words.strings).encode(strings).tolist() == words.encode(strings).tolist()
    codes = words.encode(strings)
    assert codes.dtype == np.int64
    for string, code in zip(strings, codes.tolist(), strict=True):
        known = strings.count(string) >= at_least
        assert code == (FIRST + words.strings.index(string) if known else UNKNOWN)


def test_repeated_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="must differ"):
        Vocabulary(["a", "a"])

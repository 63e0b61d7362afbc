"""Sentences to codes."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_treebank import WORKED

from crossarc import Sentence
from crossarc.models import encode
from crossarc.models.encode import (
    BOUNDARY,
    FIRST,
    PADDING,
    ROOT,
    UNKNOWN,
    Encoder,
    Vocabulary,
)


def test_layout_of_two_sentences() -> None:
    other = Sentence.build(["cats", "purr"], upos=["NOUN", "VERB"], heads=[2, -1])
    encoder = Encoder.build([WORKED, other], cutoff=1)
    encoded = encoder.encode([WORKED, other])
    assert encoded.sizes.tolist() == [6, 2]
    assert encoded.starts.tolist() == [PADDING, PADDING + 7 + 2 * PADDING]
    assert encoded.squares.tolist() == [0, 49, 58]
    form = encoded.codes[:, encoder.atoms.index("form")].tolist()
    words = encoder.columns[0]
    edge = [BOUNDARY] * PADDING
    assert form == [
        *edge,
        ROOT,
        *(words.code(form) for form in WORKED.forms),
        *edge,
        *edge,
        ROOT,
        words.code("cats"),
        words.code("purr"),
        *edge,
    ]
    assert encoded.gold_heads(1).tolist() == [2, -1]
    assert encoded.select(np.array([1, 0])).gold_arcs()[0].tolist() == [2, -1, 2, 4, 4, 0, 4, 4]


def test_attributes_are_told_apart() -> None:
    encoder = Encoder.build([WORKED], cutoff=1)
    assert encoder.attributes == ("Number", "Poss", "Tense")
    strange = Sentence.build(["x", "y"], feats=["Number=Dual|Tense=Pres", "Mood=Ind"])
    rows = encoder.encode([strange]).codes[PADDING + 1 : PADDING + 3, -3:].tolist()
    present = encoder.values.code("Tense=Pres")
    assert rows == [[UNKNOWN, BOUNDARY, present], [BOUNDARY] * 3]


def test_labels_that_are_not_known_are_left_out() -> None:
    encoder = Encoder.build([WORKED])
    codes = encoder.encode([WORKED], Vocabulary(["punct", "root", "obj"])).labels
    assert codes.tolist() == [-1, -1, -1, 1, 2, 0]
    assert encoder.encode([WORKED]).labels.tolist() == [-1] * 6


def test_restored_from_json() -> None:
    encoder = Encoder.build([WORKED], cutoff=1)
    twin = Encoder.restore(json.loads(json.dumps(encoder.metadata())))
    assert twin.atoms == encoder.atoms
    assert (twin.encode([WORKED]).codes == encoder.encode([WORKED]).codes).all()


def test_no_sentence() -> None:
    encoded = Encoder.build([WORKED]).encode([])
    assert len(encoded) == 0
    assert encoded.squares.tolist() == [0]


def test_ever_new_features_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode, "_CACHE_SIZE", 10)
    encoder = Encoder.build([WORKED], cutoff=1)
    expected = Encoder.build([WORKED], cutoff=1).encode([WORKED]).codes
    for k in range(30):
        encoder.encode([Sentence.build(["x", "y"], feats=[f"A={k}", f"B={k}"])])
        assert len(encoder._attribute_rows) <= 10
        assert (encoder.encode([WORKED]).codes == expected).all()


class _OneAfterTheOther:
    """`Vocabulary.code` of a thread that stops in the middle until another has encoded."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._is_first = True
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()

    def code(self, string: str) -> int:
        if self._is_first:
            self._is_first = False
            self.is_inside.set()
            assert self.may_go_on.wait(60)
        return self._vocabulary.code(string)


def test_threads_may_share_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread stops while it looks up a word's attributes; another encodes the same words, and
    others that empty the cache; both get what a thread alone gets."""
    monkeypatch.setattr(encode, "_CACHE_SIZE", 4)
    fields = [f"Number=Plur|Case=C{k}" for k in range(3)]
    mine = Sentence.build(list("abc"), feats=fields)
    other = Sentence.build(list("abcdef"), feats=["Tense=Pres", *fields, "Poss=Yes", "_"])
    expected = [Encoder.build([WORKED], cutoff=1).encode([one]).codes for one in (mine, other)]
    encoder = Encoder.build([WORKED], cutoff=1)
    stop = _OneAfterTheOther(encoder.values)
    encoder.values = stop  # type: ignore[assignment]
    found: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: found.append(encoder.encode([mine]).codes))
    thread.start()
    assert stop.is_inside.wait(60)
    try:
        meanwhile = [encoder.encode([one]).codes for one in (mine, other, mine)]
    finally:
        stop.may_go_on.set()
        thread.join(60)
    assert (found[0] == expected[0]).all()
    for codes, right in zip(meanwhile, (expected[0], expected[1], expected[0]), strict=True):
        assert (codes == right).all()


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
def test_order_of_strings_does_not_matter(strings: list[str], at_least: int, rng) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(strings)
    rng.shuffle(shuffled)
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

"""Sentences to codes."""

from __future__ import annotations

import json

import numpy as np
from support.small_treebank import WORKED

from crossarc import Sentence
from crossarc.models import encode
from crossarc.models.encode import PADDING, Encoder
from crossarc.models.vocabulary import BOUNDARY, ROOT, UNKNOWN, Vocabulary


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
    assert encoded.take(np.array([1, 0])).gold_arcs()[0].tolist() == [2, -1, 2, 4, 4, 0, 4, 4]


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


def test_ever_new_features_do_not_fill_the_memory(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(encode, "_REMEMBERED", 10)
    encoder = Encoder.build([WORKED], cutoff=1)
    expected = Encoder.build([WORKED], cutoff=1).encode([WORKED]).codes
    for k in range(30):
        encoder.encode([Sentence.build(["x", "y"], feats=[f"A={k}", f"B={k}"])])
        assert len(encoder._seen) <= 10
        assert (encoder.encode([WORKED]).codes == expected).all()

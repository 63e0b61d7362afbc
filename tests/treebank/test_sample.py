"""The sample bank keeps its promises: languages, constructions, notes, right trees."""

from __future__ import annotations

from collections import Counter

import pytest

import crossarc as ca
from crossarc.treebank import sample

UPOS = frozenset(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split(" ")
)
RELATIONS = frozenset(
    (
        "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det "
        "discourse dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl "
        "orphan parataxis punct reparandum root vocative xcomp"
    ).split(" ")
)
BANK = sample()


def test_size_and_languages() -> None:
    languages = Counter(sentence.comment("lang") for sentence in BANK)
    assert len(BANK) >= 60
    assert len(languages) >= 6
    assert min(languages.values()) >= 5
    assert len({sentence.sent_id for sentence in BANK}) == len(BANK)
    assert sample("nl") != []
    assert {sentence.comment("lang") for sentence in sample("nl")} == {"nl"}
    assert sample("tlh") == []


def test_classic_constructions_are_there() -> None:
    crossing = {s.comment("construction") for s in BANK if not s.tree.is_projective}
    assert crossing >= {
        "extraposed relative clause",
        "wh-movement",
        "scrambling",
        "cross-serial verbs",
        "hyperbaton",
        "clitic climbing",
    }
    assert any(not s.tree.is_well_nested for s in BANK)
    assert any(s.tree.gap_degree == 2 for s in BANK)
    assert sum(len(s.multiword_tokens) for s in BANK) >= 20
    assert any(row[0] == "0.1" for s in BANK for row in s.empty_nodes)


@pytest.mark.parametrize("sentence", BANK, ids=lambda s: s.sent_id)
def test_each_sentence(sentence: ca.Sentence) -> None:
    assert sentence.comment("note")
    assert sentence.tree.is_single_root
    assert set(sentence.upos) <= UPOS
    assert {label.partition(":")[0] for label in sentence.deprels} <= RELATIONS
    assert [label == "root" for label in sentence.deprels] == (sentence.heads == 0).tolist()
    for features in sentence.feats_dict:
        assert list(features) == sorted(features, key=str.lower)
        assert all(features.values())
    punctuation = [label == "punct" for label in sentence.deprels]
    assert not (sentence.tree.nonprojective_arcs & punctuation).any()
    bare = sentence.copy()
    bare.comments = []
    assert bare.text == sentence.comment("text")

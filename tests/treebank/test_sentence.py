"""A sentence as an object: its columns, and that writing changes only what was written."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trees import trees

import crossarc as ca
from crossarc.treebank import MultiwordToken, sample

EDGES = Path(__file__).with_name("edge_cases.conllu")
COLUMNS = ("forms", "lemmas", "upos", "xpos", "feats", "deprels", "deps", "misc")


@pytest.fixture
def edges() -> list[ca.Sentence]:
    return list(ca.read_conllu(EDGES))


def test_columns(edges: list[ca.Sentence]) -> None:
    first = edges[0]
    assert len(first) == 6
    assert first.sent_id == "edge-1"
    assert first.text == "Don't go to New York!"
    assert first.forms == ("Do", "n't", "go", "to", "New York", "!")
    assert first.lemmas == ("do", "not", "go", "to", "New York", "!")
    assert first.upos == ("AUX", "PART", "VERB", "ADP", "PROPN", "PUNCT")
    assert first.xpos == ("VB", "RB", "VB", "IN", "NNP", ".")
    assert first.feats[0] == "Mood=Imp|VerbForm=Fin"
    assert first.feats_dict[:2] == ({"Mood": "Imp", "VerbForm": "Fin"}, {})
    assert first.heads.tolist() == [3, 3, 0, 5, 3, 3]
    assert first.deprels == ("aux", "advmod", "root", "case", "obl", "punct")
    assert first.deps[1] == "3:advmod|4.1:advmod"
    assert first.misc[4] == "SpaceAfter=No|SpaceAfter=No|Zeta=1|Alpha=2"
    assert first.tree == ca.Tree([3, 3, 0, 5, 3, 3], first.deprels)


def test_ranges_and_empty_nodes(edges: list[ca.Sentence]) -> None:
    assert edges[0].multiword_tokens == (MultiwordToken(1, 2, "Don't", "Gloss=not=do|Note=a=b=c"),)
    assert [row[0] for row in edges[0].empty_nodes] == ["0.1", "4.1", "4.2"]
    assert edges[0].empty_nodes[0][1] == "you"
    assert edges[1].multiword_tokens == ()
    assert edges[1].empty_nodes == ()


def test_comments(edges: list[ca.Sentence]) -> None:
    assert edges[0].comments[0] == "# newdoc id = edges"
    assert edges[1].comments == (
        "# a comment without a key",
        "# twice = 1",
        "# twice = 2",
        "#nospace=yes",
        "#",
        "# tab\there = and\tthere",
        "# text_en = a = b",
    )
    assert edges[1].comment("twice") == "1"
    assert edges[1].comment("nospace") == "yes"
    assert edges[1].comment("text_en") == "a = b"
    assert edges[1].comment("absent") is None
    assert edges[1].sent_id is None
    assert edges[2].sent_id == "crlf"


def test_missing_heads(edges: list[ca.Sentence]) -> None:
    assert edges[1].heads.tolist() == [-1, 1]
    with pytest.raises(ca.TreebankError, match="word 1 has no head: fill in the HEAD column"):
        _ = edges[1].tree


def test_text_without_a_comment(edges: list[ca.Sentence]) -> None:
    assert edges[2].text == "ein Wort"
    sentence = edges[0].copy()
    sentence.comments = []
    assert sentence.text == "Don't go to New York!"


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("column", [*COLUMNS, "heads"])
def test_writing_a_column_changes_that_column_only(
    edges: list[ca.Sentence], number: int, column: str
) -> None:
    sentence = edges[number]
    before = bytes(sentence)
    values: object = [f"new{i}" for i in range(len(sentence))]
    if column == "heads":
        values = list(range(len(sentence)))
    setattr(sentence, column, values)
    after = bytes(sentence)
    index = ("id", "forms", "lemmas", "upos", "xpos", "feats", "heads", "deprels", "deps", "misc")
    place = index.index(column)
    old_lines, new_lines = before.split(b"\n"), after.split(b"\n")
    assert len(old_lines) == len(new_lines)
    word = 0
    for old, new in zip(old_lines, new_lines, strict=True):
        if not old.partition(b"\t")[0].isdigit():
            assert new == old
            continue
        expected = old.removesuffix(b"\r").split(b"\t")
        expected[place] = str(values[word]).encode()  # type: ignore[index]
        assert new.removesuffix(b"\r").split(b"\t") == expected
        assert new.endswith(b"\r") == old.endswith(b"\r")
        word += 1
    assert word == len(sentence)
    assert list(getattr(sentence, column)) == values


def test_writing_what_is_there_changes_nothing(edges: list[ca.Sentence]) -> None:
    for sentence in [*edges, *sample()]:
        before = bytes(sentence)
        for column in (*COLUMNS, "heads"):
            setattr(sentence, column, getattr(sentence, column))
        sentence.comments = sentence.comments
        assert bytes(sentence) == before


def test_writing_comments_keeps_the_rest(edges: list[ca.Sentence]) -> None:
    edges[0].comments = ["# new = 1"]
    assert bytes(edges[0]).startswith(b"\xef\xbb\xbf# new = 1\n0.1\tyou")
    edges[2].comments = ["# a", "# b"]
    assert bytes(edges[2]).startswith(b"# a\r\n# b\r\n1\tein")
    assert edges[2].comments == ("# a", "# b")


@given(st.lists(trees(max_words=8), min_size=1, max_size=5), st.booleans())
def test_heads_written_and_read_back(forest: list[list[int]], look_first: bool) -> None:
    """Whether or not the columns had been decoded before."""
    for heads in forest:
        sentence = ca.Sentence.build([f"w{i}" for i in range(len(heads))])
        if look_first:
            assert sentence.deprels == ("_",) * len(heads)
        sentence.heads = heads
        sentence.deprels = ["root" if h == 0 else "dep" for h in heads]
        (again,) = ca.read_conllu(sentence.to_conllu().split("\n"))
        assert again.heads.tolist() == heads
        assert again.deprels == sentence.deprels
        assert again.tree == sentence.tree


def test_build() -> None:
    sentence = ca.Sentence.build(
        ["Hi", "there"],
        upos=["INTJ", "ADV"],
        heads=[0, -1],
        misc=["_", "SpaceAfter=No"],
        comments=["# sent_id = s1"],
    )
    assert sentence.to_conllu() == (
        "# sent_id = s1\n"
        "1\tHi\t_\tINTJ\t_\t_\t0\t_\t_\t_\n"
        "2\tthere\t_\tADV\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "\n"
    )
    assert repr(sentence) == "<Sentence s1: 'Hi there', 2 words>"


def test_refused_values(edges: list[ca.Sentence]) -> None:
    sentence = edges[2]
    before = bytes(sentence)
    for column, values in {
        "forms": ["a"],
        "upos": ["a", ""],
        "xpos": ["a", "b\tc"],
        "misc": ["a", "b\n"],
        "deprels": ["a\r", "b"],
        "heads": [1, 0],
        "comments": ["no hash"],
    }.items():
        with pytest.raises(ca.TreebankError):
            setattr(sentence, column, values)
    for heads in ([0], [0, -2], [0, 3], [[0, 1]], [0.0, 1.0]):
        with pytest.raises(ca.TreebankError, match="head"):
            sentence.heads = heads
    with pytest.raises(ca.TreebankError, match="got the string 'NOUN'"):
        sentence.upos = "NOUN"
    with pytest.raises(ca.TreebankError, match="at least one word"):
        ca.Sentence.build([])
    with pytest.raises(ca.TreebankError, match="2 words need 2 values"):
        ca.Sentence.build(["a", "b"], upos=["X"])
    assert bytes(sentence) == before


def test_columns_cannot_be_changed_in_place(edges: list[ca.Sentence]) -> None:
    with pytest.raises(ValueError, match="read-only"):
        edges[0].heads[0] = 1
    with pytest.raises(TypeError):
        edges[0].deprels[0] = "x"  # type: ignore[index]


def test_copies_are_independent(edges: list[ca.Sentence]) -> None:
    original = edges[0]
    original.upos = ["X"] * 6
    twin = original.copy()
    twin.heads = [0, 1, 2, 3, 4, 5]
    twin.upos = ["Y"] * 6
    twin.comments = []
    assert original.upos == ("X",) * 6
    assert original.heads.tolist() == [3, 3, 0, 5, 3, 3]
    assert len(original.comments) == 3
    back = pickle.loads(pickle.dumps(twin))
    assert bytes(back) == bytes(twin)
    assert np.array_equal(back.heads, twin.heads)


def test_what_was_read_comes_back_from_a_pickle(edges: list[ca.Sentence]) -> None:
    """Without what was decoded on the way, and as read-only as it was."""
    for sentence in edges:
        plain = len(pickle.dumps(sentence))
        assert len(sentence.forms) == len(sentence)
        assert len(pickle.dumps(sentence)) == plain
        back = pickle.loads(pickle.dumps(sentence))
        assert bytes(back) == bytes(sentence)
        assert back.heads.tolist() == sentence.heads.tolist()
        assert not back.heads.flags.writeable
        assert (back.source, back.line) == (sentence.source, sentence.line)
        assert (back.forms, back.multiword_tokens) == (sentence.forms, sentence.multiword_tokens)


def test_words_only(edges: list[ca.Sentence]) -> None:
    for sentence in edges:
        plain = sentence.words_only()
        assert plain.forms == sentence.forms
        assert plain.multiword_tokens == plain.empty_nodes == ()
        (again,) = ca.read_conllu([plain.to_conllu()])
        assert again.misc == sentence.misc

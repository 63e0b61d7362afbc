"""Induced trees beside gold ones."""

from __future__ import annotations

import numpy as np
import pytest

from crossarc import Sentence
from crossarc.models.generative import BigramModel, DMVModel
from crossarc.models.generative.accuracy import (
    Attachment,
    content_heads,
    content_sentence,
    content_words,
    left_branching,
    parse_content,
    right_branching,
    whole_heads,
)


def test_directed_and_undirected() -> None:
    """Gold 2 -> 1, root 2, 2 -> 3, 3 -> 4; found 2 -> 1, 3 -> 2, root 3, 2 -> 4."""
    found = Attachment.compare(np.array([2, 0, 2, 3]), np.array([2, 3, 0, 2]))
    assert found == Attachment(4, 1, 2)
    assert (found.directed, found.undirected) == (25.0, 50.0)
    both = found + Attachment.compare(np.array([0]), np.array([0]))
    assert both == Attachment(5, 2, 3)
    assert Attachment().directed == 0.0


def test_chains() -> None:
    assert right_branching(4).tolist() == [0, 1, 2, 3]
    assert left_branching(4).tolist() == [2, 3, 4, 0]
    assert right_branching(1).tolist() == left_branching(1).tolist() == [0]
    gold = np.array([0, 1, 2, 3])
    assert Attachment.compare(gold, right_branching(4)).directed == 100.0
    # Word by word: 2 -> 1, 3 -> 2, 4 -> 3 stand in the gold tree the other way round.
    assert Attachment.compare(gold, left_branching(4)) == Attachment(4, 0, 3)


def test_punctuation_is_taken_out_and_put_back() -> None:
    """`,` heads b here: b goes to the word above the comma."""
    sentence = Sentence.build(
        ["(", "a", ",", "b", "."],
        upos=["PUNCT", "X", "PUNCT", "X", "PUNCT"],
        heads=[2, 0, 2, 3, 2],
    )
    kept = content_words(sentence, punctuation=False)
    assert kept.tolist() == [2, 4]
    assert content_words(sentence, punctuation=True).tolist() == [1, 2, 3, 4, 5]
    short = content_sentence(sentence, kept)
    assert short.forms == ("a", "b")
    assert short.upos == ("X", "X")
    assert short.heads.tolist() == [0, 1]
    assert whole_heads(np.array([2, 0]), kept, 5).tolist() == [4, 4, 4, 0, 4]
    assert content_sentence(sentence, np.arange(1, 6)) is sentence
    dots = Sentence.build([".", "."], upos=["PUNCT", "PUNCT"])
    assert content_words(dots, punctuation=False).tolist() == [1, 2]
    partial = Sentence.build(["a", "."], upos=["X", "PUNCT"], heads=[-1, 1])
    assert content_sentence(partial, np.array([1])).heads.tolist() == [-1]


def test_chains_of_punctuation_and_lost_roots() -> None:
    """Words below several marks go up to the first word; those below a mark at the root, to it."""
    heads = np.array([2, 3, 0, 3])
    assert content_heads(heads, np.array([1, 4])).tolist() == [0, 0]
    assert content_heads(heads, np.array([1, 3])).tolist() == [2, 0]


@pytest.mark.parametrize("make", [BigramModel, DMVModel])
def test_blocks_of_sentences(make: type[BigramModel | DMVModel]) -> None:
    """More sentences than a block holds are parsed in their order."""
    bank = [
        Sentence.build(list("ab" if k % 3 else "abb"), heads=[0, 1] if k % 3 else [0, 1, 1])
        for k in range(300)
    ]
    model = make("form").fit(bank)
    for one, heads in zip(bank, parse_content(model, bank), strict=True):
        assert heads.tolist() == one.heads.tolist()

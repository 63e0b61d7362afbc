"""Laws of tokenisation: nothing is lost, cuts change nothing, odd input is no problem."""

from __future__ import annotations

import io
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.text import EMOJI, texts, treebank

import crossarc as ca
from crossarc.text import Tokenizer, raw_text, rebuild_text
from crossarc.text import tokenizer as module
from crossarc.text.characters import is_space
from crossarc.treebank import read_conllu, sample

TOKENIZER = Tokenizer.learn(
    sample()
    + treebank(
        ["Dr. Hall [don't:do n't] know|.", "Il paie vite|!", "(|Yes|)|, [it's:it 's] so|."] * 9
    )
)


@given(texts())
def test_nothing_is_lost(text):
    sentences = list(TOKENIZER.tokenize(text))
    if all(map(is_space, text)):
        assert sentences == []
    else:
        assert rebuild_text(sentences) == text


@given(texts())
def test_the_output_is_valid_and_reads_back(text):
    written = "".join(sentence.to_conllu() for sentence in TOKENIZER.tokenize(text))
    read = list(read_conllu(io.BytesIO(written.encode())))
    assert "".join(sentence.to_conllu() for sentence in read) == written


@given(texts())
def test_comments_hold_the_text_on_one_line(text):
    for sentence in TOKENIZER.tokenize(text):
        spaced = sentence.copy()
        spaced.comments = ()
        assert sentence.comment("text") == spaced.text


@given(texts(), st.lists(st.integers(0, 60)))
def test_cuts_between_pieces_change_nothing(text, cuts):
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert same(TOKENIZER.tokenize(pieces), TOKENIZER.tokenize(text))


def same(one, two) -> bool:
    return [s.to_conllu() for s in one] == [s.to_conllu() for s in two]


@pytest.mark.parametrize("size", [64, 200, 1000])
def test_the_size_of_portions_changes_nothing(monkeypatch, size):
    """With paragraphs and without; portions end inside words, sentences and gaps."""
    lines = raw_text(sample()).split(". ")
    random.Random(7).shuffle(lines)
    for text in (". ".join(lines * 3), ".\n\n".join(lines), ".".join(lines)):
        whole = [s.to_conllu() for s in TOKENIZER.tokenize(text)]
        monkeypatch.setattr(module, "_PORTION", size)
        assert [s.to_conllu() for s in TOKENIZER.tokenize(text)] == whole
        monkeypatch.undo()


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\ufeff", "\u200b \u3000\t"])
def test_no_text_no_sentences(text):
    assert list(TOKENIZER.tokenize(text)) == []


def test_no_pieces_no_sentences():
    assert list(TOKENIZER.tokenize([])) == []


def test_a_megabyte_without_a_space():
    """Tokens and sentences have a longest length, so memory stays bounded and nothing is lost."""
    text = "x" * (1 << 20)
    sentences = list(TOKENIZER.tokenize(text))
    assert rebuild_text(sentences) == text
    assert max(len(form) for s in sentences for form in s.forms) == 4096


def test_sentences_have_a_longest_length():
    sentences = list(TOKENIZER.tokenize("word " * 2000))
    assert [len(sentence) for sentence in sentences] == [512, 512, 512, 464]


def test_emoji_stay_whole():
    """A family is five characters with joiners, a flag two, a heart and a thumb have a mark."""
    family, flags, thumb = EMOJI.split(" ")
    tokens = [form for s in TOKENIZER.tokenize(f"{family} {flags} {thumb}") for form in s.forms]
    assert family in tokens
    assert flags[:2] in tokens
    assert flags[2:] in tokens
    assert "\U0001f44d\U0001f3fd" in tokens


def test_right_to_left_text():
    tokens = [form for s in TOKENIZER.tokenize("שלום, עולם! مرحبا بالعالم.") for form in s.forms]
    assert tokens == ["שלום", ",", "עולם", "!", "مرحبا", "بالعالم", "."]


def test_half_a_character_is_refused():
    with pytest.raises(ca.TreebankError, match=r"half a character \(U\+D83D\): read it as UTF-8"):
        list(TOKENIZER.tokenize("bad \ud83d text"))

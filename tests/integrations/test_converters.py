"""Sentences survive the way to another library's objects and back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crossarc import Sentence
from crossarc.integrations import (
    from_conllu,
    from_pyconll,
    from_spacy,
    to_conllu,
    to_pyconll,
    to_spacy,
)
from crossarc.treebank import sample


def same_columns(one: Sentence, other: Sentence) -> bool:
    names = ("forms", "lemmas", "upos", "xpos", "deprels", "deps", "sent_id", "text")
    return all(getattr(one, name) == getattr(other, name) for name in names)


@pytest.mark.parametrize("sentence", sample()[::5], ids=lambda s: s.sent_id)
def test_conllu(sentence: Sentence) -> None:
    conllu = pytest.importorskip("conllu", reason="conllu is not installed")
    tokens = to_conllu(sentence)
    assert isinstance(tokens, conllu.TokenList)
    assert [one["head"] for one in tokens if isinstance(one["id"], int)] == sentence.heads.tolist()
    back = from_conllu(tokens)
    assert back.heads.tolist() == sentence.heads.tolist()
    assert same_columns(back, sentence)
    assert back.multiword_tokens == sentence.multiword_tokens
    assert len(back.empty_nodes) == len(sentence.empty_nodes)


@pytest.mark.parametrize("sentence", sample()[::5], ids=lambda s: s.sent_id)
def test_pyconll(sentence: Sentence) -> None:
    pytest.importorskip("pyconll", reason="pyconll is not installed")
    found = to_pyconll(sentence)
    heads = [token.head for token in found if token.id.isdigit()]
    assert heads == [str(head) for head in sentence.heads]
    back = from_pyconll(found)
    assert back.heads.tolist() == sentence.heads.tolist()
    assert same_columns(back, sentence)
    assert back.multiword_tokens == sentence.multiword_tokens


def test_spacy() -> None:
    """The whole sample bank in one Doc: heads intact, crossing or not."""
    spacy = pytest.importorskip("spacy", reason="extra [spacy] is not installed")
    bank = sample()
    doc = to_spacy(bank, spacy.blank("xx").vocab)
    assert len(doc) == sum(map(len, bank))
    back = from_spacy(doc)
    assert len(back) == len(bank)
    assert any(not sentence.tree.is_projective for sentence in bank)
    for one, other in zip(back, bank, strict=True):
        assert one.heads.tolist() == other.heads.tolist()
        for name in ("forms", "lemmas", "upos", "xpos", "deprels"):
            assert getattr(one, name) == getattr(other, name)
        assert one.feats_dict == other.feats_dict
    assert back[0].text == bank[0].text


def test_libraries_are_imported_when_needed() -> None:
    program = (
        "import crossarc.integrations, sys; "
        "print([n for n in ('conllu', 'pyconll', 'spacy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"

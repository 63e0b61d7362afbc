"""The component for spaCy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("spacy", reason="extra [spacy] is not installed")

import spacy
from spacy.tokens import Doc

import crossarc as ca
from crossarc.integrations import from_spacy, to_spacy
from crossarc.integrations.spacy import make_parser
from crossarc.treebank import sample

SAW = "I saw the man with the telescope."
TEXT = f"{SAW} He had stolen it."


@pytest.fixture(scope="module")
def nlp():
    pipeline = spacy.blank("en")
    pipeline.add_pipe("crossarc_parser", config={"kbest": 3})
    return pipeline


@pytest.fixture(scope="module")
def parser() -> ca.Parser:
    return ca.load("en")


def heads(doc: Doc) -> list[int]:
    return [token.head.i for token in doc]


def test_doc_has_the_trees_of_the_parser(nlp, parser: ca.Parser) -> None:
    doc = nlp(TEXT)
    expected = list(parser.parse(TEXT, probabilities=True))
    assert [span.text for span in doc.sents] == [SAW, "He had stolen it."]
    for span, sentence in zip(doc.sents, expected, strict=True):
        assert [token.text for token in span] == list(sentence.forms)
        found = [0 if t.head.i == t.i else t.head.i - span.start + 1 for t in span]
        assert found == sentence.heads.tolist()
        assert [token.dep_ for token in span] == list(sentence.deprels)
        assert [token.pos_ for token in span] == list(sentence.upos)
        assert [token.lemma_ for token in span] == list(sentence.lemmas)
        assert span.root.i == span.start + sentence.root.id - 1
        for token, word in zip(span, sentence, strict=True):
            assert f"HeadProb={token._.head_probability:.4f}" in word.misc.split("|")


def test_kbest(nlp, parser: ca.Parser) -> None:
    doc = nlp(TEXT)
    expected = list(parser.parse(SAW, kbest=3))
    assert len(doc._.kbest) == 2
    for tree, sentence in zip(doc._.kbest[0], expected, strict=True):
        assert [
            0 if h == i else h + 1 for i, h in enumerate(tree["heads"])
        ] == sentence.heads.tolist()
        assert tuple(tree["deps"]) == sentence.deprels
        assert tree["log_prob"] == float(sentence.comment("log_prob"))


def test_pipe_gives_the_same_as_one_by_one(nlp) -> None:
    texts = [TEXT, "", "He ran.\n\nShe  ran.", SAW] * 5
    docs = list(nlp.pipe(texts, batch_size=3))
    assert [doc.text for doc in docs] == texts
    for doc, text in zip(docs, texts, strict=True):
        assert doc.to_json() == nlp(text).to_json()


def test_white_space_hangs_from_the_word_before(nlp) -> None:
    doc = nlp(" He  ran. \n\n She ran.")
    spaces = [token for token in doc if token.is_space]
    assert len(spaces) == 3
    assert [token.head.text for token in spaces] == ["He", "He", "."]
    assert [span.root.text for span in doc.sents] == ["ran", "ran"]
    assert [one.text for one in from_spacy(doc)] == ["He ran.", "She ran."]


def test_sentences_and_tags_of_the_doc_are_kept(nlp) -> None:
    words = "He ran She ran".split()
    doc = Doc(
        nlp.vocab, words=words, sent_starts=[True, False, False, False], pos=["NOUN", "VERB"] * 2
    )
    nlp.get_pipe("crossarc_parser")(doc)
    assert len(list(doc.sents)) == 1
    assert [token.pos_ for token in doc] == ["NOUN", "VERB"] * 2


def test_crossing_arcs(tmp_path: Path) -> None:
    """A parser that has learnt the sample bank by heart gives its trees, which cross."""
    bank = [one.words_only() for one in sample("nl")]
    path = tmp_path / "nl.crossarc"
    learnt = ca.Parser.train(bank, projective=False, passes=30)
    learnt.save(path)
    pipeline = spacy.blank("nl")
    pipeline.add_pipe("crossarc_parser", config={"model": str(path)})
    component = pipeline.get_pipe("crossarc_parser")
    expected = list(learnt.parse(bank))
    assert any(not sentence.tree.is_projective for sentence in expected)
    docs = component.pipe([to_spacy([sentence], pipeline.vocab) for sentence in bank])
    for doc, sentence in zip(docs, expected, strict=True):
        [back] = from_spacy(doc)
        assert back.heads.tolist() == sentence.heads.tolist()


LOAD = """
import json, sys, spacy
nlp = spacy.load(sys.argv[1])
docs = [nlp(text) for text in json.loads(sys.argv[2])]
print(json.dumps([[[t.head.i, t.dep_, t._.head_probability] for t in doc] for doc in docs]))
"""


def test_a_saved_pipeline_gives_the_same_in_a_new_process(tmp_path: Path) -> None:
    """Without the file that the model came from: it is in the pipeline."""
    model = tmp_path / "model.crossarc"
    ca.load("en").save(model)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("crossarc_parser", config={"model": str(model)})
    pipeline.to_disk(tmp_path / "pipeline")
    docs = [pipeline(text) for text in (TEXT, SAW)]
    expected = [[[t.head.i, t.dep_, t._.head_probability] for t in doc] for doc in docs]
    model.unlink()
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "pipeline"), json.dumps([TEXT, SAW])],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def test_bytes(nlp) -> None:
    other = spacy.blank("en")
    other.add_pipe("crossarc_parser", config={"model": "no such model", "kbest": 3})
    other.from_bytes(nlp.to_bytes())
    assert other(TEXT).to_json() == nlp(TEXT).to_json()


def test_doc_keeps_probabilities_and_trees_in_bytes(nlp) -> None:
    doc = nlp(SAW)
    back = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert heads(back) == heads(doc)
    assert [t._.head_probability for t in back] == [t._.head_probability for t in doc]
    assert back._.kbest == doc._.kbest


def test_entry_point() -> None:
    """spaCy finds the factory by the metadata of the project."""
    from importlib.metadata import entry_points

    [found] = entry_points(group="spacy_factories", name="crossarc_parser")
    assert found.load() is make_parser

"""Sentences as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from support.shell import crossarc

from crossarc import Sentence, read_conllu
from crossarc.treebank import sample, write_json

PLUS = """\
# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC X:MINE
# sent_id = p
1-2	it's	_	_	_	_	_	_	_	SpaceAfter=No	_
1	it	_	_	_	_	2	nsubj	_	_	a
2	's	_	_	_	_	0	root	_	_	_
2.1	so	_	_	_	_	_	_	0:root	Kind=Empty|Bare	b

"""


def test_what_a_sentence_says() -> None:
    [sentence] = read_conllu(io.StringIO(PLUS))
    found = sentence.to_dict()
    assert found["sent_id"] == "p"
    assert found["text"] == sentence.text == "it's"
    first, second = found["words"]
    assert first == {
        "id": 1,
        "form": "it",
        "lemma": None,
        "upos": None,
        "xpos": None,
        "feats": {},
        "head": 2,
        "deprel": "nsubj",
        "deps": None,
        "misc": {},
        "X:MINE": "a",
    }
    assert (second["head"], second["X:MINE"]) == (0, None)
    assert found["multiword_tokens"] == [
        {"first": 1, "last": 2, "form": "it's", "misc": {"SpaceAfter": "No"}}
    ]
    [node] = found["empty_nodes"]
    assert (node["id"], node["form"], node["misc"]) == ("2.1", "so", {"Kind": "Empty", "Bare": ""})


def test_heads_and_forms_that_look_like_nothing() -> None:
    words = Sentence.build(["_", "b"], heads=[-1, 0], feats=["A=1|B=2", "_"]).to_dict()["words"]
    assert [(word["form"], word["head"]) for word in words] == [("_", None), ("b", 0)]
    assert words[0]["feats"] == {"A": "1", "B": "2"}
    assert set(Sentence.build(["a"]).to_dict()) == {"sent_id", "text", "comments", "words"}


def test_files(tmp_path: Path) -> None:
    assert write_json(sample("en"), tmp_path / "bank.json") == len(sample("en"))
    lines = (tmp_path / "bank.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [one.to_dict() for one in sample("en")]
    shell = crossarc("convert", "@sample", "--to", "json")
    assert [json.loads(line) for line in shell.stdout.splitlines()] == [
        one.to_dict() for one in sample()
    ]


def test_hints() -> None:
    with pytest.raises(AttributeError, match=r"use sentence\.to_dict\(\)"):
        _ = sample()[0].to_json

"""What evaluate says to input that it cannot score, or can score only in part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crossarc as ca


def test_nothing_to_count_is_null_in_json_and_a_dash_in_text():
    sentence = ca.Sentence.build(["!"], upos=["PUNCT"], heads=[0], deprels=["root"])
    scores = ca.evaluate([sentence], [sentence])
    assert json.loads(json.dumps(scores.to_dict()))["uas_nopunct"] is None
    lines = dict(line.split() for line in str(scores).splitlines())
    assert lines["uas_nopunct"] == lines["nonprojective_f1"] == "-"
    assert lines["uas"] == "100.00"
    assert lines["words"] == "1"


def build(forms: str, heads: list[int], name: str | None = None) -> ca.Sentence:
    return ca.Sentence.build(
        forms.split(), heads=heads, comments=[] if name is None else [f"# sent_id = {name}"]
    )


GOLD = [build("a b", [0, 1], "one"), build("c d", [2, 0], "two")]


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (GOLD[:1], r"system ends before sentence 2 \(sent_id two\) of gold"),
        ([*GOLD, build("e", [0])], r"gold ends before sentence 3 of system"),
        (
            [GOLD[0], build("c", [0])],
            r"sentence 2 \(sent_id two\): system ends before word 2 of gold, 'd'",
        ),
        (
            [GOLD[0], build("c d d", [2, 0, 2], "long")],
            r"sentence 2 \(sent_id long\): gold ends before word 3 of system, 'd'",
        ),
        ([GOLD[0], build("c e", [2, 0])], r"sentence 2 \(sent_id two\): word 2 is 'd' .* 'e'"),
        ([GOLD[0], build("c d", [2, -1])], r"sentence 2 \(sent_id two\): word 2 .* in system"),
        (Path("system.conllu"), r"system must be sentences.*Use read_conllu"),
    ],
)
def test_unfit_input_is_named(system, message):
    with pytest.raises(ca.TreebankError, match=message) as caught:
        ca.evaluate(GOLD, system)
    assert "\n" not in str(caught.value)


def test_gold_without_heads_is_named():
    with pytest.raises(ca.TreebankError, match=r"sentence 1: word 1 has no head .* in gold"):
        ca.evaluate([build("a b", [-1, 1])], [build("a b", [0, 1])])


def test_nothing_at_all_is_an_error():
    with pytest.raises(ca.TreebankError, match="nothing to compare"):
        ca.evaluate([], iter(()))

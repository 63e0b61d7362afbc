"""What a parser takes from its treebank, and treebanks that it cannot learn from."""

from __future__ import annotations

import pytest

from crossarc import ModelError, Sentence
from crossarc.parser import Parser
from crossarc.treebank import sample


def built(heads: list[int], *, upos: str = "NOUN", deprel: str = "dep") -> Sentence:
    n = len(heads)
    return Sentence.build(
        [f"w{k}" for k in range(n)], upos=[upos] * n, heads=heads, deprels=[deprel] * n
    )


def test_trees_are_chosen_as_in_the_treebank() -> None:
    chains = [built([0, 1, 2, 3])] * 10
    parser = Parser.train(chains, passes=1, text=False)
    assert (parser.projective, parser.root) == (True, "single")
    crossing = Parser.train([*chains, built([3, 4, 0, 3])], passes=1, text=False)
    assert (crossing.projective, crossing.root) == (False, "single")
    several = Parser.train([*chains, built([0, 0, 2, 3])], passes=1, text=False)
    assert several.root == "multi"
    told = Parser.train(chains, passes=1, text=False, projective=False, root="multi")
    assert (told.projective, told.root) == (False, "multi")


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ModelError, match="no sentences to learn from"):
        Parser.train([])
    with pytest.raises(ModelError, match="nothing to learn from: no sentence has a head"):
        Parser.train([Sentence.build(["a", "b"])], text=False)


def test_without_tags_and_relations() -> None:
    bare = [built([0, 1, 2], upos="_", deprel="_")] * 5
    parser = Parser.train(bare, passes=3)
    assert parser.tagger is None
    [parsed] = parser.parse(bare[:1])
    assert parsed.heads.tolist() == [0, 1, 2]
    assert parsed.deprels == ("_", "_", "_")


def test_partial_trees_are_learnt_around() -> None:
    whole, partial = built([0, 1, 2]), built([0, 1, -1])
    parser = Parser.train([whole, partial] * 10, passes=4, text=False)
    [parsed] = parser.parse([partial])
    assert parsed.heads.tolist() == [0, 1, 2]


def test_dev_with_labels_that_were_not_seen() -> None:
    dev = [built([0, 1, 2], deprel="strange")]
    parser = Parser.train([built([0, 1, 2])] * 10, dev=dev, passes=2, text=False)
    assert parser.labels == ("dep",)
    assert parser.training["uas"] == 100.0
    assert parser.training["las"] == 0.0


def test_stages_are_told() -> None:
    stages: list[str] = []
    Parser.train(
        sample("en"), passes=1, predicted_tags=True, progress=lambda stage, _: stages.append(stage)
    )
    assert list(dict.fromkeys(stages)) == [
        "tokeniser",
        "tagger",
        "tags for the parser to learn from",
        "parser",
    ]

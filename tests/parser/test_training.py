"""What a parser takes from its treebank, and treebanks that it cannot learn from."""

from __future__ import annotations

import pytest

import crossarc as ca
from crossarc import ModelError, Sentence
from crossarc.learning import Progress
from crossarc.models.kinds import find_kind
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


@pytest.mark.parametrize(("crossing", "projective"), [(5, True), (6, False)])
def test_a_few_crossing_arcs_are_left_out(crossing: int, projective: bool) -> None:
    """5 of 1,000 arcs, as in Portuguese, and 6 of 1,000, as in Turkish (docs/parser.md)."""
    bank = [built([3, 4, 0, 3])] * crossing + [built([0, 1, 2, 3])] * (250 - crossing)
    assert Parser.train(bank, passes=1, text=False).projective is projective


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ModelError, match="no sentences to learn from"):
        Parser.train([])
    with pytest.raises(ModelError, match="nothing to learn from: no sentence has a head"):
        Parser.train([Sentence.build(["a", "b"])], text=False)
    with pytest.raises(ModelError, match="no held-out sentence has a head: give some with trees"):
        Parser.train([built([0, 1])], dev=[Sentence.build(["a", "b"])], text=False)


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


def test_second_order_where_held_out_sentences_are_given() -> None:
    sentences = sample()
    usual = find_kind("graph").usual
    assert usual is not None
    assert usual({"projective": True}, sentences, sentences) == {"order": 2}
    assert usual({}, sentences, []) == {}
    many = sentences * (250_000 // sum(map(len, sentences)))
    assert usual({}, many, sentences) == {"order": 2}
    assert usual({}, many + sentences, sentences) == {}
    for given in ({"order": 3}, {"learner": "mira"}, {"optimizer": "lbfgs"}, {"kbest": 2}):
        assert usual(given, sentences, sentences) == {}
    chains = [built([0, 1, 2])] * 10
    orders = [
        Parser.train(chains, dev, passes=1, text=False).training["order"] for dev in (chains, [])
    ]
    assert orders == [2, 1]


def test_dev_with_labels_that_were_not_seen() -> None:
    dev = [built([0, 1, 2], deprel="strange")]
    parser = Parser.train([built([0, 1, 2])] * 10, dev=dev, passes=2, text=False)
    assert parser.labels == ("dep",)
    assert parser.training["uas"] == 100.0
    assert parser.training["las"] == 0.0
    assert parser.model.label_temperature == 1.0


def test_dev_with_none_of_the_labels_decides_by_heads() -> None:
    """LAS is 0 after every pass: the best by UAS is kept, not the first."""
    train, dev = sample()[::2], sample()[1::2]
    for sentence in dev:
        sentence.deprels = ["strange"] * len(sentence)
    reached: list[float] = []

    def note(_: str, state: Progress | None) -> None:
        if state is not None and state.scores:
            reached.append(state.scores["uas"])

    parser = Parser.train(train, dev=dev, passes=4, text=False, progress=note)
    assert reached[0] < max(reached)
    assert parser.training["uas"] == max(reached)
    assert ca.evaluate(dev, parser.parse(dev)).uas == max(reached)


@pytest.mark.parametrize("size", [1, 500])
def test_short_and_long_sentences_are_learnt(size: int) -> None:
    chains = [built(list(range(size))), built(list(range(size)))]
    for projective in (False, True):
        parser = Parser.train(chains, passes=2, projective=projective, text=False)
        [parsed] = parser.parse(chains[:1])
        assert parsed.heads.tolist() == list(range(size))


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

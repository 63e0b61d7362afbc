"""Settling a head: what changes in a sentence, and that nothing else does."""

from __future__ import annotations

import pytest

from crossarc import Sentence, TreebankError
from crossarc.parser import Parser
from crossarc.parser.review import Rival, find_doubts, ranked, reparse, settle, unsettled

MISC = ["SpaceAfter=No|HeadProb=0.5000|DeprelProb=0.4000", "Reviewed=Yes|HeadProb=0.9000", "_"]


@pytest.fixture
def sentence() -> Sentence:
    """2 is the root, 1 and 3 hang from it; word 2 is settled."""
    return Sentence.build(
        ["Nobody", "reads", "."],
        upos=["PRON", "VERB", "PUNCT"],
        heads=[2, 0, 2],
        deprels=["odd", "root", "punct"],
        misc=MISC,
        comments=["# entropy = 1.2345"],
    )


def test_keeping_a_head_marks_the_word_only(parser: Parser, sentence: Sentence) -> None:
    before = bytes(sentence)
    kept = settle(parser, sentence, 1, 2)
    assert bytes(sentence) == before
    assert bytes(kept) == before.replace(MISC[0].encode(), MISC[0].encode() + b"|Reviewed=Yes")
    assert unsettled(sentence) == [1, 3]
    assert unsettled(kept) == [3]


def test_a_new_head_and_its_relation(parser: Parser, sentence: Sentence) -> None:
    moved = settle(parser, sentence, 1, 3)
    assert moved.heads.tolist() == [3, 0, 2]
    # The relation is the most probable one for the arc.
    best = parser.distribution(sentence).marginals()[3, 1].argmax()
    assert moved.deprels == (parser.labels[best], "root", "punct")
    # The probabilities were those of another arc.
    assert moved.misc == ("SpaceAfter=No|Reviewed=Yes", *MISC[1:])
    assert moved.comments == sentence.comments
    named = settle(parser, sentence, 1, 3, "strange")
    assert named.deprels == ("strange", "root", "punct")
    same = settle(parser, sentence, 1, 2, "strange")
    assert same.heads.tolist() == [2, 0, 2]
    assert same.misc[0] == "SpaceAfter=No|HeadProb=0.5000|Reviewed=Yes"


def test_a_cycle_names_the_word(parser: Parser, sentence: Sentence) -> None:
    with pytest.raises(TreebankError, match=r"^word 2 cannot hang from 1: "):
        settle(parser, sentence, 2, 1)
    opened = settle(parser, sentence, 2, 1, open_words=[1])
    assert opened.heads[1] == 1
    assert opened.heads[2] == 2
    assert opened.tree.is_single_root


def test_opened_words_are_chosen_around_the_others(parser: Parser, sentence: Sentence) -> None:
    """As the most probable tree with the heads that stay."""
    again = reparse(parser, sentence, [1, 2])
    partial = sentence.copy()
    partial.heads = [-1, -1, 2]
    best = parser.distribution(partial, keep_heads=True).argmax()
    assert again.heads.tolist() == best.heads.tolist()
    assert unsettled(again) == [1, 2, 3]
    # Probabilities were there, so they are there again.
    assert all("HeadProb=" in misc for misc in again.misc)
    assert sentence.heads.tolist() == [2, 0, 2]


def test_doubts_have_the_relations_of_rivals(parser: Parser, sentence: Sentence) -> None:
    [doubts] = find_doubts(parser, [sentence], rivals=2)
    assert [doubt.word for doubt in doubts] == [1, 3]
    # Word 2 is settled: probabilities are those given its head.
    partial = sentence.copy()
    partial.heads = [-1, 0, -1]
    labelled = parser.distribution(partial, keep_heads=True).marginals()
    for doubt in doubts:
        arcs = labelled[:, doubt.word].sum(axis=1)
        assert doubt.probability == pytest.approx(arcs[2], abs=1e-9)
        for rival in doubt.rivals:
            assert isinstance(rival, Rival)
            assert rival.probability == pytest.approx(arcs[rival.head], abs=1e-9)
            assert rival.deprel == parser.labels[labelled[rival.head, doubt.word].argmax()]
            assert rival.head not in (2, doubt.word)
    assert ranked(doubts) == sorted(doubts, key=lambda doubt: doubt.probability)


def test_relations_of_no_arcs(parser: Parser, sentence: Sentence) -> None:
    assert parser.best_relations(sentence, []) == []

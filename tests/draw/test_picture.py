"""What a drawing shows: which arcs are non-projective, and options that do not fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from support.trees import all_trees, trees

from crossarc import CrossarcError, Sentence, Tree
from crossarc.draw.gallery import paired
from crossarc.draw.picture import picture
from crossarc.draw.spans import nonprojective
from crossarc.draw.widths import advance
from crossarc.treebank import sample


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_nonprojective_arcs_of_small_trees(n: int) -> None:
    for heads in all_trees(n):
        assert nonprojective(heads) == Tree(heads).nonprojective_arcs.tolist()


@given(trees(max_words=80))
def test_nonprojective_arcs_are_those_of_the_kernel(heads: list[int]) -> None:
    assert nonprojective(heads) == Tree(heads).nonprojective_arcs.tolist()


@pytest.mark.parametrize("n", [3, 4, 5])
def test_at_a_crossing_one_arc_is_marked(n: int) -> None:
    """Two arcs that cross, or an arc over a word that hangs from the root."""
    for heads in all_trees(n):
        marked = nonprojective(heads)
        arcs = [(min(h, m), max(h, m), marked[m - 1]) for m, h in enumerate(heads, 1) if h]
        for (a, c, one), (b, d, other) in itertools.permutations(arcs, 2):
            assert one or other or not a < b < c < d
        for a, c, one in arcs:
            assert one or all(heads[word - 1] for word in range(a + 1, c))


def test_nonprojective_arcs_of_long_sentences() -> None:
    """A chain, a star and a nest of 20,000 words: no recursion, no square of the length."""
    n = 20_000
    assert not any(nonprojective(list(range(n))))
    assert not any(nonprojective([0] + [1] * (n - 1)))
    crossing = nonprojective([0, 0, *range(1, n - 1)])
    assert sum(crossing) == n - 2


TREE = Tree([0, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forms": ["a"]}, "3 words need as many forms: got 1"),
        ({"tags": ["a"] * 4}, "3 words need as many tags: got 4"),
        ({"probabilities": [0.5, 0.5]}, "one a word, (3,), or one an arc, (4, 4): got (2,)"),
        ({"probabilities": [0.5, 0.5, 2.0]}, "give marginals, not scores"),
        ({"probabilities": [0.5, 0.5, np.nan]}, "give marginals, not scores"),
        ({"candidates": [1]}, "candidates need the probability of every arc"),
        ({"candidates": [4], "probabilities": np.zeros((4, 4))}, "no word 4 among 3 words"),
        ({"candidates": [0], "probabilities": np.zeros((4, 4))}, "no word 0 among 3 words"),
        ({"against": Tree([0])}, "3 words cannot be compared with one of 1"),
    ],
)
def test_options_that_do_not_fit(options: dict, message: str) -> None:
    with pytest.raises(CrossarcError) as raised:
        picture(TREE, **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_sentences_that_do_not_fit() -> None:
    sentence = Sentence.build(["a", "b"], heads=[0, 1], comments=["# sent_id = s1"])
    other = Sentence.build(["a", "c"], heads=[0, 1])
    with pytest.raises(CrossarcError, match="s1: word 2 is 'b' here and 'c' there"):
        picture(sentence, against=other)
    with pytest.raises(CrossarcError, match="word 1 has no head"):
        picture(Sentence.build(["a"]))
    wrong = Sentence.build(["a"], heads=[0], misc=["HeadProb=high"])
    with pytest.raises(CrossarcError, match="HeadProb=high is not a number from 0 to 1"):
        picture(wrong)
    with pytest.raises(CrossarcError, match="second treebank ends after 1 sentences"):
        list(paired([sentence, sentence], [sentence]))


def test_labelled_marginals_are_summed() -> None:
    marginals = np.full((4, 4, 2), 0.125)
    shown = picture(TREE, probabilities=marginals).nodes
    assert [node.probability_text for node in shown] == ["25%"] * 3


def test_tags_and_labels_that_are_not_there_are_not_shown() -> None:
    bare = picture(Sentence.build(["a", "b"], heads=[0, 1]))
    assert not bare.has_tags
    assert [arc.shown for arc in bare.arcs] == ["", ""]
    assert picture(Tree([0, 1], [7, 8])).arcs[1].shown == "8"


@pytest.mark.parametrize("language", ["ar", "ja", "de", "grc"])
def test_direction(language: str) -> None:
    for sentence in sample(language):
        assert picture(sentence).is_right_to_left == (language == "ar")


@pytest.mark.parametrize(
    ("text", "ems"),
    [
        ("", 0),
        ("a", 0.65),
        ("á", 0.65),
        ("a\u0301", 0.65),
        ("日本", 2),
        ("ｱ", 0.6),
        ("\u200b", 0),
        ("Щ", 1.1),
        ("🙂", 1.35),
    ],
)
def test_advance(text: str, ems: float) -> None:
    assert advance(text) == pytest.approx(ems)

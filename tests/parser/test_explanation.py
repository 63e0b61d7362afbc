"""`Parser.explain`: its numbers agree with the distribution, its features with the scores."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.brute_force import BruteForce, projective_tree
from support.distance_kind import DISTANCE

import crossarc as ca
from crossarc import ModelError, Sentence
from crossarc.models import kinds
from crossarc.models.kinds import OptionError, register
from crossarc.models.protocol import Part
from crossarc.parser import Parser
from crossarc.parser.explanation import Contrast

SHIPPED = ca.load("en")
# Its model of first order.
ENGLISH = Parser(
    SHIPPED.model.first,  # type: ignore[attr-defined]
    SHIPPED.projective,
    SHIPPED.root,
    SHIPPED.tagger,
    SHIPPED.tokenizer,
)
TELESCOPE = ENGLISH("I saw the man with the telescope.")[0]
WORDS = sorted(
    {
        word.form
        for sentence in ENGLISH(
            "The old man, who saw 3 dogs, quickly gave her a Zyxian book to read."
        )
        for word in sentence
    }
)


def check_sum(contrast: Contrast) -> None:
    """Differences sum to that of the scores, the largest first, and each is one."""
    differences = [one.difference for one in contrast.features]
    assert_allclose(sum(differences), contrast.difference, rtol=0, atol=1e-12)
    sizes = [abs(value) for value in differences]
    assert sizes == sorted(sizes, reverse=True)
    assert 0.0 not in sizes


def drawn_heads(data: st.DataObject, n: int) -> tuple[int, int, int]:
    """A word and two different heads that it may have."""
    m = data.draw(st.integers(1, n))
    pairs = st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True)
    h, rival = data.draw(pairs.filter(lambda pair: m not in pair))
    return m, h, rival


@settings(max_examples=40)
@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=12), st.data())
def test_features_sum_to_differences(words: list[str], data: st.DataObject) -> None:
    """On the shipped model: any two heads of any word, any two labels."""
    m, h, rival = drawn_heads(data, len(words))
    explanation = ENGLISH.explain(Sentence.build(words), h, m, rival=rival)
    [scores] = ENGLISH.model.score([explanation.sentence]).arcs  # type: ignore[attr-defined]
    arc, label = explanation.arc, explanation.label
    assert (explanation.head, explanation.rival, explanation.word) == (h, rival, m)
    assert (arc.chosen.score, arc.rival.score) == (scores[h, m], scores[rival, m])
    check_sum(arc)
    assert (label is None) == (h == 0)
    if label is not None:
        check_sum(label)
        assert label.chosen.probability >= label.rival.probability


@settings(max_examples=40)
@given(st.lists(st.sampled_from(WORDS), min_size=2, max_size=9), st.data())
def test_heads_that_were_pruned_are_explained(words: list[str], data: st.DataObject) -> None:
    """On the shipped model: features of two best trees sum to the difference of their scores."""
    m, h, rival = drawn_heads(data, len(words))
    explanation = SHIPPED.explain(Sentence.build(words), h, m, rival=rival)
    arc = explanation.arc
    for node, tree, one in (
        (h, explanation.tree, arc.chosen),
        (rival, explanation.rival_tree, arc.rival),
    ):
        assert (tree.heads[m - 1], tree.score) == (node, one.score)
        assert tree.is_projective
        assert tree.is_single_root
    check_sum(arc)
    marginals = SHIPPED.distribution(explanation.sentence).marginals().sum(axis=2)
    shown = [arc.chosen.probability, arc.rival.probability]
    assert_allclose(shown, marginals[[h, rival], m], atol=1e-12)


def test_features_of_both_arcs_are_left_out_but_counted() -> None:
    """Twins: two heads with the same tags and forms around them, as far away on either side.

    Direction is part of every feature, so none is shared there; on one side, in two classes of
    distance, those without distance are.
    """
    tags = ["NOUN"] * 9
    sentence = Sentence.build(["dogs"] * 9, lemmas=["dog"] * 9, upos=tags, xpos=["NNS"] * 9)
    assert ENGLISH.explain(sentence, 4, 5, rival=6).arc.shared == 0
    arc = ENGLISH.explain(sentence, 3, 6, rival=4).arc
    features = ENGLISH.model.features(sentence)  # type: ignore[attr-defined]
    one, other = (features.part_weights(Part("arc", (h, 6))) for h in (3, 4))
    assert "head upos=NOUN, modifier upos=NOUN, right" in one.keys() & other.keys()
    # 29 templates of two words, one for each of 10 attributes, 6 of the tag between.
    assert arc.shared == len(one.keys() & other.keys()) == 29 + 10 + 6
    assert arc.shared + arc.unweighted + len(arc.features) == len(one.keys() | other.keys())


@pytest.mark.parametrize("projective", [False, True])
def test_the_rival_is_the_head_in_the_best_tree_without_the_arc(
    parser: Parser, bank: list[Sentence], projective: bool
) -> None:
    """By all trees of short sentences of four words; the probabilities too."""
    chosen = Parser(parser.model, projective, "single", parser.tagger)
    support: dict[str, Any] = {"support": projective_tree} if projective else {}
    tags = ["DET", "NOUN", "VERB", "ADV"]
    for order in itertools.islice(itertools.permutations(tags), 0, 24, 5):
        sentence = Sentence.build(["a", "letter", "arrived", "finally"], upos=order)
        [arcs] = chosen.model.score([sentence]).arcs  # type: ignore[attr-defined]
        trees = BruteForce(arcs, **support).trees
        marginals = chosen.distribution(sentence).marginals().sum(axis=2)
        for m in range(1, 5):
            best = trees[0].heads[m - 1]
            for h in (None, *range(5)):
                if h == m:
                    continue
                found = chosen.explain(sentence, h, m)
                assert found.head == (best if h is None else h)
                others = [tree.heads for tree in trees if tree.heads[m - 1] != found.head]
                assert found.rival == others[0][m - 1]
                assert tuple(found.rival_tree.heads) == others[0]
                same = [tree.heads for tree in trees if tree.heads[m - 1] == found.head]
                assert tuple(found.tree.heads) == same[0]
                shown = [found.arc.chosen.probability, found.arc.rival.probability]
                assert_allclose(shown, marginals[[found.head, found.rival], m], atol=1e-12)


def test_labels() -> None:
    """The best two by default, others by name; probabilities given the arc."""
    explanation = ENGLISH.explain(TELESCOPE, 2, 7)
    marginals = ENGLISH.distribution(TELESCOPE).marginals()[2, 7]
    given_arc = marginals / marginals.sum()
    best = [ENGLISH.labels[k] for k in np.argsort(-given_arc)[:2]]
    label = explanation.label
    assert label is not None
    assert [label.chosen.name, label.rival.name] == best
    for one in (label.chosen, label.rival):
        expected = given_arc[ENGLISH.labels.index(one.name)]
        assert_allclose([one.probability, np.exp(one.score)], expected, rtol=1e-9)
    other = ENGLISH.explain(TELESCOPE, 2, 7, deprel="obj", rival_deprel="advmod").label
    assert other is not None
    assert [other.chosen.name, other.rival.name] == ["obj", "advmod"]
    check_sum(other)
    assert {one.part for one in other.features} == {"label"}
    swapped = ENGLISH.explain(TELESCOPE, 2, 7, rival_deprel=best[0]).label
    assert swapped is not None
    assert [swapped.chosen.name, swapped.rival.name] == best[::-1]


def test_what_it_shows() -> None:
    explanation = ENGLISH.explain(TELESCOPE, 4, 7)
    assert (explanation.head, explanation.rival) == (4, 2)
    line = repr(explanation)
    assert line.startswith("<Explanation: 7 telescope from 4 man (probability 0.")
    assert "rather than 2 saw (probability 0." in line
    first = explanation.arc.features[0]
    rows = explanation.text(3, label=False).splitlines()
    assert rows[-6].split() == ["difference", "4", "man", "2", "saw", "feature"]
    assert rows[-5].startswith(f"{first.difference:+10.4f}  ")
    assert rows[-5].endswith(f"  {first.feature}")
    assert rows[-2].endswith(f"  {len(explanation.arc.features) - 3} more features")
    assert rows[-1].split()[0] == f"{explanation.arc.difference:+.4f}"
    every = explanation.arc.text(None).splitlines()
    assert len(every) == len(explanation.arc.features) + 2
    assert str(explanation) == explanation.text(20)
    page = explanation._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 2
    assert page.count("<tr>") == 2 * (1 + 20 + 2)
    assert "&lt;unknown&gt;" in page
    assert "<unknown>" not in page


def test_json() -> None:
    explanation = ENGLISH.explain(TELESCOPE, 2, 7)
    found = json.loads(json.dumps(explanation.to_dict()))
    assert list(found)[:5] == ["sent_id", "word", "form", "head", "rival"]
    assert (found["word"], found["form"], found["head"], found["rival"]) == (7, "telescope", 2, 4)
    assert found["tree"]["heads"] == TELESCOPE.heads.tolist()
    for part in ("arc", "label"):
        differences = [one["difference"] for one in found[part]["features"]]
        assert_allclose(sum(differences), found[part]["difference"], atol=1e-12)
        assert found[part]["features"][0].keys() == {
            "part",
            "feature",
            "weight",
            "rival_weight",
            "difference",
        }
    alone = ENGLISH.explain(TELESCOPE, 0, 2).to_dict()
    assert alone["label"] is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((2, 0), {}, "word: must be from 1 to 8: got 0"),
        ((2, 9), {}, "word: must be from 1 to 8: got 9"),
        ((9, 7), {}, "head: must be 0 or another word, up to 8: got 9"),
        ((7, 7), {}, "head: must be 0 or another word, up to 8: got 7"),
        ((-1, 7), {}, "head: must be 0 or another word, up to 8: got -1"),
        ((2, 7), {"rival": 7}, "rival: must be 0 or another word, up to 8: got 7"),
        ((2, 7), {"rival": 2}, "head and rival: must be two heads: got 2 twice"),
        ((None, 7), {"rival": 2}, "head and rival: must be two heads: got 2 twice"),
        ((2, 7), {"deprel": "root"}, "deprel: no label of this arc: got 'root'; use"),
        ((2, 7), {"rival_deprel": "nonsense"}, "rival_deprel: no label of this arc"),
        (
            (2, 7),
            {"deprel": "obj", "rival_deprel": "obj"},
            "deprel and rival_deprel: must be two labels: got 'obj' twice",
        ),
    ],
)
def test_wrong_arguments(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        ENGLISH.explain(TELESCOPE, *arguments, **options)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_one_word_has_no_rival() -> None:
    with pytest.raises(OptionError, match="word: the only word of a sentence has no other head"):
        ENGLISH.explain(Sentence.build(["Yes"], upos=["INTJ"]), 0, 1)


def test_kinds_without_features(bank: list[Sentence], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_REGISTERED", {})
    register(DISTANCE)
    parsers = [
        Parser.train(bank[:10], kind="covington", passes=1, text=False),
        Parser.train(bank[:10], kind="distance", text=False),
    ]
    for parser in parsers:
        message = (
            f"a parser of the kind '{parser.kind}' has no weights of features to show: .*'graph'"
        )
        with pytest.raises(ModelError, match=message):
            parser.explain(bank[0], 1, 2)

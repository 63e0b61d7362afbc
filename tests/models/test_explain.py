"""Features one by one: they sum to what the kernels give, and say what they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.features import PlainFeatures
from support.small_treebank import WORKED, toy_treebank

from crossarc import Sentence
from crossarc.models.first_order.model import LinearModel
from crossarc.models.protocol import FeatureModel, Part, all_arcs


def weighted_model(sentences: list[Sentence], *, frozen: bool = True) -> LinearModel:
    """Weights drawn at random, temperatures other than 1."""
    model = LinearModel.build(sentences, cutoff=1, arc_bits=12, label_bits=12)
    rng = np.random.default_rng(2)
    for scorer in (model.arcs, model.label_scorer):
        scorer.weights[:] = rng.normal(size=len(scorer.weights))
        if frozen:
            scorer.freeze(scorer.thaw(), 3000)
    model.arc_temperature, model.label_temperature = 1.7, 0.6
    return model


MODEL = weighted_model([WORKED, *toy_treebank(5, seed=0)])
# Words of WORKED and of the toy treebank, and some that no model has seen.
WORDS = [
    *zip(WORKED.forms, WORKED.lemmas, WORKED.upos, WORKED.xpos, WORKED.feats, strict=True),
    ("the", "_", "DET", "_", "_"),
    ("n1", "_", "NOUN", "_", "_"),
    ("v1", "_", "VERB", "_", "Number=Dual|Foo=Bar"),
    ("a=b", "c=d", "?", "=", "Tense=Pres"),
]


@st.composite
def sentences(draw: st.DrawFn, longest: int = 9) -> Sentence:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=longest))
    forms, lemmas, upos, xpos, feats = (list(column) for column in zip(*words, strict=True))
    return Sentence.build(forms, lemmas=lemmas, upos=upos, xpos=xpos, feats=feats)


def check_sums(model: LinearModel, sentence: Sentence, atol: float) -> None:
    """Of all arcs and labels; and no two features of an arc have the same words."""
    n = len(sentence)
    batch = model.score([sentence])
    [scores], [logs] = batch.arcs, batch.label_log_probs([all_arcs(n)])
    logs = logs.reshape(n + 1, n, -1)
    features = model.features(sentence)
    spelt = [PlainFeatures(sentence, model.encoder, labels=labels) for labels in (False, True)]
    for h in range(n + 1):
        for m in range(1, n + 1):
            if h == m:
                continue
            arc, label = features.part_weights(Part("arc", (h, m))), features.label_weights(h, m)
            assert_allclose(sum(arc.values()), scores[h, m], rtol=0, atol=atol)
            # Log-probabilities are sums less what normalises them.
            possible = logs[h, m - 1] > -np.inf
            shift = (sum(label.values()) - logs[h, m - 1])[possible]
            assert_allclose(shift, shift[0], rtol=0, atol=atol)
            counts = [len(list(one.halves(h, m))) for one in spelt]
            assert [len(arc), len(label)] == counts


@settings(max_examples=25)
@given(sentences())
def test_features_sum_to_scores(sentence: Sentence) -> None:
    """Sums of 16-bit weights are exact in the kernels: only the last digits differ."""
    check_sums(MODEL, sentence, 1e-11)


def test_features_sum_to_scores_while_weights_are_learnt() -> None:
    """Weights and sums are float32 then."""
    model = weighted_model([WORKED, *toy_treebank(5, seed=0)], frozen=False)
    check_sums(model, WORKED, 1e-4)


def test_more_tags_than_keys() -> None:
    """Of 40 tags, those whose codes differ by 32 share a key, and a feature names both."""
    tags = [f"T{k:02}" for k in range(40)]
    bank = [
        Sentence.build(tags, upos=tags, heads=range(40), deprels=["root", *["x"] * 39]),
    ]
    model = weighted_model(bank)
    check_sums(model, Sentence.build(["a"] * 12, upos=tags[:6] + tags[-6:]), 1e-11)
    # Codes follow the order of the strings here, from 3 on.
    between = Sentence.build(["a"] * 4, upos=["T09", "T00", "T32", "T09"])
    found = model.features(between).part_weights(Part("arc", (1, 4)))
    assert "head upos=T09, modifier upos=T09, right, 2 T00 or T32 between" in found


def test_what_features_say() -> None:
    """`chase` (4) and `Our` (1): to the left, three apart, an adverb and a noun between."""
    found = MODEL.features(WORKED).part_weights(Part("arc", (4, 1)))
    for feature in (
        "head upos=VERB, modifier upos=PRON, left",
        "head upos=VERB, modifier upos=PRON, left, distance 3",
        "head form=chase, modifier form=Our, left",
        "head upos-1=ADV upos=VERB, modifier upos-1=<root> upos=PRON, left",
        "head upos=VERB Number=<absent>, modifier upos=PRON Number=Plur, left, distance 3",
        "head upos=VERB, modifier xpos=PRP$, left, ADV between",
        "modifier upos=PRON, left, 1 NOUN between",
        "any head, left, distance 3",
        "any modifier, left, distance 3",
        "modifier upos-2=<boundary> upos-1=<root> upos=PRON, left, distance 3",
        "head lemma=chase xpos=VBP, left, distance 3",
    ):
        assert feature in found
    assert not any("VERB between" in feature or "right" in feature for feature in found)
    labels = MODEL.features(WORKED).label_weights(0, 5)
    for feature in (
        "modifier lemma=cat, right",
        "any two words, right, VERB between",
        "head upos=<root>, modifier upos=NOUN, right, distance 5-6",
        "head lemma=<root>, modifier lemma-1=chase upos=NOUN, right",
    ):
        assert feature in labels
        assert labels[feature].shape == (len(MODEL.labels),)


@pytest.mark.parametrize(
    ("gap", "name"),
    [(1, "1"), (2, "2"), (4, "4"), (5, "5-6"), (6, "5-6"), (7, "7-10"), (10, "7-10"), (11, "11+")],
)
def test_classes_of_distances(gap: int, name: str) -> None:
    features = MODEL.features(Sentence.build(["a"] * 12))
    assert f"any head, right, distance {name}" in features.part_weights(Part("arc", (1, 1 + gap)))
    assert f"any head, left, distance {name}" in features.part_weights(Part("arc", (1 + gap, 1)))


def test_unknown_strings_are_what_the_model_sees() -> None:
    sentence = Sentence.build(["Zyx", "dogs"], upos=["NOUN", "???"], feats=["Number=Dual", "_"])
    found = MODEL.features(sentence).part_weights(Part("arc", (2, 1)))
    assert "head form=dogs, modifier form=<unknown>, left" in found
    assert "head upos=<unknown>, modifier upos=NOUN, left" in found
    assert "head upos=<unknown> Number=<absent>, modifier upos=NOUN Number=<unknown>, left" in found


def test_parts_of_first_order_only() -> None:
    assert isinstance(MODEL, FeatureModel)
    with pytest.raises(ValueError, match="has no sibling parts"):
        MODEL.features(WORKED).part_weights(Part("sibling", (1, 2, 3)))

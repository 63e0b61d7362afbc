"""Scores are sums of the weights of features that plain Python spells out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.features import PlainFeatures, key_hash, meet, near
from support.small_treebank import WORKED, toy_treebank

from crossarc import Sentence
from crossarc.models.features import MISSING, compile_plan
from crossarc.models.first_order.model import LinearModel
from crossarc.models.protocol import labelled_scores, tree_arcs

UNKNOWN = Sentence.build(
    ["Zyx", "dogs", "sleep"], upos=["X", "NOUN", "VERB"], feats=["Foo=Bar", "Number=Dual", "_"]
)
BARE = Sentence.build(["a"] * 14)


def weighted_model(bits: int = 12) -> LinearModel:
    """A model whose weights are drawn at random."""
    sentences = [WORKED, *toy_treebank(5, seed=0)]
    model = LinearModel.build(sentences, cutoff=1, arc_bits=bits, label_bits=bits)
    rng = np.random.default_rng(1)
    for scorer in (model.arcs, model.label_scorer):
        scorer.weights[:] = rng.normal(size=len(scorer.weights))
    return model


@pytest.mark.parametrize("sentence", [WORKED, UNKNOWN, BARE], ids=["worked", "unknown", "bare"])
def test_arc_scores(sentence: Sentence) -> None:
    model = weighted_model()
    n = len(sentence)
    plain = PlainFeatures(sentence, model.encoder, labels=False)
    expected = np.zeros((n + 1, n + 1))
    for h in range(n + 1):
        for m in range(1, n + 1):
            for number, halves, key in plain.halves(h, m) if h != m else ():
                expected[h, m] += model.arcs.weights[(number % 4) * 1024 + near(halves, key, 10)]
    (scores,) = model.arc_scores(model.encode([sentence]))
    assert_allclose(scores, expected, atol=1e-4)


@pytest.mark.parametrize("sentence", [WORKED, UNKNOWN, BARE], ids=["worked", "unknown", "bare"])
def test_label_log_probs(sentence: Sentence) -> None:
    model = weighted_model()
    n, labels = len(sentence), len(model.labels)
    plain = PlainFeatures(sentence, model.encoder, labels=True)
    part = len(model.label_scorer.weights) // 4
    heads = np.array([0, *range(1, n)])
    scores = np.zeros((n, labels))
    for m, h in enumerate(heads.tolist(), 1):
        for number, halves, key in plain.halves(h, m):
            # Windows begin at multiples of 8: 1024 weights have 128 beginnings.
            at = (number % 4) * part + 8 * meet([*halves, key_hash(key)], 7)
            scores[m - 1] += model.label_scorer.weights[at : at + labels]
        # In the treebank the root has arcs labelled root, and no other word has.
        for label, name in enumerate(model.labels):
            if (name == "root") != (h == 0):
                scores[m - 1, label] = -np.inf
    expected = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    (found,) = model.score([sentence]).label_log_probs([tree_arcs(heads)])
    assert_allclose(found, expected, atol=1e-4)


def test_labelled_scores_are_arc_scores_and_label_log_probs() -> None:
    model = weighted_model()
    batch = model.score([WORKED, UNKNOWN])
    heads = [np.array([2, 4, 4, 0, 4, 4]), np.array([3, 1, 0])]
    logs = batch.label_log_probs([tree_arcs(one) for one in heads])
    for scores, labelled, gold, expected in zip(
        batch.arcs, labelled_scores(batch), heads, logs, strict=True
    ):
        words = np.arange(1, len(gold) + 1)
        assert_allclose(labelled[gold, words] - scores[gold, words][:, None], expected, atol=1e-12)
        # Labels leave the weight of an arc as it is.
        sums = np.log(np.exp(labelled[:, 1:]).sum(axis=2))
        assert_allclose(sums, scores[:, 1:], atol=1e-9)


def test_plan_of_one_template() -> None:
    """Places count from the word's first code: with 3 atoms, the row above is 3 less."""
    plan = compile_plan(
        ["form", "upos", "Case"],
        ["Case"],
        with_distance=["upos-1 form | upos+2"],
        pairs=["@ | upos @"],
        words=["form"],
    )
    assert plan.atoms.tolist() == [
        [[-2, 0, MISSING], [7, MISSING, MISSING]],
        [[2, MISSING, MISSING], [1, 2, MISSING]],
        [[0, MISSING, MISSING], [0, MISSING, MISSING]],
    ]
    assert plan.bounds.tolist() == [1, 2, 2, 3]

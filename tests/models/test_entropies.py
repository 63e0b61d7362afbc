"""Entropies of labels: their definition, whatever computes them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.small_treebank import WORKED, toy_treebank

from crossarc.models.encode import permitted_counts
from crossarc.models.entropies import label_entropies
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.scorers import Arcs
from crossarc.models.protocol import LabelEntropies, all_arcs, of_sentences


def defined(logs: np.ndarray) -> np.ndarray:
    """- sum of p log p, where p > 0."""
    probabilities = np.exp(logs)
    return -(probabilities * np.where(probabilities > 0.0, logs, 0.0)).sum(axis=-1)


def log_probs(scores: np.ndarray, heads: np.ndarray, permitted: np.ndarray) -> np.ndarray:
    allowed = permitted[(heads != 0).astype(int)]
    scores = np.where(allowed, scores, -np.inf)
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def computed(
    scores: np.ndarray, heads: np.ndarray, permitted: np.ndarray, temperature: float = 1.0
) -> np.ndarray:
    out = np.full(len(scores), np.nan)
    label_entropies(scores, heads, permitted, temperature, out)
    return out


@pytest.mark.parametrize("labels", [1, 2, 7, 8, 9, 51])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 30.0, 3000.0])
def test_the_kernel_computes_the_definition(labels: int, spread: float) -> None:
    rng = np.random.default_rng(labels)
    permitted = rng.random((2, labels)) < 0.6
    permitted[:, 0] = True
    scores, heads = spread * rng.normal(size=(40, labels)) + 1e4, rng.integers(0, 3, 40)
    for temperature in (1.0, 0.7):
        expected = defined(log_probs(scores / temperature, heads, permitted))
        found = computed(scores, heads, permitted, temperature)
        assert_allclose(found, expected, atol=2e-14 * (1.0 + 1e4 / temperature))
        assert (found >= 0.0).all()
        assert (found <= np.log(permitted.sum(axis=1))[(heads != 0).astype(int)] + 1e-12).all()


def test_labels_that_are_not_permitted_do_not_count() -> None:
    permitted = np.array([[True, False, False], [True, True, False]])
    scores = np.array([[0.0, 5.0, 900.0], [1.0, 1.0, 900.0]])
    assert_allclose(computed(scores, np.array([0, 1]), permitted), [0.0, np.log(2.0)], atol=1e-15)


def scorer(bits: int = 12) -> LinearModel:
    """Random weights, some in windows that overlap."""
    model = LinearModel.build([WORKED, *toy_treebank(30, seed=3)], label_bits=bits, arc_bits=9)
    table = model.label_scorer.weights
    table[:] = np.random.default_rng(1).normal(size=len(table))
    return model


@pytest.mark.parametrize("frozen", [False, True])
def test_scores_of_labels_do_not_depend_on_other_arcs(frozen: bool) -> None:
    """What is kept from one arc for the next is that of the same word and key."""
    model = scorer()
    if frozen:
        model.label_scorer.freeze(model.label_scorer.thaw(), 1 << 20)
    sentences = [WORKED, *toy_treebank(8, seed=5)]
    encoded = model.encode(sentences)
    arcs = Arcs.of_batch(encoded, [all_arcs(len(one)) for one in sentences])
    together = model.label_scorer.scores(arcs)
    order = np.random.default_rng(2).permutation(len(arcs))
    assert (model.label_scorer.scores(arcs.only(order)) == together[order]).all()
    for a in order[:50]:
        alone = model.label_scorer.scores(arcs.only(np.array([a])))
        assert (alone == together[a]).all()


def test_a_linear_model_has_the_entropies_of_its_probabilities() -> None:
    model = scorer()
    model.label_temperature = 1.7
    model.permitted = np.random.default_rng(4).random(model.permitted.shape) < 0.5
    model.permitted[:, 1] = True
    sentences = [WORKED, *toy_treebank(120, seed=5)]
    batch = model.score(sentences)
    assert isinstance(batch, LabelEntropies)
    assert batch.label_counts == permitted_counts(model.permitted)
    arcs = [all_arcs(len(one)) for one in sentences]
    # Sentences without arcs, too.
    arcs[3] = arcs[0][0][:0], arcs[0][1][:0]
    assert sum(len(heads) for heads, _ in arcs) > 2048
    for threads in (1, 2):
        batch = model.score(sentences, threads=threads)
        pairs = zip(batch.label_entropies(arcs), batch.label_log_probs(arcs), strict=True)
        for found, logs in pairs:
            assert_allclose(found, defined(logs), atol=1e-12)


def test_rows_of_sentences() -> None:
    arcs = [(np.zeros(n, np.int64), np.ones(n, np.int64)) for n in (2, 0, 3)]
    parts = of_sentences(np.arange(5.0), arcs)
    assert [part.tolist() for part in parts] == [[0.0, 1.0], [], [2.0, 3.0, 4.0]]
    assert of_sentences(np.empty(0), []) == []

"""Kneser-Ney n-grams and mixtures of sentence probabilities."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.generative import random_treebank

from crossarc.models.generative.corpus import Vocabulary
from crossarc.models.generative.ngrams import NgramModel, log_mixture, mixture_weights

CORPUS = [["a", "b", "a"], ["a", "b", "b"], ["b", "a"]]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 3])
def test_strings_of_n_words_sum_to_one(order: int, n: int) -> None:
    vocabulary = Vocabulary.count(CORPUS)
    model = NgramModel("form", [vocabulary], order=order).fit(CORPUS)
    strings = [list(words) for words in itertools.product(vocabulary.symbols, repeat=n)]
    assert math.fsum(map(math.exp, model.log_probs(strings))) == pytest.approx(1.0, abs=1e-12)


def test_pairs_are_one_symbol() -> None:
    bank = random_treebank(10, seed=1)
    columns = [Vocabulary.count(one.forms for one in bank), Vocabulary.count(o.upos for o in bank)]
    model = NgramModel("form+upos", columns, order=2).fit(bank)
    pairs: list[Any] = list(itertools.product(*(one.symbols for one in columns)))
    strings = [list(words) for words in itertools.product(pairs, repeat=2)]
    assert math.fsum(map(math.exp, model.log_probs(strings))) == pytest.approx(1.0, abs=1e-12)


def test_a_bigram_by_hand() -> None:
    """Chen & Goodman (1998), section 2.7.

    Bigrams <s>a 2, <s>b 1, ab 2, ba 2, bb 1: two seen once, three twice, so D = 2 / (2 + 6) = 1/4.
    Unigrams by what they follow: a after <s> and b, b after <s>, a and b: 2 + 3 = 5; once none, so
    D = 1/2. Three symbols with the unknown one.
    """
    vocabulary = Vocabulary.count(CORPUS)
    model = NgramModel("form", [vocabulary], order=2).fit(CORPUS)
    a = (2 - 0.5) / 5 + 0.5 * 2 / 5 / 3
    b = (3 - 0.5) / 5 + 0.5 * 2 / 5 / 3
    start_a = (2 - 0.25) / 3 + 0.25 * 2 / 3 * a
    b_after_a = (2 - 0.25) / 2 + 0.25 * 1 / 2 * b
    b_after_b = (1 - 0.25) / 3 + 0.25 * 2 / 3 * b
    unknown = 0.5 * 2 / 5 / 3
    after_unknown = b
    expected = [
        math.log(start_a * b_after_a * b_after_b),
        math.log(start_a * 0.25 * 1 / 2 * unknown * after_unknown),
    ]
    found = model.log_probs([["a", "b", "b"], ["a", "zzz", "b"]])
    assert found == pytest.approx(expected, abs=1e-12)


def test_orders() -> None:
    with pytest.raises(ValueError, match="order must be at least 1"):
        NgramModel("form", [Vocabulary.count(CORPUS)], order=0)
    assert NgramModel("form", [Vocabulary.count(CORPUS)]).fit(CORPUS).log_probs([[]]) == [0.0]


def test_weights_of_a_mixture() -> None:
    """The maximum of the likelihood of held-out sentences, found by a grid."""
    rng = np.random.default_rng(2)
    logs = np.log(rng.random((2, 200)) * np.array([[1.0], [0.7]]))
    weights = mixture_weights(logs)
    assert weights.sum() == pytest.approx(1.0)
    grid = np.linspace(0.001, 0.999, 999)
    totals = [log_mixture(np.array([w, 1 - w]), logs).sum() for w in grid]
    assert weights[0] == pytest.approx(grid[int(np.argmax(totals))], abs=0.002)
    assert log_mixture(weights, logs).sum() >= max(totals) - 1e-4


def test_mixtures_with_zeros() -> None:
    """Sentences that one model forbids are left to the other; those that both forbid to none."""
    logs = np.array([[-1.0, -np.inf, -np.inf], [-np.inf, -1.0, -np.inf]])
    assert mixture_weights(logs) == pytest.approx([0.5, 0.5])
    mixed = log_mixture(np.array([0.5, 0.5]), logs)
    assert mixed[:2] == pytest.approx([-1.0 - math.log(2.0)] * 2)
    assert mixed[2] == -math.inf
    assert mixture_weights(logs[:, 2:]) == pytest.approx([0.5, 0.5])
    only = np.array([[-1.0, -2.0], [-np.inf, -np.inf]])
    assert mixture_weights(only) == pytest.approx([1.0, 0.0])

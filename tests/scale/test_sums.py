"""Sums over pieces are those of one process, and of the code that knows no pieces."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crossarc import BigramModel
from crossarc.learning.em import run_em
from crossarc.models.first_order.model import LinearModel
from crossarc.models.generative.bigram_em import BigramProblem
from crossarc.models.generative.corpus import Corpus
from crossarc.scale.sums import (
    arc_gradients,
    distribute_e_step,
    in_this_process,
    log_linear_gradient,
)
from crossarc.treebank import sample


def bigram_problem(*, projective: bool = False) -> BigramProblem:
    model = BigramModel(projective=projective)
    sentences = [one for one in sample() if len(one) <= 12]
    corpus = Corpus.encode(model._learn_vocabulary(sentences), model.vocabularies)
    return BigramProblem(model, corpus, 0.1, 1)


@pytest.mark.parametrize("projective", [False, True])
def test_the_e_step_is_the_same_to_the_last_digit(projective: bool) -> None:
    whole, pieces = bigram_problem(projective=projective), bigram_problem(projective=projective)
    received: list[int] = []

    def backwards(own: Any) -> Any:
        """A map that goes through the pieces in another order, by way of their pickles."""
        received.append(len(own))
        copies = [pickle.loads(pickle.dumps(one)) for one in own]

        def results(argument: Any) -> list[Any]:
            return [one(argument) for one in reversed(copies)][::-1]

        return results

    distribute_e_step(pieces, backwards)
    assert received[0] > 1
    start = whole.harmonic_start()
    assert_array_equal(pieces.harmonic_start(), start)
    first, second = (run_em(one, start, iterations=4) for one in (whole, pieces))
    assert first.objectives == second.objectives
    assert_array_equal(first.next_counts, second.next_counts)


def test_the_gradient_is_the_derivative_of_the_loss() -> None:
    """By differences along a direction; the pieces are added up to the whole."""
    bank = sample() * 3
    model = LinearModel.build(bank)
    pieces = in_this_process(arc_gradients(model, bank, projective=False))
    rng = np.random.default_rng(5)
    weights = rng.normal(0.0, 0.1, len(model.arcs.weights)).astype(np.float32)
    results = pieces(weights)
    assert len(results) == 2
    loss, gradient = log_linear_gradient(results, len(weights))
    assert loss == sum(one[0] for one in results)
    direction = np.zeros_like(weights)
    direction[np.flatnonzero(gradient)] = rng.normal(size=np.count_nonzero(gradient))
    step = np.float32(2.0**-8)
    there, back = (
        sum(one[0] for one in pieces(weights + sign * step * direction)) for sign in (1, -1)
    )
    assert_allclose((there - back) / (2.0 * step), gradient @ direction, rtol=2e-3)

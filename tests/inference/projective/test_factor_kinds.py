"""Factors of any order: what `FactorScores` asks of a description; which model is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.brute_force import sibling_parts
from support.trees import all_trees

from crossarc import Parts, ProjectiveTrees, ScoreError
from crossarc.inference.factors import GRANDCHILD, SIBLING, FactorScores
from crossarc.inference.projective.automata.model import HeadAutomata
from crossarc.inference.projective.first_order.rules import FirstOrder
from crossarc.inference.projective.model import Model, model_for
from crossarc.inference.projective.sibling.factor import SiblingFactor
from crossarc.inference.projective.sibling.rules import Sibling
from crossarc.inference.runtime.batch import Batch


def test_parts_of_trees() -> None:
    """Against the definition, over all trees of five words, crossing ones included."""
    for heads in all_trees(5):
        found = SIBLING.parts_of(np.array(heads))
        assert [tuple(part) for part in found.tolist()] == sibling_parts(heads)


@pytest.mark.parametrize("kind", ["dense", "parts"])
def test_a_factor_is_described_in_a_few_lines(kind: str) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 4, 4))
    batch = Batch([np.zeros((3, 3)), np.zeros((4, 4))])
    index = np.argwhere(GRANDCHILD.usable(batch.square(1) > -np.inf, False))
    parts = Parts(index[::-1], values[tuple(index[::-1].T)])
    given = values if kind == "dense" else parts
    held = FactorScores(GRANDCHILD, [np.zeros((3, 3, 3)), given], batch, False)
    # 0 -> 2, 2 -> 1, 2 -> 3: one grandparent each.
    assert held.of_tree(1, np.array([2, 0, 2])) == [values[0, 2, 1], values[0, 2, 3]]
    assert held.count(1) == (64 if kind == "dense" else len(index))
    again = held.given(1, 2.0)
    twice = FactorScores(GRANDCHILD, [np.zeros((3, 3, 3)), again], batch, False)
    assert twice.of_tree(1, np.array([0, 1, 2])) == [2 * values[0, 1, 2], 2 * values[1, 2, 3]]
    usable = tuple(index.T)
    np.testing.assert_array_equal(held.dense(1)[usable], values[usable])
    assert held.shaped(1, held.scores(1), 0.0).shape == (
        (4, 4, 4) if kind == "dense" else (len(index),)
    )


def test_messages_name_axes_and_sentence() -> None:
    batch = Batch([np.zeros((3, 3)), np.zeros((4, 4))])
    bad = np.zeros((4, 4, 4))
    bad[0, 1, 2] = np.inf
    for given, message in (
        (np.zeros((4, 4)), r"sentence 1: grandchild must be real numbers \(4, 4, 4\), \[g, h, m\]"),
        (Parts([[0, 1]], [1.0]), r"grandchild parts have 3 indices, \[g, h, m\]: got 2"),
        (bad, r"sentence 1: grandchild\[0, 1, 2\] is inf: use finite numbers"),
    ):
        with pytest.raises(ScoreError, match=message):
            FactorScores(GRANDCHILD, [np.zeros((3, 3, 3)), given], batch, False)
    unread = np.zeros((4, 4, 4))
    unread[1, 0, 2] = np.nan  # nothing enters the root
    held = FactorScores(GRANDCHILD, [np.zeros((3, 3, 3)), unread], batch, False)
    assert np.isfinite(held.dense(1)).all()


def test_packed_and_dense_siblings_are_the_same() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(6, 6))
    scores[2, 4] = -np.inf
    values = rng.normal(size=(6, 6, 6))
    values[2, 3, 4] = np.nan  # of a forbidden arc
    for single in (False, True):
        batch = Batch(scores)
        packed = SiblingFactor(values, batch, single)
        dense = FactorScores(SIBLING, values, batch, single)
        usable = SIBLING.usable(batch.square(0) > -np.inf, single)
        np.testing.assert_array_equal(packed.dense(0)[usable], dense.dense(0)[usable])
        for heads in ([0, 1, 2, 2, 2], [2, 0, 2, 3, 4], [5, 5, 5, 5, 0]):
            tree = np.array(heads)
            assert packed.of_tree(0, tree) == dense.of_tree(0, tree)


class _Both(Model):
    factors = (SIBLING, GRANDCHILD)

    def emit(self, scores: Any, limits: Any, numbering: Mapping[str, Any]) -> Any:
        raise NotImplementedError


def test_the_smallest_model_that_scores_all_factors_is_chosen() -> None:
    models = (_Both(), Sibling(), FirstOrder())
    assert isinstance(model_for(models, []), FirstOrder)
    assert isinstance(model_for(models, ["sibling"]), Sibling)
    assert isinstance(model_for(models, ["grandchild"]), _Both)
    assert isinstance(model_for(models, ["grandchild", "sibling"]), _Both)
    with pytest.raises(ScoreError, match="no model scores these factors together: grandchild"):
        model_for((Sibling(), FirstOrder()), ["grandchild"])
    with pytest.raises(ScoreError, match=r"no model scores .* within max_modifiers: none"):
        model_for((Sibling(), FirstOrder()), [], True)
    assert isinstance(model_for(ProjectiveTrees.models, ["sibling"]), Sibling)
    assert isinstance(model_for(ProjectiveTrees.models, ["sibling"], True), HeadAutomata)
    assert isinstance(model_for(ProjectiveTrees.models, ["tri_sibling"]), HeadAutomata)

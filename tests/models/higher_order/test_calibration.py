"""Temperatures, and the share of the first-order model in approximate probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from support.higher_order_models import CROSSING, weighted_model
from support.small_treebank import WORKED, toy_treebank

from crossarc import HigherOrderTrees, Parser, Sentence, SpanningTrees, constrain
from crossarc.errors import ModelError
from crossarc.models.higher_order import calibration
from crossarc.models.higher_order.calibration import calibrate
from crossarc.models.higher_order.model import FactoredScores, HigherOrderModel
from crossarc.models.higher_order.objectives import Trees

Floats = NDArray[np.float64]
SHARE, BELOW = 0.4, 1.7


def interpolated(share: float = SHARE, **options: Any) -> HigherOrderModel:
    """Only improbable arcs are pruned, so that the two parts differ."""
    model = weighted_model(2, spread=0.5, **{"threshold": 1e-3, **options})
    model.temperature, model.first.arc_temperature = 0.8, 1.3
    model.first_share, model.first_temperature = share, BELOW
    return model


def parts_of(model: HigherOrderModel, sentence: Sentence, *fixed: Any) -> tuple[Floats, Floats]:
    """Beliefs and first-order marginals, made without the code that mixes them."""
    batch = model.score([sentence])
    arcs = constrain(batch.arcs[0], *fixed)
    factors: Any = {name: parts[0] for name, parts in batch.factors.items()}
    beliefs = HigherOrderTrees(arcs, root=model.root, bp_tolerance=1e-9, **factors).marginals()
    [below] = model.first.score([sentence]).arcs
    below = np.where(arcs > -np.inf, below * (model.first.arc_temperature / BELOW), -np.inf)
    return beliefs, SpanningTrees(below, root=model.root).marginals()


def mixed(model: HigherOrderModel, sentence: Sentence, *fixed: Any) -> Floats:
    beliefs, below = parts_of(model, sentence, *fixed)
    return (1 - SHARE) * beliefs + SHARE * below


@pytest.mark.parametrize("root", ["single", "multi"])
def test_all_that_shows_probabilities_shows_the_same(root: Any) -> None:
    model = interpolated(root=root)
    parser = Parser(model, projective=False, root=root)
    sentences = [WORKED, CROSSING, *toy_treebank(4, seed=8)]
    tables = [found for found, _ in parser.head_probabilities(sentences)]
    parsed = list(parser.parse(sentences, probabilities=True))
    differences = []
    for sentence, table, one in zip(sentences, tables, parsed, strict=True):
        assert_allclose(table, mixed(model, sentence), atol=1e-5)
        differences.append(np.abs(np.subtract(*parts_of(model, sentence))).max())
        chosen = table[one.heads, np.arange(1, len(one) + 1)]
        assert_allclose([word.probability for word in one], chosen, atol=5.1e-5)
        trees = parser.distribution(sentence)
        assert_allclose(trees.marginals().sum(axis=2), table, atol=1e-6)
        assert one.comment("entropy") == f"{trees.entropy():.4f}"
        [alone] = parser.parse([sentence], probabilities=True)
        assert bytes(alone) == bytes(one)
    assert max(differences) > 0.2


def test_questions_are_answered_by_it() -> None:
    model = interpolated()
    parser = Parser(model, projective=False, root="single")
    for sentence in (WORKED, CROSSING, *toy_treebank(2, seed=8)):
        table, words = mixed(model, sentence), np.arange(1, len(sentence) + 1)
        best = list(parser.parse([sentence], kbest=2, probabilities=True))
        assert_allclose(
            [word.probability for word in best[0]],
            table[best[0].heads, words],
            atol=5.1e-5,
        )
        [cautious] = parser.parse([sentence], min_risk=True)
        expected = SpanningTrees(np.where(table > 0, table, -np.inf)).argmax()
        assert cautious.heads.tolist() == expected.heads.tolist()
        information = -(table * np.log(np.where(table > 0, table, 1.0))).sum(axis=0)[1:]
        [(found, _)] = parser.head_information([sentence])
        assert_allclose(found, information, atol=1e-4)
        explained = parser.explain(sentence, None, 1)
        for h, shown in (
            (explained.head, explained.arc.chosen),
            (explained.rival, explained.arc.rival),
        ):
            assert shown.probability == pytest.approx(table[h, 1], abs=1e-5)


def test_trees_of_least_risk_follow_the_mixture() -> None:
    sentences = toy_treebank(20, seed=8)
    parsers = [Parser(interpolated(share), False, "single") for share in (0.0, 0.8)]
    plain, own = (
        [sentence.heads.tolist() for sentence in one.parse(sentences, min_risk=True)]
        for one in parsers
    )
    gains = [np.where(p > 0, p, -np.inf) for p, _ in parsers[1].head_probabilities(sentences)]
    assert own == [tree.heads.tolist() for tree in SpanningTrees(gains).argmax()]
    assert own != plain


def test_trees_and_exact_probabilities_do_not_depend_on_it() -> None:
    sentences = [WORKED, CROSSING, *toy_treebank(4, seed=8)]
    models = interpolated(0.0), interpolated()
    plain, own = (Parser(model, projective=False, root="single") for model in models)
    for options in ({}, {"kbest": 3}, {"projective": True, "probabilities": True}):
        expected = [bytes(one) for one in plain.parse(sentences, **options)]  # type: ignore[arg-type]
        assert [bytes(one) for one in own.parse(sentences, **options)] == expected  # type: ignore[arg-type]
    assert models[0].score(sentences).first_order is None
    before, after = (list(one.head_probabilities(sentences)) for one in (plain, own))
    assert any(np.abs(a - b).max() > 0.05 for (a, _), (b, _) in zip(before, after, strict=True))


def test_heads_that_are_given_condition_both_parts() -> None:
    model = interpolated(threshold=0.0)
    parser = Parser(model, projective=False, root="single")
    given = CROSSING.copy()
    given.heads = [-1, 5, -1, -1, 1]
    expected = mixed(model, CROSSING, {2: 5, 5: 1})
    [(found, _)] = parser.head_probabilities([given], settled=lambda one: one.heads.tolist())
    assert_allclose(found, expected, atol=1e-5)
    assert_allclose([found[5, 2], found[1, 5]], 1.0)
    [kept] = parser.parse([given], keep_heads=True, probabilities=True)
    chosen = expected[kept.heads, np.arange(1, len(kept) + 1)]
    assert_allclose([word.probability for word in kept], chosen, atol=5.1e-5)
    labelled = parser.distribution(given, keep_heads=True).marginals()
    assert_allclose(labelled.sum(axis=2), expected, atol=1e-5)


def test_members_of_a_combination_have_theirs() -> None:
    own = Parser(interpolated(), projective=False, root="single")
    other = Parser(weighted_model(2, spread=0.2).first, projective=False, root="single")
    scores = Parser.combine([own, other]).model.score([CROSSING])  # type: ignore[attr-defined]
    found = np.exp(scores.log_marginals[0][0])
    expected = np.maximum(mixed(own.model, CROSSING), 1e-8)  # type: ignore[arg-type]
    off = ~np.eye(len(CROSSING) + 1, dtype=bool)
    off[:, 0] = False
    assert_allclose(found[off], expected[off], atol=1e-7)


def test_the_share_is_kept_in_files(tmp_path: Path) -> None:
    parser = Parser(interpolated(), projective=False, root="single")
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    # Weights have 16 bits from now on.
    loaded.save(tmp_path / "again")
    again = Parser.load(tmp_path / "again")
    model: Any = loaded.model
    assert (model.first_share, model.first_temperature) == (SHARE, BELOW)
    assert model.summary()["share of first order"] == "0.40, at 1.70"
    sentences = [WORKED, CROSSING]
    found = [bytes(one) for one in loaded.parse(sentences, probabilities=True)]
    assert found == [bytes(one) for one in again.parse(sentences, probabilities=True)]


def test_files_without_a_share_load() -> None:
    model = interpolated()
    tensors, metadata = model.tensors(), model.metadata()
    for share in (0.0, 1.0):
        again = HigherOrderModel.restore(tensors, {**metadata, "first_share": share})
        assert again.first_share == share
    for name, value in (("first_share", 1.1), ("first_share", -0.1), ("first_temperature", 0.0)):
        with pytest.raises(ModelError, match=name):
            HigherOrderModel.restore(tensors, {**metadata, name: value})
    del metadata["first_share"], metadata["first_temperature"]
    old = HigherOrderModel.restore(tensors, metadata)
    assert (old.first_share, old.first_temperature) == (0.0, 1.0)
    assert old.score([WORKED]).first_order is None


def drawn_heads(
    sentences: Sequence[Sentence], columns: Sequence[Floats], words: Sequence[int], seed: int
) -> None:
    """Give one word of each sentence a head, by the probabilities of its heads."""
    rng = np.random.default_rng(seed)
    for sentence, m, column in zip(sentences, words, columns, strict=True):
        heads = np.full(len(sentence), -1)
        heads[m - 1] = rng.choice(len(column), p=column / column.sum())
        sentence.heads = heads


def every_word(bank: Sequence[Sentence]) -> tuple[list[Sentence], list[int]]:
    """A copy of each sentence for each of its words."""
    copies = [one.copy() for one in bank for _ in one]
    return copies, [m for one in bank for m in range(1, len(one) + 1)]


def test_the_temperature_of_exact_probabilities_has_the_least_log_loss() -> None:
    model = weighted_model(2, projective=True)
    held_out, words = every_word(toy_treebank(16, seed=8))
    trees = Trees(True, "single")

    def columns(temperature: float) -> list[Floats]:
        model.temperature = temperature
        scores = model.score(held_out)
        tables = trees.of(scores.arcs, scores.factors).marginals()
        return [table[:, m] for table, m in zip(tables, words, strict=True)]

    def log_loss(temperature: float) -> float:
        triples = zip(held_out, words, columns(temperature), strict=True)
        return sum(-math.log(column[s.heads[m - 1]]) for s, m, column in triples)

    drawn_heads(held_out, columns(1.4), words, seed=2)
    calibrate(model, model.encode(held_out, gold=True), trees)
    fitted = model.temperature
    assert 0.25 < fitted < 3.5
    assert model.first_share == 0.0
    assert log_loss(fitted) < min(log_loss(fitted * factor) for factor in (0.7, 1.4))


def test_temperature_and_share_have_the_least_brier_score() -> None:
    """On a grid, for heads that are drawn from a mixture."""
    model = interpolated()
    held_out, words = every_word(toy_treebank(16, seed=8))
    parser = Parser(model, projective=False, root="single")

    def columns(temperature: float, share: float, below: float = 1.0) -> list[Floats]:
        """Probabilities of the heads of each word."""
        model.temperature, model.first_share, model.first_temperature = temperature, share, below
        tables = parser.head_probabilities(held_out)
        return [table[:, m] for (table, _), m in zip(tables, words, strict=True)]

    drawn_heads(held_out, columns(0.5, 0.4, 1.3 * 1.6), words, seed=2)
    calibrate(model, model.encode(held_out, gold=True), Trees(False, "single"))
    t, share, below = model.temperature, model.first_share, model.first_temperature
    temperatures = [1.3 * factor for factor in calibration._FLATTER]
    assert 0.1 < share < 0.9
    assert below in temperatures
    beliefs = {one: np.concatenate(columns(one, 0.0)) for one in (0.7 * t, t, 1.4 * t)}
    first = {one: np.concatenate(columns(1.0, 1.0, one)) for one in temperatures}
    right = np.concatenate(
        [np.arange(len(s) + 1) == s.heads[m - 1] for s, m in zip(held_out, words, strict=True)]
    )

    def brier(t: float, w: float, below: float) -> float:
        return float(np.square((1 - w) * beliefs[t] + w * first[below] - right).sum())

    least = brier(t, share, below)
    assert least < min(brier(t, share + step, below) for step in (-0.1, 0.1))
    assert least < min(brier(other, share, below) for other in (0.7 * t, 1.4 * t))
    grid = [(w, one) for w in np.linspace(0.0, 1.0, 21).tolist() for one in temperatures]
    # Calibration stops when beliefs change by less than a hundredth.
    assert least < min(brier(t, w, one) for w, one in grid) + 1e-3


def test_offsets_lead_to_the_scores_of_the_first_order_model() -> None:
    model = interpolated()
    sentences = [WORKED, CROSSING, *toy_treebank(3, seed=9)]
    encoded = model.encode(sentences)
    scores = FactoredScores(model, encoded, model.surviving(encoded))
    below = model.first.score(sentences).arcs
    pruned = 0
    for arcs, offset, own in zip(scores.arcs, scores.first_order_offsets(2.6), below, strict=True):
        kept = arcs > -np.inf
        pruned += int((~kept).sum()) - 2 * len(arcs) + 1
        assert_allclose((arcs + offset)[kept], 0.5 * own[kept], atol=1e-9)
        assert not offset[~kept].any()
    assert pruned > 0

"""Training of higher order: what it is made of, and that threads change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from support.higher_order_models import weighted_model
from support.small_treebank import WORKED, toy_treebank

from crossarc import Parser
from crossarc.inference.higher.problem import FACTORS
from crossarc.models.graph import GraphOptions
from crossarc.models.higher_order import training
from crossarc.models.higher_order.calibration import calibrate
from crossarc.models.higher_order.model import FactoredScores, HigherOrderModel
from crossarc.models.higher_order.objectives import Trees, _difference
from crossarc.models.higher_order.pruning import surviving_arcs
from crossarc.models.higher_order.training import train_higher_order
from crossarc.models.kinds import RootRule
from crossarc.treebank import sample


def trained(threads: int, projective: bool) -> HigherOrderModel:
    options = GraphOptions(order=2, projective=projective, passes=2, threads=threads)
    return train_higher_order(toy_treebank(30, seed=3), toy_treebank(5, seed=5), options=options)


@pytest.mark.parametrize("projective", [True, False])
def test_threads_change_nothing(projective: bool) -> None:
    one, three = trained(1, projective), trained(3, projective)
    for name, table in one.state().items():
        np.testing.assert_array_equal(table, three.state()[name], name)
    assert one.temperature == three.temperature
    sentences = [WORKED, *toy_treebank(4, seed=9)]
    alone, shared = one.score(sentences, threads=1), three.score(sentences, threads=3)
    for name in alone.factors:
        for left, right in zip(alone.factors[name], shared.factors[name], strict=True):
            np.testing.assert_array_equal(left.score, right.score)


def test_each_sentence_is_pruned_by_a_model_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of folds have no labels; gold arcs stay, with those that are probable enough."""
    sentences = toy_treebank(9, seed=3)
    options = GraphOptions(order=2, projective=False, root="single")
    pruners = []
    train = training._train_first

    def noted(own, *others, is_fold):  # type: ignore[no-untyped-def]
        pruners.append((own, train(own, *others, is_fold=is_fold)))
        return pruners[-1][1]

    monkeypatch.setattr(training, "_train_first", noted)
    kept = training._fold_arcs(sentences, options, None)
    assert len(pruners) == 4
    for index, (sentence, allowed) in enumerate(zip(sentences, kept, strict=True)):
        others, pruner = pruners[index % 4]
        assert sentence not in others
        assert not pruner.label_scorer.weights.any()
        root: RootRule = "single"
        own = surviving_arcs(
            pruner, pruner.encode([sentence]), projective=False, root=root, threshold=2e-3
        )
        expected = own.reshape(allowed.shape).copy()
        expected[sentence.heads, np.arange(1, len(sentence) + 1)] = True
        np.testing.assert_array_equal(allowed, expected)


def test_arcs_that_are_pruned_are_not_scored() -> None:
    model = weighted_model(2)
    sentences = [WORKED, *toy_treebank(3, seed=9)]
    encoded = model.encode(sentences)
    squares = [np.random.default_rng(len(s)).random((len(s) + 1,) * 2) < 0.5 for s in sentences]
    for square in squares:
        square[:, 0] = False
        np.fill_diagonal(square, False)
    allowed = np.concatenate([square.ravel() for square in squares])
    whole, some = model.arcs.scores(encoded), model.arcs.scores(encoded, None, allowed)
    np.testing.assert_array_equal(some, np.where(allowed, whole, 0.0))
    for one, square in zip(FactoredScores(model, encoded, allowed).arcs, squares, strict=True):
        np.testing.assert_array_equal(one > -np.inf, square)


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_parts_that_only_one_tree_has(factor) -> None:  # type: ignore[no-untyped-def]
    """Of several sentences, as those of each by itself."""
    guesses = [[2, 0, 2, 3, 3, 3], [0], [3, 3, 0, 3, 3], [0, 1]]
    golds = [[2, 0, 2, 2, 2, 2], [0], [3, 3, 0, 3, 3], [2, 0]]
    pairs = [(np.array(guess), np.array(gold)) for guess, gold in zip(guesses, golds, strict=True)]
    listed, values = _difference(factor, *zip(*pairs, strict=True))
    assert len(listed.offsets) == len(pairs) + 1
    for index, pair in enumerate(pairs):
        own = slice(listed.offsets[index], listed.offsets[index + 1])
        rows = map(tuple, listed.index[own].tolist())
        found = dict(zip(rows, values[own].tolist(), strict=True))
        more, less = (set(map(tuple, factor.parts_of(heads).tolist())) for heads in pair)
        assert found == {part: 1.0 if part in more else -1.0 for part in more ^ less}
        assert len(found) == own.stop - own.start


def test_temperatures_make_held_out_heads_and_labels_most_probable() -> None:
    """Labels of words whose heads are right in the best trees; pruned arcs are left out."""
    bank = [one for one in sample() if len(one) <= 10 and one.tree.is_projective]
    bank = [one for one in bank if one.tree.is_single_root]
    sentences, held_out = bank[::2], bank[1::2]
    options = GraphOptions(order=2, projective=True, root="single", passes=1)
    model = train_higher_order(sentences, options=options)
    calibrate(model, model.encode(held_out, gold=True), Trees(True, "single"))
    parser = Parser(model, True, "single")

    def log_probs() -> np.ndarray:
        heads = [
            table[one.heads, np.arange(1, len(one) + 1)]
            for (table, _), one in zip(parser.head_probabilities(held_out), held_out, strict=True)
        ]
        best = [one.heads for one in parser.parse(held_out)]
        rows = model.score(held_out).tree_label_log_probs(best)
        labels = [
            table[k, model.labels.index(one.deprels[k])]
            for table, own, one in zip(rows, best, held_out, strict=True)
            for k in np.flatnonzero(own == one.heads)
            if one.deprels[k] in model.labels
        ]
        found = np.concatenate(heads)
        return np.array(
            [np.log(found[found > 0.0]).sum(), sum(log for log in labels if log > -np.inf)]
        )

    best = log_probs()
    fitted = model.temperature, model.label_temperature
    for factor in (0.7, 1.4):
        model.temperature, model.label_temperature = (factor * one for one in fitted)
        assert (log_probs() < best - 1.0).all()

"""The model as a whole: its objectives, what it keeps, and what follows from its parts."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.higher_order_models import CROSSING, weighted_model
from support.small_treebank import WORKED, toy_treebank

from crossarc import Parser, ProjectiveTrees, Sentence, SpanningTrees, Tree
from crossarc.inference.higher.problem import FACTORS
from crossarc.learning import WeightTable
from crossarc.models.graph import GraphOptions
from crossarc.models.higher_order.model import FactoredScores, HigherOrderModel
from crossarc.models.higher_order.objectives import Gradient, Trees, log_linear, max_margin
from crossarc.models.higher_order.training import train_higher_order
from crossarc.models.protocol import LabelEntropies, all_arcs
from crossarc.parser.explanation import Contrast

PARTLY = CROSSING.copy()
PARTLY.heads = [3, -1, 0, -1, 3]
UNKNOWN = WORKED.copy()
UNKNOWN.heads = [2, -1, -1, 0, 4, -1]
FOUR = Sentence.build(
    WORKED.forms[:4], upos=WORKED.upos[:4], heads=[2, 4, 4, 0], deprels=WORKED.deprels[:4]
)


def gathered(model: HigherOrderModel, scores: FactoredScores, gradient: Gradient, name: str):  # type: ignore[no-untyped-def]
    """The gradient in the weights of one table."""
    table = WeightTable(model.scorers[name].thaw())
    encoded = scores._encoded
    if name == "arc":
        model.arcs.gather(encoded, gradient.arcs, table)
    else:
        model.parts[name].gather(encoded, *gradient.parts[name], table)
    return table.gradient.astype(np.float64)


def check_gradient(model: HigherOrderModel, sentences: list[Sentence], objective) -> None:  # type: ignore[no-untyped-def]
    """Central differences in some weights of every table; `objective` gives the loss, too."""
    encoded = model.encode(sentences, gold=True)
    allowed = np.concatenate([(~np.eye(len(s) + 1, dtype=bool)).ravel() for s in sentences])
    for square in encoded.split_arcs(allowed):
        square[:, 0] = False
    heads = [encoded.gold_heads(index) for index in range(len(encoded))]

    def evaluated():  # type: ignore[no-untyped-def]
        scores = FactoredScores(model, encoded, allowed)
        return scores, *objective(scores, heads)

    scores, _, gradient = evaluated()
    rng = np.random.default_rng(2)
    for name, scorer in model.factored.items():
        weights, found = scorer.thaw(), gathered(model, scores, gradient, name)
        used = np.flatnonzero(np.abs(found) > 1e-3)
        assert len(used) > 20
        for slot in [*rng.choice(used, 5, replace=False), *np.flatnonzero(found == 0)[:1]]:
            kept, ends = weights[slot], []
            for step in (1 / 128, -1 / 128):
                weights[slot] = kept + np.float32(step)
                ends.append(evaluated()[1])
            weights[slot] = kept
            assert_allclose(found[slot], (ends[0] - ends[1]) * 64, atol=4e-3)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("sentences", [[CROSSING], [PARTLY, FOUR]], ids=["known", "missing"])
def test_gradient_of_the_log_loss(projective: bool, sentences: list[Sentence]) -> None:
    """Under crossing trees, of the Bethe approximation, whose derivatives are the beliefs."""
    if projective:
        sentences = [WORKED, *([UNKNOWN] if len(sentences) > 1 else [])]
    model = weighted_model(3 if projective else 2, bits=9, projective=projective, spread=0.05)
    trees = Trees(projective, "single", bp_tolerance=1e-11, bp_iterations=400)
    check_gradient(model, sentences, lambda scores, heads: log_linear(trees, scores, heads))


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("cost", [0.0, 1.0])
def test_gradient_of_the_margin(projective: bool, cost: float) -> None:
    """The loss is the best score plus cost less that of the gold tree, found by listing trees."""
    model = weighted_model(3, bits=9, projective=projective, spread=0.3)
    trees = Trees(projective, "single")

    def objective(scores: FactoredScores, heads):  # type: ignore[no-untyped-def]
        loss, gradient = max_margin(trees, scores, heads, cost)
        [arcs], [gold] = scores.arcs, heads
        values = {name: _dense(parts[0], len(arcs)) for name, parts in scores.factors.items()}

        def scored(tree: np.ndarray) -> float:
            total = arcs[tree, np.arange(1, len(arcs))].sum() + cost * (tree != gold).sum()
            for factor in FACTORS:
                total += values[factor.name][tuple(factor.parts_of(tree).T)].sum()
            return float(total)

        best = max((np.array(heads) for heads in _trees(len(arcs) - 1, projective)), key=scored)
        assert loss == (best != gold).sum()
        violation = scored(best) - scored(gold)
        assert_allclose(gradient.violation, violation, atol=1e-6)
        return violation, gradient

    check_gradient(model, [FOUR], objective)


def _dense(parts, width: int) -> np.ndarray:  # type: ignore[no-untyped-def]
    table = np.zeros((width,) * parts.index.shape[1])
    table[tuple(parts.index.T)] = parts.score
    return table


def _trees(n: int, projective: bool):  # type: ignore[no-untyped-def]
    for heads in itertools.product(range(n + 1), repeat=n):
        if sum(h == 0 for h in heads) == 1:
            try:
                tree = Tree(heads)
            except ValueError:
                continue
            if tree.is_projective or not projective:
                yield heads


@pytest.mark.parametrize("projective", [True, False])
def test_every_part_of_every_tree_is_scored(projective: bool) -> None:
    model = weighted_model(3, projective=projective)
    sentence = Sentence.build(list("abcd"))
    batch = model.score([sentence])
    for factor in FACTORS:
        used = {
            tuple(part)
            for heads in _trees(4, projective)
            for part in factor.parts_of(np.array(heads)).tolist()
        }
        assert {tuple(part) for part in batch.factors[factor.name][0].index.tolist()} == used


def test_without_weights_of_parts_it_is_a_model_of_first_order() -> None:
    model = weighted_model(2, spread=0.3, threshold=1e-3)
    for scorer in model.parts.values():
        scorer.thaw()[:] = 0.0
    sentences = [WORKED, *toy_treebank(5, seed=7)]
    batch = model.score(sentences)
    arcs_only = SpanningTrees(batch.arcs)
    parser = Parser(model, projective=False, root="single")
    for parsed, tree in zip(parser.parse(sentences), arcs_only.argmax(), strict=True):
        assert parsed.heads.tolist() == tree.heads.tolist()
    for (found, _), expected in zip(
        parser.head_probabilities(sentences), arcs_only.marginals(), strict=True
    ):
        assert_allclose(found, expected, atol=1e-6)
    assert sum((one == -np.inf).sum() for one in batch.arcs) > 0


@pytest.fixture(scope="module")
def parser() -> Parser:
    sentences = toy_treebank(30, seed=3)
    return Parser.train(
        sentences, toy_treebank(5, seed=5), order=2, projective=False, text=False, passes=2
    )


@pytest.mark.parametrize(
    ("order", "learner"), [(2, "maxmargin"), (2, "loglinear"), (3, "perceptron"), (3, "mira")]
)
def test_an_unambiguous_language_is_learnt(order: int, learner: str) -> None:
    options = GraphOptions(order=order, learner=learner, projective=order == 3, passes=2)
    model = train_higher_order(toy_treebank(30, seed=3), options=options)
    own = Parser(model, projective=order == 3, root="single")
    for sentence in own.parse(unseen := toy_treebank(10, seed=4)):
        gold = next(one for one in unseen if one.forms == sentence.forms)
        assert sentence.heads.tolist() == gold.heads.tolist()
        assert sentence.deprels == gold.deprels


def test_entropies_of_labels_are_those_of_the_probabilities(parser: Parser) -> None:
    sentences = [WORKED, CROSSING, *toy_treebank(3, seed=8)]
    batch = parser.model.score(sentences)  # type: ignore[attr-defined]
    assert isinstance(batch, LabelEntropies)
    assert batch.label_counts == tuple(parser.model.first.permitted.sum(axis=1))  # type: ignore[attr-defined]
    arcs = [all_arcs(len(one)) for one in sentences]
    pairs = zip(batch.label_entropies(arcs), batch.label_log_probs(arcs), strict=True)
    for found, logs in pairs:
        expected = -(np.exp(logs) * np.where(logs > -np.inf, logs, 0.0)).sum(axis=1)
        assert_allclose(found, expected, atol=1e-12)
        assert expected.max() > 0.01


def test_a_saved_model_parses_the_same(parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    sentences = [WORKED, CROSSING, *toy_treebank(5, seed=8)]
    for options in ({"probabilities": True}, {"kbest": 3, "projective": True}):
        found = [bytes(one) for one in loaded.parse(sentences, **options)]  # type: ignore[arg-type]
        assert found == [bytes(one) for one in parser.parse(sentences, **options)]  # type: ignore[arg-type]


def test_approximate_probabilities_are_called_so(parser: Parser) -> None:
    [crossing] = parser.parse([WORKED], probabilities=True)
    assert "probabilities = approximate" in bytes(crossing).decode()
    [projective] = parser.parse([WORKED], probabilities=True, projective=True)
    assert "approximate" not in bytes(projective).decode()
    assert (parser.is_approximate, Parser(parser.model, True, "single").is_approximate) == (
        True,
        False,
    )
    [cautious] = parser.parse([WORKED], min_risk=True)
    assert "probabilities = approximate" in bytes(cautious).decode()
    assert "HigherOrderTrees" in repr(parser.distribution(WORKED))


def test_heads_that_are_kept(parser: Parser) -> None:
    """Whatever the first-order model has pruned."""
    given = WORKED.copy()
    given.heads = [5, 1, -1, -1, 0, -1]
    [parsed] = parser.parse([given], keep_heads=True)
    assert parsed.heads[[0, 1, 4]].tolist() == [5, 1, 0]


def test_explanations_sum_to_the_difference_of_the_trees(parser: Parser) -> None:
    def check_sum(contrast: Contrast) -> None:
        differences = [one.difference for one in contrast.features]
        assert_allclose(sum(differences), contrast.difference, atol=1e-4)

    # Its words are not those of the treebank, so that few arcs are pruned.
    sentence = WORKED
    explained = 0
    for m in range(1, len(sentence) + 1):
        arcs = parser.model.score([sentence]).arcs[0]  # type: ignore[attr-defined]
        if (arcs[:, m] > -np.inf).sum() < 3:
            continue
        found = parser.explain(sentence, None, m)
        explained += 1
        check_sum(found.arc)
        assert found.arc.difference == found.tree.score - found.rival_tree.score >= 0.0
        assert {one.part for one in found.arc.features} >= {"arc"}
        if found.label is not None:
            check_sum(found.label)
    assert explained


def test_words_without_sense_keep_fewer_heads() -> None:
    """Where next to nothing is pruned, trees stay possible and forests small."""
    model = weighted_model(2, projective=True, spread=0.1)
    words = np.random.default_rng(0).choice(["dogs", "the", "chase"], 120).tolist()
    encoded = model.encode([Sentence.build(words), WORKED])
    square, short = encoded.split_arcs(model.surviving(encoded))
    assert 4 <= square.sum(axis=0).max() <= 17  # those of the best tree are kept besides
    assert short.sum() == len(WORKED) ** 2  # the threshold is 0
    first = model.first.arcs.scores(encoded)
    [best, _] = ProjectiveTrees(encoded.split_arcs(first)).argmax()
    assert square[best.heads, np.arange(1, 121)].all()

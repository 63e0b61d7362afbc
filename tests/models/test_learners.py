"""Learners of arc weights: gradients, optima that they share, resuming, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.small_treebank import WORKED, toy_treebank

from crossarc import ModelError, Sentence
from crossarc.learning import Objective, Progress, log_linear, max_margin, wrong_arcs
from crossarc.models.first_order.learners.learners import MiraLearner
from crossarc.models.first_order.learners.problem import ArcProblem, FullObjective
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.training import arc_learner, attachment, train_linear, trees_of
from crossarc.models.graph import GraphOptions
from crossarc.models.kinds import OptionError
from crossarc.treebank import sample

TREES = [(projective, root) for projective in (False, True) for root in ("single", "multi")]


def small_problem(bits: int = 9, **options: Any) -> ArcProblem:
    """Sentences of the sample bank, some of them with crossing arcs, and a small table."""
    sentences = [one for one in sample() if len(one) <= 7][:6]
    model = LinearModel.build([WORKED, *sentences], cutoff=1, arc_bits=bits, label_bits=6)
    encoded = model.encode([WORKED, *sentences], gold=True)
    return ArcProblem.of(model.arcs, encoded, trees_of(GraphOptions(**options)))


def learnt(passes: int, **options: Any) -> tuple[np.ndarray, float]:
    """The weights after some passes, and C sum of log-losses + |w|^2 / 2 there."""
    chosen = GraphOptions(**options)
    # Exponentiated gradient has the nearest tree where another kind is learnt; so have all then.
    own = small_problem(projective=chosen.projective, root=chosen.root).whole()
    learner = arc_learner(own, chosen)
    rng, everything = np.random.default_rng(0), np.arange(len(own.data))
    for number in range(1, passes + 1):
        learner.begin_pass(number)
        order = rng.permutation(len(own.data))
        size = chosen.batch if learner.in_batches else len(order)
        for begin in range(0, len(order), size):
            learner.learn(order[begin : begin + size])
        learner.end_pass()
    weights = learner.weights().astype(np.float64)
    own.scorer.thaw()[:] = weights
    objective: Objective = max_margin if chosen.learner == "maxmargin" else log_linear
    loss = own.loss(objective, everything)[0]
    return weights, (chosen.c or 1.0) * loss + float(weights @ weights) / 2.0


@pytest.mark.parametrize("objective", [log_linear, max_margin])
@pytest.mark.parametrize(("projective", "root"), TREES)
def test_full_objectives_have_their_gradients(objective, projective, root) -> None:  # type: ignore[no-untyped-def]
    """Along random directions, by central differences."""
    own = small_problem(projective=projective, root=root)
    function = FullObjective(own, objective, 0.7)
    rng = np.random.default_rng(3)
    weights = 0.2 * rng.normal(size=len(own.scorer.weights))
    gradient = function(weights)[1]
    for _ in range(4):
        direction = rng.normal(size=len(weights))
        direction /= np.linalg.norm(direction)
        ends = [function(weights + sign * 1e-3 * direction)[0] for sign in (1.0, -1.0)]
        slope = (ends[0] - ends[1]) / 2e-3
        assert_allclose(slope, gradient @ direction, atol=3e-3 * np.linalg.norm(gradient))


@pytest.mark.parametrize(("projective", "root"), [(False, "single"), (True, "multi")])
def test_learners_of_one_objective_reach_one_optimum(projective: bool, root: str) -> None:
    """No L1, no averaging, no dropped gradients."""
    shared: dict[str, Any] = {"learner": "loglinear", "c": 0.05, "projective": projective}
    shared["root"] = root
    best, least = learnt(50, optimizer="lbfgs", **shared)
    assert np.abs(best).max() > 0.05
    for optimizer in ("cg", "eg"):
        weights, value = learnt(50, optimizer=optimizer, **shared)
        assert_allclose(value, least, rtol=1e-6)
        assert_allclose(weights, best, atol=1e-4)
    exact = {"averaged": False, "least_derivative": 0.0, "batch": 2, "rate": 0.5}
    weights, value = learnt(120, optimizer="stochastic", **shared, **exact)
    assert_allclose(value, least, rtol=1e-4)
    assert_allclose(weights, best, atol=2e-3)


def test_max_margin_in_the_dual_and_in_steps() -> None:
    """The hinge has corners: steps come near the optimum only."""
    shared: dict[str, Any] = {"learner": "maxmargin", "c": 0.05, "projective": False}
    _, dual = learnt(100, optimizer="eg", **shared)
    exact = {"averaged": False, "least_derivative": 0.0, "batch": 2, "rate": 0.05}
    _, steps = learnt(100, optimizer="stochastic", **shared, **exact)
    assert_allclose(steps, dual, rtol=0.06)


@pytest.mark.parametrize("cost_augmented", [True, False])
@pytest.mark.parametrize("kbest", [1, 4])
def test_mira_beats_the_trees_that_it_saw(kbest: int, cost_augmented: bool) -> None:
    """After the step, each of the k best trees is beaten by its number of errors."""
    own = small_problem(bits=14)
    learner = MiraLearner(own, kbest=kbest, cost_augmented=cost_augmented)
    rng = np.random.default_rng(0)
    own.scorer.thaw()[:] = 0.3 * rng.normal(size=len(own.scorer.weights))
    for number in range(len(own.data)):
        one = np.array([number])
        [scores] = own.scores(one)
        gold = own.heads[number]
        searched = scores + wrong_arcs(gold) if cost_augmented else scores
        words = np.arange(1, len(gold) + 1)
        seen = list(own.trees.family(searched, root=own.trees.root).kbest(kbest))
        learner.learn(one)
        [after] = own.scores(one)
        for tree in seen:
            margin = after[gold, words].sum() - after[tree.heads, words].sum()
            assert margin >= np.count_nonzero(tree.heads != gold) - 1e-3


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "mira"},
        {"learner": "mira", "kbest": 3, "cost_augmented": False},
        {"learner": "maxmargin", "l1": 0.01},
        {"learner": "loglinear", "c": 0.5},
        {"learner": "loglinear", "optimizer": "cg", "c": 0.5, "passes": 12},
        {"learner": "loglinear", "optimizer": "lbfgs", "c": 0.5, "passes": 12},
        {"learner": "loglinear", "optimizer": "eg", "c": 0.5, "passes": 6},
        {"learner": "maxmargin", "optimizer": "eg", "c": 0.1, "passes": 15},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
@pytest.mark.parametrize("projective", [False, True])
def test_an_unambiguous_language_is_learnt(options: dict[str, Any], projective: bool) -> None:
    sentences = toy_treebank(20, seed=3)
    model = LinearModel.build(sentences, cutoff=1, arc_bits=13, label_bits=13)
    chosen = GraphOptions(**{"projective": projective, "root": "multi", "passes": 3} | options)
    train_linear(sentences, options=chosen, model=model)
    unseen = model.encode(toy_treebank(20, seed=4), gold=True)
    assert attachment(model, unseen, chosen)["uas"] == 100.0


class StopTrainingError(Exception):
    pass


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "perceptron"},
        {"learner": "mira", "kbest": 2},
        {"learner": "maxmargin", "c": 0.3},
        {"learner": "loglinear"},
        {"optimizer": "cg"},
        {"optimizer": "lbfgs"},
        {"optimizer": "eg"},
        {"learner": "maxmargin", "optimizer": "eg"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_training_that_is_resumed_gives_the_same_weights(
    options: dict[str, Any], tmp_path: Path
) -> None:
    """Without held-out sentences, so that the weights are those of the last pass."""
    sentences = sample()[::6]
    file = tmp_path / "state"

    def train(stop_after: int | None = None, **more: Any) -> LinearModel:
        def progress(state: Progress) -> None:
            if state.share == 1.0 and state.number == stop_after:
                raise StopTrainingError

        model = LinearModel.build(sentences, cutoff=1, arc_bits=12, label_bits=12)
        chosen = GraphOptions(**{"passes": 5, "threads": 1} | options | more)
        return train_linear(sentences, options=chosen, model=model, progress=progress)

    whole = train()
    with pytest.raises(StopTrainingError):
        train(stop_after=3, checkpoint=str(file))
    with pytest.raises(ModelError, match="a checkpoint of another training: remove it"):
        train(checkpoint=str(file), passes=6)
    resumed = train(checkpoint=str(file), threads=2)
    assert not file.exists()
    for name, tensor in whole.tensors().items():
        assert tensor.tobytes() == resumed.tensors()[name].tobytes(), name
    assert resumed.metadata() == whole.metadata()


def test_the_best_pass_is_remembered_by_a_checkpoint(tmp_path: Path) -> None:
    """With held-out sentences the pass that is kept may be one before the interruption."""
    sentences, dev = toy_treebank(12, seed=1), toy_treebank(5, seed=2)
    seen: list[int] = []

    def train(stop_after: int | None = None) -> LinearModel:
        def progress(state: Progress) -> None:
            seen.append(state.number)
            if state.scores and state.number == stop_after:
                raise StopTrainingError

        model = LinearModel.build(sentences, cutoff=1, arc_bits=12, label_bits=12)
        options = GraphOptions(passes=9, patience=3, checkpoint=str(tmp_path / "state"))
        return train_linear(sentences, dev, options=options, model=model, progress=progress)

    whole = train()
    last = max(seen)
    assert last < 9
    with pytest.raises(StopTrainingError):
        train(stop_after=last - 1)
    seen.clear()
    resumed = train()
    assert (min(seen), max(seen)) == (last - 1, last)
    for name, tensor in whole.tensors().items():
        assert tensor.tobytes() == resumed.tensors()[name].tobytes(), name


def test_the_objective_is_in_the_progress() -> None:
    """Of a descent it falls, of exponentiated gradient it rises, and steps do not know it."""
    sentences = toy_treebank(10, seed=1)
    found: dict[str, list[float | None]] = {}
    for optimizer in ("stochastic", "lbfgs", "eg"):
        seen: list[float | None] = found.setdefault(optimizer, [])

        def note(state: Progress, seen: list[float | None] = seen) -> None:
            if state.share == 1.0 and state.objective is not None:
                seen.append(state.objective)

        model = LinearModel.build(sentences, cutoff=1, arc_bits=12, label_bits=12)
        options = GraphOptions(optimizer=optimizer, passes=6, projective=False, c=0.1)
        train_linear(sentences, options=options, model=model, progress=note)
    assert found["stochastic"] == []
    assert len(found["lbfgs"]) == len(found["eg"]) == 6
    assert found["lbfgs"] == sorted(found["lbfgs"], reverse=True)  # type: ignore[type-var]
    # Weak duality: the last dual value is below the last primal one, and near it.
    falling, rising = found["lbfgs"][-1] or 0.0, found["eg"][-1] or 0.0
    assert 0.5 * falling < rising < falling


def test_sentences_without_all_heads() -> None:
    """Exponentiated gradient leaves them out; where there are no others, it says so."""
    partial = toy_treebank(6, seed=1)
    for sentence in partial:
        sentence.heads = np.where(np.arange(len(sentence)) == 0, -1, sentence.heads)
    options = GraphOptions(optimizer="eg", passes=2)
    with pytest.raises(ModelError, match="sentences with all heads, and there is none"):
        train_linear(partial, options=options)
    whole = toy_treebank(6, seed=2)
    model = LinearModel.build([*whole, *partial], cutoff=1, arc_bits=12, label_bits=12)
    data = model.encode([*whole, *partial], gold=True)
    assert len(ArcProblem.of(model.arcs, data, trees_of(options)).whole().data) == 6


def test_a_tree_of_another_kind_is_replaced_by_the_nearest() -> None:
    crossing = Sentence.build(["a", "b", "c", "d"], heads=[3, 4, 0, 3], deprels=["x"] * 4)
    model = LinearModel.build([crossing], cutoff=1, arc_bits=8, label_bits=6)
    data = model.encode([crossing], gold=True)
    options = GraphOptions(projective=True)
    [heads] = ArcProblem.of(model.arcs, data, trees_of(options)).whole().heads
    assert (heads != crossing.heads).sum() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learner": "perceptron", "optimizer": "cg"}, "learner and optimizer: 'perceptron' is"),
        ({"learner": "maxmargin", "optimizer": "lbfgs"}, "'maxmargin' is optimised by"),
        ({"learner": "mira", "optimizer": "eg"}, "'mira' is optimised by"),
        ({"learner": "perceptron", "c": 1.0}, "c: the perceptron has none"),
        ({"c": -1.0}, "c: must be a number above 0: got -1.0"),
        ({"c": float("inf")}, "c: must be a number above 0"),
        ({"kbest": 3}, 'kbest: is for the learner "mira" only'),
        ({"order": 2, "optimizer": "eg"}, "optimizer: is for order 1 only"),
        ({"order": 2, "c": 1.0}, "c: is for order 1 only"),
        ({"order": 3, "checkpoint": "x"}, "checkpoint: is for order 1 only"),
        ({"optimizer": "newton"}, "optimizer: must be"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        GraphOptions(**options)


def test_passes_depend_on_the_optimizer() -> None:
    assert [GraphOptions(optimizer=name).passes for name in ("stochastic", "cg")] == [6, 50]
    assert GraphOptions(optimizer="cg", passes=7).passes == 7

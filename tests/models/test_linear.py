"""The model as a whole: what it learns, keeps and restores."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.files import ROOT
from support.small_treebank import WORKED, toy_treebank

from crossarc import ModelError, ProjectiveTrees, Sentence, SpanningTrees
from crossarc.learning import WeightTable, log_linear
from crossarc.models.first_order.labels import log_softmax
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.scorers import Arcs
from crossarc.models.first_order.training import attachment, calibrate, train_linear
from crossarc.models.graph import GraphOptions
from crossarc.models.protocol import labelled_scores, tree_arcs
from crossarc.treebank import sample

SMALL = {"cutoff": 1, "arc_bits": 14, "label_bits": 14}


def trained(**options: object) -> LinearModel:
    sentences = toy_treebank(30, seed=3)
    model = LinearModel.build(sentences, **SMALL)  # type: ignore[arg-type]
    return train_linear(
        sentences,
        options=GraphOptions(**{"passes": 3, "batch": 4, "l1": 0.01, **options}),  # type: ignore[arg-type]
        model=model,
    )


def gather_only(table: WeightTable, update) -> np.ndarray:  # type: ignore[no-untyped-def]
    """The gradient that an update gathers, without the step."""

    class NoStep:
        def __init__(self) -> None:
            self.table = table

        def step(self, group: int) -> None:
            listed = table.touched(group).tolist()
            assert len(set(listed)) == len(listed)

        def advance(self) -> None:
            pass

    update(NoStep())
    return table.gradient.astype(np.float64)


def check_gradient(weights: np.ndarray, gradient: np.ndarray, loss, rng) -> None:  # type: ignore[no-untyped-def]
    """Central differences in some weights that count and some that do not."""
    used = rng.choice(np.flatnonzero(gradient), 40, replace=False)
    unused = np.flatnonzero(gradient == 0)[:5]
    for slot in [*used, *unused]:
        kept = weights[slot]
        ends = []
        for step in (1 / 64, -1 / 64):
            weights[slot] = kept + np.float32(step)
            ends.append(loss())
        weights[slot] = kept
        assert_allclose(gradient[slot], (ends[0] - ends[1]) * 32, atol=2e-3)


@pytest.mark.parametrize("trees", [SpanningTrees, ProjectiveTrees])
def test_gradient_in_the_weights_of_arcs(trees) -> None:  # type: ignore[no-untyped-def]
    sentences = [WORKED, *toy_treebank(3, seed=1)]
    model = LinearModel.build(sentences, cutoff=1, arc_bits=9, label_bits=6)
    encoded = model.encode(sentences, gold=True)
    gold = [encoded.gold_heads(s) for s in range(len(encoded))]
    rng = np.random.default_rng(0)
    weights = model.arcs.weights
    weights[:] = 0.1 * rng.normal(size=len(weights))

    def loss() -> float:
        return log_linear(trees, model.arc_scores(encoded), gold)[0]

    gradients = log_linear(trees, model.arc_scores(encoded), gold)[1]
    flat = np.concatenate([gradient.ravel() for gradient in gradients])
    table = WeightTable(weights)
    gradient = gather_only(table, lambda rule: model.arcs.update(encoded, flat, rule))
    check_gradient(weights, gradient, loss, rng)


def test_gradient_in_the_weights_of_labels() -> None:
    sentences = [WORKED, *toy_treebank(3, seed=1)]
    model = LinearModel.build(sentences, cutoff=1, arc_bits=6, label_bits=9)
    encoded = model.encode(sentences, gold=True)
    heads, labels = encoded.gold_arcs()
    arcs = Arcs.of_trees(encoded, heads)
    rng = np.random.default_rng(0)
    weights = model.label_scorer.weights
    weights[:] = 0.1 * rng.normal(size=len(weights))

    def loss() -> float:
        return log_softmax(model.label_scorer.scores(arcs), labels)

    gradients = model.label_scorer.scores(arcs)
    log_softmax(gradients, labels)
    gradients = np.exp(gradients)
    gradients[np.arange(len(labels)), labels] -= 1.0
    table = WeightTable(weights)
    gradient = gather_only(table, lambda rule: model.label_scorer.update(arcs, gradients, rule))
    check_gradient(weights, gradient, loss, rng)


@pytest.mark.parametrize("learner", ["loglinear", "perceptron"])
@pytest.mark.parametrize("projective", [False, True])
def test_an_unambiguous_language_is_learnt(learner: str, projective: bool) -> None:
    options = GraphOptions(projective=projective)
    model = trained(learner=learner, projective=projective)
    unseen = model.encode(toy_treebank(30, seed=4), gold=True)
    assert attachment(model, unseen, options) == {"las": 100.0, "uas": 100.0}


def test_labels_are_as_probable_as_they_are_frequent() -> None:
    """The same words with label a three times in four: that is the most probable model."""
    sentences = [
        Sentence.build(["x", "y"], upos=["X", "Y"], heads=[0, 1], deprels=["root", label])
        for label in ("a", "a", "b", "a") * 10
    ]
    model = LinearModel.build(sentences, **SMALL)  # type: ignore[arg-type]
    options = GraphOptions(passes=30, batch=4, l1=0.0)
    train_linear(sentences, options=options, model=model)
    (logs,) = model.score(sentences[:1]).label_log_probs([tree_arcs(np.array([0, 1]))])
    assert_allclose(np.exp(logs[1, model.labels.index("a")]), 0.75, atol=0.02)
    assert_allclose(np.exp(logs[0, model.labels.index("root")]), 1.0, atol=1e-9)


@pytest.mark.parametrize("projective", [False, True])
def test_temperatures_make_held_out_trees_and_labels_most_probable(projective: bool) -> None:
    bank = [one for one in sample() if len(one) <= 15 and one.tree.is_projective]
    sentences, held_out = bank[::2], [one for one in bank[1::2] if one.tree.is_single_root]
    options = GraphOptions(projective=projective, root="single", passes=2)
    model = LinearModel.build(sentences, cutoff=1, arc_bits=12, label_bits=12)
    train_linear(sentences, options=options, model=model)
    calibrate(model, model.encode(held_out, gold=True), options)

    def log_probs() -> np.ndarray:
        batch = model.score(held_out)
        trees = (ProjectiveTrees if projective else SpanningTrees)(batch.arcs)
        heads = sum(trees.log_prob(heads=[dict(enumerate(one.heads, 1)) for one in held_out]))
        rows = batch.label_log_probs([tree_arcs(one.heads) for one in held_out])
        found = [
            row[model.labels.index(name)]
            for table, one in zip(rows, held_out, strict=True)
            for row, name in zip(table, one.deprels, strict=True)
            if name in model.labels
        ]
        return np.array([heads, sum(log for log in found if log > -np.inf)])

    best = log_probs()
    fitted = model.arc_temperature, model.label_temperature
    for factor in (0.9, 1.1):
        model.arc_temperature, model.label_temperature = (factor * one for one in fitted)
        assert (log_probs() < best - 0.1).all()


def test_half_of_the_heads_are_enough() -> None:
    rng = np.random.default_rng(0)
    sentences = toy_treebank(60, seed=5)
    for sentence in sentences:
        hidden = rng.random(len(sentence)) < 0.5
        sentence.heads = np.where(hidden, -1, sentence.heads)
    model = LinearModel.build(sentences, **SMALL)  # type: ignore[arg-type]
    train_linear(sentences, options=GraphOptions(passes=4, batch=4, l1=0.01), model=model)
    unseen = model.encode(toy_treebank(30, seed=6), gold=True)
    assert attachment(model, unseen, GraphOptions())["las"] > 97.0


def scores_of(model: LinearModel, sentences: list[Sentence], threads: int) -> bytes:
    batch = model.score(sentences, threads=threads)
    return b"".join(a.tobytes() for a in [*batch.arcs, *labelled_scores(batch)])


def test_arcs_do_not_depend_on_labels() -> None:
    options = GraphOptions(passes=2, projective=False)
    both, arcs = (
        train_linear(toy_treebank(20, seed=1), options=options, labels=labels)
        for labels in (True, False)
    )
    np.testing.assert_array_equal(both.arcs.weights, arcs.arcs.weights)
    assert both.label_scorer.weights.any()
    assert not arcs.label_scorer.weights.any()


def test_threads_change_nothing() -> None:
    models = [trained(threads=threads) for threads in (1, 3)]
    sentences = toy_treebank(9, seed=8)
    one, three = (scores_of(m, sentences, t) for m, t in zip(models, (1, 3), strict=True))
    assert one == three


PROGRAM = """
import sys; sys.path[:0] = ["tests"]
import hashlib
from support.small_treebank import toy_treebank
from crossarc.models.first_order.model import LinearModel
from crossarc.models.graph import GraphOptions
from crossarc.models.first_order.training import train_linear
sentences = toy_treebank(8, seed=2)
model = LinearModel.build(sentences, cutoff=1, arc_bits=12, label_bits=12)
train_linear(sentences, options=GraphOptions(passes=1, batch=4), model=model)
print(hashlib.sha256(b"".join(t.tobytes() for t in model.tensors().values())).hexdigest())
"""


def test_processes_with_other_string_hashes_agree() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src"), "PATH": ""},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_restored_model_gives_the_same_scores() -> None:
    model = trained()
    model.arc_temperature, model.label_temperature = 1.5, 0.8
    metadata = json.loads(json.dumps(model.metadata()))
    twin = LinearModel.restore(model.tensors(), metadata)
    assert twin.labels == model.labels
    sentences = toy_treebank(5, seed=9)
    assert scores_of(twin, sentences, 1) == scores_of(model, sentences, 1)


def test_a_checkpoint_brings_the_weights_back() -> None:
    """To what a frozen table holds, float32 times the scale; the checkpoint is a copy."""
    model = trained()
    sentences = toy_treebank(5, seed=9)
    expected = [one.copy() for one in model.score(sentences).arcs]
    state = model.state()
    assert model.arcs.weights.dtype == np.int16
    model.load_state({name: np.zeros_like(table) for name, table in state.items()})
    assert all((one == 0.0).all() for one in model.score(sentences).arcs)
    assert state["arc"].any()
    model.load_state(state)
    for one, right in zip(model.score(sentences).arcs, expected, strict=True):
        assert_allclose(one, right, rtol=1e-5, atol=1e-6)


def test_damaged_models_are_refused() -> None:
    model = trained()
    tensors, metadata = model.tensors(), model.metadata()
    with pytest.raises(ModelError, match="format 7"):
        LinearModel.restore(tensors, metadata | {"format": 7})
    for name in [name for name in tensors if not name.endswith("scale")]:
        with pytest.raises(ModelError, match=r"damaged|too short"):
            LinearModel.restore(tensors | {name: tensors[name][:-9]}, metadata)


@pytest.mark.parametrize("n", [1, 500])
def test_short_and_long_sentences(n: int) -> None:
    model = trained()
    sentence = Sentence.build([f"w{k % 7}" for k in range(n)])
    batch = model.score([sentence, WORKED])
    scores = batch.arcs
    assert scores[0].shape == (n + 1, n + 1)
    assert np.isfinite(scores[0]).all()
    (_, alone) = scores
    assert (alone == model.arc_scores(model.encode([WORKED]))[0]).all()
    (tree, _) = SpanningTrees(scores).argmax()
    assert len(tree) == n
    logs = batch.label_log_probs([tree_arcs(tree.heads), tree_arcs(WORKED.heads)])
    assert logs[0].shape == (n, len(model.labels))


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ModelError, match="no sentence has a head"):
        train_linear([Sentence.build(["a", "b"])])
    with pytest.raises(ModelError, match="no sentence has a head"):
        train_linear([])


def test_no_sentences() -> None:
    model = trained()
    batch = model.score([])
    assert batch.arcs == []
    assert batch.label_log_probs([]) == []
    assert labelled_scores(batch) == []

"""Second order: scores of siblings, what is learnt with them, and what parsers answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.brute_force import projective_tree
from support.small_treebank import toy_treebank
from support.trees import all_trees

import crossarc as ca
from crossarc import ModelError, Sentence
from crossarc.errors import LimitError
from crossarc.models.attachment import attachment_scores
from crossarc.models.kinds import OptionError, find_kind
from crossarc.models.protocol import has_approximate_sums
from crossarc.parser import Parser

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.models.neural.calibration import calibrate  # noqa: E402
from crossarc.models.neural.inputs import Shape, Vocabularies  # noqa: E402
from crossarc.models.neural.kind import NeuralOptions  # noqa: E402
from crossarc.models.neural.losses import (  # noqa: E402
    Family,
    margin_loss,
    risk_loss,
    tree_loss,
)
from crossarc.models.neural.network import Network, TensorBatch  # noqa: E402
from crossarc.models.neural.torch_engine import torch_threads  # noqa: E402
from crossarc.parser.review import find_doubts  # noqa: E402

TINY: dict[str, Any] = {
    "kind": "neural",
    "order": 2,
    "hidden": 8,
    "layers": 1,
    "arc_size": 8,
    "label_size": 8,
    "sibling_size": 6,
    "dropout": 0.1,
    "word_dropout": 0.1,
    "batch_words": 40,
    "rate": 0.02,
    "averaging": 0.9,
    "text": False,
    "threads": 1,
    "device": "cpu",
}
BANK, DEV = toy_treebank(40, 0), toy_treebank(12, 1)
CROSSING = Sentence.build(list("abcd"), heads=[3, 4, 0, 3], deprels=["x", "x", "root", "x"])
ROOTS = [Family(True, root) for root in ("single", "multi")]
SIZES = torch.tensor([4, 2, 3])
#: The second sentence lacks a head, the third has none at all.
HEADS = torch.tensor([[-1, 2, 0, 2, 2], [-1, -1, 1, -1, -1], [-1, -1, -1, -1, -1]])
LOSSES = {"tree": tree_loss, "margin": margin_loss, "risk": risk_loss}


def tree_score(arcs: Any, siblings: Any, heads: tuple[int, ...]) -> float:
    """By walking from each head to the left and to the right."""
    total = sum(float(arcs[h, m]) for m, h in enumerate(heads, 1))
    for h in range(len(heads) + 1):
        own = [m for m, head in enumerate(heads, 1) if head == h]
        for side in ([m for m in own if m > h], [m for m in reversed(own) if m < h]):
            total += sum(float(siblings[h, s, m]) for s, m in pairwise([h, *side]))
    return total


@cache
def projective_trees(n: int, root: str) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in all_trees(n)
        if (root == "multi" or heads.count(0) == 1) and projective_tree(heads)
    ]


def tree_scores(arcs: Any, siblings: Any, n: int, family: Family) -> dict[tuple[int, ...], float]:
    return {heads: tree_score(arcs, siblings, heads) for heads in projective_trees(n, family.root)}


def expected_losses(arcs: Any, siblings: Any, heads: Any, family: Family) -> dict[str, float]:
    """By lists of all trees; of words and, for the risk, of words with a head."""
    found = dict.fromkeys(LOSSES, 0.0)
    for i, n in enumerate(SIZES.tolist()):
        known = heads[i, 1 : n + 1].tolist()
        scores = tree_scores(arcs[i].numpy(), siblings[i].numpy(), n, family)
        wrong = {t: sum(k not in (-1, h) for h, k in zip(t, known, strict=True)) for t in scores}
        agreeing = [t for t in scores if wrong[t] == 0]
        total = sum(map(math.exp, scores.values()))
        found["tree"] -= math.log(sum(math.exp(scores[t]) for t in agreeing) / total)
        found["risk"] += sum(math.exp(scores[t]) * wrong[t] for t in scores) / total
        found["margin"] += max(scores[t] + wrong[t] for t in scores)
        found["margin"] -= max(scores[t] for t in agreeing)
    return {
        name: value / int((heads >= 0).sum() if name == "risk" else SIZES.sum())
        for name, value in found.items()
    }


def random_scores() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    arcs, siblings = rng.normal(0.0, 1.5, (3, 5, 5)), rng.normal(0.0, 1.5, (3, 5, 5, 5))
    for i, n in enumerate(SIZES.tolist()):
        for table in (arcs[i], siblings[i]):
            for axis in range(table.ndim):
                np.moveaxis(table, axis, 0)[n + 1 :] = 50.0
    return torch.tensor(arcs), torch.tensor(siblings)


@pytest.mark.parametrize("family", ROOTS)
def test_losses_are_those_of_lists_of_all_trees(family: Family) -> None:
    arcs, siblings = random_scores()
    expected = expected_losses(arcs, siblings, HEADS, family)
    for name, loss in LOSSES.items():
        found = loss(arcs, HEADS, SIZES, family, sibling=siblings)
        assert float(found) == pytest.approx(expected[name], rel=1e-9)
        single = loss(arcs.float(), HEADS, SIZES, family, sibling=siblings.float())
        assert float(single) == pytest.approx(expected[name], rel=1e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_in_sibling_scores_are_derivatives(name: str) -> None:
    arcs, siblings = random_scores()
    siblings.requires_grad_()
    loss = LOSSES[name](arcs, HEADS, SIZES, ROOTS[0], sibling=siblings)
    (gradient,) = torch.autograd.grad(loss, siblings)
    step = 1e-5
    for index in [(0, 2, 2, 1), (0, 2, 3, 4), (0, 4, 3, 1), (1, 0, 0, 1), (2, 3, 2, 1)]:
        moved = torch.zeros_like(siblings)
        moved[index] = step
        high, low = (
            expected_losses(arcs, siblings.detach() + sign * moved, HEADS, ROOTS[0])[name]
            for sign in (1, -1)
        )
        assert float(gradient[index]) == pytest.approx((high - low) / (2 * step), abs=1e-6)
    assert not gradient[1, 3:].any()
    assert not gradient[1, :, 3:].any()
    assert not gradient[1, :, :, 3:].any()


def small_network(bank: list[Sentence]) -> tuple[Any, Any]:
    """In float64 with random weights everywhere, and a batch with its gold heads."""
    known = Vocabularies.build(bank, cutoff=1)
    sizes = {"hidden": 3, "arc_size": 3, "label_size": 2, "sibling_size": 4}
    shape = Shape.of(known, labels=2, layers=1, dropout=0.0, word_dropout=0.0, **sizes)
    torch.manual_seed(3)
    net = Network(shape).double().eval()
    with torch.no_grad():
        for weight in net.parameters():
            weight.normal_(0.0, 0.5)
    inputs = known.encode(bank).learnable(projective=True, root="single")
    batch = TensorBatch.of(inputs.batch(np.arange(len(bank))), torch.device("cpu"))
    return net, batch


def test_a_network_and_its_loss_by_definition() -> None:
    """Scores from the vectors of words, one product after the other; then all trees."""
    net, batch = small_network([*BANK[:3], CROSSING])
    out = net(batch)
    heads, siblings, modifiers = (one.detach().numpy() for one in out.siblings)
    weight, none = (getattr(net.sibling_scores, n).detach().numpy() for n in ("weight", "none"))
    expected = 0.0
    for i, n in enumerate(batch.sizes.tolist()):
        table = np.zeros((n + 1, n + 1, n + 1))
        for h, s, m in np.ndindex(table.shape):
            second = none if s == h else siblings[i, s]
            table[h, s, m] = (weight * heads[i, h] * second * modifiers[i, m]).sum()
        np.testing.assert_allclose(
            net.factors(out)["sibling"][i, : n + 1, : n + 1, : n + 1].detach(), table
        )
        scores = tree_scores(out.arcs[i].detach().numpy(), table, n, ROOTS[0])
        known = batch.targets[i, 1 : n + 1].tolist()
        total = sum(map(math.exp, scores.values()))
        own = sum(
            math.exp(score)
            for tree, score in scores.items()
            if all(k in (-1, h) for h, k in zip(tree, known, strict=True))
        )
        expected -= math.log(own / total)
    # One head of CROSSING has no place in a projective tree.
    assert (batch.targets != batch.heads).sum() == 1
    found = tree_loss(out.arcs, batch.targets, batch.sizes, ROOTS[0], **net.factors(out))
    assert found.item() == pytest.approx(expected / int(batch.sizes.sum()), rel=1e-9)


def test_gradients_in_the_weights_are_differences() -> None:
    net, batch = small_network([*BANK[:3], CROSSING])

    def loss() -> Any:
        out = net(batch)
        return tree_loss(out.arcs, batch.targets, batch.sizes, ROOTS[0], **net.factors(out))

    weights = {
        name: weight for name, weight in net.named_parameters() if not name.startswith("label_")
    }
    gradients = dict(zip(weights, torch.autograd.grad(loss(), list(weights.values())), strict=True))
    rng, step = np.random.default_rng(0), 1e-6
    for name, weight in weights.items():
        flat, gradient = weight.detach().view(-1), gradients[name].reshape(-1)
        index = int(gradient.abs().argmax()) if rng.random() < 0.7 else rng.integers(len(flat))
        value, found = float(flat[index]), []
        for sign in (1, -1):
            flat[index] = value + sign * step
            found.append(loss().item())
        flat[index] = value
        difference = (found[0] - found[1]) / (2 * step)
        assert float(gradient[index]) == pytest.approx(difference, abs=1e-8, rel=1e-5), name
    assert all(gradients[name].any() for name in weights if name.startswith("sibling_"))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with torch_threads(1):
        yield


@pytest.fixture(scope="module")
def parser() -> Parser:
    """Trained a little, with sibling scores that make a difference."""
    parser = Parser.train(BANK, DEV, passes=3, **TINY)
    state = parser.model.state()
    rng = np.random.default_rng(1)
    state["sibling_scores.weight"] = rng.normal(0.0, 20.0, 6).astype(np.float32)
    parser.model.load_state(state)
    parser.model.freeze()  # type: ignore[attr-defined]
    return parser


class Truth:
    """All projective trees of a sentence with one root, by the scores of a parser, best first."""

    def __init__(self, parser: Parser, sentence: Sentence) -> None:
        batch: Any = parser.model.score([sentence])  # type: ignore[attr-defined]
        assert list(batch.factors) == ["sibling"]
        n = len(sentence)
        found = tree_scores(batch.arcs[0], batch.factors["sibling"][0], n, ROOTS[0])
        self.scores = dict(sorted(found.items(), key=lambda item: -item[1]))
        self.trees = list(self.scores)
        self.log_partition = float(np.logaddexp.reduce(list(found.values())))
        self.marginals = np.zeros((n + 1, n + 1))
        for tree, score in found.items():
            self.marginals[list(tree), np.arange(1, n + 1)] += math.exp(score - self.log_partition)


def test_answers_are_those_of_all_projective_trees(parser: Parser) -> None:
    difference = 0.0
    for sentence in DEV[:6]:
        truth, trees = Truth(parser, sentence), parser.distribution(sentence)
        assert trees.log_partition() == pytest.approx(truth.log_partition, abs=1e-9)
        marginals = trees.marginals().sum(axis=2)[:, 1:]
        np.testing.assert_allclose(marginals, truth.marginals[:, 1:], atol=1e-9)
        [parsed] = parser.parse([sentence], probabilities=True)
        best = truth.trees[0]
        words = np.arange(1, len(sentence) + 1)
        assert tuple(parsed.heads.tolist()) == best
        shown = [float(misc.split("|")[0].removeprefix("HeadProb=")) for misc in parsed.misc]
        np.testing.assert_allclose(shown, truth.marginals[list(best), words], atol=6e-5)
        arcs: Any = parser.model.score([sentence]).arcs[0]  # type: ignore[attr-defined]
        of_arcs = ca.ProjectiveTrees(arcs).marginals()
        difference = max(difference, np.abs(of_arcs - truth.marginals)[:, 1:].max())
    assert difference > 0.1


def test_kbest_are_the_best_labelled_trees(parser: Parser) -> None:
    sentence = next(one for one in DEV if len(one) == 4)
    truth, words = Truth(parser, sentence), np.arange(1, 5)
    batch: Any = parser.model.score([sentence])  # type: ignore[attr-defined]
    scores = {}
    for tree, score in truth.scores.items():
        [logs] = batch.label_log_probs([(np.array(tree), words)])
        for labels in np.ndindex((logs.shape[1],) * 4):
            scores[tree, labels] = score + logs[words - 1, list(labels)].sum()
    expected = sorted(scores, key=lambda one: -scores[one])[:20]
    for (tree, labels), found in zip(expected, parser.parse([sentence], kbest=20), strict=True):
        assert tuple(found.heads.tolist()) == tree
        assert found.deprels == tuple(parser.labels[label] for label in labels)
        log_prob = scores[tree, labels] - truth.log_partition
        assert found.comment("log_prob") == f"{log_prob:.6f}"


def test_risk_constraints_and_review(parser: Parser) -> None:
    sentence = next(one for one in DEV if len(one) == 5)
    truth = Truth(parser, sentence)
    best = truth.trees
    words = np.arange(1, 6)
    gains = {tree: truth.marginals[list(tree), words].sum() for tree in truth.trees}
    [risky] = parser.parse([sentence], min_risk=True)
    assert gains[tuple(risky.heads.tolist())] == pytest.approx(max(gains.values()))
    fixed = sentence.copy()
    other = next(tree for tree in best if tree[2] != best[0][2])
    fixed.heads = [-1, -1, other[2], -1, -1]
    [kept] = parser.parse([fixed], keep_heads=True)
    assert tuple(kept.heads.tolist()) == other
    [doubts] = find_doubts(parser, [sentence])
    for doubt in doubts:
        column = truth.marginals[:, doubt.word]
        assert doubt.probability == pytest.approx(column[best[0][doubt.word - 1]], abs=1e-6)


def test_trees_that_may_cross(parser: Parser) -> None:
    """Dual decomposition finds the best tree; probabilities are those of belief propagation."""
    for sentence in DEV[:4]:
        batch: Any = parser.model.score([sentence])  # type: ignore[attr-defined]
        arcs, siblings = batch.arcs[0], batch.factors["sibling"][0]
        scores = {
            heads: tree_score(arcs, siblings, heads)
            for heads in all_trees(len(sentence))
            if heads.count(0) == 1
        }
        [parsed] = parser.parse([sentence], projective=False, probabilities=True)
        assert scores[tuple(parsed.heads.tolist())] == pytest.approx(max(scores.values()))
        assert parsed.comment("probabilities") == "approximate"
    assert has_approximate_sums(parser.model, projective=False)
    assert not parser.is_approximate


def test_a_file_has_siblings_and_numpy_the_same_scores(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser.save(tmp_path / "model")
    again = Parser.load(tmp_path / "model")
    for options in ({"probabilities": True}, {"kbest": 3}, {"min_risk": True}):
        before = [one.to_conllu() for one in parser.parse(DEV, **options)]
        assert [one.to_conllu() for one in again.parse(DEV, **options)] == before
    assert again.training["order"] == 2
    assert "order: 2" in repr(again.model)
    monkeypatch.setenv("CROSSARC_DEVICE", "numpy")
    # One head at a time, and all.
    monkeypatch.setattr("crossarc.models.neural.numpy_engine._PRODUCTS_AT_ONCE", 1)
    monkeypatch.setattr("crossarc.models.neural.network._ON_CPU", 1)
    models: list[Any] = [parser.model, again.model, Parser.load(tmp_path / "model").model]
    tables = [list(model.score(DEV).factors["sibling"]) for model in models]
    monkeypatch.undo()
    at_once = parser.model.score(DEV).factors["sibling"]  # type: ignore[attr-defined]
    for number, expected in enumerate(at_once):
        assert np.abs(expected).max() > 0.1
        for own in tables:
            np.testing.assert_allclose(own[number], expected, rtol=1e-4, atol=1e-4)
    tensors, about = parser.model.tensors(), parser.model.metadata()
    tensors["sibling_scores.none"] = tensors["sibling_scores.none"][:3]
    with pytest.raises(ModelError, match=r"sibling_scores.none .* must be float16"):
        find_kind("neural").restore(tensors, about)


def test_a_file_of_before_has_no_siblings() -> None:
    options = {**TINY, "order": 1}
    model: Any = Parser.train(BANK, passes=1, **options).model
    about = model.metadata()
    del about["shape"]["sibling_size"]
    again: Any = find_kind("neural").restore(model.tensors(), about)
    assert (model.order, again.order) == (1, 1)
    batch = again.score(DEV[:1])
    assert batch.factors == {}
    np.testing.assert_array_equal(batch.arcs[0], model.score(DEV[:1]).arcs[0])
    assert not has_approximate_sums(again, projective=False)


def test_training_learns_resumes_and_fits_a_temperature(tmp_path: Path) -> None:
    file = tmp_path / "state"

    def interrupt(stage: str, state: Any) -> None:
        if state is not None and state.number == 8:
            raise InterruptedError

    whole = Parser.train(BANK, DEV, passes=12, **TINY)
    with pytest.raises(InterruptedError):
        Parser.train(BANK, DEV, passes=12, checkpoint=str(file), progress=interrupt, **TINY)
    resumed = Parser.train(BANK, DEV, passes=12, checkpoint=str(file), **TINY)
    for name, array in whole.model.state().items():
        np.testing.assert_array_equal(array, resumed.model.state()[name])
    assert whole.model.state()["sibling_scores.weight"].all()
    assert ca.evaluate(DEV, list(whole.parse(DEV))).uas == 100.0


def test_a_temperature_divides_arcs_and_siblings(parser: Parser) -> None:
    model: Any = parser.model
    before = model.arc_temperature, model.label_temperature
    # Some sentences with missing heads, too.
    held_out = [one.copy() for one in DEV]
    for one in held_out[::3]:
        one.heads = [-1, *one.heads.tolist()[1:]]
    calibrate(model, held_out, NeuralOptions(order=2, projective=True, root="single"))

    def log_prob() -> float:
        total = 0.0
        for sentence in held_out:
            truth = Truth(parser, sentence)
            known = sentence.heads.tolist()
            agreeing = [
                score
                for tree, score in truth.scores.items()
                if all(k in (-1, h) for h, k in zip(tree, known, strict=True))
            ]
            total += float(np.logaddexp.reduce(agreeing)) - truth.log_partition
        return total

    fitted, best = model.arc_temperature, log_prob()
    for factor in (0.9, 1.1):
        model.arc_temperature = fitted * factor
        assert log_prob() < best - 1e-3
    model.arc_temperature, model.label_temperature = before


def test_held_out_scores_are_those_of_parses(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ca.evaluate(BANK, list(parser.parse(BANK, threads=1)))
    for most in (1, 100_000):  # sentences one by one, and all in one
        monkeypatch.setattr("crossarc.models.distributions._ARCS_AT_ONCE", most)
        found = attachment_scores(
            parser.model.score(BANK),  # type: ignore[attr-defined]
            BANK,
            parser.labels,
            projective=True,
            root="single",
        )
        assert found == pytest.approx({"las": expected.las, "uas": expected.uas})
    arcs: Any = parser.model.score(BANK).arcs  # type: ignore[attr-defined]
    heads = [tree.heads.tolist() for tree in ca.ProjectiveTrees(arcs).argmax()]
    right = sum(int((np.array(h) == s.heads).sum()) for h, s in zip(heads, BANK, strict=True))
    assert 100.0 * right / sum(map(len, BANK)) != pytest.approx(expected.uas)


def test_a_sentence_whose_parts_take_too_much_memory(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSARC_MAX_MEMORY", "300M")
    long = Sentence.build(["n1"] * 220, upos=["NOUN"] * 220)
    with pytest.raises(LimitError, match=r"parsing 220 words takes about .* MB of memory"):
        list(parser.parse([long], threads=1))


def test_a_member_of_a_combination(parser: Parser) -> None:
    linear = Parser.train(BANK, passes=1, order=1, projective=True, text=False, threads=1)
    both = Parser.combine([linear, parser], DEV)
    a, b = both.model.state()["arc_weights"]
    for sentence in DEV[:3]:
        first = linear.distribution(sentence).marginals().sum(axis=2)
        second = Truth(parser, sentence).marginals
        tables = [np.log(np.maximum(table, 1e-8)) for table in (first, second)]
        expected = ca.ProjectiveTrees(a * tables[0] + b * tables[1]).marginals()
        found = both.distribution(sentence).marginals().sum(axis=2)
        np.testing.assert_allclose(found[:, 1:], expected[:, 1:], atol=1e-9)
    assert both.model.summary()["members"] == "graph, neural of order 2"  # type: ignore[attr-defined]


def test_treebanks_with_crossing_arcs() -> None:
    """Order 2 learns projective trees: of all that cross it knows only the other heads."""
    crossing = [*BANK[:10], *[CROSSING] * 5]
    with pytest.raises(OptionError, match=r"order: 2 .* learns projective trees, .* --projective"):
        Parser.train(crossing, **TINY)
    with pytest.raises(OptionError, match="add --projective"):
        Parser.train(BANK, projective=False, **TINY)
    with pytest.raises(OptionError, match="loss: heads by themselves have no siblings"):
        Parser.train(BANK, loss="local", **TINY)
    with pytest.raises(OptionError, match='order: must be "1" or "2": got 3'):
        Parser.train(BANK, **{**TINY, "order": 3})
    parser = Parser.train(crossing, projective=True, passes=1, **TINY)
    assert parser.projective
    assert all(one.tree.is_projective for one in parser.parse(crossing))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_learns_and_gives_the_same_scores() -> None:
    parser = Parser.train(BANK, DEV, passes=12, **{**TINY, "device": "cuda"})
    assert ca.evaluate(DEV, list(parser.parse(DEV))).uas == 100.0
    model: Any = parser.model
    on_gpu = list(model.score(DEV).factors["sibling"])
    model.engine.to("cpu")
    for one, other in zip(model.score(DEV).factors["sibling"], on_gpu, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("loss", ["margin", "risk"])
def test_other_losses_of_trees_learn(loss: str) -> None:
    parser = Parser.train(BANK, DEV, loss=loss, passes=8, **TINY)
    assert ca.evaluate(DEV, list(parser.parse(DEV))).uas > 95.0

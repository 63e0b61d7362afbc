"""Parsers combined by their probabilities: linear ones of both kinds of trees, and a neural one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.higher_order import ORDERS, enumerated
from support.shell import crossarc
from support.small_treebank import toy_treebank

import crossarc as ca
from crossarc import ModelError, Sentence
from crossarc.models.combined.fitting import fit_weights
from crossarc.models.combined.model import CombinedModel
from crossarc.models.protocol import all_arcs
from crossarc.parser import Parser

BANK, DEV = toy_treebank(25, 0), toy_treebank(10, 1)
HAS_TORCH = importlib.util.find_spec("torch") is not None


def renamed(bank: list[Sentence], old: str, new: str) -> list[Sentence]:
    copies = [one.copy() for one in bank]
    for one in copies:
        one.deprels = [new if name == old else name for name in one.deprels]
    return copies


def noisy(bank: list[Sentence], seed: int) -> list[Sentence]:
    """Some words hang from the word at the root."""
    rng = np.random.default_rng(seed)
    copies = [one.copy() for one in bank]
    for one in copies:
        verb = one.heads.tolist().index(0) + 1
        moved = rng.random(len(one)) < 0.4
        one.heads = [
            verb if move and m != verb else int(head)
            for m, (head, move) in enumerate(zip(one.heads, moved, strict=True), 1)
        ]
    return copies


@pytest.fixture(scope="module")
def members() -> list[Parser]:
    """A parser of projective trees that learnt from noise, and one that has another label."""
    return [
        Parser.train(noisy(BANK, 0), passes=1, projective=True, text=False, threads=1),
        Parser.train(
            renamed(BANK[:4], "obj", "iobj"), passes=1, projective=False, text=False, threads=1
        ),
    ]


def log_marginals(parser: Parser, sentence: Sentence) -> Any:
    table = parser.distribution(sentence).marginals().sum(axis=2)
    return np.log(np.maximum(table, 1e-8))


def test_scores_are_weighted_log_marginals(members: list[Parser]) -> None:
    combined = Parser.combine(members, DEV)
    model: Any = combined.model
    assert (combined.kind, combined.projective, combined.root) == ("combined", False, "single")
    assert set(combined.labels) == {"nsubj", "root", "obj", "iobj", "det"}
    a, b = model.arc_weights
    for sentence in DEV[:3]:
        n = len(sentence)
        expected = a * log_marginals(members[0], sentence) + b * log_marginals(members[1], sentence)
        trees = ca.SpanningTrees(expected)
        found = combined.distribution(sentence)
        np.testing.assert_allclose(
            found.marginals().sum(axis=2)[:, 1:], trees.marginals()[:, 1:], atol=1e-9
        )
        assert found.entropy() > 0.0
        [parsed] = combined.parse([sentence], probabilities=True)
        assert parsed.heads.tolist() == trees.argmax().heads.tolist()
        # Labels: a product of the members' probabilities, normalised.
        arcs = all_arcs(n)
        logs = model.score([sentence]).label_log_probs([arcs])[0]
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
        inner = arcs[0] > 0
        parts = [one.model.score([sentence]).label_log_probs([arcs])[0][inner] for one in members]
        labels = [one.labels.index("nsubj") for one in members]
        others = [one.labels.index("det") for one in members]
        v, w = model.label_weights
        ratio = v * (parts[0][:, labels[0]] - parts[0][:, others[0]])
        ratio += w * (parts[1][:, labels[1]] - parts[1][:, others[1]])
        mine = [combined.labels.index(name) for name in ("nsubj", "det")]
        np.testing.assert_allclose(logs[inner][:, mine[0]] - logs[inner][:, mine[1]], ratio)


def log_prob(parser: Parser) -> float:
    """Of the labelled trees of DEV."""
    total = 0.0
    for sentence in DEV:
        labels = np.array([parser.labels.index(name) for name in sentence.deprels])
        total += parser.distribution(sentence).log_prob(ca.Tree(sentence.heads, labels))
    return total


def test_fitted_weights_make_held_out_trees_more_probable(members: list[Parser]) -> None:
    equal, fitted = Parser.combine(members), Parser.combine(members, DEV)
    model: Any = fitted.model
    assert np.allclose(equal.model.state()["arc_weights"], [0.5, 0.5])
    assert log_prob(fitted) > log_prob(equal) + 0.1
    assert (model.arc_weights >= 0.0).all()
    # The one that learnt from noise counts less.
    assert model.arc_weights[0] < model.arc_weights[1]


def test_the_fit_is_a_maximum(members: list[Parser]) -> None:
    """Of the likelihood and a Gaussian prior with standard deviation 0.1 around equal weights."""
    fitted = Parser.combine(members, DEV)
    model: Any = fitted.model

    def posterior() -> float:
        away = np.concatenate([model.arc_weights, model.label_weights]) - 0.5
        return log_prob(fitted) - 50.0 * float(away @ away)

    best = posterior()
    for weights in (model.arc_weights, model.label_weights):
        for k in range(2):
            for step in (-0.01, 0.01):
                weights[k] += step
                assert posterior() < best
                weights[k] -= step


def test_a_combination_in_a_file(members: list[Parser], tmp_path: Path) -> None:
    combined = Parser.combine(members, DEV)
    combined.save(tmp_path / "both")
    again = Parser.load(tmp_path / "both")
    for options in ({"probabilities": True}, {"kbest": 2}, {"min_risk": True}):
        before = [one.to_conllu() for one in combined.parse(DEV, **options)]
        assert [one.to_conllu() for one in again.parse(DEV, **options)] == before
    assert len(again.training["members"]) == 2
    # A combination can be a member.
    deeper = Parser.combine([again, members[0]], DEV)
    deeper.save(tmp_path / "deeper")
    assert Parser.load(tmp_path / "deeper").labels == deeper.labels


def test_heads_are_kept(members: list[Parser]) -> None:
    combined = Parser.combine(members, DEV)
    given = DEV[0].copy()
    given.heads = [-1] * (len(given) - 1) + [1]
    [parsed] = combined.parse([given], keep_heads=True)
    assert parsed.heads[-1] == 1


@pytest.mark.parametrize(("order", "projective"), [(3, True), (2, False)])
def test_members_of_higher_order(
    members: list[Parser], order: int, projective: bool, tmp_path: Path
) -> None:
    """Projective: marginals by enumeration; crossing: those of belief propagation."""
    own = Parser.train(
        noisy(BANK, 2), order=order, passes=1, projective=projective, text=False, threads=1
    )
    combined = Parser.combine([members[0], own], DEV)
    a, b = combined.model.state()["arc_weights"]
    assert b > 0.05
    factored = 0.0
    for sentence in DEV[:4]:
        batch: Any = own.model.score([sentence])
        factors = {name: parts[0] for name, parts in batch.factors.items()}
        if projective:
            table = enumerated_marginals(batch.arcs[0], factors)
        else:
            table = ca.HigherOrderTrees(batch.arcs[0], **factors).marginals()
        arcs_only = ca.SpanningTrees(batch.arcs[0]).marginals()
        factored = max(factored, float(np.abs(arcs_only - table)[:, 1:].max()))
        logs = np.log(np.maximum(table, 1e-8))
        trees = ca.ProjectiveTrees if combined.projective else ca.SpanningTrees
        expected = trees(a * log_marginals(members[0], sentence) + b * logs)
        found = combined.distribution(sentence).marginals().sum(axis=2)
        np.testing.assert_allclose(found[:, 1:], expected.marginals()[:, 1:], atol=1e-9)
    # Parts of several arcs count.
    assert factored > 0.01
    combined.save(tmp_path / "both")
    again = Parser.load(tmp_path / "both")
    given = DEV[0].copy()
    given.heads = [-1] * (len(given) - 1) + [1]
    asked: list[dict[str, Any]] = [{"probabilities": True}, {"kbest": 2}, {"min_risk": True}]
    for options in asked:
        before = [one.to_conllu() for one in combined.parse(DEV, **options)]
        assert [one.to_conllu() for one in again.parse(DEV, **options)] == before
    [kept] = again.parse([given], keep_heads=True, probabilities=True)
    assert kept.heads[-1] == 1
    # Not the combination's own sums are approximate, but a member's.
    assert "probabilities = approximate" not in kept.to_conllu()
    described = f"graph, graph of order {order}"
    if not projective:
        described += " (approximate probabilities)"
    assert again.model.summary()["members"] == described  # type: ignore[attr-defined]
    assert ("belief propagation" in repr(again)) is not projective
    assert ("belief propagation" in repr(Parser.combine([again, members[0]]))) is not projective


def enumerated_marginals(scores: Any, factors: dict[str, ca.Parts]) -> Any:
    """Of arcs, over all projective trees with one root."""
    dense = {}
    for name, parts in factors.items():
        dense[name] = np.zeros((len(scores),) * ORDERS[name])
        dense[name][tuple(parts.index.T)] = parts.score
    return enumerated(scores, "single", dense).marginals


def test_what_members_say_explains_a_combination(members: list[Parser]) -> None:
    combined = Parser.combine(members, DEV)
    model: Any = combined.model
    sentence = next(one for one in DEV if len(one) == 5)
    why = combined.explain(sentence, 2, 1, rival=3, deprel="det", rival_deprel="nsubj")
    said = {one.feature: one.difference for one in why.arc.features}
    for k, (member, weight) in enumerate(zip(members, model.arc_weights, strict=True), 1):
        logs = log_marginals(member, sentence)
        expected = weight * (logs[2, 1] - logs[3, 1])
        assert said[f"log p of member {k}, graph"] == pytest.approx(expected)
    assert sum(said.values()) == pytest.approx(why.arc.difference)
    assert why.label is not None
    labels = {one.feature: one.difference for one in why.label.features}
    for k, (member, weight) in enumerate(zip(members, model.label_weights, strict=True), 1):
        arc = (np.array([2]), np.array([1]))
        [[logs]] = member.model.score([sentence]).label_log_probs([arc])  # type: ignore[attr-defined]
        det, nsubj = (member.labels.index(name) for name in ("det", "nsubj"))
        expected = weight * (logs[det] - logs[nsubj])
        assert labels[f"log p of member {k}, graph"] == pytest.approx(expected)
    assert sum(labels.values()) == pytest.approx(why.label.difference)


def test_tagger_and_tokeniser_are_those_of_the_first_that_has_them(members: list[Parser]) -> None:
    whole = Parser.train(BANK, passes=1, threads=1)
    combined = Parser.combine([members[0], whole, members[1]])
    assert combined.tagger is whole.tagger
    assert combined.tokenizer is whole.tokenizer
    assert [one.forms for one in combined.parse("the n1 v2 n3")]


def test_what_cannot_be_combined(members: list[Parser]) -> None:
    with pytest.raises(ModelError, match="needs two parsers or more: got 1"):
        Parser.combine(members[:1], DEV)
    covington = Parser.train(BANK, kind="covington", passes=1, text=False)
    with pytest.raises(ModelError, match="'covington' has no probabilities to combine"):
        Parser.combine([members[0], covington], DEV)
    unknown = [Sentence.build(["a"], heads=[-1])]
    with pytest.raises(ModelError, match="no held-out sentence has a head"):
        Parser.combine(members, unknown)


def test_a_member_with_no_say(members: list[Parser]) -> None:
    """With weight 0, what a member holds for impossible does not count."""
    model = CombinedModel(Parser.combine(members).model.members)  # type: ignore[attr-defined]
    model.arc_weights = np.array([0.0, 1.0])
    sentence = DEV[0]
    alone = log_marginals(members[1], sentence)[:, 1:]
    found = model.score([sentence]).arcs[0][:, 1:]
    finite = np.isfinite(found)
    np.testing.assert_allclose(found[finite], alone[finite])
    fit_weights(model, DEV, projective=False, root="single")
    assert model.arc_weights[1] > 0.0


@pytest.mark.skipif(not HAS_TORCH, reason="extra [torch] is not installed")
def test_a_linear_and_a_neural_member_and_the_recipe() -> None:
    parser = Parser.train(BANK, DEV, kind="combined", passes=2, device="cpu", text=False, threads=1)
    model: Any = parser.model
    assert [one.model.kind for one in model.members] == ["graph", "neural"]
    linear = Parser.train(BANK, DEV, order=1, text=False, threads=1)
    np.testing.assert_array_equal(
        model.members[0].model.state()["arc"], linear.model.state()["arc"]
    )
    assert ca.evaluate(DEV, list(parser.parse(DEV))).uas > 80.0


@pytest.mark.skipif(not HAS_TORCH, reason="extra [torch] is not installed")
def test_the_best_parser_on_the_command_line(tmp_path: Path) -> None:
    bank, dev, model = tmp_path / "bank", tmp_path / "dev", tmp_path / "model"
    ca.write_conllu(BANK, bank)
    ca.write_conllu(DEV, dev)
    state = tmp_path / "state"
    options = ("--passes", 1, "--device", "cpu", "--checkpoint", state)
    done = crossarc("train", bank, "--dev", dev, "-o", model, "--best", *options)
    assert done.returncode == 0
    lines = done.stderr.decode().splitlines()
    assert lines[0] == "crossarc: training takes about 0 minutes on a CPU with two cores"
    assert "learnt from" in lines[1]
    parser = Parser.load(model)
    assert parser.kind == "combined"
    assert parser.training["members"] == "graph,neural"
    refused = crossarc("train", bank, "-o", model, "--members", "graph,graph")
    assert refused.returncode == 2
    refused = crossarc("train", bank, "-o", model, "--best", "--members", "graph,covington")
    assert refused.returncode == 2
    assert b"no probabilities" in refused.stderr
    refused = crossarc("train", bank, "-o", model, "--best", "--members", "graph,combined")
    assert refused.returncode == 2
    assert b"among graph, covington, neural" in b" ".join(refused.stderr.split())
    refused = crossarc("train", bank, "-o", model, "--kind", "neural", "--device", "nowhere")
    assert refused.returncode == 2
    assert b"no such device here" in refused.stderr


def test_the_command_line(members: list[Parser], tmp_path: Path) -> None:
    dev, both = tmp_path / "dev.conllu", tmp_path / "both"
    ca.write_conllu(DEV, dev)
    for number, member in enumerate(members):
        member.save(tmp_path / f"m{number}")
    paths = [tmp_path / "m0", tmp_path / "m1"]
    done = crossarc("combine", *paths, "--dev", dev, "-o", both)
    assert (done.returncode, done.stdout) == (0, b"")
    weights = Parser.load(both).model.state()["arc_weights"]
    assert f"m0 {weights[0]:.2f} / ".encode() in done.stderr
    assert np.allclose(weights, Parser.combine(members, DEV).model.state()["arc_weights"])
    done = crossarc("parse", "-m", both, dev, "-o", tmp_path / "parsed")
    scores = ca.evaluate(DEV, list(ca.read_conllu(tmp_path / "parsed")))
    assert Parser.load(both).training["uas"] == pytest.approx(scores.uas)
    assert Parser.load(both).training["las"] == pytest.approx(scores.las)
    refused = crossarc("combine", paths[0], "--dev", dev, "-o", both)
    assert refused.returncode == 2
    assert b"two models or more" in refused.stderr
    missing = crossarc("combine", *paths, "--dev", dev, "-o", tmp_path / "no" / "both")
    assert missing.returncode == 2
    refused = crossarc("train", dev, "-o", both, "--best", "--kind", "graph")
    assert refused.returncode == 2
    assert b"--best" in refused.stderr

"""Training: what is learnt, that it can be repeated, interrupted and saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_treebank import toy_treebank

import crossarc as ca
from crossarc import ModelError, Sentence
from crossarc.models.kinds import OptionError, find_kind
from crossarc.models.protocol import all_arcs
from crossarc.parser import Parser
from crossarc.treebank import sample

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.models.neural.kind import LOSSES  # noqa: E402

TINY: dict[str, Any] = {
    "kind": "neural",
    "hidden": 12,
    "layers": 1,
    "arc_size": 12,
    "label_size": 8,
    "dropout": 0.1,
    "word_dropout": 0.1,
    "batch_words": 40,
    "rate": 0.01,
    "averaging": 0.9,
    "text": False,
    "threads": 1,
    "device": "cpu",
}
BANK, DEV = toy_treebank(40, 0), toy_treebank(12, 1)


def weights(parser: Parser) -> dict[str, Any]:
    return parser.model.state()


def assert_same(one: Parser, other: Parser) -> None:
    assert weights(one).keys() == weights(other).keys()
    for name, array in weights(one).items():
        np.testing.assert_array_equal(array, weights(other)[name])


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_an_unambiguous_language(loss: str) -> None:
    parser = Parser.train(BANK, DEV, passes=12, loss=loss, **TINY)
    scores = ca.evaluate(DEV, list(parser.parse(DEV)))
    assert (scores.uas, scores.las_full) == (100.0, 100.0)


def test_training_stops_when_the_score_does_not_rise() -> None:
    """With a learning rate of 0 nothing changes after the first pass."""
    seen: list[int] = []

    def record(stage: str, state: Any) -> None:
        if state is not None and state.scores:
            seen.append(state.number)

    options = {**TINY, "rate": 0.0}
    Parser.train(BANK, DEV, passes=9, patience=3, progress=record, **options)
    assert seen == [1, 2, 3, 4]


def test_mixed_precision_learns_as_well() -> None:
    parser = Parser.train(BANK, DEV, passes=12, precision="bf16", **TINY)
    assert ca.evaluate(DEV, list(parser.parse(DEV))).las_full == 100.0


def test_without_held_out_sentences_the_last_pass_counts() -> None:
    parser = Parser.train(BANK, passes=10, **TINY)
    assert ca.evaluate(DEV, list(parser.parse(DEV))).uas == 100.0
    assert "las" not in parser.training


def test_missing_heads_are_summed_over() -> None:
    """Subjects and objects know their heads in one half of the sentences each."""
    partial = []
    for number, sentence in enumerate(BANK):
        hidden = sentence.copy()
        part = "nsubj" if number % 2 else "obj"
        hidden.heads = [
            -1 if relation in (part, "det") and number % 3 else int(head)
            for head, relation in zip(sentence.heads, sentence.deprels, strict=True)
        ]
        partial.append(hidden)
    assert any((one.heads < 0).any() for one in partial)
    parser = Parser.train(partial, passes=12, **TINY)
    assert ca.evaluate(DEV, list(parser.parse(DEV))).uas == 100.0


def test_a_seed_gives_the_same_weights_and_another_others() -> None:
    one, same = (Parser.train(BANK, DEV, passes=2, seed=5, **TINY) for _ in range(2))
    assert_same(one, same)
    other = Parser.train(BANK, DEV, passes=2, seed=6, **TINY)
    assert not np.array_equal(
        weights(one)["arc_scores.weight"], weights(other)["arc_scores.weight"]
    )


def test_training_leaves_the_generator_of_others_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    Parser.train(BANK, passes=1, **TINY)
    assert torch.equal(torch.rand(3), expected)


class InterruptedTrainingError(Exception):
    pass


def test_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    file = tmp_path / "state"

    def interrupt(stage: str, state: Any) -> None:
        if state is not None and state.number == 3:
            raise InterruptedTrainingError

    whole = Parser.train(BANK, DEV, passes=5, **TINY)
    with pytest.raises(InterruptedTrainingError):
        Parser.train(BANK, DEV, passes=5, checkpoint=str(file), progress=interrupt, **TINY)
    assert file.exists()
    seen: list[int] = []

    def record(stage: str, state: Any) -> None:
        if state is not None:
            seen.append(state.number)

    with pytest.raises(ModelError, match="a checkpoint of another training: remove it"):
        Parser.train(BANK, DEV, passes=6, checkpoint=str(file), **TINY)
    resumed = Parser.train(BANK, DEV, passes=5, checkpoint=str(file), progress=record, **TINY)
    assert_same(whole, resumed)
    assert min(seen) == 3
    assert not file.exists()


def test_a_model_in_a_file_is_the_model(tmp_path: Path) -> None:
    parser = Parser.train(BANK, DEV, passes=3, **TINY)
    parser.save(tmp_path / "model")
    again = Parser.load(tmp_path / "model")
    assert_same(parser, again)
    for options in ({"probabilities": True}, {"kbest": 3}, {"min_risk": True}):
        before = [one.to_conllu() for one in parser.parse(DEV, **options)]
        assert [one.to_conllu() for one in again.parse(DEV, **options)] == before
    assert again.training["loss"] == "tree"


def test_scores_do_not_depend_on_the_other_sentences_of_a_batch() -> None:
    parser = Parser.train(BANK, DEV, passes=2, **TINY)
    model: Any = parser.model
    long = Sentence.build(["the", "n1"] * 15, upos=["DET", "NOUN"] * 15)
    batch = model.score([*DEV[:3], long])
    for number, sentence in enumerate([*DEV[:3], long]):
        single = model.score([sentence])
        np.testing.assert_allclose(batch.arcs[number], single.arcs[0], atol=1e-4)
        arcs = all_arcs(len(sentence))
        every = [all_arcs(len(one)) for one in (*DEV[:3], long)]
        np.testing.assert_allclose(
            batch.label_log_probs(every)[number], single.label_log_probs([arcs])[0], atol=1e-4
        )


def test_labels_are_probabilities_and_the_root_has_its_own() -> None:
    model: Any = Parser.train(BANK, DEV, passes=1, **TINY).model
    [logs] = model.score(DEV[:1]).label_log_probs([all_arcs(len(DEV[0]))])
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    root = model.labels.index("root")
    at_root = all_arcs(len(DEV[0]))[0] == 0
    assert (logs[at_root, root] == 0.0).all()
    assert np.isneginf(logs[~at_root, root]).all()


def test_temperatures_make_held_out_trees_most_probable() -> None:
    parser = Parser.train(BANK, DEV, passes=4, projective=False, **TINY)
    model: Any = parser.model

    def log_prob() -> float:
        distributions = [parser.distribution(one) for one in DEV]
        pairs = zip(distributions, DEV, strict=True)
        return sum(d.log_prob(heads=dict(enumerate(s.heads.tolist(), 1))) for d, s in pairs)

    fitted, best = model.arc_temperature, log_prob()
    for factor in (0.9, 1.1):
        model.arc_temperature = fitted * factor
        assert log_prob() < best - 0.05


def test_numpy_gives_the_same_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's LSTM is the reference; several layers, features and words of all lengths."""
    bank = sample()[:40]
    parser = Parser.train(bank, passes=2, **{**TINY, "layers": 2})
    parser.save(tmp_path / "model")
    monkeypatch.setenv("CROSSARC_DEVICE", "numpy")
    again = Parser.load(tmp_path / "model")
    assert "device: numpy" in repr(again.model)
    assert_same(parser, again)
    models: list[Any] = [parser.model, again.model]
    one, other = (model.score(bank) for model in models)
    for table, expected in zip(other.arcs, one.arcs, strict=True):
        np.testing.assert_allclose(table, expected, rtol=1e-4, atol=1e-5)
    arcs = [all_arcs(len(sentence)) for sentence in bank]
    pairs = zip(other.label_log_probs(arcs), one.label_log_probs(arcs), strict=True)
    for table, expected in pairs:
        np.testing.assert_allclose(table, expected, rtol=1e-4, atol=1e-5)
    assert [s.heads.tolist() for s in again.parse(bank)] == [
        s.heads.tolist() for s in parser.parse(bank)
    ]
    tensors = again.model.tensors()
    tensors["arc_scores.weight"] = tensors["arc_scores.weight"][:, :3]
    with pytest.raises(ModelError, match=r"arc_scores.weight .* must be float16"):
        find_kind("neural").restore(tensors, again.model.metadata())


def test_reduced_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 has 8 bits: scores are near those of float32, and not the same."""
    bank = sample()[:20]
    Parser.train(bank, passes=2, **TINY).save(tmp_path / "model")
    exact: Any = Parser.load(tmp_path / "model").model
    monkeypatch.setenv("CROSSARC_PRECISION", "bf16")
    reduced: Any = Parser.load(tmp_path / "model").model
    expected = np.concatenate([table.ravel() for table in exact.score(bank).arcs])
    found = np.concatenate([table.ravel() for table in reduced.score(bank).arcs])
    errors = np.abs(found - expected)
    assert 1e-5 < errors.max() < 0.03 * np.abs(expected).max()
    monkeypatch.setenv("CROSSARC_PRECISION", "int4")
    with pytest.raises(ModelError, match="CROSSARC_PRECISION must be float32 or bf16: got 'int4'"):
        Parser.load(tmp_path / "model")


@pytest.mark.parametrize("device", ["numpy", "cpu"])
@pytest.mark.parametrize("pairs", [1, 500, 1 << 20])
def test_entropies_are_those_of_the_probabilities(
    device: str, pairs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of some modifiers, or all, at a time; sentences of all lengths."""
    module = f"crossarc.models.neural.{'torch' if device == 'cpu' else 'numpy'}_engine"
    monkeypatch.setattr(f"{module}._SCORES_AT_ONCE", pairs)
    monkeypatch.setenv("CROSSARC_DEVICE", device)
    bank = sample()[:12]
    Parser.train(bank, passes=2, **TINY).save(tmp_path / "model")
    model: Any = Parser.load(tmp_path / "model").model
    model.label_temperature = 0.3
    model.permitted[1, 2:] = np.arange(len(model.labels) - 2) % 3 > 0
    batch, arcs = model.score(bank), [all_arcs(len(sentence)) for sentence in bank]
    assert batch.label_counts == tuple(model.permitted.sum(axis=1))
    for found, logs in zip(batch.label_entropies(arcs), batch.label_log_probs(arcs), strict=True):
        expected = -(np.exp(logs) * np.where(np.isneginf(logs), 0.0, logs)).sum(axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert expected.max() > 0.1


def test_what_is_refused() -> None:
    unknown = [Sentence.build(["a"], heads=[-1])]
    with pytest.raises(ModelError, match="nothing to learn from"):
        Parser.train(unknown, **TINY)
    with pytest.raises(ModelError, match="no held-out sentence has a head"):
        Parser.train(BANK, unknown, **TINY)
    with pytest.raises(OptionError, match="device: no such device here: 'nowhere'"):
        Parser.train(BANK, **{**TINY, "device": "nowhere"})
    with pytest.raises(OptionError, match="loss: must be"):
        Parser.train(BANK, **TINY, loss="least")


def test_a_file_whose_weights_do_not_fit() -> None:
    model: Any = Parser.train(BANK, passes=1, **TINY).model
    tensors = model.tensors()
    tensors["arc_scores.weight"] = tensors["arc_scores.weight"][:, :3]
    with pytest.raises(ModelError, match=r"arc_scores.weight .* must be float16"):
        find_kind("neural").restore(tensors, model.metadata())
    with pytest.raises(ModelError, match="format 9"):
        find_kind("neural").restore(tensors, {**model.metadata(), "format": 9})


def on_gpu(model: Any) -> Any:
    model.engine.to("cuda")
    return model


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_gives_the_same_scores() -> None:
    parser = Parser.train(BANK, DEV, passes=3, **TINY)
    model: Any = parser.model
    on_cpu, arcs = model.score(DEV), [all_arcs(len(sentence)) for sentence in DEV]
    entropies = on_cpu.label_entropies(arcs)
    batch = on_gpu(model).score(DEV)
    for one, other in zip(on_cpu.arcs, batch.arcs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    for one, other in zip(entropies, batch.label_entropies(arcs), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)

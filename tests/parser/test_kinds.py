"""A new kind of model is one file and one entry in the registry: all else knows the protocol."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.distance_kind import DISTANCE, DistanceOptions
from support.files import ROOT

import crossarc as ca
from crossarc import ModelError, Sentence, read_conllu
from crossarc.models import kinds
from crossarc.models.kinds import OptionError, find_kind, kind_names, register
from crossarc.models.protocol import ParsingModel, ScoringModel, all_arcs
from crossarc.parser import Parser
from crossarc.parser.decoding import make_decoder

# Lengths of arcs: 1, 2, 1 and 2, 1, 3.
BANK = [
    Sentence.build(list("abc"), upos=list("XYZ"), heads=[2, 0, 2], deprels=["x", "root", "x"]),
    Sentence.build(list("abc"), upos=list("XYZ"), heads=[3, 1, 0], deprels=["x", "x", "root"]),
]


@pytest.fixture(autouse=True)
def distance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_REGISTERED", {})
    register(DISTANCE)


def trainable() -> list[str]:
    """All kinds, without those of an extra that is not installed."""
    absent = () if importlib.util.find_spec("torch") else ("neural", "combined")
    return [name for name in kind_names() if name not in absent]


def expected_scores(n: int) -> np.ndarray:
    """Of BANK's arcs 3 have length 1, 2 length 2, 1 length 3; one is added to each."""
    scores = np.zeros((n + 1, n + 1))
    for h in range(n + 1):
        for m in range(n + 1):
            scores[h, m] = np.log({0: 1.0, 1: 4.0, 2: 3.0, 3: 2.0}.get(abs(h - m), 1.0))
    return scores


def test_the_registry_names_every_kind() -> None:
    assert kind_names() == ("graph", "covington", "neural", "combined", "distance")
    for name in kind_names():
        assert find_kind(name).name == name
        assert issubclass(find_kind(name).options, kinds.TrainOptions)
    with pytest.raises(OptionError, match='"combined" or "distance": got \'tree\''):
        find_kind("tree")


def test_train_save_load_and_parse(tmp_path: Path) -> None:
    parser = Parser.train(BANK, kind="distance", root="single", projective=False, text=False)
    assert (parser.kind, parser.labels) == ("distance", ("root", "x"))
    assert parser.training["longest"] == 5
    parser.save(tmp_path / "model")
    again = ca.load(tmp_path / "model")
    sentence = Sentence.build(list("abcd"), upos=list("XXXX"))
    trees = ca.SpanningTrees(expected_scores(4))
    [parsed] = again.parse([sentence], probabilities=True)
    assert parsed.heads.tolist() == trees.argmax().heads.tolist()
    # Four of six arcs are labelled x.
    assert parsed.deprels == ("x",) * 4
    words = np.arange(1, 5)
    marginals = trees.marginals()[parsed.heads, words]
    shown = [dict(e.partition("=")[::2] for e in misc.split("|")) for misc in parsed.misc]
    assert [one["HeadProb"] for one in shown] == [f"{p:.4f}" for p in marginals]
    assert {one["DeprelProb"] for one in shown} == {"0.6667"}
    # H(labelled trees) = H(trees) + 4 H(1/3, 2/3)
    entropy = trees.entropy() - 4 * (np.log(1 / 3) / 3 + np.log(2 / 3) * 2 / 3)
    assert parsed.comment("entropy") == f"{entropy:.4f}"
    best = list(again.parse([sentence], kbest=3))
    assert [one.comment("kbest") for one in best] == ["1/3", "2/3", "3/3"]
    np.testing.assert_allclose(
        again.distribution(sentence).marginals().sum(axis=2)[:, 1:], trees.marginals()[:, 1:]
    )


def test_options_of_the_kind() -> None:
    parser = Parser.train(BANK, kind="distance", longest=2, text=False)
    assert parser.model.state()["lengths"].tolist() == [1.0, 4.0, 4.0]
    with pytest.raises(OptionError, match="longest: must be at least 1: got 0"):
        Parser.train(BANK, kind="distance", longest=0)
    with pytest.raises(OptionError, match='beam: an option of the kind "covington" only, not of'):
        Parser.train(BANK, kind="distance", beam=3)
    with pytest.raises(OptionError, match='longest: an option of the kind "distance" only'):
        Parser.train(BANK, longest=3)
    crossing = Sentence.build(list("abcd"), heads=[3, 4, 0, 3])
    for bank, projective in ((BANK, True), ([*BANK, crossing], False)):
        assert DistanceOptions().resolved(bank).projective is projective
        assert DistanceOptions().resolved(bank).root == "single"
    assert DistanceOptions(projective=False).resolved(BANK).projective is False


def test_a_checkpoint_of_any_kind_is_the_model() -> None:
    """Weights set to zero and back: the parse is that of before."""
    for name in trainable():
        parser = Parser.train(BANK * 3, kind=name, passes=2, text=False)
        before = [one.to_conllu() for one in parser.parse(BANK)]
        state = {key: value.copy() for key, value in parser.model.state().items()}
        parser.model.load_state({key: np.ones_like(value) for key, value in state.items()})
        parser.model.load_state(state)
        assert [one.to_conllu() for one in parser.parse(BANK)] == before


def test_each_model_is_of_one_protocol() -> None:
    scoring = {
        name: isinstance(Parser.train(BANK, kind=name, passes=1, text=False).model, ScoringModel)
        for name in trainable()
    }
    assert scoring == {name: name != "covington" for name in trainable()}
    covington = Parser.train(BANK, kind="covington", passes=1, text=False).model
    assert isinstance(covington, ParsingModel)
    nothing: Any = object()
    with pytest.raises(TypeError, match="must have score\\(\\) or parse\\(\\): got object"):
        make_decoder(nothing, False, "single")


def test_a_file_of_a_kind_that_is_not_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Parser.train(BANK, kind="distance", text=False).save(tmp_path / "model")
    monkeypatch.setattr(kinds, "_REGISTERED", {})
    with pytest.raises(ModelError, match='no parser of the kind "graph", "covington",'):
        Parser.load(tmp_path / "model")


def test_all_arcs() -> None:
    heads, modifiers = all_arcs(2)
    assert heads.tolist() == [0, 0, 1, 1, 2, 2]
    assert modifiers.tolist() == [1, 2, 1, 2, 1, 2]


PROGRAM = """
import sys; sys.path[:0] = [sys.argv.pop(1)]
from support.distance_kind import DISTANCE
from crossarc.models.kinds import register
register(DISTANCE)
from crossarc.app.cli import main
main()
"""


def command(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    program = [sys.executable, "-c", PROGRAM, str(ROOT / "tests"), *map(str, arguments)]
    return subprocess.run(program, capture_output=True, check=False)


def test_the_command_line_knows_the_kind(tmp_path: Path) -> None:
    bank, model, parsed = tmp_path / "bank", tmp_path / "model", tmp_path / "parsed"
    ca.write_conllu(BANK, bank)
    shown = " ".join(command("train", "--help").stdout.decode().split())
    assert "distance: by the length of arcs" in shown
    assert "--longest L Kind distance: Longer arcs are all alike." in shown
    done = command(
        "train", bank, "-o", model, "--kind", "distance", "--longest", 3, "--nonprojective"
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"learnt from 6 words (non-projective, single root)" in done.stderr
    done = command("parse", "-m", model, bank, "-o", parsed, "--probabilities")
    assert (done.returncode, done.stderr) == (0, b"")
    marginals = ca.SpanningTrees(expected_scores(3)).marginals()
    for sentence in read_conllu(parsed):
        for m, (h, misc) in enumerate(zip(sentence.heads, sentence.misc, strict=True), 1):
            assert f"HeadProb={marginals[h, m]:.4f}" in misc
    refused = command("train", bank, "-o", tmp_path / "x", "--longest", 3)
    assert refused.returncode == 2
    assert b"--longest" in refused.stderr
    assert 'an option of the kind "distance" only' in " ".join(refused.stderr.decode().split())

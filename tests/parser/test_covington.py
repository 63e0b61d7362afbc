"""Covington parsers through the front door: train, parse, save, load, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.covington_reference import PlainLearner
from support.shell import crossarc
from support.small_treebank import toy_treebank

from crossarc import ModelError, Sentence, evaluate, load
from crossarc.models.covington.kind import CovingtonOptions
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.covington.training import train_covington
from crossarc.parser import Parser
from crossarc.treebank import SAMPLE_PATH


@pytest.fixture(scope="module")
def covington(bank: list[Sentence]) -> Parser:
    return Parser.train(bank, kind="covington", max_degree=2, passes=15, threads=2)


@pytest.fixture(scope="module")
def saved(covington: Parser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "covington"
    covington.save(path)
    return path


def test_it_learns_a_treebank_by_heart(covington: Parser, bank: list[Sentence]) -> None:
    """The sample bank has degree 2, so that the bound loses nothing."""
    assert (covington.kind, covington.root, covington.projective) == ("covington", "single", False)
    assert evaluate(bank, covington.parse(bank)).las_full == 100.0


@pytest.mark.parametrize("beam", [1, 4])
def test_it_learns_a_language_that_is_unambiguous(beam: int) -> None:
    """New sentences of the toy language have no other tree."""
    options: dict[str, Any] = {"projective": True, "beam": beam, "passes": 6, "text": False}
    parser = Parser.train(toy_treebank(120, 0), kind="covington", **options)
    unseen = toy_treebank(60, 1)
    scores = evaluate(unseen, parser.parse(unseen))
    assert (scores.uas, scores.las) == (100.0, 100.0)


def test_a_beam_learns_a_treebank_by_heart(bank: list[Sentence]) -> None:
    """But for a word or two: the last weights make no mistake, their mean a few."""
    some = bank[:40]
    parser = Parser.train(some, kind="covington", beam=4, passes=15, text=False)
    assert evaluate(some, parser.parse(some)).las_full > 99.0


@pytest.mark.parametrize("number", range(3))
def test_the_first_pass_follows_the_oracle(number: int, bank: list[Sentence]) -> None:
    """Later ones try what the weights say. The model has the mean of the weights it decided by."""
    one = [sentence for sentence in bank if 6 <= len(sentence) <= 14][number]
    options = CovingtonOptions(passes=1, exploring=1.0, root="single")
    found = train_covington([one], options=options).weights
    model = CovingtonModel.build([one], max_degree=None, root="single")
    model.weights = np.zeros(model.size, np.int64)
    learner = PlainLearner(model, model.encode([one], gold=True), 0)
    learner.learn()
    mean = learner.used / learner.steps
    np.testing.assert_array_equal(found, np.rint(mean * (32767 / np.abs(mean).max())))


def test_same_output_in_another_process_with_other_threads(
    covington: Parser, bank: list[Sentence], saved: Path
) -> None:
    here = b"".join(map(bytes, covington.parse(bank, threads=2)))
    program = (
        "import sys, crossarc as ca\n"
        "parsed = ca.load(sys.argv[1]).parse(ca.read_conllu(sys.argv[2]), threads=1)\n"
        "ca.write_conllu(parsed, sys.stdout.buffer)\n"
    )
    there = subprocess.run(
        [sys.executable, "-c", program, saved, SAMPLE_PATH], capture_output=True, check=True
    ).stdout
    assert there == here


def test_files_are_the_same_whatever_the_threads(
    bank: list[Sentence], saved: Path, tmp_path: Path
) -> None:
    load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()
    for beam in (1, 2):
        for threads in (1, 2):
            parser = Parser.train(
                bank[:40],
                bank[40:60],
                kind="covington",
                beam=beam,
                passes=2,
                threads=threads,
                text=beam == 1,
            )
            parser.save(tmp_path / str(threads))
        assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_text_is_tokenised_and_tagged(covington: Parser) -> None:
    (sentence,) = covington("Nobody could read.")
    assert sentence.forms == ("Nobody", "could", "read", ".")
    assert "_" not in sentence.upos
    assert sentence.tree.is_single_root


def test_given_heads_and_their_relations_stay(covington: Parser, bank: list[Sentence]) -> None:
    sentence = next(one for one in bank if len(one) > 8).copy()
    heads = [-1] * len(sentence)
    heads[0] = len(sentence)
    sentence.heads = heads
    sentence.deprels = ["odd", *["_"] * (len(sentence) - 1)]
    (parsed,) = covington.parse([sentence], keep_heads=True)
    assert parsed.heads[0] == len(sentence)
    assert parsed.deprels[0] == "odd"
    assert (parsed.heads >= 0).all()
    assert sentence.heads.tolist() == heads


def test_partial_trees_and_held_out_sentences(bank: list[Sentence]) -> None:
    """Missing heads cost nothing; dev decides which pass is kept."""
    partial = [one.copy() for one in bank]
    for one in partial[::2]:
        one.heads = np.where(np.arange(len(one)) % 3 == 0, -1, one.heads)
    passes: list[float] = []
    model = train_covington(
        partial,
        bank[:30],
        options=CovingtonOptions(passes=6, patience=6),
        progress=lambda state: passes.append(state.scores["las"]) if state.scores else None,
    )
    parser = Parser(model, projective=False, root="single")
    assert len(passes) == 6
    assert evaluate(bank[:30], parser.parse(bank[:30])).las == pytest.approx(max(passes))


def test_one_very_long_sentence(covington: Parser, bank: list[Sentence]) -> None:
    """All words of the bank, five times, in one sentence."""
    words = {
        column: [value for one in bank for value in getattr(one, column)] * 5
        for column in ("forms", "lemmas", "upos", "xpos", "feats")
    }
    (parsed,) = covington.parse([Sentence.build(**words)])
    assert len(parsed) == 5040
    assert parsed.tree.is_single_root
    assert parsed.tree.degree <= 2


@pytest.mark.parametrize("option", [{"probabilities": True}, {"kbest": 2}, {"min_risk": True}])
def test_one_tree_and_no_probabilities(covington: Parser, option: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="one tree and no probabilities: train one of the kind"):
        covington.parse([], **option)  # type: ignore[typeddict-item]


def test_trees_are_chosen_by_training(covington: Parser) -> None:
    with pytest.raises(ModelError, match="of the kind 'covington' are chosen when it is trained"):
        covington.parse([], projective=True)


def test_no_distribution(covington: Parser, bank: list[Sentence]) -> None:
    with pytest.raises(ModelError, match="one tree and no probabilities"):
        covington.distribution(bank[0])
    with pytest.raises(ModelError, match="one tree and no probabilities"):
        list(covington.head_probabilities(bank[:1]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_degree": 1}, 'max_degree: an option of the kind "covington" only, not of'),
        ({"beam": 4}, 'beam: an option of the kind "covington" only, not of'),
        ({"bean": 4}, "bean: no such option of the kind 'graph': use projective, root,"),
        ({"passes": 0}, "passes: must be at least 1: got 0"),
        ({"root": "none"}, 'root: must be "single" or "multi": got'),
        ({"learner": "magic"}, 'learner: must be "loglinear", "perceptron", "mira" or'),
        ({"kind": "covington", "max_degree": -1}, "max_degree: must be at least 0: got -1"),
        ({"kind": "covington", "beam": 0}, "beam: must be at least 1: got 0"),
        ({"kind": "covington", "learner": "loglinear"}, 'learner: must be "perceptron": got'),
        ({"kind": "covington", "projective": True, "max_degree": 1}, "projective and max_degree:"),
        ({"kind": "covington", "projective": False, "max_degree": 0}, "projective and max_degree:"),
        (
            {"kind": "tree"},
            'kind: must be "graph", "covington", "neural" or "combined": got \'tree\'',
        ),
    ],
)
def test_options_that_do_not_fit(
    bank: list[Sentence], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Parser.train(bank, **options)


def test_nothing_to_learn_from() -> None:
    with pytest.raises(ModelError, match="no sentences to learn from"):
        Parser.train([], kind="covington")
    with pytest.raises(ModelError, match="no sentence has a head"):
        Parser.train([Sentence.build(["a", "b"])], kind="covington", text=False)


def test_the_command_line(tmp_path: Path) -> None:
    model = tmp_path / "model"
    options = ("--kind", "covington", "--max-degree", 2, "--passes", 2)
    done = crossarc("train", "@sample", "-o", model, *options)
    assert done.returncode == 0
    assert b"learnt from 1,008 words (degree at most 2, single root)" in done.stderr
    one, two = (
        crossarc("parse", "-m", model, "@sample", "--workers", workers).stdout for workers in (1, 2)
    )
    assert one == two
    assert one.count(b"\n\n") == 126
    refused = crossarc("parse", "-m", model, "@sample", "--probabilities")
    assert refused.returncode == 1
    assert refused.stderr.count(b"\n") == 1
    assert b"one tree and no probabilities" in refused.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-degree", 2], 'an option of the kind "covington" only'),
        (["--beam", 2], 'an option of the kind "covington" only'),
        (["--kind", "covington", "--max-degree", -1], "greater than or equal to 0"),
        (["--kind", "covington", "--learner", "loglinear"], 'must be "perceptron"'),
        (["--kind", "covington", "--projective", "--max-degree", 1], "give one of them"),
        (
            ["--kind", "tree"],
            'for --kind: must be "graph", "covington", "neural" or "combined": got \'tree\'',
        ),
        (["--root", "none"], 'for --root: must be "single" or "multi": got \'none\''),
    ],
)
def test_wrong_usage(tmp_path: Path, options: list[object], message: str) -> None:
    done = crossarc("train", "@sample", "-o", tmp_path / "model", *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.decode().split())
    assert not (tmp_path / "model").exists()

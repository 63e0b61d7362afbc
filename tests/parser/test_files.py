"""Parsers in files: the same output after loading, and one clear line for a wrong file."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from crossarc import ModelError, Sentence
from crossarc.models.storage import read_model, write_model
from crossarc.parser import Parser, load, shipped_models
from crossarc.treebank import SAMPLE_PATH


@pytest.fixture(scope="module")
def saved(parser: Parser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "sample"
    parser.save(path)
    return path


def test_same_output_in_another_process_with_other_threads(
    parser: Parser, bank: list[Sentence], saved: Path
) -> None:
    here = b"".join(map(bytes, parser.parse(bank, probabilities=True, threads=2)))
    program = (
        "import sys, crossarc as ca\n"
        "parser = ca.Parser.load(sys.argv[1])\n"
        "parsed = parser.parse(ca.read_conllu(sys.argv[2]), probabilities=True, threads=1)\n"
        "ca.write_conllu(parsed, sys.stdout.buffer)\n"
    )
    there = subprocess.run(
        [sys.executable, "-c", program, saved, SAMPLE_PATH], capture_output=True, check=True
    ).stdout
    assert there == here


def test_text_is_parsed_the_same_after_loading(parser: Parser, saved: Path) -> None:
    text = "Who arrived? Nobody could read."
    assert [s.to_conllu() for s in load(saved)(text)] == [s.to_conllu() for s in parser(text)]


def test_saving_what_was_loaded_gives_the_same_file(saved: Path, tmp_path: Path) -> None:
    Parser.load(saved).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_training_again_gives_the_same_file(
    parser: Parser, bank: list[Sentence], tmp_path: Path
) -> None:
    """Whatever the number of threads."""
    for threads in (1, 2):
        Parser.train(bank[:40], passes=2, threads=threads).save(tmp_path / str(threads))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_a_full_disk_leaves_the_old_file(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"precious")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            parser.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


def test_no_such_model() -> None:
    with pytest.raises(ModelError, match="nonsense: no such model file"):
        Parser.load("nonsense")


def test_another_kind_of_model(saved: Path, tmp_path: Path) -> None:
    arrays, metadata = read_model(saved)
    write_model(tmp_path / "x", arrays, {**metadata, "kind": "tagger"})
    with pytest.raises(
        ModelError, match='no parser of the kind "graph", "covington", "neural" or "combined"'
    ):
        Parser.load(tmp_path / "x")


def test_shipped_models_load() -> None:
    for name in shipped_models():
        assert load(name).tokenizer is not None

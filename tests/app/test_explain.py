"""`crossarc explain`, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.shell import crossarc

import crossarc as ca

TEXT = b"I saw the man with the telescope. Dogs bark."


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parsed") / "parsed.conllu"
    assert crossarc("parse", "-m", "en", "--text", "-o", path, stdin=TEXT).returncode == 0
    return path


def test_table_and_json(parsed: Path) -> None:
    sentence, _ = ca.read_conllu(parsed)
    expected = ca.load("en").explain(sentence, None, 7)
    done = crossarc("explain", parsed, "-m", "en", "--sentence", 1, "--word", 7, "--top", 5)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == expected.text(5, label=False) + "\n"
    command = ("explain", parsed, "-m", "en", "--sentence", 1, "--word", 7)
    assert crossarc(*command, "--label").stdout.decode() == str(expected) + "\n"
    found = json.loads(crossarc(*command, "--json").stdout)
    assert found == json.loads(json.dumps(expected.to_dict()))


def test_heads_by_number(parsed: Path) -> None:
    command = ("explain", parsed, "-m", "en", "--sentence", 2, "--word", 1, "--json")
    found = json.loads(crossarc(*command, "--head", 0, "--rival", 3).stdout)
    assert (found["form"], found["head"], found["rival"]) == ("Dogs", 0, 3)


def test_sentences_by_id_first(tmp_path: Path) -> None:
    """The second sentence is called 1, the first has no id."""
    parser, bank = ca.load("en"), tmp_path / "bank.conllu"
    sentences = list(parser("Dogs bark. Cats sleep."))
    sentences[0].comments = []
    sentences[1].comments = ["# sent_id = 1"]
    ca.write_conllu(sentences, bank)
    for name, form in (("1", "Cats"), ("2", "Cats")):
        done = crossarc("explain", bank, "-m", "en", "--sentence", name, "--word", 1, "--json")
        assert json.loads(done.stdout)["form"] == form
    ca.write_conllu(sentences[:1], bank)
    done = crossarc("explain", bank, "-m", "en", "--word", 1, "--json")
    assert json.loads(done.stdout)["form"] == "Dogs"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--word", 1], 2, "has several sentences: name one by its sent_id or number"),
        (["--word", 1, "--sentence", "absent"], 1, "no sentence absent; check --sentence"),
        (["--word", 4, "--sentence", 2], 2, "--word: must be from 1 to 3: got 4"),
        (["--word", 1, "--sentence", 2, "--head", 1], 2, "--head: must be 0 or another word"),
        (["--sentence", 2], 2, "--word"),
    ],
)
def test_wrong_use(parsed: Path, arguments: list[object], status: int, message: str) -> None:
    done = crossarc("explain", parsed, "-m", "en", *arguments)
    assert (done.returncode, done.stdout) == (status, b"")
    assert message in " ".join(done.stderr.decode().split())
    assert b"Traceback" not in done.stderr


def test_no_sentence_and_no_features(parsed: Path, tmp_path: Path) -> None:
    done = crossarc("explain", "/dev/null", "-m", "en", "--word", 1)
    assert (done.returncode, done.stderr) == (1, b"crossarc: /dev/null: no sentence\n")
    model = tmp_path / "covington"
    train = ("train", "@sample", "-o", model, "--kind", "covington", "--passes", 1)
    assert crossarc(*train).returncode == 0
    done = crossarc("explain", parsed, "-m", model, "--sentence", 1, "--word", 1)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"crossarc: a parser of the kind 'covington' has no weights of")
    assert done.stderr.count(b"\n") == 1

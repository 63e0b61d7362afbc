"""`crossarc train`, `parse` and `review`, as a user runs them."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from support.shell import COMMAND, crossarc

from crossarc import read_conllu, write_conllu
from crossarc.treebank import SAMPLE_PATH, sample


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "sample.crossarc"
    done = crossarc("train", "@sample", "-o", path, "--passes", 4, "--seed", 3)
    assert done.returncode == 0
    assert done.stdout == b""
    assert done.stderr.startswith(f"crossarc: {path}: ".encode())
    assert b"learnt from 1,008 words (non-projective, single root)" in done.stderr
    return path


def test_parse_and_evaluate(model: Path, tmp_path: Path) -> None:
    parsed = tmp_path / "parsed.conllu"
    done = crossarc("parse", "-m", model, "@sample", "-o", parsed, "--probabilities")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    scores = json.loads(crossarc("evaluate", "@sample", parsed, "--format", "json").stdout)
    assert scores["uas"] > 90
    assert 0 <= scores["ece"] <= 1


def test_number_of_workers_changes_nothing(model: Path) -> None:
    one, two = (
        crossarc("parse", "-m", model, "@sample", "--workers", workers).stdout for workers in (1, 2)
    )
    assert one == two
    assert one.count(b"\n\n") == 126


def test_the_model_may_be_named_by_the_environment(model: Path) -> None:
    named = crossarc("parse", "@sample", env={"CROSSARC_MODEL": str(model)})
    assert named.stdout == crossarc("parse", "-m", model, "@sample").stdout


def test_text_from_standard_input() -> None:
    done = crossarc("parse", "--text", stdin=b"Dogs bark. Cats sleep.")
    assert done.stderr == b"crossarc: parsing with the English model (-m en)\n"
    assert done.stdout.count(b"\n\n") == 2
    assert b"# text = Dogs bark.\n" in done.stdout


def test_kbest_and_keep_heads(model: Path, tmp_path: Path) -> None:
    sentence = sample()[0]
    sentence.heads = [9, *[-1] * (len(sentence) - 1)]
    given = tmp_path / "given.conllu"
    given.write_bytes(bytes(sentence))
    done = crossarc("parse", "-m", model, given, "--keep-heads", "--kbest", 2, "-o", tmp_path / "k")
    assert done.returncode == 0
    first, second = list(read_conllu(tmp_path / "k"))
    assert (first.comment("kbest"), second.comment("kbest")) == ("1/2", "2/2")
    assert first.heads[0] == second.heads[0] == 9


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["parse", "@sample"], 2, "which model?"),
        (["parse", "-m", "nonsense", "@sample"], 1, "nonsense: no such model file"),
        (["parse", "-m", SAMPLE_PATH, "@sample"], 1, "not a model file of crossarc"),
        (["train", "@sample", "-o", "no/such/folder/model"], 2, "cannot write a file there"),
        (["train", "/dev/null", "-o", "model"], 1, "no sentences to learn from"),
        (["train", "missing.conllu", "-o", "model"], 2, "check the path"),
        (["train", "@sample"], 2, "--output"),
        (["parse", "-m", "en", "--min-risk", "--kbest", 2], 2, "--kbest / --min-risk"),
        (["parse", "--text", "--keep-heads"], 2, "--keep-heads: text has no heads"),
    ],
)
def test_wrong_use_gets_one_line(
    arguments: list[object], status: int, message: str, tmp_path: Path
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CROSSARC_MODEL"}
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == status
    assert message in " ".join(done.stderr.decode().split())
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_empty_columns_are_said(tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    bare.write_bytes(b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n\n" * 3)
    done = crossarc("train", bare, "-o", tmp_path / "model", "--passes", 1)
    assert done.returncode == 0
    assert f"crossarc: {bare}: UPOS is empty".encode() in done.stderr
    assert f"crossarc: {bare}: DEPREL is empty".encode() in done.stderr


@pytest.mark.parametrize("place", ["train", "dev"])
def test_a_treebank_without_heads_is_refused(place: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    bare.write_bytes(b"1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n" * 3)
    files = [bare] if place == "train" else ["@sample", "--dev", bare]
    done = crossarc("train", *files, "-o", tmp_path / "model")
    assert done.returncode == 1
    complaint = f"crossarc: {bare}: no word has a HEAD: give a treebank with trees\n"
    assert done.stderr.decode() == complaint
    assert list(tmp_path.iterdir()) == [bare]


def test_dev_with_other_relations(tmp_path: Path) -> None:
    """They count as wrong, and that is all."""
    dev = tmp_path / "dev.conllu"
    strange = [sentence.copy() for sentence in sample()[:20]]
    for sentence in strange:
        sentence.deprels = ["strange"] * len(sentence)
    write_conllu(strange, dev)
    done = crossarc("train", "@sample", "--dev", dev, "-o", tmp_path / "model", "--passes", 2)
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"LAS 0.00" in done.stderr


@pytest.mark.parametrize("size", [1, 500])
def test_short_and_long_sentences(size: int, model: Path) -> None:
    rows = (f"{m}\tword\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for m in range(1, size + 1))
    done = crossarc("parse", "-m", model, "--probabilities", stdin="".join([*rows, "\n"]).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    [parsed] = read_conllu(io.BytesIO(done.stdout))
    assert len(parsed) == size
    assert parsed.tree.is_single_root


def test_review_is_a_table_without_a_terminal(model: Path) -> None:
    shown = crossarc("review", "@sample", "-m", model, "-n", 5).stdout.decode().splitlines()
    assert shown[0].split() == ["sentence", "word", "head", "relation", "probability", "rivals"]
    assert len(shown) == 6


def test_review_by_information(model: Path) -> None:
    done = crossarc("review", "@sample", "-m", model, "-n", 40, "--order", "information")
    shown = done.stdout.decode().splitlines()
    columns = ["sentence", "word", "head", "relation", "probability", "information", "rivals"]
    assert shown[0].split() == columns
    place = shown[0].index("information")
    told = [float(line[place:].split()[0]) for line in shown[1:]]
    assert len(told) == 40
    assert told == sorted(told, reverse=True)
    assert told[0] > 0.0
    # The word of which most is told depends on the others: it need not be the least probable.
    by_probability = crossarc("review", "@sample", "-m", model, "-n", 40).stdout.decode()
    assert by_probability.splitlines()[1:] != shown[1:]


@pytest.mark.parametrize("order", ["probability", "information"])
def test_review_asks_on_a_terminal(model: Path, tmp_path: Path, order: str) -> None:
    """The second word's head is taken from its rivals, the first is kept, and both are settled."""
    parsed, output = tmp_path / "parsed.conllu", tmp_path / "reviewed.conllu"
    crossarc("parse", "-m", model, "@sample", "-o", parsed)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "review", parsed, "-m", model, "-n", "3", "-o", output, "--order", order],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, b"nonsense\n\n1\nq\n")
    shown = b""
    while b"written to" not in shown:
        shown += os.read(ours, 65536)
    assert process.wait(timeout=60) == 0
    os.close(ours)
    assert b"please answer with one of these" in shown
    assert b"2 settled; written to" in shown
    misc = [field for sentence in read_conllu(output) for field in sentence.misc]
    assert sum("Reviewed=Yes" in field for field in misc) == 2

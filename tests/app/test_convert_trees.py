"""`crossarc convert --projectivize` and `--deprojectivize`, as a user runs them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from support.shell import crossarc

from crossarc import Sentence, projectivize, read_conllu, write_conllu
from crossarc.treebank import SAMPLE_PATH, sample

LIFT = ("convert", "--projectivize", "lifting")


def rows_without_trees(data: bytes) -> list[list[bytes]]:
    rows = [line.split(b"\t") for line in data.split(b"\n")]
    return [row[:6] + row[8:] if row[0].isdigit() else row for row in rows]


def test_there_and_back_is_lossless() -> None:
    data = SAMPLE_PATH.read_bytes()
    there = crossarc(*LIFT, stdin=data)
    assert (there.returncode, there.stderr) == (0, b"")
    assert there.stdout != data
    assert rows_without_trees(there.stdout) == rows_without_trees(data)
    assert crossarc("convert", "--deprojectivize", stdin=there.stdout).stdout == data


@pytest.mark.parametrize("encoding", ["exact", "head", "path", "head+path", "none"])
def test_lifting(encoding: str) -> None:
    made = list(read_conllu(BytesIO(crossarc(*LIFT, "--encoding", encoding, "@sample").stdout)))
    expected = [projectivize(s.tree, "lifting", encoding=encoding) for s in sample()]
    assert [sentence.tree for sentence in made] == expected


def test_loss() -> None:
    result = crossarc("convert", "--projectivize", "loss", "@sample")
    made = list(read_conllu(BytesIO(result.stdout)))
    assert [s.tree for s in made] == [projectivize(s.tree) for s in sample()]
    assert rows_without_trees(result.stdout) == rows_without_trees(SAMPLE_PATH.read_bytes())


def test_blank_lines_at_the_end_stay() -> None:
    data = SAMPLE_PATH.read_bytes() + b"\n\n"
    assert crossarc("convert", "--deprojectivize", stdin=data).stdout == data


def test_to_conllx_at_once() -> None:
    two_steps = crossarc("convert", "--to", "conllx", stdin=crossarc(*LIFT, "@sample").stdout)
    assert crossarc(*LIFT, "@sample", "--to", "conllx").stdout == two_steps.stdout


def test_sentences_without_heads(tmp_path: Path) -> None:
    loose = Sentence.build(["loose"], comments=["# sent_id = x1"])
    write_conllu([*sample("nl"), loose], tmp_path / "partial.conllu")
    stopped = crossarc(*LIFT, "partial.conllu", "-o", "out.conllu", cwd=tmp_path)
    assert stopped.returncode == 1
    assert stopped.stderr.decode() == (
        "crossarc: partial.conllu:201 (sentence x1): word 1 has no head: fill in the HEAD column "
        "first\n"
    )
    assert not (tmp_path / "out.conllu").exists()
    passed = crossarc(*LIFT, "partial.conllu", "--on-error", "skip", cwd=tmp_path)
    assert passed.returncode == 0
    assert b"passed over 1 invalid sentence; the first: partial.conllu" in passed.stderr
    assert passed.stdout.count(b"# sent_id") == len(sample("nl"))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--projectivize", "luck"), "luck"),
        (("--encoding", "head"), "--encoding goes with --projectivize lifting"),
        (("--projectivize", "loss", "--encoding", "head"), "--encoding goes with"),
        (("--projectivize", "loss", "--deprojectivize"), "not both"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], what: str) -> None:
    result = crossarc("convert", "@sample", *options)
    assert (result.returncode, result.stdout) == (2, b"")
    assert what in result.stderr.decode()
    assert b"Traceback" not in result.stderr

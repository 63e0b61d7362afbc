"""`crossarc split`, as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.shell import crossarc

from crossarc import Sentence, read_conllu, write_conllu
from crossarc.app.commands.treebanks.split import _deal
from crossarc.treebank import SAMPLE_PATH, sample

PARTS = ("train.conllu=8", "dev.conllu=1", "test.conllu=1")


def blocks(path: Path) -> list[bytes]:
    return [bytes(sentence) for sentence in read_conllu(path)]


@pytest.mark.parametrize("options", [(), ("--seed", "1")])
def test_every_sentence_is_in_one_part(tmp_path: Path, options: tuple[str, ...]) -> None:
    result = crossarc("split", "@sample", *PARTS, *options, cwd=tmp_path)
    assert result.returncode == 0
    parts = [blocks(tmp_path / part.partition("=")[0]) for part in PARTS]
    whole = blocks(SAMPLE_PATH)
    assert sorted(block for part in parts for block in part) == sorted(whole)
    for part in parts:
        assert [block for block in whole if block in set(part)] == part
    words = [sum(block.count(b"\n") for block in part) for part in parts]
    assert 0.7 * sum(words) < words[0] < 0.9 * sum(words)
    assert min(words[1:]) > 0.05 * sum(words)
    dev = len(parts[1])
    assert f"crossarc: dev.conllu: {dev} sentences" in result.stderr.decode()


def test_seeds(tmp_path: Path) -> None:
    def dev(*options: str) -> list[bytes]:
        assert crossarc("split", "@sample", *PARTS, *options, cwd=tmp_path).returncode == 0
        return blocks(tmp_path / "dev.conllu")

    assert dev("--seed", "1") == dev("--seed", "1")
    assert dev("--seed", "1") != dev("--seed", "2")


def test_documents_stay_whole(tmp_path: Path) -> None:
    sentences = sample("en")[:9]
    for index in (0, 2, 6):
        sentences[index].comments = ["# newdoc id = d", *sentences[index].comments]
    write_conllu(sentences, tmp_path / "bank.conllu")
    command = ("split", "bank.conllu", "a=1", "b=1", "c=1", "--documents")
    assert crossarc(*command, cwd=tmp_path).returncode == 0
    found = sorted(len(blocks(tmp_path / name)) for name in "abc")
    assert found == [2, 3, 4]
    result = crossarc(*command[:-1], "d=1", "--documents", cwd=tmp_path)
    assert result.returncode == 1
    assert b"bank.conllu: 3 documents cannot be 4 parts: leave out --documents" in result.stderr


@given(
    st.lists(st.integers(1, 40), min_size=3, max_size=40),
    st.lists(st.floats(0.01, 100.0), min_size=1, max_size=3),
    st.one_of(st.none(), st.integers(0, 9)),
)
@settings(max_examples=60, deadline=None)
def test_no_part_is_empty_or_far_from_its_share(
    words: list[int], shares: list[float], seed: int | None
) -> None:
    chosen = _deal(words, shares, seed)
    dealt = [
        sum(w for w, k in zip(words, chosen, strict=True) if k == p) for p in range(len(shares))
    ]
    assert min(dealt) > 0
    for count, share in zip(dealt, shares, strict=True):
        # A part is given a unit only while none has less of its share, unless one is empty.
        assert count <= sum(words) * share / sum(shares) + max(words) * len(shares)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("a",), "'a' is no file and share, such as train.conllu=80"),
        (("a=0",), "'a=0' is no file and share"),
        (("a=1", "./a=1"), "two parts have the same name"),
        (("bank.conllu=1", "b=1"), "bank.conllu: would replace the treebank"),
        (("no/where=1",), "no/where: cannot write a file there"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: tuple[str, ...], what: str) -> None:
    write_conllu([Sentence.build(["one"])], tmp_path / "bank.conllu")
    result = crossarc("split", "bank.conllu", *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert what in result.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["bank.conllu"]

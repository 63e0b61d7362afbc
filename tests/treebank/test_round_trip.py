"""Reading and writing gives the same bytes, whatever the bytes came through."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.files import treebank_files

import crossarc as ca
from crossarc.treebank import SAMPLE_PATH
from crossarc.treebank.diagnose import diagnose
from crossarc.treebank.reader import _pieces
from crossarc.treebank.scan import scan
from crossarc.treebank.source import Readable

EDGES = Path(__file__).with_name("edge_cases.conllu")


def rewritten(source: Readable) -> bytes:
    output = io.BytesIO()
    ca.write_conllu(ca.read_conllu(source), output)
    return output.getvalue()


class Dribble:
    """A binary file that gives a few bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self._data = io.BytesIO(data)
        self._step = step

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(size, self._step))


@pytest.mark.parametrize("path", [EDGES, SAMPLE_PATH], ids=["edges", "sample"])
def test_files_survive_every_way_in(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    text = data.decode()
    assert rewritten(path) == data
    assert rewritten(str(path)) == data
    assert rewritten(io.BytesIO(data)) == data
    assert rewritten(io.StringIO(text, newline="")) == data
    with path.open("rb") as file:
        assert rewritten(file) == data
    with path.open(encoding="utf-8", newline="") as file:
        assert rewritten(file) == data
    for step in (1, 2, 3, 7, 1000):
        assert rewritten(Dribble(data, step)) == data  # type: ignore[arg-type]
    for suffix, compress in ((".gz", gzip), (".bz2", bz2), (".xz", lzma)):
        packed = tmp_path / f"packed{suffix}"
        packed.write_bytes(compress.compress(data))
        assert rewritten(packed) == data
        assert rewritten(Dribble(packed.read_bytes(), 5)) == data  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["\n", ""])
def test_lines_of_text(ending: str) -> None:
    """Lines with or without their line breaks, from a list or a generator."""
    lines = SAMPLE_PATH.read_text(encoding="utf-8").split("\n")[:-1]
    given_lines = [line + ending for line in lines]
    assert rewritten(given_lines) == SAMPLE_PATH.read_bytes()
    assert rewritten(line for line in given_lines) == SAMPLE_PATH.read_bytes()


@pytest.mark.parametrize(
    "path", treebank_files(), ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_real_treebanks(path: Path) -> None:
    assert rewritten(path) == gzip.decompress(path.read_bytes())


def test_real_treebanks_are_there_or_said_to_be_absent() -> None:
    if not treebank_files():
        pytest.skip("no treebanks beside the project")
    assert len(treebank_files()) == 27


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_written_files_read_back(suffix: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"a.conllu{suffix}", tmp_path / f"b.conllu{suffix}"
    count = ca.write_conllu(ca.read_conllu(EDGES), first)
    assert count == 6
    assert rewritten(first) == EDGES.read_bytes()
    ca.write_conllu(ca.read_conllu(first), second)
    assert first.read_bytes() == second.read_bytes()


def test_a_sentence_leaves_a_pipe_with_its_blank_line() -> None:
    """The reader hands on a sentence while the writer still holds the pipe open."""
    read_end, write_end = os.pipe()
    row = b"1\tja\tja\tINTJ\t_\t_\t0\troot\t_\t_\n"
    with os.fdopen(read_end, "rb") as pipe, os.fdopen(write_end, "wb", buffering=0) as feed:
        reader = ca.read_conllu(pipe)
        for number in range(3):
            feed.write(b"# sent_id = %d\n%s\n" % (number, row))
            found: list[ca.Sentence] = []
            thread = threading.Thread(target=lambda found=found: found.append(next(reader)))
            thread.start()
            thread.join(timeout=30)
            assert [sentence.sent_id for sentence in found] == [str(number)]


def test_blank_lines_at_the_end_of_a_pipe() -> None:
    """They arrive after the last sentence has left, and are still written."""
    data = b"1\tja\t_\t_\t_\t_\t0\t_\t_\t_\n\n\n\n"
    assert rewritten(Dribble(data, 1)) == data  # type: ignore[arg-type]
    assert rewritten(io.BytesIO(data)) == data
    assert b"".join(map(bytes, ca.read_conllu(io.BytesIO(data)))) == data


@pytest.mark.parametrize("data", [b"", b"\n", b"\xef\xbb\xbf", b"\n\r\n\n", b"\xef\xbb\xbf\n"])
def test_files_without_sentences(data: bytes) -> None:
    assert list(ca.read_conllu(io.BytesIO(data))) == []
    assert rewritten(io.BytesIO(data)) == data


SEED_BYTES = [EDGES.read_bytes(), *(bytes(s) for s in ca.read_conllu(SAMPLE_PATH))]
PIECES = st.one_of(
    st.sampled_from(
        [b"\t", b"\n", b"\r\n", b"\n\n", b"\r", b"_", b"#", b"# x\n", b" ", b"0", b"1"]
    ),
    st.sampled_from([b"2", b"9", b"-", b".", b"1-2\t", b"0.1\t", b"1.1", b"\xff", b"\xef\xbb\xbf"]),
    st.binary(max_size=3),
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid file after a few random edits."""
    data = b"".join(draw(st.lists(st.sampled_from(SEED_BYTES), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.sampled_from([0, 0, 1, 1, 2, 10, 40])))
        data = data[:start] + draw(PIECES) + data[stop:]
    return data


@given(mutated(), st.sampled_from([1, 50, 1 << 20]))
@example(b"1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\r\n\r", 1)
@example(b"\r\n\r1\ta\t_\t_\t_\t_\t0\t_\t_\t_", 50)
def test_mutated_files_are_refused_or_survive(data: bytes, step: int) -> None:
    """Either a TreebankError, or every byte comes back; in whatever portions it arrives."""
    outcome, dribbled = outcome_of(io.BytesIO(data)), outcome_of(Dribble(data, step))
    if isinstance(outcome, bytes):
        assert outcome == dribbled == data
    else:
        assert "\n" not in str(outcome)
        assert outcome.line is not None
        assert 1 <= outcome.line <= data.count(b"\n") + 1
        assert str(outcome) == str(dribbled)


def outcome_of(source: object) -> bytes | ca.TreebankError:
    try:
        return rewritten(source)  # type: ignore[arg-type]
    except ca.TreebankError as error:
        return error


@given(mutated())
def test_scan_and_diagnosis_agree(data: bytes) -> None:
    """Two independent checks of the same rules: arrays over a block, loops over a sentence."""
    for piece in _pieces(data):
        if piece.strip(b"\r\n"):
            accepted = scan(piece if piece.endswith(b"\n") else piece + b"\n") is not None
            assert accepted == (diagnose(piece) is None), (piece, diagnose(piece))


@given(mutated())
def test_skipping_keeps_every_valid_sentence(data: bytes) -> None:
    reader = ca.read_conllu(io.BytesIO(data), on_error="skip")
    kept = [bytes(sentence) for sentence in reader]
    body = data.removeprefix(b"\xef\xbb\xbf")
    pieces = [piece for piece in _pieces(body) if piece.strip(b"\r\n")]
    valid = [piece for piece in pieces if diagnose(piece) is None]
    assert [raw.removeprefix(b"\xef\xbb\xbf") for raw in kept] == valid
    assert reader.skipped == len(pieces) - len(valid)
    assert (reader.first_problem is None) == (reader.skipped == 0)

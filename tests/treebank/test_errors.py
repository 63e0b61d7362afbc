"""What is said about bad input: file, line, sentence, fault and remedy, on one line."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path

import pytest

import crossarc as ca
from crossarc.treebank.reader import OnError
from crossarc.treebank.source import Readable

GOOD = "# sent_id = good\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def row(number: object, head: object, columns: int = 10) -> str:
    fields = [str(number), "w", "_", "_", "_", "_", str(head), "dep", "_", "_"]
    return "\t".join([*fields, "_"][:columns]) + "\n"


def refusal(source: Readable) -> ca.TreebankError:
    with pytest.raises(ca.TreebankError) as caught:
        list(ca.read_conllu(source))
    return caught.value


@pytest.mark.parametrize(
    ("body", "line", "what"),
    [
        (row(1, 0, columns=9), 5, "9 columns: expected 10"),
        (row(1, 0, columns=11), 5, "11 columns: expected 10"),
        ("1 w _ _ _ _ 0 dep _ _\n", 5, "separated by spaces?"),
        (row(1, 0) + row(2, 1).replace("\tw\t", "\t\t"), 6, "column FORM is empty: write _"),
        (row(1, "x") + row(2, 0), 5, "head 'x' is not a whole number"),
        (row(1, "1.1"), 5, "head '1.1' is not a whole number"),
        (row(1, "-1"), 5, "head '-1' is not a whole number"),
        (row(1, "01"), 5, "head '01' is not a whole number"),
        (row(1, 0) + row(2, 3), 6, "head 3 is out of range: heads run from 0 to 2"),
        (row(1, 0) + row(1, 1), 6, "repeated id 1"),
        (row(1, 0) + row(3, 1), 6, "missing id 2"),
        (row(2, 0), 5, "missing id 1"),
        (row("a", 0), 5, "id 'a' is not a word (3), a range (3-4) or an empty node (3.1)"),
        (row("_", 0), 5, "id '_' is not a word"),
        (row(1, 2) + row(2, 1), 5, "no root: no word has head 0"),
        (row(1, 0) + row(2, 3) + row(3, 2), 5, "a cycle: 2 -> 3 -> 2"),
        (row(1, 0) + row(2, 2), 5, "a cycle: 2 -> 2"),
        (row("1-3", "_") + row(1, 0) + row(2, 1), 5, "a range ends at 3, after the last word 2"),
        (row("2-3", "_") + row(1, 0), 5, "range 2-3 does not fit"),
        (row("1-2", "_") + row("1-2", "_") + row(1, 0) + row(2, 1), 6, "range 1-2 does not fit"),
        (
            row(1, 0) + row("2-3", "_") + row("1.1", "_") + row(2, 1) + row(3, 1),
            6,
            "range 2-3 does not fit: it must stand right before word 2",
        ),
        (row(1, "9" * 40), 5, f"head {'9' * 40} is out of range: heads run from 0 to 1 here"),
        (row(1, "9" * 5000), 5, f"head {'9' * 37}... is out of range"),
        (row(1, "1000000000"), 5, "head 1000000000 is out of range"),
        (row("9" * 5000, 0), 5, f"missing id 1: ids must count 1, 2, 3, ...: got {'9' * 37}..."),
        (row(1, 0) + row("1.2", "_"), 6, "empty node 1.2 does not fit: after word 1 comes 1.1"),
        (row("1.1", "_") + row(1, 0), 5, "empty node 1.1 does not fit: after word 0 comes 0.1"),
        (row("0.1", "_"), 5, "no words"),
        (row(1, 0) + "# late\n" + row(2, 1), 6, "a comment after the first word"),
        (row(1, 0) + " \n" + row(2, 1), 6, "a line of spaces"),
        ("", 4, "comments without words"),
    ],
)
def test_faults(body: str, line: int, what: str) -> None:
    data = GOOD + "# sent_id = bad\n" + body + "\n" + GOOD
    error = refusal(io.BytesIO(data.encode()))
    assert what in str(error)
    assert (error.line, error.sent_id, error.source) == (line, "bad", "<stream>")
    assert str(error).startswith(f"<stream>:{line} (sentence bad): ")
    reader = ca.read_conllu(io.BytesIO(data.encode()), on_error="skip")
    assert [sentence.sent_id for sentence in reader] == ["good", "good"]
    assert reader.skipped == 1
    assert str(reader.first_problem) == str(error)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_conllu_plus_without_a_column_is_named(mark: str, on_error: OnError) -> None:
    """Also where there are ten columns, so that none is taken for another."""
    columns = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS PARSEME:MWE"
    data = f"{mark}# global.columns = {columns}\n{GOOD}".encode()
    with pytest.raises(
        ca.TreebankError, match=r"^<stream>:1: this is CoNLL-U Plus.* lacks MISC: add"
    ):
        list(ca.read_conllu(io.BytesIO(data), on_error=on_error))
    same = data.replace(b"PARSEME:MWE", b"MISC")
    (sentence,) = ca.read_conllu(io.BytesIO(same), on_error=on_error)
    assert bytes(sentence) == same


def test_bytes_that_are_not_utf8() -> None:
    data = GOOD.encode() + b"# sent_id = latin\n1\tfa\xe7ade\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    error = refusal(io.BytesIO(data))
    assert (error.line, error.sent_id) == (5, "latin")
    assert "byte 0xe7 is not UTF-8: convert the file" in str(error)


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_truncated_compressed_files(suffix: str, pack: object, tmp_path: Path) -> None:
    path = tmp_path / f"cut.conllu.{suffix}"
    rows = "".join(f"# sent_id = {i * i * i}\n" + row(1, 0) + "\n" for i in range(200_000))
    path.write_bytes(pack.compress(rows.encode())[:-2000])  # type: ignore[attr-defined]
    error = refusal(path)
    assert error.source == str(path)
    assert "the compressed data is damaged or cut off" in str(error)
    reader = ca.read_conllu(path, on_error="skip")
    whole = sum(1 for _ in reader)
    assert 0 < whole < 200_000
    assert reader.skipped == 1
    assert error.line is not None
    assert error.line == 3 * whole + 1


@pytest.mark.parametrize("pack", [gzip, bz2, lzma])
def test_damaged_compressed_files(pack: object, tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    data = bytearray(pack.compress((GOOD * 5000).encode()))  # type: ignore[attr-defined]
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert refusal(path).source == str(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ca.read_conllu(tmp_path / "absent.conllu")


@pytest.mark.parametrize("heads", [(2, 1), (0, 9), ("x", 0), ("9" * 40, 0)])
def test_heads_that_are_no_tree_may_be_ignored(heads: tuple[int | str, int]) -> None:
    """They are read as not known; lines are counted as before, and other faults stay faults."""
    bad = "# sent_id = bad\n1-2\tab" + "\t_" * 8 + "\n"
    bad += row(1, heads[0]) + row(2, heads[1]) + "\n"
    data = (bad + GOOD).encode()
    first, second = ca.read_conllu(io.BytesIO(data), ignore_heads=True)
    assert first.heads.tolist() == [-1, -1]
    assert first.sent_id == "bad"
    assert second.heads.tolist() == next(ca.read_conllu([GOOD])).heads.tolist()
    assert second.line == 6
    with pytest.raises(ca.TreebankError, match=r":3 \(sentence bad\): 9 columns"):
        list(ca.read_conllu(io.BytesIO(data.replace(b"\t_\n2", b"\n2")), ignore_heads=True))


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="on_error"):
        ca.read_conllu(io.BytesIO(), on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="lines of text"):
        list(ca.read_conllu([1, 2]))  # type: ignore[list-item]

"""The lines of a sentence as they stand in a file: finding words among them, writing columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crossarc.treebank.columns import COLUMNS, HEAD, ID
from crossarc.treebank.word import MultiwordToken

__all__ = [
    "BYTE_ORDER_MARK",
    "missing_break",
    "other_rows",
    "row_of_word",
    "spaced_text",
    "with_columns",
    "without_heads",
    "word_rows",
]

BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()


def missing_break(raw: bytes) -> bytes:
    """The line breaks that a sentence at the end of a file may lack."""
    if raw.endswith((b"\n\n", b"\n\r\n")):
        return b""
    return b"\n" if raw.endswith(b"\n") else b"\n\n"


def word_rows(body: bytes) -> bytes:
    """The rows of words, without those of multiword tokens and empty nodes."""
    rows = body.split(b"\n")
    words = b"\n".join(row for row in rows if row.partition(b"\t")[0].isdigit())
    return words.removesuffix(b"\r")


def row_of_word(body: bytes, word: int) -> int:
    """The index of the row of a word, by its id."""
    start = b"%d\t" % word
    return next(k for k, row in enumerate(body.split(b"\n")) if row.startswith(start))


def other_rows(body: bytes) -> Iterator[list[str]]:
    """The columns of the rows of multiword tokens and empty nodes."""
    for line in body.split(b"\n"):
        if not line.partition(b"\t")[0].isdigit():
            yield line.removesuffix(b"\r").decode().split("\t")


def with_columns(body: bytes, written: Iterable[int], fields: Sequence[str]) -> bytes:
    """The rows with some columns of the words replaced.

    Args:
        written: the indices of these columns.
        fields: all fields of the words, ten a word.
    """
    lines = body.decode().split("\n")
    word = 0
    for number, line in enumerate(lines):
        columns = line.removesuffix("\r").split("\t")
        if not columns[ID].isdigit():
            continue
        for index in written:
            columns[index] = fields[word * COLUMNS + index]
        lines[number] = "\t".join(columns) + ("\r" if line.endswith("\r") else "")
        word += 1
    return "\n".join(lines).encode()


def without_heads(data: bytes) -> bytes:
    """The same lines with `_` for the HEADs of words."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        columns = line.split(b"\t")
        if columns[ID].isdigit() and len(columns) > HEAD and columns[HEAD]:
            columns[HEAD] = b"_"
            lines[number] = b"\t".join(columns)
    return b"\n".join(lines)


def spaced_text(
    forms: Sequence[str], misc: Sequence[str], multiword_tokens: Iterable[MultiwordToken]
) -> str:
    """The surface tokens, with a space after each unless MISC has `SpaceAfter=No`."""
    tokens = {token.first: token for token in multiword_tokens}
    pieces: list[str] = []
    covered = 0
    for number, (form, other) in enumerate(zip(forms, misc, strict=True), 1):
        if number <= covered:
            continue
        if token := tokens.get(number):
            form, other, covered = token.form, token.misc, token.last
        pieces.append(form)
        if "SpaceAfter=No" not in other.split("|"):
            pieces.append(" ")
    return "".join(pieces).strip()

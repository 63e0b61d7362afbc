"""Text files in pieces, and text back from sentences."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain

from crossarc.errors import TreebankError
from crossarc.text.emission import unescape_spaces
from crossarc.treebank import Sentence
from crossarc.treebank.source import Readable, Source

__all__ = ["read_text", "rebuild_text"]


def read_text(path_or_file: Readable) -> Iterator[str]:
    """The pieces of a UTF-8 text file of any size, for `Tokenizer.tokenize`.

    Args:
        path_or_file: a path, `-` for standard input, a binary or text file object, or lines of
            text. Gzip, bzip2 and xz are recognised by their content. A byte-order mark at the
            start is no part of the text.

    Raises:
        TreebankError: the file is not UTF-8, or its compression is damaged.
    """
    source = Source(path_or_file)
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    lines = 1
    for block in chain(source, [b""]):
        try:
            piece = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].count(b"\n")
            raise TreebankError(
                f"byte 0x{error.object[error.start]:02x} is not UTF-8: convert the file to UTF-8 "
                "(for instance with iconv)",
                source=source.name,
                line=lines + good,
            ) from None
        lines += piece.count("\n")
        if piece:
            yield piece


def rebuild_text(sentences: Iterable[Sentence]) -> str:
    """The text that was tokenised, character for character, from forms and MISC.

    A text of only white space has no sentences and cannot be rebuilt.
    """
    return "".join(piece for sentence in sentences for piece in _pieces(sentence))


def _pieces(sentence: Sentence) -> Iterator[str]:
    ranges = {token.first: token for token in sentence.multiword_tokens}
    covered = 0
    for number, (form, misc) in enumerate(zip(sentence.forms, sentence.misc, strict=True), 1):
        if number <= covered:
            continue
        if token := ranges.get(number):
            form, misc, covered = token.form, token.misc, token.last
        entries = dict(entry.partition("=")[::2] for entry in misc.split("|"))
        yield unescape_spaces(entries.get("SpacesBefore", ""))
        yield form
        if "SpacesAfter" in entries:
            yield unescape_spaces(entries["SpacesAfter"])
        elif entries.get("SpaceAfter") != "No":
            yield " "

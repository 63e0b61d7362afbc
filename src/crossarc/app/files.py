"""Treebanks named on the command line, and what is said about them on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crossarc.treebank import Sentence, SentenceReader

__all__ = ["Format", "OnError", "open_treebank", "report_skipped", "with_progress"]

SAMPLE = "@sample"


class Format(str, Enum):
    """Treebank formats."""

    conllu = "conllu"
    conllx = "conllx"


class OnError(str, Enum):
    """What to do with a sentence that is not valid."""

    stop = "stop"
    skip = "skip"


def open_treebank(
    path: str, *, format: Format = Format.conllu, on_error: OnError = OnError.stop
) -> SentenceReader:
    """Read a treebank by path, `-` or `@sample`."""
    from crossarc.treebank import SAMPLE_PATH, read_conllu, read_conllx

    read = read_conllx if format is Format.conllx else read_conllu
    source = str(SAMPLE_PATH) if path == SAMPLE else path
    return read(source, on_error="skip" if on_error is OnError.skip else "raise")


def report_skipped(reader: SentenceReader) -> None:
    """Say on stderr how many sentences were passed over, and why the first one was."""
    if reader.skipped:
        print(
            f"crossarc: {reader.name}: passed over {reader.skipped} sentences that are not valid; "
            f"the first: {reader.first_problem}",
            file=sys.stderr,
        )


def with_progress(sentences: SentenceReader) -> Iterator[Sentence]:
    """Pass sentences through; on a terminal, say on stderr how far it has come."""
    if not sys.stderr.isatty():
        yield from sentences
        return
    start = shown = time.monotonic()
    count = words = 0
    try:
        for sentence in sentences:
            count += 1
            words += len(sentence)
            now = time.monotonic()
            if now - shown > 0.2:
                shown = now
                line = (
                    f"{sentences.name}: {count:,} sentences, {words / (now - start):,.0f} words/s"
                )
                print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
            yield sentence
    finally:
        if shown > start:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

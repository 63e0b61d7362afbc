"""What `crossarc induce` and `crossarc perplexity` share: units of words, sentences to read."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import OnError, Progress, open_treebank, report_skipped
from crossarc.errors import ModelError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence

__all__ = ["RootName", "TokenizedOption", "UnitName", "UnitOption", "read_sentences"]


class UnitName(StrEnum):
    """What words are to a model."""

    form = "form"
    lemma = "lemma"
    upos = "upos"
    xpos = "xpos"
    form_upos = "form+upos"


class RootName(StrEnum):
    """Roots of a tree."""

    single = "single"
    multi = "multi"


UnitOption = Annotated[
    UnitName | None,
    typer.Option(
        help="What words are to the model; by default upos, and form for --tokenized.",
        show_default=False,
    ),
]
TokenizedOption = Annotated[
    bool,
    typer.Option(
        "--tokenized", help="The input has one sentence a line, its words divided by spaces."
    ),
]


def read_sentences(path: str, tokenized: bool, on_error: OnError) -> list[Sentence]:
    """The sentences of a treebank, or of lines of words."""
    if tokenized:
        from crossarc.parser.lines import line_sentences, split_lines
        from crossarc.text import read_text

        sentences = list(Progress(line_sentences(split_lines(read_text(path)), None), path))
    else:
        from crossarc.parser.lines import with_hint

        reader = open_treebank(path, on_error=on_error)
        hinted = with_hint(reader, "words divided by spaces, add --tokenized")
        sentences = list(Progress(hinted, reader.name))
        report_skipped(reader)
    if not sentences:
        raise ModelError(f"{path}: no sentences: check the file")
    return sentences

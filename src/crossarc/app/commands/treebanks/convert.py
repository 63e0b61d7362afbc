"""`crossarc convert`: CoNLL-U, CoNLL-X and JSON, crossing trees and projective ones; a check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from crossarc.app.files import (
    Format,
    OnError,
    OnErrorOption,
    OutputOption,
    Progress,
    SourceFormatOption,
    open_treebank,
    report_skipped,
)
from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence, SentenceReader
    from crossarc.trees import Tree

    Transform = Callable[[Tree], Tree]

__all__ = ["convert"]


class Target(StrEnum):
    """What can be written."""

    conllu = "conllu"
    conllx = "conllx"
    json = "json"


class Method(StrEnum):
    """How to make a tree projective."""

    loss = "loss"
    lifting = "lifting"


class Encoding(StrEnum):
    """What labels say about lifting."""

    exact = "exact"
    head = "head"
    path = "path"
    head_path = "head+path"
    none = "none"


def convert(
    file: Annotated[str, typer.Argument(metavar="IN", help="Treebank.")] = "-",
    output: OutputOption = "-",
    source: SourceFormatOption = Format.conllu,
    target: Annotated[
        Target, typer.Option("--to", help="Format of the output; json is one object a line.")
    ] = Target.conllu,
    method: Annotated[
        Method | None,
        typer.Option(
            "--projectivize",
            help="Make trees projective: with the fewest changed heads, or by lifting arcs, which "
            "can be undone.",
        ),
    ] = None,
    encoding: Annotated[
        Encoding | None,
        typer.Option(help="For lifting: what the labels say about it; exact by default."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--deprojectivize", help="Undo lifting by what the labels say.")
    ] = False,
    on_error: OnErrorOption = OnError.stop,
) -> None:
    """Convert a treebank, or check it.

    CoNLL-U to CoNLL-U changes not a byte.

    --projectivize and --deprojectivize rewrite HEAD and DEPREL where a tree changes, nothing else.
    """
    from crossarc.treebank import write_conllu, write_conllx, write_json

    transform = _chosen_transform(method, encoding, undo)
    reader = open_treebank(file, format=source, on_error=on_error)
    sentences: Iterator[Sentence] = Progress(reader)
    if transform is not None:
        sentences = _Transformed(sentences, transform, reader, on_error)
    if target is Target.conllx:
        lost = write_conllx(sentences, output)
        if dropped := ", ".join(f"{count:,} {kind}" for kind, count in lost.items() if count):
            print(f"crossarc: CoNLL-X has no place for: {dropped}", file=sys.stderr)
    elif target is Target.json:
        write_json(sentences, output)
    else:
        write_conllu(sentences, output)
    report_skipped(reader)


def _chosen_transform(
    method: Method | None, encoding: Encoding | None, undo: bool
) -> Transform | None:
    if undo and method is not None:
        raise typer.BadParameter("choose --projectivize or --deprojectivize, not both")
    if encoding is not None and method is not Method.lifting:
        raise typer.BadParameter("--encoding goes with --projectivize lifting")
    if not undo and method is None:
        return None
    from crossarc.transforms import deprojectivize, projectivize

    if method is None:
        return deprojectivize
    return partial(
        projectivize, by=method.value, encoding=None if encoding is None else encoding.value
    )


class _Transformed(Iterator["Sentence"]):
    """Sentences with other trees; HEAD and DEPREL are written only where the tree has changed."""

    def __init__(
        self,
        sentences: Iterator[Sentence],
        transform: Transform,
        reader: SentenceReader,
        on_error: OnError,
    ) -> None:
        self._sentences = sentences
        self._transform = transform
        self._reader = reader
        self._skips = on_error is OnError.skip

    @property
    def tail(self) -> bytes:
        """What the reader found after the last sentence."""
        return self._reader.tail

    def __next__(self) -> Sentence:
        for sentence in self._sentences:
            try:
                return self._transformed(sentence)
            except TreebankError as error:
                problem = TreebankError(
                    error.what,
                    source=self._reader.name,
                    line=sentence.line if error.line is None else error.line,
                    sent_id=sentence.sent_id,
                )
            if not self._skips:
                raise problem
            self._reader.skipped += 1
            self._reader.first_problem = self._reader.first_problem or problem
        raise StopIteration

    def _transformed(self, sentence: Sentence) -> Sentence:
        tree = sentence.tree
        changed = self._transform(tree)
        if changed is not tree:
            sentence.heads = changed.heads
            sentence.deprels = map(str, changed.labels or ())
        return sentence

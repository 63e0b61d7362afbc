"""Treebanks named on the command line, and what is said about them on the terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence, Sized
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from crossarc.app.status import StatusLine
from crossarc.errors import LimitError, ModelError
from crossarc.models.kinds import OptionError

if TYPE_CHECKING:
    from crossarc.treebank import Sentence, SentenceReader

__all__ = [
    "SAMPLE",
    "Format",
    "ModelOption",
    "OnError",
    "OnErrorOption",
    "Output",
    "OutputFormatOption",
    "OutputOption",
    "Progress",
    "SourceFormatOption",
    "WorkersOption",
    "check_model_file",
    "check_writable",
    "counted",
    "file_stem",
    "open_treebank",
    "read_trees",
    "refused_options",
    "report_refused",
    "report_skipped",
    "stdin_once",
    "treebank_names",
]

T = TypeVar("T", bound=Sized)

SAMPLE = "@sample"

_SECTIONS = ("train", "dev", "test")
_COMPRESSED = (".gz", ".bz2", ".xz")

_FIRST_SHOWN, _SHOWN_EVERY = 1.0, 0.2


class Format(StrEnum):
    """Treebank formats."""

    conllu = "conllu"
    conllx = "conllx"


class OnError(StrEnum):
    """What to do with a sentence that is not valid."""

    stop = "stop"
    skip = "skip"


class Output(StrEnum):
    """How to print figures."""

    text = "text"
    json = "json"


def _shipped_names() -> list[str]:
    from crossarc.parser import shipped_models

    return list(shipped_models())


OnErrorOption = Annotated[
    OnError, typer.Option(help="Stop at a sentence that is not valid, or skip it.")
]
OutputOption = Annotated[
    str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
]
OutputFormatOption = Annotated[Output, typer.Option("--format", help="A table or JSON.")]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="A model file, or a name such as en.",
        autocompletion=_shipped_names,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Cores to use, by default all; the result does not depend on it.",
        show_default=False,
    ),
]
SourceFormatOption = Annotated[Format, typer.Option("--from", help="Format of the input.")]


def open_treebank(
    path: str | IO[bytes], *, format: Format = Format.conllu, on_error: OnError = OnError.stop
) -> SentenceReader:
    """Read a treebank by path, `-` or `@sample`, or from an open file."""
    from crossarc.treebank import SAMPLE_PATH, read_conllu, read_conllx

    read = read_conllx if format is Format.conllx else read_conllu
    source = str(SAMPLE_PATH) if path == SAMPLE else path
    return read(source, on_error="skip" if on_error is OnError.skip else "raise")


def treebank_names(paths: Sequence[str]) -> list[str]:
    """What to call treebanks: by file, or by folder where files are called train, dev or test.

    Suffixes are left out. Where two would be called the same, the section is added, else the whole
    path stands.
    """
    names = [_short_name(path) for path in paths]
    for section in (lambda path: f"{_short_name(path)}/{file_stem(path)}", str):
        names = [
            section(path) if names.count(name) > 1 else name
            for path, name in zip(paths, names, strict=True)
        ]
    return names


def file_stem(path: str) -> str:
    """The name of a file without the suffixes of its compression and format."""
    if path in ("-", SAMPLE):
        return path
    file = Path(path)
    return (file.with_suffix("") if file.suffix in _COMPRESSED else file).stem


def _short_name(path: str) -> str:
    stem = file_stem(path)
    folder = Path(path).resolve().parent.name
    return folder if stem in _SECTIONS and folder else stem


def stdin_once(*paths: str | None) -> None:
    """Refuse a command line that reads standard input twice."""
    if paths.count("-") > 1:
        raise typer.BadParameter("standard input (-) can be read only once")


def check_writable(path: str, flag: str) -> None:
    """Refuse a file that cannot be written, before the work and not after it."""
    folder = Path(path).resolve().parent
    if not folder.is_dir() or Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise typer.BadParameter(
            f"{path}: cannot write a file there; check the path", param_hint=flag
        )


def check_model_file(path: str, flag: str, *inputs: str | None) -> None:
    """Refuse what is no place for a model: no file, or one that the command reads."""
    if path == "-":
        raise typer.BadParameter("a model is a file: give its path", param_hint=flag)
    check_writable(path, flag)
    for other in inputs:
        if other is not None and os.path.realpath(path) == os.path.realpath(other):
            raise typer.BadParameter(
                f"{path} is an input, which the model would replace: give another path",
                param_hint=flag,
            )


@contextmanager
def refused_options() -> Iterator[None]:
    """Turn options that do not fit into wrong usage, with the names that they have in the shell."""
    try:
        yield
    except OptionError as error:
        flags = " / ".join(f"--{name.replace('_', '-')}" for name in error.names)
        raise typer.BadParameter(error.what, param_hint=flags or None) from None


class Skipping(Protocol):
    """What may have passed over sentences: a reader, or the outcome of a parse."""

    skipped: int
    first_problem: Any

    @property
    def name(self) -> str:
        """What was read."""


def report_skipped(reader: Skipping) -> None:
    """Say on stderr how many sentences were passed over, and why the first one was."""
    if reader.skipped:
        print(
            f"crossarc: {reader.name}: passed over {counted(reader.skipped, 'invalid sentence')}; "
            f"the first: {reader.first_problem}",
            file=sys.stderr,
        )


def report_refused(sentence: Sentence, error: LimitError) -> None:
    """Say on stderr that a sentence was passed over because it takes too much."""
    print(f"crossarc: passed over: {error}", file=sys.stderr)


def counted(count: int, thing: str) -> str:
    """A number of things in words."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


class Progress(Iterator[T]):
    """Pass sentences through; on a terminal, say on stderr how far it has come.

    Args:
        sentences: those of a reader, or others.
        name: of their source; by default the reader's.
        quiet: say nothing where standard output is the terminal, too.
    """

    def __init__(
        self, sentences: Iterator[T], name: str | None = None, *, quiet: bool = False
    ) -> None:
        self._sentences = sentences
        self._name: str = getattr(sentences, "name", "-") if name is None else name
        self._status = StatusLine(quiet=quiet)
        self._start = time.monotonic()
        self._due = self._start + _FIRST_SHOWN
        self._count = self._words = 0

    @property
    def tail(self) -> bytes:
        """What the reader found after the last sentence."""
        tail: bytes = getattr(self._sentences, "tail", b"")
        return tail

    def __next__(self) -> T:
        try:
            sentence = next(self._sentences)
        except BaseException:
            self._status.clear()
            raise
        if self._status.is_visible:
            self._count += 1
            self._words += len(sentence)
            self._show()
        return sentence

    def _show(self) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _SHOWN_EVERY
        rate = self._words / (now - self._start)
        self._status.show(f"{self._name}: {self._count:,} sentences, {rate:,.0f} words/s")


def read_trees(path: str, on_error: OnError) -> list[Sentence]:
    """All sentences of a treebank to learn from.

    Raises:
        ModelError: there are none, or none has a head.
    """
    reader = open_treebank(path, on_error=on_error)
    sentences = list(Progress(reader))
    report_skipped(reader)
    if not sentences:
        raise ModelError(f"{reader.name}: no sentences to learn from: check the file")
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError(f"{reader.name}: no word has a HEAD: give a treebank with trees")
    return sentences

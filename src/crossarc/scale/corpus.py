"""A corpus in files: each is a shard, parsed to an output of its own."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, NamedTuple, TypeVar

from crossarc.parser import Parser
from crossarc.parser.lines import line_sentences, split_lines, with_hint
from crossarc.scale.manifest import Manifest, Record, checksum
from crossarc.scale.parsing import CorpusParser, SetAside
from crossarc.scale.paths import folder_of, is_url, open_input, remove, written
from crossarc.text import read_text
from crossarc.treebank import Sentence, SentenceReader, open_output, read_conllu, write_conllu
from crossarc.treebank.reader import OnError
from crossarc.treebank.source import Readable
from crossarc.treebank.writer import Serialized

__all__ = [
    "Form",
    "Outcome",
    "Shard",
    "errors_of",
    "is_finished",
    "parse_shard",
    "parse_to_folder",
    "share",
]

#: The kind of text that an input is; None for a treebank.
Form = Literal["text", "lines", "tokenized"] | None
#: Given the name of an input, what its parsed sentences pass through.
Watch = Callable[[Iterator[Serialized], str], Iterable[Serialized]]
T = TypeVar("T")

_HINT = "raw text, add --text, --lines or --tokenized"
_SUFFIX = ".conllu"


class Shard(NamedTuple):
    """An input and where its parse goes; `-` is standard input and output."""

    source: str
    target: str


@dataclass(slots=True)
class Outcome:
    """What became of a shard.

    Attributes:
        name: of the input.
        target: of the output.
        sentences, words: written.
        skipped, first_problem: sentences that are not valid, and why the first was not.
        set_aside, first_failure: sentences that could not be parsed, and why the first could not.
    """

    name: str
    target: str
    sentences: int = 0
    words: int = 0
    skipped: int = 0
    first_problem: str = ""
    set_aside: int = 0
    first_failure: str = ""


def share(items: Sequence[T], part: tuple[int, int] | None) -> list[T]:
    """The items of part i of n, counted from 1: every n-th."""
    return list(items) if part is None else list(items[part[0] - 1 :: part[1]])


def errors_of(target: str) -> str | None:
    """Where sentences go that could not be parsed."""
    return None if target == "-" else f"{target.removesuffix(_SUFFIX)}.errors{_SUFFIX}"


def parse_to_folder(
    corpus: CorpusParser,
    shard: Shard,
    form: Form,
    recipe: str,
    *,
    skip: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Parse an input to a file in a folder, and note in its manifest that it is finished.

    Args:
        recipe: of `crossarc.scale.manifest`.
        others: as for `parse_shard`.
    """
    manifest = Manifest(folder_of(shard.target))
    before = manifest.read(shard.target)
    _remove_leftovers(shard.target)
    digest = checksum(shard.source)
    outcome = parse_shard(corpus, shard, form, skip=skip, watch=watch)
    record = Record(
        input=shard.source,
        input_digest=digest,
        recipe=recipe,
        output=shard.target,
        output_digest=checksum(shard.target),
        sentences=outcome.sentences,
        words=outcome.words,
        skipped=outcome.skipped,
        set_aside=outcome.set_aside,
    )
    errors = errors_of(shard.target)
    if errors is not None and before is not None and before.set_aside and not outcome.set_aside:
        remove(errors)
    manifest.add(record)
    return outcome


def is_finished(shard: Shard, recipe: str) -> bool:
    """Whether an earlier run has parsed the input in the same way, and its output is unharmed."""
    manifest = Manifest(folder_of(shard.target))
    return manifest.finished(shard.source, shard.target, recipe) is not None


def parse_shard(
    corpus: CorpusParser,
    shard: Shard,
    form: Form,
    *,
    skip: bool = False,
    watch: Watch | None = None,
    stream: IO[bytes] | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Outcome:
    """Parse one input.

    Args:
        skip: pass over sentences that are not valid, and set those aside that cannot be parsed: in
            the file that `errors_of` names, each with its reason.
        stream: the input, where it is open already.
        on_wait: as of `CorpusParser.parse`, for a stream that may wait.

    Raises:
        CrossarcError: an input that cannot be read, or without `skip` such a sentence.
    """
    with ExitStack() as opened:
        readable: Readable = shard.source if stream is None else stream
        if stream is None and is_url(shard.source):
            readable = opened.enter_context(open_input(shard.source))
        reader = None if form else _reader(readable, corpus, skip)
        outcome = Outcome(shard.source if reader is None else reader.name, shard.target)
        failures = opened.enter_context(_Failures(errors_of(shard.target), outcome))
        parsed = corpus.parse(
            _sentences(readable, reader, form, corpus.parser),
            on_wait=on_wait,
            on_failure=failures.add if skip else None,
        )
        watched = parsed if watch is None else watch(parsed, outcome.name)
        with written(shard.target) as target:
            write_conllu(_counted(watched, outcome), target)
        if reader is not None and reader.skipped:
            outcome.skipped, outcome.first_problem = reader.skipped, str(reader.first_problem)
    return outcome


def _reader(readable: Readable, corpus: CorpusParser, skip: bool) -> SentenceReader:
    """HEADs that are no tree do not matter where none is kept."""
    on_error: OnError = "skip" if skip else "raise"
    return read_conllu(readable, on_error=on_error, ignore_heads=not corpus.keeps_heads)


def _sentences(
    readable: Readable, reader: SentenceReader | None, form: Form, parser: Parser
) -> Iterator[Sentence]:
    if reader is not None:
        return with_hint(reader, _HINT)
    pieces = read_text(readable)
    if form == "text":
        return parser.needed_tokenizer.tokenize(pieces)
    tokenizer = None if form == "tokenized" else parser.needed_tokenizer
    return line_sentences(split_lines(pieces), tokenizer)


def _counted(sentences: Iterable[Serialized], outcome: Outcome) -> Iterator[Serialized]:
    for one in sentences:
        outcome.sentences += 1
        outcome.words += one.words
        yield one


class _Failures:
    """The file of sentences that could not be parsed, which there is only if there are some."""

    def __init__(self, path: str | None, outcome: Outcome) -> None:
        self._path, self._outcome = path, outcome
        self._opened = ExitStack()
        self._write: Callable[[bytes], None] = lambda data: None

    def __enter__(self) -> _Failures:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.__exit__(*error)  # type: ignore[arg-type]

    def add(self, failure: SetAside) -> None:
        """Write a sentence with its reason."""
        outcome = self._outcome
        if not outcome.set_aside:
            outcome.first_failure = str(failure.error())
            if self._path is not None:
                target = self._opened.enter_context(written(self._path))
                self._write = self._opened.enter_context(open_output(target))
        outcome.set_aside += 1
        self._write(bytes(failure.marked()))


def _remove_leftovers(target: str) -> None:
    """Remove what killed processes have left of a file that is to be written."""
    if is_url(target):
        return
    path = Path(target)
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        number = partial.name.split(".")[-2]
        if number.isdigit() and not _is_running(int(number)):
            partial.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True

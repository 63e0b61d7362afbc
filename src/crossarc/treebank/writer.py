"""Write sentences: compressed by name, never leaving half a file behind."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from crossarc.errors import TreebankError
from crossarc.treebank.arguments import require_sentence, require_sentences
from crossarc.treebank.plus import Layout, PlusSentence
from crossarc.treebank.rows import BYTE_ORDER_MARK, missing_break
from crossarc.treebank.sentence import Sentence

__all__ = ["Serialized", "Writable", "open_output", "write_conllu"]

Writable = str | os.PathLike[str] | IO[bytes] | IO[str]


@dataclass(frozen=True, slots=True)
class Serialized:
    """A sentence as it is written: what `write_conllu` needs of it, and nothing else.

    Attributes:
        raw: its bytes.
        words: how many it has.
        layout: the columns, of a sentence of CoNLL-U Plus.
        source, line, sent_id: where it comes from, for messages.
    """

    raw: bytes
    words: int
    layout: Layout | None
    source: str | None
    line: int | None
    sent_id: str | None

    @classmethod
    def of(cls, sentence: Sentence) -> Serialized:
        """The sentence as it is now."""
        layout = sentence.layout if isinstance(sentence, PlusSentence) else None
        place = sentence.source, sentence.line, None if layout is None else sentence.sent_id
        return cls(bytes(sentence), len(sentence), layout, *place)

    def __reduce__(self) -> tuple[object, ...]:
        """For pickles: by position, a third of the time that names take."""
        place = self.source, self.line, self.sent_id
        return Serialized, (self.raw, self.words, self.layout, *place)

    def __len__(self) -> int:
        return self.words


def write_conllu(
    sentences: Iterable[Sentence] | Iterable[Serialized], path_or_file: Writable
) -> int:
    """Write sentences as CoNLL-U; returns how many.

    What was read and not changed is written byte for byte. A file appears under its name only
    when it is complete; `.gz`, `.bz2` and `.xz` compress; `-` is standard output. Sentences of a
    CoNLL-U Plus file are written as such, with all its columns.

    Raises:
        TreebankError: sentences with different columns.
    """
    require_sentences(sentences, "what is written")
    count = 0
    with open_output(path_or_file) as write:
        gap = b""
        layout: Layout | None = None
        for sentence in sentences:
            one = sentence if isinstance(sentence, Serialized) else _serialized(sentence)
            raw = one.raw
            if count == 0 and one.layout is not None:
                layout, raw = one.layout, one.layout.declare(raw)
            elif one.layout != layout:
                raise _other_columns(one, layout)
            write(gap + raw if count == 0 else gap + raw.removeprefix(BYTE_ORDER_MARK))
            gap = missing_break(raw)
            count += 1
        write(getattr(sentences, "tail", b""))
    return count


def _serialized(sentence: Sentence) -> Serialized:
    require_sentence(sentence, "what is written")
    return Serialized.of(sentence)


def _other_columns(one: Serialized, first: Layout | None) -> TreebankError:
    ours, theirs = (" ".join(its.extra) if its else "none" for its in (one.layout, first))
    return TreebankError(
        f"columns beside the ten of CoNLL-U: {ours}, but the first sentence written has {theirs}: "
        "write them to separate files, or drop them by treebank.without_extra_columns",
        source=one.source,
        line=one.line,
        sent_id=one.sent_id,
    )


class _Write:
    """Writes bytes to a binary or a text file."""

    def __init__(self, file: IO[bytes] | IO[str]) -> None:
        self._file = file
        self._is_text = isinstance(file, io.TextIOBase)

    def __call__(self, data: bytes) -> None:
        if self._is_text:
            cast(IO[str], self._file).write(data.decode())
        else:
            cast(IO[bytes], self._file).write(data)


@contextmanager
def open_output(path_or_file: Writable, *, compress: bool = True) -> Iterator[_Write]:
    """Give a function that writes bytes; by default compressed as the name says.

    A file is written under a temporary name in the same folder and renamed at the end, so an
    interruption leaves what was there before. Devices and pipes are written to directly.
    """
    if not isinstance(path_or_file, str | os.PathLike):
        if not hasattr(path_or_file, "write"):
            raise TypeError(f"expected a path or a file to write to: got {path_or_file!r:.60}")
        yield _Write(path_or_file)
        return
    if os.fspath(path_or_file) == "-":
        yield _Write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    # A link stays a link: what it points to is replaced.
    path = Path(os.path.realpath(path_or_file))
    name = os.fspath(path_or_file)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        with _opened(path, name) as file:
            yield _Write(file)
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _opened(partial, name) as file:
            if path.exists():
                os.chmod(partial, stat.S_IMODE(path.stat().st_mode))
            with _compressed(file, path.suffix if compress else "") as stream:
                yield _Write(stream)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


class _NamedFile(io.FileIO):
    """A file to write to; errors name the file that was asked for, which may be another."""

    def __init__(self, path: Path, name: str) -> None:
        self._asked = name
        with self._naming():
            super().__init__(path, "wb")

    def write(self, data: Any, /) -> int:
        with self._naming():
            return super().write(data)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = self._asked
            raise


def _opened(path: Path, name: str) -> BinaryIO:
    return io.BufferedWriter(_NamedFile(path, name))


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        # No name and no time, so that the same sentences give the same file.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield cast(IO[bytes], stream)
    elif suffix == ".bz2":
        with bz2.open(file, "wb") as stream:
            yield cast(IO[bytes], stream)
    elif suffix == ".xz":
        with lzma.open(file, "wb") as stream:
            yield cast(IO[bytes], stream)
    else:
        yield file

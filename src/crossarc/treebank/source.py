"""Bytes from anywhere: paths, compressed files, standard input, file objects, lines of text."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from crossarc.errors import TreebankError

__all__ = ["Readable", "Source", "source_name"]

Readable = str | os.PathLike[str] | IO[bytes] | IO[str] | Iterable[str]

_BLOCK = 1 << 21
_MAGIC: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_CORRUPT = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


def source_name(readable: Readable) -> str:
    """What to call a source in messages."""
    if isinstance(readable, str | os.PathLike):
        return "<stdin>" if os.fspath(readable) == "-" else os.fspath(readable)
    name = getattr(readable, "name", None)
    return name if isinstance(name, str) else "<stream>"


class Source:
    """An iterator of byte blocks.

    `is_live` tells that more may arrive late (a pipe, a terminal, a generator), so that what is
    complete should be handed on at once. Compression is recognised by content, not by name.
    """

    def __init__(self, readable: Readable) -> None:
        self.name = source_name(readable)
        self._close: BinaryIO | None = None
        if isinstance(readable, str | os.PathLike):
            file = self._open(os.fspath(readable))
            self.is_live = _is_live(file)
            self._chunks = _binary_chunks(file)
        elif hasattr(readable, "read"):
            self.is_live = _is_live(readable)
            if isinstance(readable.read(0), bytes):
                self._chunks = _binary_chunks(cast(BinaryIO, readable))
            else:
                self._chunks = _text_chunks(cast(IO[str], readable), self.is_live)
        elif not isinstance(readable, Iterable):
            raise TypeError(f"expected a path, a file or lines of text: got {readable!r:.60}")
        else:
            self.is_live = _is_live(readable)
            self._chunks = _text_chunks(map(_closed_line, readable), self.is_live)

    def _open(self, path: str) -> BinaryIO:
        if path == "-":
            return sys.stdin.buffer
        self._close = Path(path).open("rb")  # noqa: SIM115  # closed by `close`
        return self._close

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
        except _CORRUPT as error:
            raise TreebankError(
                f"the compressed data is damaged or cut off ({error}): fetch the file again",
                source=self.name,
            ) from error
        except OSError as error:
            # bz2 reports damaged data as a plain OSError without a number.
            if error.errno is not None:
                raise
            raise TreebankError(
                f"the compressed data is damaged ({error}): fetch the file again", source=self.name
            ) from error
        finally:
            self.close()

    def close(self) -> None:
        """Close what this source opened; a file that was handed in stays open."""
        if self._close is not None:
            self._close.close()


def _is_live(file: Any) -> bool:
    if isinstance(file, list | tuple | io.StringIO | io.BytesIO):
        return False
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, AttributeError):
        return True


def _binary_chunks(file: BinaryIO) -> Iterator[bytes]:
    """Blocks of decompressed bytes, each as soon as it is there."""
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    start = b""
    # Whoever sends a short first line may wait for an answer to it.
    while any(magic.startswith(start) for magic in _MAGIC) and (more := read(_BLOCK)):
        start += more
    for magic, open_ in _MAGIC.items():
        if start.startswith(magic):
            packed = io.BufferedReader(_Rejoined(start, read), _BLOCK)
            read = open_(packed, "rb").read1
            start = b""
            break
    if start:
        yield start
    while block := read(_BLOCK):
        yield block


class _Rejoined(io.RawIOBase):
    """The bytes that were read to recognise a format, then the rest."""

    def __init__(self, start: bytes, read: Callable[[int], bytes]) -> None:
        self._start = start
        self._read = read

    def readable(self) -> bool:
        """Always, as `io` asks."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer with what is at hand."""
        block = self._start[: len(buffer)] or self._read(len(buffer))
        self._start = self._start[len(block) :]
        buffer[: len(block)] = block
        return len(block)


def _closed_line(line: str) -> str:
    if not isinstance(line, str):
        raise TypeError(f"expected lines of text, got {type(line).__name__}")
    return line if line.endswith("\n") else line + "\n"


def _text_chunks(lines: Iterable[str], is_live: bool) -> Iterator[bytes]:
    """Lines joined into blocks that end with a sentence."""
    pending: list[str] = []
    size = 0
    for line in lines:
        pending.append(line)
        size += len(line)
        if line in ("\n", "\r\n") and (is_live or size >= _BLOCK):
            yield "".join(pending).encode("utf-8", "surrogatepass")
            pending, size = [], 0
    yield "".join(pending).encode("utf-8", "surrogatepass")

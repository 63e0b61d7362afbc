"""Read CoNLL-U in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Literal

from crossarc.errors import TreebankError
from crossarc.treebank.diagnose import diagnose, find_sent_id
from crossarc.treebank.plus import Layout
from crossarc.treebank.rows import BYTE_ORDER_MARK, without_heads
from crossarc.treebank.scan import Scan, scan
from crossarc.treebank.sentence import Sentence
from crossarc.treebank.source import Readable, Source

__all__ = ["OnError", "SentenceReader", "read_conllu"]

OnError = Literal["raise", "skip"]

_BREAKS = re.compile(rb"[\r\n]*")
# The last line may lack its line feed, and be blank all the same.
_BLANK_LINES = re.compile(rb"\n(?:(?:\r?\n)+(?:\r\Z)?|\r\Z)")
_LONGEST_SENTENCE = 1 << 28


def read_conllu(
    path_or_file: Readable, *, on_error: OnError = "raise", ignore_heads: bool = False
) -> SentenceReader:
    """Iterate over the sentences of a CoNLL-U file.

    Reads blocks of a few MiB; on a pipe, a sentence is handed on as soon as its blank line
    arrives. Writing what was read gives the same bytes. CoNLL-U Plus is read as well, if its
    columns include the ten of CoNLL-U; `extra_columns` of a sentence has the others.

    Args:
        path_or_file: a path, `-` for standard input, a binary or text file object, or lines of
            text. Gzip, bzip2 and xz are recognised by their content.
        on_error: "skip" passes over sentences that are not valid and counts them in `skipped`.
        ignore_heads: where the HEADs of a sentence are no tree, read `_` for all of them.

    Raises:
        TreebankError: a sentence is not valid; names file, line, sentence and remedy.
    """
    return SentenceReader(path_or_file, on_error=on_error, ignore_heads=ignore_heads)


class SentenceReader(Iterator[Sentence]):
    """The iterator that `read_conllu` returns.

    Attributes:
        skipped: sentences passed over so far, with `on_error="skip"`.
        first_problem: why the first of them was.
        tail: blank lines at the end of a stream, which no sentence can own any more.
    """

    def __init__(
        self,
        path_or_file: Readable,
        *,
        on_error: OnError = "raise",
        ignore_heads: bool = False,
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error must be "raise" or "skip": got {on_error!r}')
        self._source = Source(path_or_file)
        self._skip, self._ignore_heads = on_error == "skip", ignore_heads
        self._line = 1
        self._layout: Layout | None = None
        #: Of rows with a wrong number of columns in CoNLL-U Plus, by line.
        self._faults: dict[int, str] = {}
        self.skipped = 0
        self.first_problem: TreebankError | None = None
        self.tail = b""
        self._sentences = self._read()

    @property
    def name(self) -> str:
        """The file or stream, as messages call it."""
        return self._source.name

    def __iter__(self) -> SentenceReader:
        return self

    def __next__(self) -> Sentence:
        return next(self._sentences)

    def __enter__(self) -> SentenceReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading and close the file."""
        self._sentences.close()
        self._source.close()

    def _read(self) -> Generator[Sentence, None, None]:
        data = b""
        blocks = iter(self._source)
        while True:
            try:
                block = next(blocks, b"")
            except TreebankError as error:
                # What came through whole is still good.
                yield from self._block(data[: _last_boundary(data, is_live=True)])
                self._report(error.what, self._line)
                return
            if not block:
                break
            data += block
            cut = _last_boundary(data, self._source.is_live)
            if cut > self._blank(data):
                yield from self._block(data[:cut])
                data = data[cut:]
            elif len(data) > _LONGEST_SENTENCE:
                self._report("no blank line in 256 MiB: is this a CoNLL-U file?", self._line)
                return
        if len(data) > self._blank(data):
            yield from self._block(data)
        else:
            self.tail = data

    def _blank(self, data: bytes) -> int:
        """How far there are only blank lines; at the start of the file, also a byte-order mark."""
        marked = self._line == 1 and data.startswith(BYTE_ORDER_MARK)
        return _breaks(data, len(BYTE_ORDER_MARK) if marked else 0)

    def _block(self, data: bytes) -> Iterator[Sentence]:
        """The sentences of a block; the first of the file begins with its byte-order mark."""
        mark = BYTE_ORDER_MARK if self._line == 1 and data.startswith(BYTE_ORDER_MARK) else b""
        data = data.removeprefix(mark)
        if self._line == 1:
            self._layout = self._declared_columns(data)
        if self._layout is None:
            yield from self._valid(mark, data)
        else:
            data, extra, faults = self._layout.split(data)
            self._faults = {self._line + number: what for number, what in faults.items()}
            yield from self._layout.attach(self._valid(mark, data), extra, self._line)
        self._line += data.count(b"\n")

    def _valid(self, mark: bytes, data: bytes) -> Iterator[Sentence]:
        found = _scan(data)
        if found is None:
            return self._one_by_one(mark, data)
        return self._split(found, mark, data, self._line)

    def _declared_columns(self, data: bytes) -> Layout | None:
        """The columns of CoNLL-U Plus, by the first line of the file."""
        try:
            return Layout.declared(data)
        except ValueError as error:
            self._source.close()
            raise TreebankError(str(error), source=self.name, line=1) from None

    def _one_by_one(self, mark: bytes, data: bytes) -> Iterator[Sentence]:
        """The same for a block in which something is not valid."""
        line = self._line
        for piece in _pieces(data):
            found = _scan(piece)
            if found is None and self._ignore_heads:
                piece = without_heads(piece)
                found = _scan(piece)
            if found is not None:
                yield from self._split(found, mark, piece, line)
            else:
                problem = diagnose(piece)
                if problem is None:
                    raise AssertionError(f"{self.name}:{line}: refused without a reason")
                sent_id = find_sent_id(piece.decode(errors="replace"))
                what = self._faults.get(line + problem.line, problem.what)
                self._report(what, line + problem.line, sent_id)
            mark = b""
            line += piece.count(b"\n")

    def _split(self, found: Scan, mark: bytes, data: bytes, line: int) -> Iterator[Sentence]:
        heads = found.heads
        heads.flags.writeable = False
        name = self.name
        words = found.words.tolist()
        begin = 0
        for k, (end, body, body_end, only_words, first_line) in enumerate(
            zip(
                found.end.tolist(),
                found.body.tolist(),
                found.body_end.tolist(),
                found.only_words.tolist(),
                (found.line + line).tolist(),
                strict=True,
            )
        ):
            own = heads[words[k] : words[k + 1]]
            raw, shift = data[begin:end], begin
            if mark:
                raw, shift, mark = mark + raw, -len(mark), b""
            yield Sentence(raw, body - shift, body_end - shift, own, only_words, name, first_line)
            begin = end

    def _report(self, what: str, line: int, sent_id: str | None = None) -> None:
        error = TreebankError(what, source=self.name, line=line, sent_id=sent_id)
        if not self._skip:
            self._source.close()
            raise error
        self.skipped += 1
        self.first_problem = self.first_problem or error


def _scan(data: bytes) -> Scan | None:
    return scan(data if data.endswith(b"\n") else data + b"\n")


def _last_boundary(data: bytes, is_live: bool) -> int:
    """Where the last sentence that is known to be complete ends.

    All blank lines behind a sentence belong to it, so unless the source is live a sentence counts
    as complete only once the next one has begun.
    """
    end = len(data) if is_live else len(data.rstrip(b"\r\n"))
    unix, dos = data.rfind(b"\n\n", 0, end), data.rfind(b"\n\r\n", 0, end)
    return max(unix + 2 if unix >= 0 else 0, dos + 3 if dos >= 0 else 0)


def _breaks(data: bytes, start: int) -> int:
    match = _BREAKS.match(data, start)
    return match.end() if match else start


def _pieces(data: bytes) -> Iterator[bytes]:
    """Single sentences, each with the blank lines behind it, the first also with those before."""
    start = 0
    for match in _BLANK_LINES.finditer(data, _breaks(data, 0)):
        yield data[start : match.end()]
        start = match.end()
    if start < len(data):
        yield data[start:]

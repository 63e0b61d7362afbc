"""CoNLL-U Plus: files that name their columns on the first line, others beside the ten.

    # global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC PARSEME:MWE

The ten columns of CoNLL-U may stand in any order, and none may be missing. A sentence holds them as
usual, and the others beside; it is written as it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from crossarc.treebank.columns import COLUMNS, ID, NAMES
from crossarc.treebank.rows import BYTE_ORDER_MARK
from crossarc.treebank.sentence import Sentence

__all__ = ["Layout", "PlusSentence", "without_extra_columns"]

_DECLARATION = re.compile(rb"#[ \t]*global\.columns[ \t]*=([^\r\n]*)")

#: The other columns of one row.
Extra = tuple[bytes, ...]


class Layout:
    """The columns of a file, in their order.

    Attributes:
        names: of all columns.
        extra: of those that CoNLL-U lacks.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.extra = tuple(name for name in names if name not in NAMES)
        self._from_file = [names.index(name) for name in (*NAMES, *self.extra)]
        self._to_file = [(*NAMES, *self.extra).index(name) for name in names]

    @classmethod
    def declared(cls, data: bytes) -> Layout | None:
        """What the first line of a file says; None for the ten columns of CoNLL-U.

        Raises:
            ValueError: a column is missing or named twice.
        """
        match = _DECLARATION.match(data)
        names = NAMES if match is None else tuple(match[1].decode(errors="replace").split())
        if names == NAMES:
            return None
        missing = [name for name in NAMES if name not in names]
        if missing:
            raise ValueError(
                f"this is CoNLL-U Plus, and # global.columns lacks {', '.join(missing)}: add the "
                "column, with _ in every row"
            )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"# global.columns names {twice} twice: give each column its own name")
        return cls(names)

    def declare(self, raw: bytes) -> bytes:
        """The first sentence of a file, which begins with the names of the columns."""
        mark = BYTE_ORDER_MARK if raw.startswith(BYTE_ORDER_MARK) else b""
        rest = raw.removeprefix(mark)
        if _DECLARATION.match(rest):
            return raw
        line_break = b"\r\n" if rest.partition(b"\n")[0].endswith(b"\r") else b"\n"
        names = " ".join(self.names).encode()
        return mark + b"# global.columns = " + names + line_break + rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and other.names == self.names

    def __hash__(self) -> int:
        return hash(self.names)

    def split(self, data: bytes) -> tuple[bytes, list[Extra], dict[int, str]]:
        """Lines of a file as CoNLL-U.

        Returns:
            As many lines with the ten columns; the other columns of each line; and the faults of
            lines that have another number of columns, which are left empty of columns.
        """
        lines = data.split(b"\n")
        extra: list[Extra] = [()] * len(lines)
        faults: dict[int, str] = {}
        for number, line in enumerate(lines):
            if not _is_row(line):
                continue
            fields, end = _fields(line)
            if len(fields) == len(self.names):
                ordered = [fields[index] for index in self._from_file]
                lines[number] = b"\t".join(ordered[:COLUMNS]) + end
                extra[number] = tuple(ordered[COLUMNS:])
            elif line.strip():
                lines[number] = b"?" + end
                faults[number] = (
                    f"{len(fields)} columns: # global.columns names {len(self.names)}, separated "
                    "by single tabs"
                )
        return b"\n".join(lines), extra, faults

    def join(self, data: bytes, extra: list[Extra]) -> bytes:
        """The inverse of `split`, for one sentence; `extra` has an entry for each row."""
        lines = data.split(b"\n")
        rows = iter(extra)
        for number, line in enumerate(lines):
            if _is_row(line):
                fields, end = _fields(line)
                fields += next(rows)
                lines[number] = b"\t".join([fields[index] for index in self._to_file]) + end
        return b"\n".join(lines)

    def attach(
        self, sentences: Iterator[Sentence], extra: list[Extra], line: int
    ) -> Iterator[PlusSentence]:
        """Sentences as read from the lines that `split` gave, with their other columns.

        Args:
            line: the number in the file of the first of these lines.
        """
        for sentence in sentences:
            assert sentence._line is not None
            first = sentence._line - line + sentence._raw.count(b"\n", 0, sentence._body)
            count = 1 + sentence._raw.count(b"\n", sentence._body, sentence._body_end)
            yield PlusSentence(sentence, self, extra[first : first + count])


class PlusSentence(Sentence):
    """A sentence with other columns beside the ten; everything else is as for `Sentence`."""

    __slots__ = ("_extra", "_layout")

    def __init__(self, sentence: Sentence, layout: Layout, extra: list[Extra]) -> None:
        for name in Sentence.__slots__:
            setattr(self, name, getattr(sentence, name))
        self._layout = layout
        #: Of each row, multiword tokens and empty nodes included.
        self._extra = extra

    @property
    def layout(self) -> Layout:
        """The columns of the file that the sentence came from."""
        return self._layout

    @property
    def extra_columns(self) -> Mapping[str, tuple[str, ...]]:
        """The values of the words in the columns that CoNLL-U lacks, by name of the column."""
        rows = self._raw[self._body : self._body_end].split(b"\n")
        own = [extra for row, extra in zip(rows, self._extra, strict=True) if _is_word(row)]
        return {
            name: tuple(extra[index].decode() for extra in own)
            for index, name in enumerate(self._layout.extra)
        }

    def copy(self) -> PlusSentence:
        """An independent copy, sharing what has not been written."""
        return PlusSentence(super().copy(), self._layout, self._extra)

    def words_only(self) -> Sentence:
        """A copy without multiword tokens and empty nodes."""
        rows = self._raw[self._body : self._body_end].split(b"\n")
        pairs = zip(rows, self._extra, strict=True)
        words = [extra for row, extra in pairs if _is_word(row)]
        return PlusSentence(Sentence.copy(self).words_only(), self._layout, words)

    def to_conllu(self) -> str:
        """The ten columns of CoNLL-U as text, ending in a blank line."""
        return without_extra_columns(self).to_conllu()

    def __bytes__(self) -> bytes:
        return self._layout.join(super().__bytes__(), self._extra)


def without_extra_columns(sentence: Sentence) -> Sentence:
    """A copy with the ten columns of CoNLL-U, and without `# global.columns`."""
    twin = Sentence.copy(sentence)
    comments = [line for line in twin.comments if not _DECLARATION.match(line.encode())]
    if len(comments) < len(twin.comments):
        twin.comments = comments
    return twin


def _is_row(line: bytes) -> bool:
    start = line.removeprefix(BYTE_ORDER_MARK)
    return bool(start.rstrip(b"\r")) and not start.startswith(b"#")


def _is_word(row: bytes) -> bool:
    return row.split(b"\t")[ID].isdigit()


def _fields(line: bytes) -> tuple[list[bytes], bytes]:
    """The columns of a row, and the carriage return behind them."""
    row = line.removesuffix(b"\r")
    return row.split(b"\t"), line[len(row) :]

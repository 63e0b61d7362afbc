"""A sentence: its bytes as they came, with columns decoded on access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import TreebankError
from crossarc.treebank.columns import (
    COLUMNS,
    DEPREL,
    DEPS,
    FEATS,
    FORM,
    HEAD,
    ID,
    LEMMA,
    MISC,
    UPOS,
    XPOS,
    Column,
    checked_comments,
    checked_values,
    head_fields,
    parsed_features,
)
from crossarc.treebank.hints import SENTENCE, attribute_error
from crossarc.treebank.records import html_table, record
from crossarc.treebank.rows import (
    BYTE_ORDER_MARK,
    missing_break,
    other_rows,
    row_of_word,
    spaced_text,
    with_columns,
    word_rows,
)
from crossarc.treebank.word import EmptyNode, MultiwordToken, Word
from crossarc.trees import Tree, head_array

__all__ = ["Sentence"]


class Sentence:
    """One sentence of a treebank, lossless.

    Columns are tuples with one entry a syntactic word; multiword tokens and empty nodes are kept in
    the file but have no entry. Assigning a column writes it and nothing else:

        sentence.heads = [2, 0, 2]
        sentence.deprels = ["det", "root", "punct"]

    A sentence is also a sequence of Words, which read and write the same columns: `sentence[0]` is
    the first word, the one with id 1.

    Sentences come from `read_conllu` or from `Sentence.build`.
    """

    __slots__ = (
        "_body",
        "_body_end",
        "_comments",
        "_fields",
        "_heads",
        "_line",
        "_only_words",
        "_raw",
        "_source",
        "_written",
    )

    forms = Column(FORM, "Word forms.")
    lemmas = Column(LEMMA, "Lemmas.")
    upos = Column(UPOS, "Universal part-of-speech tags (CoNLL-X: coarse tags).")
    xpos = Column(XPOS, "Language-specific tags (CoNLL-X: fine tags).")
    feats = Column(FEATS, "Morphological features as they stand; see `feats_dict`.")
    deprels = Column(DEPREL, "Dependency relations to the heads.")
    deps = Column(DEPS, "Enhanced dependencies as they stand.")
    misc = Column(MISC, "Anything else, as it stands.")

    def __init__(
        self,
        raw: bytes,
        body: int,
        body_end: int,
        heads: NDArray[np.int64],
        only_words: bool,
        source: str | None = None,
        line: int | None = None,
    ) -> None:
        """For the reader: bytes and heads that are known to be valid.

        Args:
            body, body_end: the offsets that enclose the rows, without the last line break.
            only_words: whether all rows are words.
            source, line: where the bytes begin in a file.
        """
        self._raw = raw
        self._body = body
        self._body_end = body_end
        self._heads = heads
        self._only_words = only_words
        self._source = source
        self._line = line
        self._fields: list[str] | None = None
        self._written: set[int] = set()
        self._comments: tuple[str, ...] | None = None

    @classmethod
    def build(
        cls,
        forms: Sequence[str],
        *,
        lemmas: Sequence[str] | None = None,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        heads: ArrayLike | None = None,
        deprels: Sequence[str] | None = None,
        misc: Sequence[str] | None = None,
        comments: Iterable[str] = (),
    ) -> Sentence:
        """A new sentence; columns not given are `_`, heads of -1 are `_`.

        Raises:
            TreebankError: columns of unequal length, empty values or ones with tabs or line
                breaks, heads that are no tree.
        """
        n = len(forms)
        if n == 0:
            raise TreebankError("a sentence needs at least one word")
        unset = ["_"] * n
        known = (
            np.full(n, -1, np.int64) if heads is None else head_array(heads, words=n, partial=True)
        )
        columns = [
            [str(number) for number in range(1, n + 1)],
            *(
                unset if values is None else checked_values(list(values), n)
                for values in (forms, lemmas, upos, xpos, feats)
            ),
            head_fields(known),
            *(
                unset if values is None else checked_values(list(values), n)
                for values in (deprels, None, misc)
            ),
        ]
        head = "".join(f"{line}\n" for line in checked_comments(comments)).encode()
        body = "\n".join(map("\t".join, zip(*columns, strict=True))).encode()
        return cls(head + body + b"\n\n", len(head), len(head) + len(body), known, True)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """For pickles: the bytes, without what can be decoded from them again."""
        if type(self) is not Sentence or self._written or self._comments is not None:
            return super().__reduce_ex__(protocol)
        heads = self._heads.tobytes()
        place = self._source, self._line
        return _restored, (self._raw, self._body, self._body_end, heads, self._only_words, *place)

    def copy(self) -> Sentence:
        """An independent copy, sharing what has not been written."""
        twin = Sentence(self._raw, self._body, self._body_end, self._heads, self._only_words)
        twin._source, twin._line = self._source, self._line
        twin._fields = None if self._fields is None else list(self._fields)
        twin._written = set(self._written)
        twin._comments = self._comments
        return twin

    def words_only(self) -> Sentence:
        """A copy without multiword tokens and empty nodes."""
        words = word_rows(self._raw[self._body : self._body_end])
        twin = self.copy()
        twin._raw = self._raw[: self._body] + words + self._raw[self._body_end :]
        twin._body_end = self._body + len(words)
        twin._only_words = True
        twin._line = None
        return twin

    def __len__(self) -> int:
        return len(self._heads)

    @overload
    def __getitem__(self, index: int) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Word, ...]: ...
    def __getitem__(self, index: int | slice) -> Word | tuple[Word, ...]:
        if isinstance(index, slice):
            return tuple(Word(self, k + 1) for k in range(*index.indices(len(self))))
        try:
            return Word(self, range(1, len(self) + 1)[index])
        except IndexError:
            raise IndexError(
                f"index {index} is out of range: the sentence has {len(self)} words, the first at 0"
            ) from None

    def __iter__(self) -> Iterator[Word]:
        return (Word(self, number) for number in range(1, len(self) + 1))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise attribute_error(self, name, SENTENCE)

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"<Sentence {self.sent_id or 'without id'}: {shown!r}, {len(self)} words>"

    def _repr_svg_(self) -> str | None:
        """The drawing that notebooks show; none as long as a word has no head."""
        from crossarc.draw import svg

        return None if (self._heads < 0).any() else svg(self)

    def _repr_html_(self) -> str | None:
        """The table that notebooks show in place of a drawing, as long as a word has no head."""
        if (self._heads >= 0).all():
            return None
        return html_table(self)

    @property
    def source(self) -> str | None:
        """The file that the sentence was read from, or None."""
        return self._source

    @property
    def line(self) -> int | None:
        """The line of the file on which its comments or words began, or None."""
        if self._line is None:
            return None
        start = self._raw.removeprefix(BYTE_ORDER_MARK)
        return self._line + start.count(b"\n", 0, len(start) - len(start.lstrip(b"\r\n")))

    def line_of(self, word: int) -> int | None:
        """The line of the file on which a word stood, by its id, or None."""
        if self._line is None:
            return None
        row = row_of_word(self._raw[self._body : self._body_end], word)
        return self._line + self._raw.count(b"\n", 0, self._body) + row

    @property
    def roots(self) -> tuple[Word, ...]:
        """The words that hang from the artificial root."""
        return tuple(
            Word(self, number) for number in (np.flatnonzero(self._heads == 0) + 1).tolist()
        )

    @property
    def root(self) -> Word:
        """The word that hangs from the artificial root.

        Raises:
            TreebankError: there is none, or several.
        """
        roots = self.roots
        if len(roots) != 1:
            raise self._error(f"{len(roots)} words have head 0, not one: use sentence.roots")
        return roots[0]

    def _error(self, what: str, word: int | None = None) -> TreebankError:
        line = self.line if word is None else self.line_of(word)
        return TreebankError(what, source=self._source, line=line, sent_id=self.sent_id)

    @property
    def heads(self) -> NDArray[np.int64]:
        """Read-only: the head of word 1 first, 0 is the root, -1 where the column is `_`."""
        return self._heads

    @heads.setter
    def heads(self, values: ArrayLike) -> None:
        self._heads = head_array(values, words=len(self), partial=True)
        self._written.add(HEAD)
        if self._fields is not None:
            self._fields[HEAD::COLUMNS] = head_fields(self._heads)

    @property
    def tree(self) -> Tree:
        """The tree of the basic dependencies, labelled with the relations.

        Raises:
            TreebankError: a word has no head.
        """
        absent = np.flatnonzero(self._heads < 0)
        if len(absent):
            first = int(absent[0]) + 1
            raise self._error(f"word {first} has no head: fill in the HEAD column first", first)
        return Tree._trusted(self._heads, self.deprels)

    @property
    def feats_dict(self) -> tuple[dict[str, str], ...]:
        """Features by name, one dict a word; a feature without `=` maps to the empty string."""
        return tuple(map(parsed_features, self.feats))

    @property
    def comments(self) -> tuple[str, ...]:
        """The comment lines above the sentence, each with its `#`."""
        if self._comments is not None:
            return self._comments
        lines = self._raw[: self._body].removeprefix(BYTE_ORDER_MARK).decode().split("\n")
        return tuple(line.removesuffix("\r") for line in lines if line.startswith("#"))

    @comments.setter
    def comments(self, lines: Iterable[str]) -> None:
        self._comments = checked_comments(lines)

    def comment(self, key: str) -> str | None:
        """The value of the first comment `# key = value`, or None."""
        for line in self.comments:
            name, equals, value = line[1:].partition("=")
            if equals and name.strip() == key:
                return value.strip()
        return None

    @property
    def sent_id(self) -> str | None:
        """The value of `# sent_id`, or None."""
        return self.comment("sent_id")

    @property
    def text(self) -> str:
        """The value of `# text`, else the forms, spaced as `SpaceAfter=No` says."""
        text = self.comment("text")
        if text is not None:
            return text
        return spaced_text(self.forms, self.misc, self.multiword_tokens)

    @property
    def multiword_tokens(self) -> tuple[MultiwordToken, ...]:
        """The surface tokens that are split into several words."""
        if self._only_words:
            return ()
        return tuple(
            MultiwordToken(int(first), int(last), row[FORM], row[MISC])
            for row in other_rows(self._raw[self._body : self._body_end])
            for first, dash, last in [row[ID].partition("-")]
            if dash
        )

    @property
    def empty_nodes(self) -> tuple[EmptyNode, ...]:
        """The empty nodes, such as EmptyNode(id="8.1", form="likes", ...)."""
        if self._only_words:
            return ()
        return tuple(
            EmptyNode(*row)
            for row in other_rows(self._raw[self._body : self._body_end])
            if "." in row[ID]
        )

    @property
    def extra_columns(self) -> Mapping[str, tuple[str, ...]]:
        """The values of the words in columns that CoNLL-U lacks, by name (CoNLL-U Plus)."""
        return {}

    def to_conllu(self) -> str:
        """The sentence as text, ending in a blank line."""
        raw = bytes(self).removeprefix(BYTE_ORDER_MARK)
        return (raw + missing_break(raw)).decode()

    def to_dict(self) -> dict[str, Any]:
        """All that the sentence says, as values that JSON has; `_` is None."""
        return record(self)

    def __bytes__(self) -> bytes:
        """The sentence as it stands in a file: unchanged but for what was written."""
        if not self._written and self._comments is None:
            return self._raw
        head, body = self._raw[: self._body], self._raw[self._body : self._body_end]
        if self._comments is not None:
            break_ = b"\r\n" if body.partition(b"\n")[0].endswith(b"\r") else b"\n"
            head = b"".join(line.encode() + break_ for line in self._comments)
            if self._raw.startswith(BYTE_ORDER_MARK):
                head = BYTE_ORDER_MARK + head
        if self._written:
            body = with_columns(body, self._written, self.word_fields())
        return head + body + self._raw[self._body_end :]

    def word_fields(self) -> list[str]:
        """The ten fields of word 1, then of word 2, ..., in one list."""
        if self._fields is None:
            body = self._raw[self._body : self._body_end].decode()
            if "\r\n" in body:
                body = body.replace("\r\n", "\n")
            if not self._only_words:
                rows = body.split("\n")
                body = "\n".join(row for row in rows if row[: row.index("\t")].isdigit())
            self._fields = body.replace("\n", "\t").split("\t")
            if HEAD in self._written:
                self._fields[HEAD::COLUMNS] = head_fields(self._heads)
        return self._fields

    def write_column(self, index: int, values: list[str]) -> None:
        """Replace a column of the words; columns have names for this, such as `forms`."""
        self.word_fields()[index::COLUMNS] = checked_values(values, len(self))
        self._written.add(index)

    def write_field(self, word: int, index: int, value: str) -> None:
        """Replace a column of one word, by its id; words have names for this, such as `form`."""
        self.word_fields()[(word - 1) * COLUMNS + index] = checked_values([value], 1)[0]
        self._written.add(index)


def _restored(raw: bytes, body: int, body_end: int, heads: bytes, *others: Any) -> Sentence:
    """A sentence from its pickle."""
    return Sentence(raw, body, body_end, np.frombuffer(heads, np.int64), *others)

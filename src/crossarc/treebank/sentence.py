"""A sentence: its bytes as they came, with columns decoded on access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
)
from crossarc.treebank.values import (
    checked_comments,
    checked_values,
    head_fields,
    missing_break,
)
from crossarc.trees import Tree, head_array

__all__ = ["BYTE_ORDER_MARK", "MultiwordToken", "Sentence"]

BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()


class MultiwordToken(NamedTuple):
    """A surface token that stands for the words first..last."""

    first: int
    last: int
    form: str
    misc: str


class Sentence:
    """One sentence of a treebank, lossless.

    Columns are tuples with one entry a syntactic word; multiword tokens and empty nodes are kept in
    the file but have no entry. Assigning a column writes it and nothing else:

        sentence.heads = [2, 0, 2]
        sentence.deprels = ["det", "root", "punct"]

    Sentences come from `read_conllu` or from `Sentence.build`.
    """

    __slots__ = (
        "_body",
        "_body_end",
        "_comments",
        "_fields",
        "_heads",
        "_plain",
        "_raw",
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
        self, raw: bytes, body: int, body_end: int, heads: NDArray[np.int64], plain: bool
    ) -> None:
        """For the reader: bytes and heads that are known to be valid."""
        self._raw = raw
        self._body = body
        self._body_end = body_end
        self._heads = heads
        self._plain = plain
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

    def copy(self) -> Sentence:
        """An independent copy, sharing what has not been written."""
        twin = Sentence(self._raw, self._body, self._body_end, self._heads, self._plain)
        twin._fields = None if self._fields is None else list(self._fields)
        twin._written = set(self._written)
        twin._comments = self._comments
        return twin

    def words_only(self) -> Sentence:
        """A copy without multiword tokens and empty nodes."""
        rows = self._raw[self._body : self._body_end].split(b"\n")
        words = b"\n".join(row for row in rows if row.partition(b"\t")[0].isdigit())
        words = words.removesuffix(b"\r")
        twin = self.copy()
        twin._raw = self._raw[: self._body] + words + self._raw[self._body_end :]
        twin._body_end = self._body + len(words)
        twin._plain = True
        return twin

    def __len__(self) -> int:
        return len(self._heads)

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"<Sentence {self.sent_id or 'without id'}: {shown!r}, {len(self)} words>"

    def _repr_svg_(self) -> str | None:
        """The drawing that notebooks show; none as long as a word has no head."""
        from crossarc.draw import svg

        return None if (self._heads < 0).any() else svg(self)

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
            raise TreebankError(
                f"word {absent[0] + 1} has no head: fill in the HEAD column first",
                sent_id=self.sent_id,
            )
        return Tree._trusted(self._heads, self.deprels)

    @property
    def feats_dict(self) -> tuple[dict[str, str], ...]:
        """Features by name, one dict a word; a feature without `=` maps to the empty string."""
        return tuple(
            {}
            if field == "_"
            else {name: value for name, _, value in (f.partition("=") for f in field.split("|"))}
            for field in self.feats
        )

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
        return self._spaced_forms() if text is None else text

    @property
    def multiword_tokens(self) -> tuple[MultiwordToken, ...]:
        """The surface tokens that are split into several words."""
        return tuple(
            MultiwordToken(int(first), int(last), row[FORM], row[MISC])
            for row in self._other_rows()
            for first, dash, last in [row[ID].partition("-")]
            if dash
        )

    @property
    def empty_nodes(self) -> tuple[tuple[str, ...], ...]:
        """The rows of empty nodes, all ten columns, such as ("8.1", "likes", ...)."""
        return tuple(tuple(row) for row in self._other_rows() if "." in row[ID])

    def to_conllu(self) -> str:
        """The sentence as text, ending in a blank line."""
        raw = bytes(self).removeprefix(BYTE_ORDER_MARK)
        return (raw + missing_break(raw)).decode()

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
            body = self._rewritten_body(body.decode()).encode()
        return head + body + self._raw[self._body_end :]

    def _rewritten_body(self, body: str) -> str:
        fields = self.word_fields()
        lines = body.split("\n")
        word = 0
        for number, line in enumerate(lines):
            columns = line.removesuffix("\r").split("\t")
            if not columns[ID].isdigit():
                continue
            for index in self._written:
                columns[index] = fields[word * COLUMNS + index]
            lines[number] = "\t".join(columns) + ("\r" if line.endswith("\r") else "")
            word += 1
        return "\n".join(lines)

    def word_fields(self) -> list[str]:
        """The ten fields of word 1, then of word 2, ..., in one list."""
        if self._fields is None:
            body = self._raw[self._body : self._body_end].decode()
            if "\r\n" in body:
                body = body.replace("\r\n", "\n")
            if not self._plain:
                rows = body.split("\n")
                body = "\n".join(row for row in rows if row[: row.index("\t")].isdigit())
            self._fields = body.replace("\n", "\t").split("\t")
            if HEAD in self._written:
                self._fields[HEAD::COLUMNS] = head_fields(self._heads)
        return self._fields

    def _other_rows(self) -> Iterator[list[str]]:
        """Rows of multiword tokens and empty nodes."""
        if self._plain:
            return
        for line in self._raw[self._body : self._body_end].decode().split("\n"):
            row = line.removesuffix("\r").split("\t")
            if not row[ID].isdigit():
                yield row

    def write_column(self, index: int, values: list[str]) -> None:
        """Replace a column of the words; columns have names for this, such as `forms`."""
        self.word_fields()[index::COLUMNS] = checked_values(values, len(self))
        self._written.add(index)

    def _spaced_forms(self) -> str:
        tokens = {token.first: token for token in self.multiword_tokens}
        pieces: list[str] = []
        covered = 0
        for number, (form, misc) in enumerate(zip(self.forms, self.misc, strict=True), 1):
            if number <= covered:
                continue
            if token := tokens.get(number):
                form, misc, covered = token.form, token.misc, token.last
            pieces.append(form)
            if "SpaceAfter=No" not in misc.split("|"):
                pieces.append(" ")
        return "".join(pieces).strip()

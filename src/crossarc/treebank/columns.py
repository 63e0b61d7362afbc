"""The ten columns of CoNLL-U and CoNLL-X: by index, as attributes, and what may stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank.sentence import Sentence
    from crossarc.treebank.word import Word

__all__ = [
    "COLUMNS",
    "DEPREL",
    "DEPS",
    "FEATS",
    "FORM",
    "HEAD",
    "ID",
    "LEMMA",
    "MISC",
    "NAMES",
    "UPOS",
    "XPOS",
    "Column",
    "Field",
    "checked_comments",
    "checked_values",
    "head_fields",
    "parsed_features",
]

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
COLUMNS = len(NAMES)

_SEPARATORS = re.compile(r"[\t\n\r]")


class Column:
    """A column of a sentence: read as a tuple of str, one a word, and written by assignment."""

    def __init__(self, index: int, doc: str) -> None:
        self.index = index
        self.__doc__ = doc

    @overload
    def __get__(self, sentence: None, owner: type[Sentence]) -> Column: ...
    @overload
    def __get__(self, sentence: Sentence, owner: type[Sentence]) -> tuple[str, ...]: ...
    def __get__(self, sentence: Sentence | None, owner: type[Sentence]) -> tuple[str, ...] | Column:
        if sentence is None:
            return self
        return tuple(sentence.word_fields()[self.index :: COLUMNS])

    def __set__(self, sentence: Sentence, values: Iterable[str]) -> None:
        if isinstance(values, str):
            raise TreebankError(f"a column needs one value a word: got the string {values!r}")
        sentence.write_column(self.index, list(values))


class Field:
    """A column of one word: a str, written by assignment."""

    def __init__(self, index: int, doc: str) -> None:
        self.index = index
        self.__doc__ = doc

    @overload
    def __get__(self, word: None, owner: type[Word]) -> Field: ...
    @overload
    def __get__(self, word: Word, owner: type[Word]) -> str: ...
    def __get__(self, word: Word | None, owner: type[Word]) -> str | Field:
        if word is None:
            return self
        return word.sentence.word_fields()[(word.id - 1) * COLUMNS + self.index]

    def __set__(self, word: Word, value: str) -> None:
        word.sentence.write_field(word.id, self.index, value)


def parsed_features(field: str) -> dict[str, str]:
    """The features of a FEATS value by name; one without `=` maps to the empty string."""
    if field == "_":
        return {}
    return {name: value for name, _, value in (item.partition("=") for item in field.split("|"))}


def head_fields(heads: NDArray[np.int64]) -> list[str]:
    """The HEAD column of an array of heads."""
    return ["_" if head < 0 else str(head) for head in heads.tolist()]


def checked_values(values: list[str], n: int) -> list[str]:
    """The values of a column, if there are n and each can stand between tabs."""
    if len(values) != n:
        raise TreebankError(f"{n} words need {n} values: got {len(values)}")
    try:
        joined = "\x1f".join(values)
    except TypeError:
        wrong = next(value for value in values if not isinstance(value, str))
        raise TreebankError(f"a column value must be a string: got {wrong!r}") from None
    if "" in values or _SEPARATORS.search(joined):
        raise TreebankError(
            "a column value is empty or holds a tab or line break: write _ where there is none"
        )
    return values


def checked_comments(lines: Iterable[str]) -> tuple[str, ...]:
    """The lines, if each is a comment."""
    checked = (lines,) if isinstance(lines, str) else tuple(lines)
    for line in checked:
        if not line.startswith("#") or "\n" in line or "\r" in line:
            raise TreebankError(f"a comment is one line that starts with #: got {line!r}")
    return checked

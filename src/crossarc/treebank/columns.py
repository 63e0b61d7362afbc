"""The ten columns of CoNLL-U and CoNLL-X, by position, and as attributes of a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

from crossarc.errors import TreebankError

if TYPE_CHECKING:
    from crossarc.treebank.sentence import Sentence

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
    "UPOS",
    "XPOS",
    "Column",
]

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
COLUMNS = 10


class Column:
    """A column of the words: read as a tuple of str, written by assignment."""

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

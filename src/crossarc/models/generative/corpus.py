"""Sentences as numbers: a vocabulary for each column, and sentences of one length side by side."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError, TreebankError
from crossarc.treebank import Sentence

__all__ = ["UNITS", "UNKNOWN", "Chunk", "Corpus", "Unit", "Vocabulary", "Words", "read_units"]

Ints = NDArray[np.int64]
#: What the words of a sentence are to a model.
Unit = Literal["form", "lemma", "upos", "xpos", "form+upos"]
#: One sentence: a `Sentence`, or its units (pairs of form and tag for "form+upos").
Words = Sentence | Sequence[str] | Sequence[tuple[str, str]]

UNITS: tuple[Unit, ...] = ("form", "lemma", "upos", "xpos", "form+upos")
#: The symbol that stands for all that a vocabulary does not have; its number is 0.
UNKNOWN = "<unk>"

_COLUMNS = {"form": "forms", "lemma": "lemmas", "upos": "upos", "xpos": "xpos"}
# Sentences in a chunk: with more the scores leave the cache, with fewer calls are too many.
_CHUNK_ENTRIES = 1 << 17


def read_units(words: Words, unit: Unit) -> list[tuple[str, ...]]:
    """The units of a sentence: a tuple of one string a word for each column.

    Raises:
        TreebankError: a sentence in which a word has no such column.
        ModelError: words that are not what the unit needs.
    """
    columns = unit.split("+")
    if isinstance(words, Sentence):
        found = [tuple(getattr(words, _COLUMNS[column])) for column in columns]
        for column, values in zip(columns, found, strict=True):
            if column != "form" and "_" in values:
                word = values.index("_") + 1
                raise TreebankError(
                    f"word {word} has no {column.upper()}: tag the text first or use the unit form",
                    source=words.source,
                    line=words.line_of(word),
                    sent_id=words.sent_id,
                )
        return found
    if isinstance(words, str):
        raise ModelError("a sentence must be a list of words, not a str: split it first")
    if len(columns) == 1:
        if not all(isinstance(word, str) for word in words):
            raise ModelError(f"the words of the unit {unit} must be strings")
        return [tuple(map(str, words))]
    if not all(isinstance(word, tuple) and len(word) == len(columns) for word in words):
        raise ModelError(f"the words of the unit {unit} must be pairs of form and tag")
    return [tuple(values) for values in zip(*words, strict=True)] or [()] * len(columns)


class Vocabulary:
    """Symbols and their numbers, the most frequent first after the unknown one."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = tuple(symbols)
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols)}

    @classmethod
    def count(cls, sequences: Iterable[Sequence[str]], least: int = 1) -> Vocabulary:
        """The symbols that occur at least so many times; all others are the unknown one."""
        counts: Counter[str] = Counter()
        for sequence in sequences:
            counts.update(sequence)
        counts.pop(UNKNOWN, None)
        kept = [symbol for symbol, count in counts.items() if count >= least]
        return cls([UNKNOWN, *sorted(kept, key=lambda symbol: (-counts[symbol], symbol))])

    def __len__(self) -> int:
        return len(self.symbols)

    def numbers(self, symbols: Iterable[str]) -> list[int]:
        """The number of each symbol."""
        known = self._numbers
        return [known.get(symbol, 0) for symbol in symbols]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Sentences of one length.

    Attributes:
        members: their indices in the corpus.
        units: (columns, sentences, n).
    """

    members: Ints
    units: Ints

    @property
    def words(self) -> int:
        """n, the words of each sentence."""
        return int(self.units.shape[2])


class Corpus:
    """Encoded sentences.

    Attributes:
        sizes: words of each sentence.
        units: (columns, words), the words of all sentences end to end.
    """

    def __init__(self, sizes: Ints, units: Ints) -> None:
        self.sizes, self.units = sizes, units
        self._starts = np.cumsum(sizes) - sizes

    @classmethod
    def encode(
        cls,
        sentences: Iterable[Sequence[Sequence[str]]],
        vocabularies: Sequence[Vocabulary],
    ) -> Corpus:
        """From the units of sentences (`read_units`)."""
        listed = list(sentences)
        sizes = np.array([len(one[0]) for one in listed], np.int64)
        columns = [
            np.array([n for one in listed for n in vocabulary.numbers(one[column])], np.int64)
            for column, vocabulary in enumerate(vocabularies)
        ]
        return cls(sizes, np.stack(columns))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def words(self) -> int:
        """Of all sentences."""
        return int(self.sizes.sum())

    def digest(self) -> str:
        """A checksum of all words."""
        return hashlib.sha256(self.sizes.tobytes() + self.units.tobytes()).hexdigest()

    def chunks(self) -> Iterator[Chunk]:
        """Sentences of one length side by side, the shortest first; empty ones left out."""
        order = np.argsort(self.sizes, kind="stable")
        lengths, begins = np.unique(self.sizes[order], return_index=True)
        for n, group in zip(lengths.tolist(), np.split(order, begins[1:]), strict=True):
            if n == 0:
                continue
            most = max(8, _CHUNK_ENTRIES // (n + 1) ** 2 // 8 * 8)
            for begin in range(0, len(group), most):
                yield self.chunk(group[begin : begin + most])

    def chunk(self, members: Ints) -> Chunk:
        """Some sentences of one length."""
        n = int(self.sizes[members[0]])
        words = self._starts[members][:, None] + np.arange(n)
        return Chunk(members, self.units[:, words])

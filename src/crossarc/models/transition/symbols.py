"""The symbols of a transition model: a vocabulary, and sentences as arrays of its numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["BOTTOM", "ROOT", "UNITS", "WORDS", "Annotated", "Symbols", "Unit", "Words", "read_tree"]

Ints = NDArray[np.int64]
#: What a word of a `Sentence` is to a model.
Unit = Literal["form", "upos", "xpos"]
#: A sentence without its tree: `$` is not among the words.
Words = Sentence | Sequence[str]
#: A sentence with its tree: a `Sentence`, or words and heads, or words and a tree.
Annotated = Sentence | tuple[Sequence[str], Sequence[int] | Ints | Tree]

#: The numbers of the bottom marker, of `$`, and of the first word of the vocabulary.
BOTTOM, ROOT, WORDS = 0, 1, 2

_COLUMNS = {"form": "forms", "upos": "upos", "xpos": "xpos"}
UNITS = tuple(_COLUMNS)


class Symbols:
    """A vocabulary: 0 is the bottom marker, 1 is `$`, then the words in their order.

    Args:
        unknown: a word of the vocabulary that stands for all words it does not have; None to refuse
            them.
    """

    def __init__(self, vocabulary: Iterable[str], *, unit: Unit, unknown: str | None) -> None:
        self.vocabulary = tuple(vocabulary)
        if unit not in _COLUMNS:
            raise ValueError(f"unit must be one of {', '.join(_COLUMNS)}: got {unit!r}")
        self.unit, self.unknown = unit, unknown
        self._numbers = {word: number for number, word in enumerate(self.vocabulary, WORDS)}
        if len(self._numbers) < len(self.vocabulary):
            (word, _), *_ = Counter(self.vocabulary).most_common(1)
            raise ModelError(f"the vocabulary has {word!r} more than once: list each word once")
        if unknown is not None and unknown not in self._numbers:
            raise ModelError(f"unknown={unknown!r} is not in the vocabulary: add it")

    def __len__(self) -> int:
        return len(self.vocabulary) + WORDS

    @classmethod
    def of_sentences(
        cls,
        sentences: Iterable[Words],
        vocabulary: Iterable[str] | None = None,
        *,
        unit: Unit,
        min_count: int = 1,
        unknown: str | None = None,
    ) -> Symbols:
        """All words in the order of their first occurrence, or those of the vocabulary.

        Rarer ones than `min_count` are one, `unknown`, which is in the vocabulary if it is given or
        needed.
        """
        if vocabulary is not None:
            return cls(vocabulary, unit=unit, unknown=unknown)
        counts = Counter(word for sentence in sentences for word in words_of(sentence, unit))
        kept = [word for word, count in counts.items() if count >= min_count]
        if min_count > 1 and unknown is None:
            unknown = "<unk>"
        others = (word for word in kept if word != unknown)
        return cls(kept if unknown is None else [unknown, *others], unit=unit, unknown=unknown)

    def encode(self, sentence: Words) -> Ints:
        """The numbers of `$` and of the words.

        Raises:
            ModelError: a word that the vocabulary does not have.
        """
        words = words_of(sentence, self.unit)
        default = self._numbers.get(self.unknown, -1) if self.unknown is not None else -1
        numbers = np.array([ROOT, *(self._numbers.get(word, default) for word in words)], np.int64)
        if (numbers < 0).any():
            at = int(np.argmax(numbers < 0))
            raise ModelError(
                f"word {at}, {words[at - 1]!r}, is not in the vocabulary: "
                "replace it, or give the model a word for unknown ones (unknown=)"
            )
        return numbers

    def decode(self, numbers: Iterable[int]) -> list[str]:
        """The words of these numbers."""
        return [self.vocabulary[number - WORDS] for number in numbers]


def words_of(sentence: Words, unit: Unit) -> Sequence[str]:
    """The words of a sentence in a column, or as they were given."""
    if isinstance(sentence, Sentence):
        words = tuple(getattr(sentence, _COLUMNS[unit]))
        if unit != "form" and "_" in words:
            raise ModelError(
                f"sentence {sentence.sent_id or 'without id'}: word {words.index('_') + 1} has no "
                f"{unit.upper()}: tag the text first, or use the unit form"
            )
        return words
    if isinstance(sentence, str):
        raise ModelError(f"a sentence is a list of words: got the string {sentence!r}; split it")
    return sentence


def read_tree(sentence: Annotated, unit: Unit) -> tuple[Sequence[str], Ints]:
    """The words and the heads of a sentence.

    Raises:
        TreebankError: heads that are missing, or that are no tree.
    """
    if isinstance(sentence, Sentence):
        return words_of(sentence, unit), sentence.tree.heads
    if not isinstance(sentence, tuple | list) or len(sentence) != 2:
        raise ModelError(
            f"a sentence with its tree is a Sentence or (words, heads): got {sentence!r:.60}"
        )
    words, tree = sentence
    if len(tree) != len(words):
        raise ModelError(f"a tree of {len(tree)} words for a sentence of {len(words)} words")
    if not len(words):
        return words, np.empty(0, np.int64)
    return words, (tree if isinstance(tree, Tree) else Tree(tree)).heads

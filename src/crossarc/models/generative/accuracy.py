"""How well induced trees agree with gold ones, beside chains of words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crossarc.treebank import Sentence

__all__ = [
    "Attachment",
    "content_heads",
    "content_sentence",
    "content_words",
    "left_branching",
    "parse_content",
    "right_branching",
    "whole_heads",
]

Ints = NDArray[np.int64]

# The factors of the model with valence take n^3 numbers a sentence.
_BLOCK = 128


@dataclass(frozen=True, slots=True)
class Attachment:
    """Words, and how many have the right head, or are linked to the right word either way.

    Undirected: the word's arc stands in the gold tree in one direction or the other.
    """

    words: int = 0
    directed_correct: int = 0
    undirected_correct: int = 0

    def __add__(self, other: Attachment) -> Attachment:
        return Attachment(
            self.words + other.words,
            self.directed_correct + other.directed_correct,
            self.undirected_correct + other.undirected_correct,
        )

    @property
    def directed(self) -> float:
        """In percent of the words."""
        return 100.0 * self.directed_correct / max(self.words, 1)

    @property
    def undirected(self) -> float:
        """In percent of the words."""
        return 100.0 * self.undirected_correct / max(self.words, 1)

    @classmethod
    def compare(cls, gold: Ints, heads: Ints) -> Attachment:
        """The trees of one sentence."""
        words = np.arange(1, len(gold) + 1)
        right = heads == gold
        is_reversed = (heads > 0) & (np.append(-1, gold)[heads] == words)
        return cls(len(gold), int(right.sum()), int((right | is_reversed).sum()))


def right_branching(n: int) -> Ints:
    """Every word is headed by the one before it."""
    return np.arange(n)


def left_branching(n: int) -> Ints:
    """Every word is headed by the one after it."""
    return np.append(np.arange(2, n + 1), 0)


def content_words(sentence: Sentence, *, punctuation: bool) -> Ints:
    """The words to learn from, numbers from 1: all, or those that are no punctuation, if any."""
    words = np.arange(1, len(sentence) + 1)
    kept = words[np.array(sentence.upos) != "PUNCT"]
    return words if punctuation or not len(kept) else kept


def content_heads(heads: Ints, words: Ints) -> Ints:
    """Heads among some words only: of each, the nearest word above it that is kept, or 0."""
    new = np.zeros(len(heads) + 1, np.int64)
    new[words] = np.arange(1, len(words) + 1)
    above = heads[words - 1]
    while (skipped := (above > 0) & (new[above] == 0)).any():
        above = np.where(skipped, heads[above - 1], above)
    return new[above]


def content_sentence(sentence: Sentence, words: Ints) -> Sentence:
    """A sentence of some words only, with their tags and heads."""
    if len(words) == len(sentence):
        return sentence
    kept = words - 1
    columns = {
        name: np.array(getattr(sentence, name))[kept].tolist()
        for name in ("lemmas", "upos", "xpos", "deprels")
    }
    is_whole = (sentence.heads >= 0).all()
    heads = content_heads(sentence.heads, words) if is_whole else None
    return Sentence.build(np.array(sentence.forms)[kept].tolist(), heads=heads, **columns)


def whole_heads(heads: Ints, words: Ints, n: int) -> Ints:
    """Heads of all n words from those of some; the others are attached to the root of the tree."""
    found = np.full(n, words[int(np.argmin(heads))])
    found[words - 1] = np.where(heads > 0, words[heads - 1], 0)
    return found


class SentenceParser(Protocol):
    """Whatever finds trees of sentences."""

    def parse(self, words: Any, *, threads: int | None = None) -> Any:
        """The tree of each sentence of a list."""


def parse_content(
    model: SentenceParser, sentences: Iterable[Sentence], *, threads: int | None = None
) -> list[Ints]:
    """The heads of the most probable trees, by the block."""
    found: list[Ints] = []
    waiting = iter(sentences)
    while block := list(islice(waiting, _BLOCK)):
        found += [tree.heads for tree in model.parse(block, threads=threads)]
    return found

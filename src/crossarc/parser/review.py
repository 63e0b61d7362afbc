"""The least certain heads of parsed sentences, and what changes when a person settles one.

A settled word has `Reviewed=Yes` in MISC. Its head is a constraint from then on, and probabilities
are those given the settled heads. Heads that are not settled stay as they are, too, unless they
are opened: the parser then chooses them anew, around all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat, tee
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError
from crossarc.parser.marks import set_word_misc
from crossarc.parser.parser import Parser
from crossarc.treebank import Sentence

__all__ = ["Doubt", "Order", "Rival", "find_doubts", "ranked", "reparse", "settle", "unsettled"]

Floats = NDArray[np.float64]
#: The least probable heads first, or those with the most information about all heads of their
#: sentence.
Order = Literal["probability", "information"]

_REVIEWED = "Reviewed"


class Rival(NamedTuple):
    """Another head that a word may have, with its probability and its most probable relation."""

    head: int
    probability: float
    deprel: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """A word whose head is not certain.

    Attributes:
        sentence: its index in the sentences that were searched.
        word, head: counted from 1, the head 0 for the root.
        probability: of the head, given the heads that are settled.
        rivals: other heads, the most probable first.
        information: what this head says about all heads of the sentence, in nats; 0 where it was
            not asked for.
    """

    sentence: int
    word: int
    head: int
    probability: float
    rivals: tuple[Rival, ...]
    information: float = 0.0


def find_doubts(
    parser: Parser,
    sentences: Iterable[Sentence],
    *,
    order: Order = "probability",
    rivals: int = 3,
    threads: int | None = None,
) -> Iterator[list[Doubt]]:
    """For each sentence, a doubt for every word that is not settled, in the order of words.

    Args:
        order: "information" to have that as well.
        rivals: at most so many for each word.

    Raises:
        TreebankError: a word has no head.
    """
    first, second = tee(sentences)
    found = parser.head_probabilities(first, settled=_settled_heads, threads=threads)
    information: Iterator[tuple[Floats | None, object]] = repeat((None, None))
    if order == "information":
        information = parser.head_information(second, settled=_settled_heads, threads=threads)
    for index, ((marginals, sentence), (own, _)) in enumerate(
        zip(found, information, strict=False)
    ):
        heads = sentence.tree.heads.tolist()
        words = unsettled(sentence)
        others = {word: _rival_heads(marginals[:, word], heads, word, rivals) for word in words}
        arcs = [(head, word) for word in words for head in others[word]]
        deprels = dict(zip(arcs, parser.best_relations(sentence, arcs), strict=True))
        yield [
            Doubt(
                index,
                word,
                heads[word - 1],
                float(marginals[heads[word - 1], word]),
                tuple(Rival(h, float(marginals[h, word]), deprels[h, word]) for h in others[word]),
                0.0 if own is None else float(own[word - 1]),
            )
            for word in words
        ]


def _rival_heads(probabilities: Floats, heads: list[int], word: int, count: int) -> list[int]:
    order = np.argsort(-probabilities, kind="stable").tolist()
    others = [h for h in order if h not in (heads[word - 1], word) and probabilities[h] > 0.0]
    return others[:count]


def unsettled(sentence: Sentence) -> list[int]:
    """The words that are not settled, from 1."""
    return [word for word, head in enumerate(_settled_heads(sentence), 1) if head < 0]


def _settled_heads(sentence: Sentence) -> list[int]:
    """The heads of settled words, -1 for others."""
    return [
        head if f"{_REVIEWED}=Yes" in misc.split("|") else -1
        for head, misc in zip(sentence.heads.tolist(), sentence.misc, strict=True)
    ]


def settle(
    parser: Parser,
    sentence: Sentence,
    word: int,
    head: int,
    deprel: str | None = None,
    *,
    open_words: Collection[int] = (),
) -> Sentence:
    """A copy in which a word has the head that a person gave; the heads of others stay.

    Args:
        deprel: its relation; by default that of the sentence, or for a new head the most probable.
        open_words: words whose heads are chosen anew, around all others.

    Raises:
        TreebankError: the head makes a cycle with the heads that stay.
    """
    copy = sentence.copy()
    heads = [-1 if m in open_words else h for m, h in enumerate(sentence.heads.tolist(), 1)]
    heads[word - 1] = head
    is_new = head != sentence.heads[word - 1]
    if is_new or open_words:
        try:
            copy.heads = heads
        except TreebankError as error:
            raise TreebankError(f"word {word} cannot hang from {head}: {error.what}") from None
    if is_new and deprel is None:
        [deprel] = parser.best_relations(sentence, [(head, word)])
    if deprel is not None and deprel != sentence.deprels[word - 1]:
        copy.deprels = [*sentence.deprels[: word - 1], deprel, *sentence.deprels[word:]]
    # Probabilities of a former head or relation say nothing about the new one.
    stale = {"HeadProb": is_new, "DeprelProb": copy.deprels != sentence.deprels or is_new}
    set_word_misc(copy, word, {name: None for name, is_stale in stale.items() if is_stale})
    if open_words:
        copy = _completed(parser, copy, open_words)
    set_word_misc(copy, word, {_REVIEWED: "Yes"})
    return copy


def reparse(parser: Parser, sentence: Sentence, words: Collection[int]) -> Sentence:
    """A copy in which the heads of some words are chosen anew, around all others."""
    copy = sentence.copy()
    copy.heads = [-1 if m in words else h for m, h in enumerate(sentence.heads.tolist(), 1)]
    return _completed(parser, copy, words)


def _completed(parser: Parser, sentence: Sentence, words: Collection[int]) -> Sentence:
    """The missing heads filled in; these words are not settled any more."""
    has_probabilities = any("HeadProb=" in field for field in sentence.misc)
    [parsed] = parser.parse([sentence], keep_heads=True, probabilities=has_probabilities)
    for word in words:
        set_word_misc(parsed, word, {_REVIEWED: None})
    return parsed


def ranked(doubts: Iterable[Doubt], order: Order = "probability") -> list[Doubt]:
    """The least certain first, or those with the most information."""

    def key(doubt: Doubt) -> tuple[float, int, int]:
        first = doubt.probability if order == "probability" else -doubt.information
        return first, doubt.sentence, doubt.word

    return sorted(doubts, key=key)

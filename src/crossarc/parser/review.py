"""The least certain heads of parsed sentences, and what happens when a person settles one.

A settled word has `Reviewed=Yes` in MISC. Its head is a constraint from then on: the rest of the
sentence is parsed again around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat, tee
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError
from crossarc.parser.marks import set_misc
from crossarc.parser.parser import Parser
from crossarc.treebank import Sentence

__all__ = ["Doubt", "Order", "find_doubts", "ranked", "settle"]

#: The least probable heads first, or those that would tell most about all heads of their sentence.
Order = Literal["probability", "information"]

_REVIEWED = "Reviewed"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A word whose head is not certain.

    Attributes:
        sentence: its place in the list that was looked through.
        word, head: counted from 1, the head 0 for the root.
        probability: of the head, given the heads that are settled.
        rivals: other heads with their probabilities, the most probable first.
        information: what it would tell about all heads of the sentence to know this one, in
            nats; 0 where it was not asked for.
    """

    sentence: int
    word: int
    head: int
    probability: float
    rivals: tuple[tuple[int, float], ...]
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

    Raises:
        TreebankError: a word has no head.
    """
    ours, copies = tee(sentences)
    found = parser.head_probabilities(ours, settled=_settled_heads, threads=threads)
    told: Iterator[tuple[NDArray[np.float64] | None, object]] = repeat((None, None))
    if order == "information":
        told = parser.head_information(copies, settled=_settled_heads, threads=threads)
    for place, ((marginals, sentence), (information, _)) in enumerate(
        zip(found, told, strict=False)
    ):
        heads = sentence.tree.heads
        settled = _settled_heads(sentence)
        yield [
            Doubt(
                place,
                word,
                int(heads[word - 1]),
                float(marginals[heads[word - 1], word]),
                _rivals(marginals[:, word], int(heads[word - 1]), word, rivals),
                0.0 if information is None else float(information[word - 1]),
            )
            for word in range(1, len(sentence) + 1)
            if settled[word - 1] < 0
        ]


def _rivals(
    chances: NDArray[np.float64], head: int, word: int, most: int
) -> tuple[tuple[int, float], ...]:
    order = np.argsort(-chances, kind="stable")
    others = [int(h) for h in order if h not in (head, word) and chances[h] > 0.0]
    return tuple((h, float(chances[h])) for h in others[:most])


def _settled_heads(sentence: Sentence) -> list[int]:
    """The heads of settled words, -1 for others."""
    return [
        head if f"{_REVIEWED}=Yes" in misc.split("|") else -1
        for head, misc in zip(sentence.heads.tolist(), sentence.misc, strict=True)
    ]


def settle(
    parser: Parser, sentence: Sentence, word: int, head: int, deprel: str | None = None
) -> Sentence:
    """A copy in which a word has the head that a person gave, the rest parsed anew around it.

    Args:
        deprel: its relation; by default the most probable one.

    Raises:
        TreebankError: the head makes a cycle with heads that are settled already.
    """
    heads = _settled_heads(sentence)
    heads[word - 1] = head
    settled = [k for k, one in enumerate(heads) if one >= 0]
    twin = sentence.copy()
    try:
        twin.heads = heads
    except TreebankError as error:
        raise TreebankError(
            f"word {word} cannot hang from {head}: with the heads that are settled, {error.what}"
        ) from None
    names = list(sentence.deprels)
    names[word - 1] = deprel or "_"
    twin.deprels = [name if k in settled else "_" for k, name in enumerate(names)]
    [parsed] = parser.parse([twin], keep_heads=True, probabilities=_has_chances(sentence))
    set_misc(parsed, {_REVIEWED: ["Yes" if k in settled else None for k in range(len(parsed))]})
    return parsed


def _has_chances(sentence: Sentence) -> bool:
    return any("HeadProb=" in field for field in sentence.misc)


def ranked(doubts: Iterable[Doubt], order: Order = "probability") -> list[Doubt]:
    """The least certain first, or those that would tell most."""

    def key(doubt: Doubt) -> tuple[float, int, int]:
        first = doubt.probability if order == "probability" else -doubt.information
        return first, doubt.sentence, doubt.word

    return sorted(doubts, key=key)

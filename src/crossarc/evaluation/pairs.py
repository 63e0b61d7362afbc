"""Two treebanks over the same words, read in step.

Nothing here holds more than one batch of sentences, so treebanks of any size can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from crossarc.errors import TreebankError
from crossarc.treebank import Sentence

__all__ = ["Pair", "batches", "pairs"]

# Enough words that array operations outweigh their calls, few enough to stay in cache.
_BATCH_WORDS = 1 << 11


class Pair(NamedTuple):
    """A gold sentence and a system's version of it, counted from 1."""

    number: int
    gold: Sentence
    system: Sentence

    @property
    def place(self) -> str:
        """The sentence's name in messages."""
        return _place(self.number, self.gold if self.gold.sent_id is not None else self.system)


def pairs(
    gold: Iterable[Sentence], system: Iterable[Sentence], *, name: str = "system"
) -> Iterator[Pair]:
    """The sentences of two treebanks, two by two, checked to have the same words and all heads.

    Raises:
        TreebankError: one treebank is longer, a sentence differs in its words, or a head is `_`.
    """
    for treebank, title in ((gold, "gold"), (system, name)):
        if isinstance(treebank, str | os.PathLike):
            raise TreebankError(
                f"{title} must be sentences, not the path {os.fspath(treebank)!r}. "
                "Use read_conllu to read them from the file."
            )
    for index, (g, s) in enumerate(zip_longest(gold, system), start=1):
        if g is None or s is None:
            short, long, extra = (name, "gold", g) if s is None else ("gold", name, s)
            raise TreebankError(
                f"{short} ends before {_place(index, extra)} of {long}. "
                "Compare treebanks with the same sentences in the same order."
            )
        pair = Pair(index, g, s)
        _check_words(pair, name)
        for sentence, title in ((g, "gold"), (s, name)):
            if sentence.heads.min() < 0:
                word = int(sentence.heads.argmin()) + 1
                raise TreebankError(
                    f"{pair.place}: word {word} has no head (`_`) in {title}. "
                    "Parse the sentence, or leave it out of both treebanks."
                )
        yield pair


def batches(items: Iterable[Pair]) -> Iterator[list[Pair]]:
    """Pairs in lists of about 2,000 words; one sentence at least, however long."""
    batch: list[Pair] = []
    words = 0
    for pair in items:
        batch.append(pair)
        words += len(pair.gold)
        if words >= _BATCH_WORDS:
            yield batch
            batch, words = [], 0
    if batch:
        yield batch


def _place(index: int, sentence: Sentence) -> str:
    name = "" if sentence.sent_id is None else f" (sent_id {sentence.sent_id})"
    return f"sentence {index}{name}"


def _check_words(pair: Pair, name: str) -> None:
    gold, system = pair.gold.forms, pair.system.forms
    if gold == system:
        return
    if len(gold) != len(system):
        problem = f"gold has {len(gold)} words and {name} has {len(system)}"
    else:
        word = next(i for i, form in enumerate(gold) if form != system[i])
        problem = f"word {word + 1} is {gold[word]!r} in gold and {system[word]!r} in {name}"
    raise TreebankError(
        f"{pair.place}: {problem}. Let the system parse the words of the gold treebank."
    )

"""Batches of sentence pairs as arrays: what is equal, word by word.

One entry per word, sentences one after the other. Strings are compared once, here; every score is
then a sum over these arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, eq

import numpy as np
from numpy.typing import NDArray

from crossarc.evaluation.columns import (
    CONTENT_RELATIONS,
    FUNCTION_RELATIONS,
    Codes,
    FeatureCodes,
    is_punctuation,
    universal_relation,
)
from crossarc.evaluation.pairs import Pair, batches, pairs
from crossarc.treebank import Sentence

__all__ = ["Comparison", "Side", "Vocabulary", "comparisons"]

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


class Vocabulary:
    """Numbers for labels and features, kept from batch to batch."""

    def __init__(self) -> None:
        self.labels = Codes()
        self.features = FeatureCodes()

    def relations(self) -> tuple[Numbers, Mask, Mask]:
        """For each label: its relation's number, whether that is of content, of function words."""
        numbers = Codes()
        names = [universal_relation(label) for label in self.labels]
        return (
            np.array([numbers[name] for name in names], dtype=np.int64),
            np.array([name in CONTENT_RELATIONS for name in names], dtype=np.bool_),
            np.array([name in FUNCTION_RELATIONS for name in names], dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True)
class Side:
    """One treebank's part of a batch."""

    heads: Numbers  # as in the file, 0 = root
    labels: Numbers  # in the vocabulary
    content: Mask
    function: Mask
    nonprojective: Mask


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is equal in two versions of the same words; masks are True where they agree."""

    pairs: Sequence[Pair]
    sentence: Numbers  # index in `pairs` of each word's sentence
    position: Numbers  # of each word in its sentence, from 1
    gold: Side
    system: Side
    heads: Mask
    labels: Mask  # with subtypes
    relations: Mask  # without
    upos: Mask
    xpos: Mask
    features: Mask  # universal features only
    lemmas: Mask  # also where gold has none
    children: Mask  # all function words that either version hangs on the word
    punctuation: Mask  # UPOS is PUNCT, or `_` and the form is punctuation, in gold

    def per_sentence(self, mask: Mask) -> Numbers:
        """How many words of each sentence are in the mask."""
        counts = np.bincount(self.sentence[mask], minlength=len(self.pairs))
        return counts.astype(np.int64, copy=False)


def comparisons(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    vocabulary: Vocabulary,
    *,
    name: str = "system",
) -> Iterator[Comparison]:
    """Compare two treebanks batch by batch; each batch costs O(words) time and memory.

    Batches are cut by gold alone, so two systems compared with one gold get the same batches.

    Raises:
        TreebankError: the sentences or words differ, or a word has no head.
    """
    for batch in batches(pairs(gold, system, name=name)):
        yield _compare(batch, vocabulary)


def _compare(batch: Sequence[Pair], vocabulary: Vocabulary) -> Comparison:
    gold = [pair.gold for pair in batch]
    system = [pair.system for pair in batch]
    lengths = np.array([len(sentence) for sentence in gold], dtype=np.int64)
    sentence = np.repeat(np.arange(len(batch)), lengths)
    starts = (np.cumsum(lengths) - lengths)[sentence]

    def side(sentences: Sequence[Sentence], labels: Numbers) -> Side:
        heads = np.concatenate([sentence.heads for sentence in sentences])
        crossing = _nonprojective(heads, starts)
        return Side(heads, labels, content[labels], function[labels], crossing)

    labels = [_numbers(sentences, "deprels", vocabulary.labels) for sentences in (gold, system)]
    relation, content, function = vocabulary.relations()
    g, s = (side(*part) for part in zip((gold, system), labels, strict=True))

    heads = g.heads == s.heads
    relations = relation[g.labels] == relation[s.labels]
    upos = _equal(gold, system, "upos")
    features = _numbers(gold, "feats", vocabulary.features) == _numbers(
        system, "feats", vocabulary.features
    )
    return Comparison(
        pairs=batch,
        sentence=sentence,
        position=np.arange(1, len(sentence) + 1) - starts,
        gold=g,
        system=s,
        heads=heads,
        labels=g.labels == s.labels,
        relations=relations,
        upos=upos,
        xpos=_equal(gold, system, "xpos"),
        features=features,
        lemmas=_equal(gold, system, "lemmas") | _is("_", gold, "lemmas"),
        children=_children(g, s, heads & relations & upos & features, starts),
        punctuation=_punctuation(gold),
    )


def _column(sentences: Iterable[Sentence], name: str) -> Iterator[str]:
    return chain.from_iterable(map(attrgetter(name), sentences))


def _equal(gold: Sequence[Sentence], system: Sequence[Sentence], name: str) -> Mask:
    return np.fromiter(map(eq, _column(gold, name), _column(system, name)), np.bool_)


def _is(value: str, sentences: Sequence[Sentence], name: str) -> Mask:
    return np.fromiter(map(value.__eq__, _column(sentences, name)), np.bool_)


def _punctuation(sentences: Sequence[Sentence]) -> Mask:
    mask = _is("PUNCT", sentences, "upos")
    untagged = _is("_", sentences, "upos")
    if untagged.any():
        forms = np.fromiter(map(is_punctuation, _column(sentences, "forms")), np.bool_)
        mask |= untagged & forms
    return mask


def _numbers(sentences: Sequence[Sentence], name: str, codes: dict[str, int]) -> Numbers:
    return np.fromiter(map(codes.__getitem__, _column(sentences, name)), np.int64)


def _nonprojective(heads: Numbers, starts: Numbers) -> Mask:
    """Which arcs are non-projective, in one pass: side by side, trees are one with many roots."""
    from crossarc.trees.measures import gap_degrees

    _, nonprojective = gap_degrees(np.where(heads > 0, heads + starts, 0))
    return nonprojective


def _children(gold: Side, system: Side, agree: Mask, starts: Numbers) -> Mask:
    """Where both versions hang the same function words on a word, alike in all of `agree`."""
    same = np.ones(len(agree), dtype=np.bool_)
    for side in (gold, system):
        wrong = side.function & (side.heads > 0) & ~agree
        same[side.heads[wrong] + starts[wrong] - 1] = False
    return same

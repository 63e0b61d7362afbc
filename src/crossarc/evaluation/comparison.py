"""Batches of segments as arrays: what is equal, word by word.

Strings are compared once, here; every score is then a sum over these arrays. The sets of relations
and features are those of the CoNLL 2018 shared task (Zeman et al. 2018, section 5).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, eq

import numpy as np
from numpy.typing import NDArray

from crossarc.evaluation.segments import Segment, batches, segments
from crossarc.treebank import Sentence

__all__ = ["Comparison", "Mask", "Numbers", "Side", "Vocabulary", "comparisons"]

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
# Indices of the aligned words, or all words.
Index = Numbers | slice

CONTENT_RELATIONS = frozenset(
    """
    acl advcl advmod amod appos ccomp compound conj csubj dep discourse dislocated expl fixed flat
    goeswith iobj list nmod nsubj nummod obj obl orphan parataxis reparandum root vocative xcomp
    """.split()
)
FUNCTION_RELATIONS = frozenset("aux case cc clf cop det mark".split())
UNIVERSAL_FEATURES = frozenset(
    """
    Abbr Animacy Aspect Case Definite Degree Evident Foreign Gender Mood NumType Number Person
    Polarity Polite Poss PronType Reflex Tense VerbForm Voice
    """.split()
)


class Codes(dict[str, int]):
    """Numbers strings 0, 1, ... in the order in which they are first looked up."""

    def __missing__(self, key: str) -> int:
        code = self[key] = len(self)
        return code


class FeatureCodes(dict[str, int]):
    """Numbers FEATS values; two get the same number if their universal features are the same."""

    def __init__(self) -> None:
        super().__init__()
        self._universal = Codes()

    def __missing__(self, key: str) -> int:
        kept = sorted(f for f in key.split("|") if f.partition("=")[0] in UNIVERSAL_FEATURES)
        code = self[key] = self._universal["|".join(kept)]
        return code


class Vocabulary:
    """Numbers for labels and features, kept from batch to batch."""

    def __init__(self) -> None:
        self.labels = Codes()
        self.features = FeatureCodes()

    def relations(self) -> tuple[Numbers, Mask, Mask]:
        """For each label: its relation's number, whether that is of content, of function words.

        A relation is a label without its subtype: `nsubj` for `nsubj:pass`.
        """
        numbers = Codes()
        names = [label.partition(":")[0] for label in self.labels]
        return (
            np.array([numbers[name] for name in names], dtype=np.int64),
            np.array([name in CONTENT_RELATIONS for name in names], dtype=np.bool_),
            np.array([name in FUNCTION_RELATIONS for name in names], dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True)
class Side:
    """All words of one treebank in a batch, sentence after sentence."""

    sentences: Sequence[Sentence]
    sentence: Numbers  # index in `sentences` of each word's sentence
    heads: Numbers  # number of the head among all words of the batch, from 1; 0 is the root
    labels: Numbers  # in the vocabulary
    content: Mask
    function: Mask
    nonprojective: Mask
    punctuation: Mask  # UPOS is PUNCT, or `_` and the form is punctuation; in gold if aligned
    aligned: Mask

    def __len__(self) -> int:
        return len(self.heads)

    def per_sentence(self, mask: Mask) -> Numbers:
        """How many words of each sentence are in the mask."""
        counts = np.bincount(self.sentence[mask], minlength=len(self.sentences))
        return counts.astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is equal in two versions of a text; masks are over the aligned words, in order."""

    segments: Sequence[Segment]
    gold: Side
    system: Side
    gold_index: Index  # of the aligned words
    system_index: Index
    sentence_pairs: Numbers  # (k, 2): sentences of gold and system over the same characters
    heads: Mask
    labels: Mask  # with subtypes
    relations: Mask  # without
    upos: Mask
    xpos: Mask
    features: Mask  # universal features only
    lemmas: Mask  # also where gold has none
    children: Mask  # all function words that either version hangs on the word

    def in_gold(self, mask: Mask) -> Mask:
        """A mask of aligned words as one of all words of gold."""
        return _scattered(mask, self.gold_index, len(self.gold))

    def in_system(self, mask: Mask) -> Mask:
        """A mask of aligned words as one of all words of the system."""
        return _scattered(mask, self.system_index, len(self.system))

    def exact_matches(self, gold_wrong: Mask, system_wrong: Mask) -> int:
        """Sentences that both have and in which no word is in its side's mask."""
        wrong = self.gold.per_sentence(gold_wrong)[self.sentence_pairs[:, 0]]
        wrong += self.system.per_sentence(system_wrong)[self.sentence_pairs[:, 1]]
        return int(np.count_nonzero(wrong == 0))


def comparisons(
    gold: Iterable[Sentence],
    system: Iterable[Sentence],
    vocabulary: Vocabulary,
    *,
    name: str = "system",
    same_words: bool = False,
) -> Iterator[Comparison]:
    """Compare two treebanks batch by batch; each batch costs O(words) time and memory.

    Where words are the same, batches are cut by gold alone, so that two systems compared with one
    gold get the same batches.

    Raises:
        TreebankError: the text differs (or the words, if they must be the same), or a word has no
            head.
    """
    for batch in batches(segments(gold, system, name=name, same_words=same_words)):
        yield _compare(batch, vocabulary)


def _compare(batch: Sequence[Segment], vocabulary: Vocabulary) -> Comparison:
    gold = [sentence for segment in batch for sentence in segment.gold]
    system = [sentence for segment in batch for sentence in segment.system]
    g, s, pairs = _indices(batch)
    g_labels, s_labels = (
        _numbers(sentences, "deprels", vocabulary.labels) for sentences in (gold, system)
    )
    relation, content, function = vocabulary.relations()
    g_marks = _punctuation(gold)
    s_marks = g_marks
    if not isinstance(s, slice):
        s_marks = _punctuation(system)
        s_marks[s] = g_marks[g]

    def side(sentences: Sequence[Sentence], labels: Numbers, marks: Mask, index: Index) -> Side:
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
        sentence = np.repeat(np.arange(len(sentences)), lengths)
        local = np.concatenate([sentence.heads for sentence in sentences])
        heads = np.where(local > 0, local + (np.cumsum(lengths) - lengths)[sentence], 0)
        aligned = _scattered(np.ones(len(heads), dtype=np.bool_)[index], index, len(heads))
        return Side(
            sentences,
            sentence,
            heads,
            labels,
            content[labels],
            function[labels],
            _nonprojective(heads),
            marks,
            aligned,
        )

    ours, theirs = side(gold, g_labels, g_marks, g), side(system, s_labels, s_marks, s)
    heads = ours.heads[g] == _translated(theirs.heads, g, s)[s]
    relations = relation[g_labels[g]] == relation[s_labels[s]]
    upos = _equal(gold, system, "upos", g, s)
    features = (
        _numbers(gold, "feats", vocabulary.features)[g]
        == _numbers(system, "feats", vocabulary.features)[s]
    )
    return Comparison(
        segments=batch,
        gold=ours,
        system=theirs,
        gold_index=g,
        system_index=s,
        sentence_pairs=pairs,
        heads=heads,
        labels=g_labels[g] == s_labels[s],
        relations=relations,
        upos=upos,
        xpos=_equal(gold, system, "xpos", g, s),
        features=features,
        lemmas=_equal(gold, system, "lemmas", g, s) | _is("_", gold, "lemmas")[g],
        children=_children(ours, theirs, heads & relations & upos & features, g, s),
    )


def _indices(batch: Sequence[Segment]) -> tuple[Index, Index, Numbers]:
    """The aligned words of gold and system, and the pairs of sentences over the same characters."""
    if all(segment.alignment is None for segment in batch):
        return slice(None), slice(None), np.repeat(np.arange(len(batch)), 2).reshape(-1, 2)
    words: list[Numbers] = []
    sentences: list[Numbers] = []
    first_word, first_sentence = np.zeros(2, np.int64), np.zeros(2, np.int64)
    for segment in batch:
        size = np.array([sum(map(len, side)) for side in (segment.gold, segment.system)])
        if segment.alignment is None:
            own = np.repeat(np.arange(size[0]), 2).reshape(-1, 2)
            matched = np.zeros((1, 2), np.int64)
        else:
            own = np.array(segment.alignment.words, dtype=np.int64).reshape(-1, 2)
            matched = np.array(segment.alignment.sentences, dtype=np.int64).reshape(-1, 2)
        words.append(own + first_word)
        sentences.append(matched + first_sentence)
        first_word += size
        first_sentence += [len(segment.gold), len(segment.system)]
    aligned = np.concatenate(words)
    return aligned[:, 0], aligned[:, 1], np.concatenate(sentences)


def _scattered(mask: Mask, index: Index, length: int) -> Mask:
    if isinstance(index, slice):
        return mask
    full = np.zeros(length, dtype=np.bool_)
    full[index] = mask
    return full


def _translated(heads: Numbers, g: Index, s: Index) -> Numbers:
    """Heads of the system as numbers of gold; -1 if the head is not aligned."""
    if isinstance(g, slice) or isinstance(s, slice):
        return heads
    number = np.full(len(heads) + 1, -1, dtype=np.int64)
    number[0] = 0
    number[s + 1] = g + 1
    return number[heads]


def _column(sentences: Iterable[Sentence], name: str) -> Iterator[str]:
    return chain.from_iterable(map(attrgetter(name), sentences))


def _equal(
    gold: Sequence[Sentence], system: Sequence[Sentence], name: str, g: Index, s: Index
) -> Mask:
    if isinstance(g, slice) or isinstance(s, slice):
        return np.fromiter(map(eq, _column(gold, name), _column(system, name)), np.bool_)
    ours, theirs = list(_column(gold, name)), list(_column(system, name))
    pairs = zip(g.tolist(), s.tolist(), strict=True)
    return np.array([ours[i] == theirs[j] for i, j in pairs], dtype=np.bool_)


def _is(value: str, sentences: Sequence[Sentence], name: str) -> Mask:
    return np.fromiter(map(value.__eq__, _column(sentences, name)), np.bool_)


def _punctuation(sentences: Sequence[Sentence]) -> Mask:
    mask = _is("PUNCT", sentences, "upos")
    untagged = _is("_", sentences, "upos")
    if untagged.any():
        forms = np.fromiter(map(_is_punctuation, _column(sentences, "forms")), np.bool_)
        mask |= untagged & forms
    return mask


def _is_punctuation(form: str) -> bool:
    """Whether every character is in a Unicode punctuation category.

    This is what CoNLL-X left out of its scores (Buchholz and Marsi 2006).
    """
    return all(unicodedata.category(c).startswith("P") for c in form)


def _numbers(sentences: Sequence[Sentence], name: str, codes: dict[str, int]) -> Numbers:
    return np.fromiter(map(codes.__getitem__, _column(sentences, name)), np.int64)


def _nonprojective(heads: Numbers) -> Mask:
    """Which arcs are non-projective, in one pass: side by side, trees are one with many roots."""
    from crossarc.trees.measures import gap_degrees

    _, nonprojective = gap_degrees(heads)
    return nonprojective


def _children(gold: Side, system: Side, agree: Mask, g: Index, s: Index) -> Mask:
    """Where both versions hang the same function words on a word, alike in all of `agree`."""
    same = np.ones(len(gold) + 1, dtype=np.bool_)
    for heads, side, index in (
        (gold.heads, gold, g),
        (_translated(system.heads, g, s), system, s),
    ):
        wrong = side.function & (heads > 0) & ~_scattered(agree, index, len(side))
        same[heads[wrong]] = False
    return same[1:][g]

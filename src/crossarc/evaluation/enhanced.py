"""Enhanced dependencies in DEPS, counted as in the IWPT 2020 shared task (Bouma et al. 2020).

A dependency is a head and a relation; a word may have several. Those whose head is an empty node
are left out, since empty nodes are not aligned. A relation that passes through empty nodes is
written as a path, `conj>obj`. As the official scorer does, every pair of equal dependencies of an
aligned word counts: without subtypes, two of gold may be equal to one of the system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from crossarc.errors import TreebankError
from crossarc.evaluation.alignment import Alignment
from crossarc.evaluation.comparison import Comparison
from crossarc.evaluation.segments import Segment, located_error
from crossarc.treebank import Sentence

__all__ = ["EnhancedCounts", "count_enhanced"]


class EnhancedCounts(NamedTuple):
    """Dependencies of gold, of the system, and equal ones with (`elas`) and without subtypes."""

    gold: int
    system: int
    elas: int
    eulas: int


class Dependency(NamedTuple):
    """An enhanced dependency: number of the head, relation, and relation without subtypes."""

    head: int
    relation: str
    universal: tuple[str, ...]


def count_enhanced(comparison: Comparison) -> EnhancedCounts:
    """Count the enhanced dependencies of a batch.

    Raises:
        TreebankError: a DEPS value is not `_` or a list of head:relation.
    """
    tally: Counter[EnhancedCounts] = Counter()
    same = [segment for segment in comparison.segments if segment.alignment is None]
    try:
        tally.update(
            map(_count_word, _fields(s.gold for s in same), _fields(s.system for s in same))
        )
        tally.update(
            _count_aligned(segment, segment.alignment)
            for segment in comparison.segments
            if segment.alignment is not None
        )
    except ValueError:
        raise _unreadable(comparison) from None
    columns = zip(*([k * count for count in counts] for counts, k in tally.items()), strict=True)
    return EnhancedCounts(*map(sum, columns))


def _fields(sides: Iterable[list[Sentence]]) -> Iterator[str]:
    return chain.from_iterable(sentence.deps for side in sides for sentence in side)


def _count_aligned(segment: Segment, alignment: Alignment) -> EnhancedCounts:
    gold_words, system_words = _all_words(segment.gold), _all_words(segment.system)
    # Heads are numbers among all words of the segment; those of the system become gold's.
    gold_of = {0: 0} | {s + 1: g + 1 for g, s in alignment.words}
    matches = [_matches(gold_words[g], system_words[s], gold_of) for g, s in alignment.words]
    return EnhancedCounts(
        sum(map(len, gold_words)),
        sum(map(len, system_words)),
        sum(elas for elas, _ in matches),
        sum(eulas for _, eulas in matches),
    )


@lru_cache(maxsize=1 << 14)
def _count_word(gold: str, system: str) -> EnhancedCounts:
    """The counts of a word in two versions of a sentence with the same words."""
    g, s = _dependencies(gold), _dependencies(system)
    same_head = {dependency.head: dependency.head for dependency in s}
    return EnhancedCounts(len(g), len(s), *_matches(g, s, same_head))


def _matches(
    gold: list[Dependency], system: list[Dependency], gold_of: Mapping[int, int]
) -> tuple[int, int]:
    pairs = [(g, s) for g in gold for s in system if gold_of.get(s.head) == g.head]
    return (
        sum(g.relation == s.relation for g, s in pairs),
        sum(g.universal == s.universal for g, s in pairs),
    )


def _all_words(sentences: list[Sentence]) -> list[list[Dependency]]:
    """The dependencies of all words of a segment, heads counted through its sentences."""
    words: list[list[Dependency]] = []
    for sentence in sentences:
        first = len(words)
        words += [
            [d._replace(head=d.head + first if d.head else 0) for d in _dependencies(field)]
            for field in sentence.deps
        ]
    return words


def _dependencies(field: str) -> list[Dependency]:
    """The dependencies of a DEPS value, without those from empty nodes."""
    if field == "_":
        return []
    found = []
    for item in field.split("|"):
        head, colon, relation = item.partition(":")
        word, _, empty = head.partition(".")
        if not colon or not word.isdecimal() or not (empty or "0").isdecimal():
            raise ValueError(item)
        if not empty:
            steps = tuple(step.partition(":")[0] for step in relation.split(">"))
            found.append(Dependency(int(word), relation, steps))
    return found


def _unreadable(comparison: Comparison) -> TreebankError:
    """The error that names the first DEPS value that cannot be read."""
    for segment in comparison.segments:
        for first, sentences in zip(segment.number, (segment.gold, segment.system), strict=True):
            for number, sentence in enumerate(sentences, first):
                for word, field in enumerate(sentence.deps, 1):
                    try:
                        _dependencies(field)
                    except ValueError:
                        return located_error(
                            f"word {word} has {field!r} in DEPS: write head:relation, several of "
                            "them separated by |, or _",
                            sentence,
                            number,
                            word,
                        )
    raise AssertionError("a DEPS value was refused without a reason")

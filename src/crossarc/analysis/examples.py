"""The sentences behind a number: what a reader sees who asks which ones they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from crossarc.treebank import Sentence

__all__ = ["Example", "Examples"]


class Example(NamedTuple):
    """A sentence, and the words in it that the number is about."""

    sent_id: str
    text: str
    words: tuple[str, ...] = ()


@dataclass
class Examples:
    """For each number, the first sentences that it counts.

    Attributes:
        limit: how many to keep of each; None for all.
        only: keep those of this number alone; None for every number.
        counts: how many there are of each, kept or not.
    """

    limit: int | None = 50
    only: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[Example]] = field(default_factory=dict)

    def wants(self, key: str) -> bool:
        """Count a sentence for a number, and say whether it should be added."""
        self.counts[key] += 1
        if self.only not in (None, key):
            return False
        return self.limit is None or len(self.kept.get(key, ())) < self.limit

    def add(self, key: str, sentence: Sentence, place: int, words: tuple[str, ...] = ()) -> None:
        """Keep a sentence; one without an id is known by its place in the treebank, from 1."""
        name = sentence.sent_id or f"#{place}"
        self.kept.setdefault(key, []).append(Example(name, sentence.text, words))

    def __add__(self, other: Examples) -> Examples:
        kept = {
            key: [*self.kept.get(key, ()), *other.kept.get(key, ())][: self.limit]
            for key in {**self.kept, **other.kept}
        }
        return Examples(self.limit, self.only, self.counts + other.counts, kept)

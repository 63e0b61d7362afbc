"""How far Attardi's transition system covers a treebank: Table 1 of Cohen et al. (2011).

The degree of a relation is that of the transition that makes it, when the oracle reduces as early
as it can, the lowest degree first. A tree needs the smallest D of a system that derives it, which
may be lower: to shift first can bring words nearer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from crossarc.inference.transition.attardi import oracle
from crossarc.treebank import Sentence

__all__ = ["PRINTED", "DegreeStudy", "PrintedRow", "study_degrees"]


class PrintedRow(NamedTuple):
    """A row of Table 1: relations of degree 2, 3 and 4 in a training set of CoNLL-X.

    Its size, in thousand words, is from Table 1 of Buchholz & Marsi (2006).
    """

    degree_2: int
    degree_3: int
    degree_4: int
    thousand_words: int

    def rates(self) -> tuple[float, float, float]:
        """Per 1,000 words."""
        return tuple(count / self.thousand_words for count in self[:3])  # type: ignore[return-value]


#: Table 1 as printed, by language.
PRINTED = {
    "Arabic": PrintedRow(180, 21, 7, 54),
    "Bulgarian": PrintedRow(961, 41, 10, 190),
    "Czech": PrintedRow(27181, 1668, 85, 1249),
    "Danish": PrintedRow(876, 136, 53, 94),
    "Dutch": PrintedRow(9072, 2119, 171, 195),
    "German": PrintedRow(15827, 2274, 466, 700),
    "Japanese": PrintedRow(1484, 143, 9, 151),
    "Portuguese": PrintedRow(3104, 424, 37, 207),
    "Slovene": PrintedRow(601, 48, 13, 29),
    "Spanish": PrintedRow(66, 7, 0, 89),
    "Swedish": PrintedRow(1566, 226, 79, 191),
    "Turkish": PrintedRow(579, 185, 8, 58),
}


@dataclass
class DegreeStudy:
    """Counts over the sentences of a treebank.

    Attributes:
        words: of the sentences in which every word has a head.
        relations: how many have each degree; those of trees without a degree are not among them.
        trees: how many need a system of each degree.
        underivable: trees that no degree derives.
        incomplete: sentences with a word without a head, which are not counted elsewhere.
    """

    sentences: int = 0
    words: int = 0
    incomplete: int = 0
    underivable: int = 0
    relations: Counter[int] = field(default_factory=Counter)
    trees: Counter[int] = field(default_factory=Counter)

    def add(self, sentence: Sentence) -> None:
        """Count one more sentence."""
        if (sentence.heads < 0).any():
            self.incomplete += 1
            return
        heads = sentence.tree.heads
        self.sentences += 1
        self.words += len(heads)
        found = oracle(heads)
        if found is None:
            self.underivable += 1
            return
        self.relations.update(found[1].tolist())
        highest = int(found[1].max())
        limit = 1
        while limit < highest and oracle(heads, limit) is None:
            limit += 1
        self.trees[limit] += 1

    def relations_above(self, degree: int) -> int:
        """Relations of a higher degree."""
        return sum(count for own, count in self.relations.items() if own > degree)

    def rate(self, count: int) -> float:
        """Per 1,000 words."""
        return 1000.0 * count / max(self.words, 1)

    def coverage(self, degree: int) -> float:
        """Percent of the trees that a system of this degree derives."""
        covered = sum(count for own, count in self.trees.items() if own <= degree)
        return 100.0 * covered / max(self.sentences, 1)

    def to_dict(self) -> dict[str, Any]:
        """By name, ready for JSON."""
        return {
            "sentences": self.sentences,
            "words": self.words,
            "incomplete_sentences": self.incomplete,
            "relations_by_degree": {str(d): self.relations[d] for d in sorted(self.relations)},
            "trees_by_degree": {str(d): self.trees[d] for d in sorted(self.trees)},
            "underivable_trees": self.underivable,
        }


def study_degrees(sentences: Iterable[Sentence]) -> DegreeStudy:
    """Study a treebank, one sentence at a time."""
    study = DegreeStudy()
    for sentence in sentences:
        study.add(sentence)
    return study

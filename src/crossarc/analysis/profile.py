"""What a treebank holds and how its trees are shaped, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["Profile", "profile"]


@dataclass
class Profile:
    """Counts over sentences; add two of them to pool treebanks.

    An arc is non-projective when a word between head and dependent is not dominated by the head;
    arcs from the artificial root never are, but count among all arcs. Sentences with a word
    without a head are counted, but not measured.
    """

    sentences: int = 0
    words: int = 0
    multiword_tokens: int = 0
    empty_nodes: int = 0
    longest: int = 0
    incomplete: int = 0
    measured: int = 0
    arcs: int = 0
    multi_root: int = 0
    nonprojective_arcs: int = 0
    nonprojective_sentences: int = 0
    nonplanar_sentences: int = 0
    ill_nested_sentences: int = 0
    crossings: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    crossing_counts: Counter[int] = field(default_factory=Counter)
    degrees: Counter[int] = field(default_factory=Counter)
    gap_degrees: Counter[int] = field(default_factory=Counter)
    upos: Counter[str] = field(default_factory=Counter)
    deprels: Counter[str] = field(default_factory=Counter)

    def add(self, sentence: Sentence) -> Tree | None:
        """Count one more sentence.

        Returns:
            its tree, measured; None where a word has no head.
        """
        self.sentences += 1
        self.words += len(sentence)
        self.longest = max(self.longest, len(sentence))
        self.multiword_tokens += len(sentence.multiword_tokens)
        self.empty_nodes += len(sentence.empty_nodes)
        self.upos.update(sentence.upos)
        if (sentence.heads < 0).any():
            self.incomplete += 1
            return None
        tree = sentence.tree
        self.measured += 1
        self.lengths[len(tree)] += 1
        self.arcs += len(tree)
        self.deprels.update(sentence.deprels)
        self.multi_root += not tree.is_single_root
        # A projective tree has no crossing, no gap and no degree, which leaves nothing to measure.
        if tree.is_projective:
            self.degrees[0] += 1
            self.gap_degrees[0] += 1
            self.crossing_counts[0] += 1
            return tree
        self.nonprojective_arcs += int(tree.nonprojective_arcs.sum())
        self.nonprojective_sentences += 1
        self.nonplanar_sentences += not tree.is_planar
        self.ill_nested_sentences += not tree.is_well_nested
        self.crossings += tree.crossings
        self.crossing_counts[tree.crossings] += 1
        self.degrees[tree.degree] += 1
        self.gap_degrees[tree.gap_degree] += 1
        return tree

    def share_up_to(self, words: int) -> float:
        """Percent of the measured sentences that have at most so many words."""
        short = sum(count for length, count in self.lengths.items() if length <= words)
        return 100 * short / max(self.measured, 1)

    def __add__(self, other: Profile) -> Profile:
        both = Profile()
        for name, value in vars(self).items():
            theirs = getattr(other, name)
            setattr(both, name, max(value, theirs) if name == "longest" else value + theirs)
        return both

    def to_dict(self) -> dict[str, object]:
        """Counts and percentages by name, ready for JSON."""
        measured = max(self.measured, 1)
        return {
            "sentences": self.sentences,
            "words": self.words,
            "multiword_tokens": self.multiword_tokens,
            "empty_nodes": self.empty_nodes,
            "longest": self.longest,
            "incomplete_sentences": self.incomplete,
            "multi_root_sentences": self.multi_root,
            "nonprojective_arcs": self.nonprojective_arcs,
            "nonprojective_arcs_percent": 100 * self.nonprojective_arcs / max(self.arcs, 1),
            "nonprojective_sentences": self.nonprojective_sentences,
            "nonprojective_sentences_percent": 100 * self.nonprojective_sentences / measured,
            "nonplanar_sentences_percent": 100 * self.nonplanar_sentences / measured,
            "ill_nested_sentences_percent": 100 * self.ill_nested_sentences / measured,
            "crossings": self.crossings,
            "sentences_by_degree": _sorted_counts(self.degrees),
            "sentences_by_gap_degree": _sorted_counts(self.gap_degrees),
            "sentences_by_crossings": _sorted_counts(self.crossing_counts),
            "upos": dict(self.upos.most_common()),
            "deprels": dict(self.deprels.most_common()),
        }


def profile(sentences: Iterable[Sentence]) -> Profile:
    """Profile a treebank, one sentence at a time."""
    total = Profile()
    for sentence in sentences:
        total.add(sentence)
    return total


def _sorted_counts(counts: Counter[int]) -> dict[str, int]:
    return {str(key): counts[key] for key in sorted(counts)}

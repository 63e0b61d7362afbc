"""What constraints on trees cost and save: the experiments of Nivre (2006), on any treebank.

*Cost*: how many arcs and whole graphs Covington's algorithm still finds under a constraint, with
the gold tree as its oracle (Table 1). *Saving*: how many pairs of words it has to look at, as a
function of sentence length (Table 2, Figure 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from crossarc.analysis.fit import QuadraticFit, fit_quadratic
from crossarc.analysis.profile import Profile
from crossarc.inference.transition import CONSTRAINTS, Order, Recovery, covington
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = [
    "GROUPS",
    "ConstraintStudy",
    "Example",
    "Examples",
    "Tally",
    "count_group",
    "study_constraints",
]

#: How reports group degrees and numbers of crossings.
GROUPS = ("0", "1", "2", "3", "4", "5-9", "10+")

# Enough for all threads to have work, few enough to hold.
_BATCH = 2000

Measured = tuple[int, Sentence, Tree]


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that a number counts.

    Attributes:
        sent_id: its id, or `#` and its number in the treebank, from 1.
        lost: the words whose arcs are not found, if the number is about a constraint.
    """

    sent_id: str
    sentence: Sentence
    lost: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The text of the sentence."""
        return self.sentence.text

    @property
    def lost_arcs(self) -> tuple[str, ...]:
        """The arcs that are not found, such as `head -> dependent`."""
        forms, heads = ("root", *self.sentence.forms), self.sentence.heads
        return tuple(f"{forms[heads[m - 1]]} -> {forms[m]}" for m in self.lost)


@dataclass
class Examples:
    """For each number, the first sentences that it counts.

    Attributes:
        limit: how many to keep of each; None for all.
        only: keep those of this number only; None for every number.
        counts: how many there are of each, kept or not.
    """

    limit: int | None = 50
    only: str | None = None
    counts: Counter[str] = field(default_factory=Counter)
    kept: dict[str, list[Example]] = field(default_factory=dict)

    def count(self, key: str) -> bool:
        """Count a sentence for a number, and return whether it should be added."""
        self.counts[key] += 1
        if self.only not in (None, key):
            return False
        return self.limit is None or len(self.kept.get(key, ())) < self.limit

    def add(self, key: str, sentence: Sentence, number: int, lost: tuple[int, ...] = ()) -> None:
        """Keep a sentence, the number-th of its treebank."""
        name = sentence.sent_id or f"#{number}"
        self.kept.setdefault(key, []).append(Example(name, sentence, lost))

    def __add__(self, other: Examples) -> Examples:
        kept = {
            key: [*self.kept.get(key, ()), *other.kept.get(key, ())][: self.limit]
            for key in {**self.kept, **other.kept}
        }
        return Examples(self.limit, self.only, self.counts + other.counts, kept)


@dataclass
class Tally:
    """What was found under one constraint.

    Attributes:
        arcs: words with the right head; a word left without one hangs from the root.
        graphs: sentences with all arcs right.
        points: how many sentences have x words and y active pairs, by (x, y).
    """

    arcs: int = 0
    graphs: int = 0
    points: Counter[tuple[int, int]] = field(default_factory=Counter)

    @property
    def active_pairs(self) -> int:
        """Active pairs of all sentences."""
        return sum(y * times for (_, y), times in self.points.items())

    def fit(self) -> QuadraticFit:
        """Active pairs as a function of sentence length: y = a x + b x^2 (Table 2)."""
        return fit_quadratic(self.points)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.arcs + other.arcs, self.graphs + other.graphs, self.points + other.points)


@dataclass
class ConstraintStudy:
    """A treebank under every constraint; add two of them to pool treebanks.

    Attributes:
        profile: what the treebank holds; sentences with a word without a head are counted there
            as incomplete, and left out here.
        tallies: by constraint, the strictest first.
        examples: sentences behind the numbers. Keys are constraints (sentences not found whole),
            `degree=1`, `gap-degree=1`, `crossings=5-9` and so on by `GROUPS`, `well-nested`,
            `ill-nested`, `words<=30`, `words>30`, `words<=50`, `words>50`.
    """

    profile: Profile
    tallies: dict[str, Tally]
    examples: Examples

    @property
    def sentences(self) -> int:
        """Sentences that were parsed."""
        return self.profile.measured

    @property
    def arcs(self) -> int:
        """Arcs of these sentences: as many as words."""
        return self.profile.arcs

    def percent_arcs(self, constraint: str) -> float:
        """Arcs found under a constraint, in percent."""
        return 100 * self.tallies[constraint].arcs / max(self.arcs, 1)

    def percent_graphs(self, constraint: str) -> float:
        """Sentences found whole under a constraint, in percent."""
        return 100 * self.tallies[constraint].graphs / max(self.sentences, 1)

    @property
    def lost_per_nonprojective_arc(self) -> float | None:
        """Arcs lost under projectivity for each non-projective arc; None if there is none.

        Over 1 where a missing arc blocks projective ones: "about twice" in Nivre (2006).
        """
        if "projectivity" not in self.tallies or not self.profile.nonprojective_arcs:
            return None
        lost = self.arcs - self.tallies["projectivity"].arcs
        return lost / self.profile.nonprojective_arcs

    def __add__(self, other: ConstraintStudy) -> ConstraintStudy:
        tallies = {name: tally + other.tallies[name] for name, tally in self.tallies.items()}
        return ConstraintStudy(
            self.profile + other.profile, tallies, self.examples + other.examples
        )

    def to_dict(self) -> dict[str, object]:
        """Figures by name, ready for JSON; percentages are 0 to 100."""
        figures = self.profile.to_dict()
        return {
            "sentences": self.sentences,
            "arcs": self.arcs,
            "constraints": self.rows(),
            "incomplete_sentences": self.profile.incomplete,
            "nonprojective_arcs": self.profile.nonprojective_arcs,
            "lost_per_nonprojective_arc": self.lost_per_nonprojective_arc,
            "up_to_30_words": self.profile.share_up_to(30),
            "up_to_50_words": self.profile.share_up_to(50),
            "ill_nested_sentences": self.profile.ill_nested_sentences,
            **{
                name: figures[name]
                for name in (
                    "sentences_by_degree",
                    "sentences_by_gap_degree",
                    "sentences_by_crossings",
                )
            },
        }

    def rows(self) -> list[dict[str, str | float | None]]:
        """The figures of each constraint by name."""
        return [self._row(name) for name in self.tallies]

    def _row(self, name: str) -> dict[str, str | float | None]:
        fit = self.tallies[name].fit()
        return {
            "constraint": name,
            "arcs": self.percent_arcs(name),
            "graphs": self.percent_graphs(name),
            "a": fit.a,
            "b": fit.b,
            "r2": fit.r2,
            "r2_centred": fit.r2_centred,
            "linear_up_to": fit.linear_up_to,
            "lost_arcs": self.arcs - self.tallies[name].arcs,
            "lost_graphs": self.sentences - self.tallies[name].graphs,
            "active_pairs": self.tallies[name].active_pairs,
        }


def study_constraints(
    sentences: Iterable[Sentence],
    constraints: Sequence[str] = CONSTRAINTS,
    *,
    order: Order = "incremental",
    examples: Examples | None = None,
    threads: int | None = None,
) -> ConstraintStudy:
    """Parse a treebank under constraints, in bounded memory.

    Args:
        constraints: names such as `d<=2`, see `crossarc.inference.transition.degree_bound`.
        order: in which pairs of words are tried, see `crossarc.inference.transition.covington`.
        examples: how many sentences to keep for each number; by default the first 50.
        threads: `CROSSARC_THREADS`, else all cores, by default.
    """
    kept = Examples() if examples is None else examples
    study = ConstraintStudy(Profile(), {name: Tally() for name in constraints}, kept)
    for batch in _batches(sentences, study.profile):
        recoveries = covington(
            [tree for _, _, tree in batch], constraints, order=order, threads=threads
        )
        lengths = np.array([len(tree) for _, _, tree in batch])
        for name, found in recoveries.items():
            tally = study.tallies[name]
            tally.arcs += int(found.correct.sum())
            tally.graphs += int((found.correct == lengths).sum())
            tally.points.update(zip(lengths.tolist(), found.active.tolist(), strict=True))
            _keep_lost(kept, name, batch, lengths, found)
        for measured in batch:
            _keep_shape(kept, *measured)
    return study


def _batches(sentences: Iterable[Sentence], profile: Profile) -> Iterator[list[Measured]]:
    """Sentences whose words all have a head, with their number and tree; all are profiled."""
    numbered = enumerate(sentences, 1)
    while batch := list(islice(numbered, _BATCH)):
        trees = [(number, sentence, profile.add(sentence)) for number, sentence in batch]
        if measured := [(i, sentence, tree) for i, sentence, tree in trees if tree is not None]:
            yield measured


def _keep_lost(
    examples: Examples,
    name: str,
    batch: list[Measured],
    lengths: NDArray[np.int64],
    found: Recovery,
) -> None:
    ends = np.cumsum(lengths)
    for k in np.flatnonzero(found.correct < lengths):
        if examples.count(name):
            number, sentence, tree = batch[k]
            heads = found.heads[ends[k] - lengths[k] : ends[k]]
            lost = np.flatnonzero(heads != tree.heads) + 1
            examples.add(name, sentence, number, tuple(lost.tolist()))


def _keep_shape(examples: Examples, number: int, sentence: Sentence, tree: Tree) -> None:
    for key in (
        f"degree={count_group(tree.degree)}",
        f"gap-degree={count_group(tree.gap_degree)}",
        f"crossings={count_group(tree.crossings)}",
        "well-nested" if tree.is_well_nested else "ill-nested",
        *(f"words<={most}" for most in (30, 50) if len(tree) <= most),
        *(f"words>{most}" for most in (30, 50) if len(tree) > most),
    ):
        if examples.count(key):
            examples.add(key, sentence, number)


def count_group(count: int) -> str:
    """The group of `GROUPS` to which a degree or a number of crossings belongs."""
    if count < 5:
        return str(count)
    return "5-9" if count < 10 else "10+"

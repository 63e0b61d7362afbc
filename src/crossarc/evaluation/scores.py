"""Scores of a parsed treebank against gold: attachment, tagging, exact match, crossing arcs.

The scores that the CoNLL 2018 and IWPT 2020 shared tasks defined (Zeman et al. 2018, section 5;
Bouma et al. 2020) equal those of the official scorer to the last digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

import numpy as np

from crossarc.errors import TreebankError
from crossarc.evaluation.calibration import Calibration, HeadReliability
from crossarc.evaluation.comparison import Comparison, Mask, Numbers, Side, Vocabulary, comparisons
from crossarc.evaluation.enhanced import count_enhanced
from crossarc.treebank import Sentence

__all__ = ["LENGTHS", "Counts", "Scores", "evaluate"]

LENGTHS = ("root", "1", "2", "3-6", "7-14", "15+")
_LENGTH_STARTS = np.array([1, 2, 3, 7, 15])


def _percentage(part: int, whole: int) -> float | None:
    """`part` in percent of `whole`, None if there is nothing to divide by."""
    return 100 * (part / whole) if whole else None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many arcs of one kind gold has, the system has, and both have; percentages of these.

    A percentage is None where there is nothing to divide by.
    """

    gold: int
    system: int
    correct: int

    @property
    def precision(self) -> float | None:
        """Percentage of the system's arcs that are right."""
        return _percentage(self.correct, self.system)

    @property
    def recall(self) -> float | None:
        """Percentage of the gold arcs that were found."""
        return _percentage(self.correct, self.gold)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        return _percentage(2 * self.correct, self.gold + self.system)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scores:
    """Scores in percent (0 to 100), and tables.

    If the system has other words than gold, they are aligned by characters, and every score is F1:
    twice what is right, divided by what gold has and what the system has. With the same words that
    is the percentage that is right.

    Labels are compared without subtypes (`nsubj` for `nsubj:pass`) except in `las_full`, `lem`,
    `elas` and `per_label`. Punctuation counts except in the `_nopunct` scores: a word is
    punctuation if its gold UPOS is PUNCT, or if that is `_` and the form has only Unicode
    punctuation characters. A score is None where there is nothing to count: no content word, no
    word that is not punctuation, no non-projective arc, no enhanced dependency.
    """

    sentences: int  #: of gold
    words: int  #: of gold

    uas: float  #: words with the right head
    las: float  #: words with the right head and label
    las_full: float  #: words with the right head and label, subtype included
    #: F1 over words with content labels, as the next two: right head and label
    clas: float | None
    #: also UPOS, universal features, and all function words that hang on the word, alike in these
    mlas: float | None
    blex: float | None  #: right head, label and lemma

    upos: float
    xpos: float
    ufeats: float  #: the set of universal features
    alltags: float  #: UPOS, XPOS and universal features together
    lemmas: float  #: any lemma is right where gold has none

    tokens_f1: float  #: surface tokens over the same characters
    sentences_f1: float  #: sentences over the same characters
    words_f1: float  #: words that are aligned

    elas: float | None  #: enhanced dependencies with the right head and relation
    eulas: float | None  #: the same without subtypes

    uem: float  #: sentences with all heads right
    lem: float  #: sentences with all heads and labels right, subtypes included
    root_accuracy: float  #: sentences with the right set of roots

    uas_nopunct: float | None
    las_nopunct: float | None
    las_full_nopunct: float | None

    nonprojective_precision: float | None  #: the system's non-projective arcs that are in gold
    nonprojective_recall: float | None  #: the gold non-projective arcs that the system has
    nonprojective_f1: float | None  #: harmonic mean of the two

    per_label: Mapping[str, Counts]  #: right head and full label; most frequent in gold first
    per_length: Mapping[str, Counts]  #: right head, by distance to it (LENGTHS)
    calibration: Calibration | None  #: of HeadProb in MISC; None if no aligned word has it

    def to_dict(self) -> dict[str, int | float | None]:
        """Counts and scores by name, without the tables: one flat object for JSON."""
        return {name: getattr(self, name) for name in _FLAT}

    def __str__(self) -> str:
        """The scores as lines of name and value; `-` where there is none."""
        width = max(map(len, _FLAT))
        return "\n".join(f"{name:<{width}} {value:>10}" for name, value in self._shown())

    def __repr__(self) -> str:
        size = f"{self.words:,} words, {self.sentences:,} sentences"
        return f"<Scores UAS {self.uas:.2f}, LAS {self.las:.2f}: {size}>"

    def _repr_html_(self) -> str:
        """The table that notebooks show."""
        rows = (
            f'<tr><td style="text-align: left">{escape(name)}</td><td>{escape(value)}</td></tr>'
            for name, value in self._shown()
        )
        return f"<table>{''.join(rows)}</table>"

    def _shown(self) -> list[tuple[str, str]]:
        return [(name, _formatted(value)) for name, value in self.to_dict().items()]


_TABLES = {"per_label", "per_length", "calibration"}
_FLAT = tuple(name for name in Scores.__dataclass_fields__ if name not in _TABLES)


def _formatted(value: int | float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def evaluate(gold: Iterable[Sentence], system: Iterable[Sentence]) -> Scores:
    """Compare a parsed treebank with gold; O(words).

    Both are read in step and only a batch of sentences is held, so they may be of any size. Where
    the system splits the text into other tokens, words or sentences, words are aligned by
    characters.

    Args:
        gold: the sentences as they should be.
        system: the same text as a parser analysed it.

    Raises:
        TreebankError: the two differ in their text, a word has no head, a HeadProb is not a
            probability, a DEPS cannot be read, or there is nothing to compare.
    """
    totals = _Totals()
    for comparison in comparisons(gold, system, totals.vocabulary):
        totals.add(comparison)
    if not totals.counts["gold_words"]:
        raise TreebankError("nothing to compare: gold and system have no words. Check the inputs.")
    return totals.scores()


class _Table:
    """Running Counts of kinds that are numbered 0, 1, ...; more may turn up at any time."""

    def __init__(self) -> None:
        self._counts = np.zeros((3, 0), dtype=np.int64)

    def add(self, gold: Numbers, system: Numbers, correct: Numbers) -> None:
        """Count words by kind: those of gold, those of the system, those that are right."""
        columns = (gold, system, correct)
        kinds = max([self._counts.shape[1], *(int(c.max()) + 1 for c in columns if len(c))])
        counts = np.stack([np.bincount(column, minlength=kinds) for column in columns])
        counts[:, : self._counts.shape[1]] += self._counts
        self._counts = counts

    def rows(self, names: Iterable[str]) -> Mapping[str, Counts]:
        """The Counts of each kind under its name; kinds that never occurred count nothing."""
        rows = self._counts.T.tolist()
        return {
            name: Counts(*rows[kind]) if kind < len(rows) else Counts(0, 0, 0)
            for kind, name in enumerate(names)
        }


def _length_kinds(side: Side) -> Numbers:
    """Index in LENGTHS of each word's arc: 0 for the root, else by |head - word|."""
    distance = np.where(side.heads > 0, np.abs(side.heads - np.arange(1, len(side) + 1)), 0)
    return np.searchsorted(_LENGTH_STARTS, distance, side="right")


class _Totals:
    """Running sums over batches."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.counts: Counter[str] = Counter()
        self.labels = _Table()
        self.lengths = _Table()
        self.reliability = HeadReliability()

    def add(self, c: Comparison) -> None:
        full = c.heads & c.labels
        g = c.gold_index
        self._count_words(c, full)
        roots = (c.gold.heads[g] == 0) & (c.system.heads[c.system_index] == 0)
        unaligned = ~c.system.aligned
        self.counts["uem"] += c.exact_matches(~c.in_gold(c.heads), unaligned)
        self.counts["lem"] += c.exact_matches(~c.in_gold(full), unaligned)
        self.counts["root_accuracy"] += c.exact_matches(
            (c.gold.heads == 0) & ~c.in_gold(roots), (c.system.heads == 0) & ~c.in_system(roots)
        )
        self.counts["gold_sentences"] += len(c.gold.sentences)
        self.counts["system_sentences"] += len(c.system.sentences)
        self.counts["sentences_f1"] += len(c.sentence_pairs)
        for segment in c.segments:
            for name, count in zip(_TOKENS, segment.tokens, strict=True):
                self.counts[name] += count
        for name, count in zip(_ENHANCED, count_enhanced(c), strict=True):
            self.counts[name] += count
        self.labels.add(c.gold.labels, c.system.labels, c.gold.labels[g][full])
        gold_lengths = _length_kinds(c.gold)
        self.lengths.add(gold_lengths, _length_kinds(c.system), gold_lengths[g][c.heads])
        self.reliability.add_comparison(c)

    def _count_words(self, c: Comparison, full: Mask) -> None:
        las = c.heads & c.relations
        tags = c.upos & c.features
        g, s = c.gold_index, c.system_index
        content = las & c.gold.content[g]
        kept = ~c.gold.punctuation[g]
        masks = {
            "gold_words": np.ones(len(c.gold), dtype=np.bool_),
            "system_words": np.ones(len(c.system), dtype=np.bool_),
            "words_f1": np.ones_like(full),
            "uas": c.heads,
            "las": las,
            "las_full": full,
            "clas": content,
            "mlas": content & tags & c.children,
            "blex": content & c.lemmas,
            "gold_content": c.gold.content,
            "system_content": c.system.content,
            "upos": c.upos,
            "xpos": c.xpos,
            "ufeats": c.features,
            "alltags": tags & c.xpos,
            "lemmas": c.lemmas,
            "gold_kept": ~c.gold.punctuation,
            "system_kept": ~c.system.punctuation,
            "uas_nopunct": c.heads & kept,
            "las_nopunct": las & kept,
            "las_full_nopunct": full & kept,
            "gold_nonprojective": c.gold.nonprojective,
            "system_nonprojective": c.system.nonprojective,
            "found_nonprojective": c.gold.nonprojective[g] & c.heads,
            "right_nonprojective": c.system.nonprojective[s] & c.heads,
        }
        for name, mask in masks.items():
            self.counts[name] += int(np.count_nonzero(mask))

    def scores(self) -> Scores:
        n = self.counts

        def optional_f1(name: str, unit: str) -> float | None:
            return _percentage(2 * n[name], n[f"gold_{unit}"] + n[f"system_{unit}"])

        def f1(names: str, unit: str) -> dict[str, float]:
            return {name: optional_f1(name, unit) or 0.0 for name in names.split()}

        precision = _percentage(n["right_nonprojective"], n["system_nonprojective"])
        recall = _percentage(n["found_nonprojective"], n["gold_nonprojective"])
        per_label = self.labels.rows(self.vocabulary.labels)
        return Scores(
            sentences=n["gold_sentences"],
            words=n["gold_words"],
            **f1("uas las las_full upos xpos ufeats alltags lemmas words_f1", "words"),
            **f1("uem lem root_accuracy sentences_f1", "sentences"),
            **f1("tokens_f1", "tokens"),
            clas=optional_f1("clas", "content"),
            mlas=optional_f1("mlas", "content"),
            blex=optional_f1("blex", "content"),
            elas=optional_f1("elas", "enhanced"),
            eulas=optional_f1("eulas", "enhanced"),
            uas_nopunct=optional_f1("uas_nopunct", "kept"),
            las_nopunct=optional_f1("las_nopunct", "kept"),
            las_full_nopunct=optional_f1("las_full_nopunct", "kept"),
            nonprojective_precision=precision,
            nonprojective_recall=recall,
            nonprojective_f1=_harmonic(precision, recall),
            per_label=dict(sorted(per_label.items(), key=lambda row: (-row[1].gold, row[0]))),
            per_length=self.lengths.rows(LENGTHS),
            calibration=self.reliability.result() if self.reliability.count else None,
        )


_TOKENS = ("gold_tokens", "system_tokens", "tokens_f1")
_ENHANCED = ("gold_enhanced", "system_enhanced", "elas", "eulas")


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

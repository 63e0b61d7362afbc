"""Scores of a parsed treebank against gold: attachment, tagging, exact match, crossing arcs.

The scores that the CoNLL 2018 shared task defined (Zeman et al. 2018, section 5) equal those of
its scorer to the last digit on files with the same words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import TreebankError
from crossarc.evaluation.breakdown import LENGTHS, Counts, Table, arc_lengths, share
from crossarc.evaluation.calibration import Calibration, HeadReliability
from crossarc.evaluation.comparison import Comparison, Vocabulary, comparisons
from crossarc.treebank import Sentence

__all__ = ["Scores", "evaluate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Scores in percent (0 to 100), and tables.

    Labels are compared without subtypes (`nsubj` for `nsubj:pass`) except in `las_full`, `lem` and
    `per_label`. Punctuation counts except in the `_nopunct` scores: a word is punctuation if its
    gold UPOS is PUNCT, or if that is `_` and the form has only Unicode punctuation characters. A
    score is None where there is nothing to count: no word that is not punctuation, no
    non-projective arc.
    """

    sentences: int
    words: int

    uas: float  #: words with the right head
    las: float  #: words with the right head and label
    las_full: float  #: words with the right head and label, subtype included
    #: F1 over words with content labels, as the next two: right head and label
    clas: float
    #: also UPOS, universal features, and all function words that hang on the word, alike in these
    mlas: float
    blex: float  #: right head, label and lemma

    upos: float
    xpos: float
    ufeats: float  #: the set of universal features
    alltags: float  #: UPOS, XPOS and universal features together
    lemmas: float  #: any lemma is right where gold has none

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
    per_length: Mapping[str, Counts]  #: right head, by distance to it (breakdown.LENGTHS)
    calibration: Calibration | None  #: of HeadProb in MISC; None if no word has it

    def to_dict(self) -> dict[str, int | float | None]:
        """Counts and scores by name, without the tables: one flat object for JSON."""
        return {name: getattr(self, name) for name in _FLAT}

    def __str__(self) -> str:
        """The scores as lines of name and value; `-` where there is none."""
        width = max(map(len, _FLAT))
        return "\n".join(
            f"{name:<{width}} {_shown(value):>10}" for name, value in self.to_dict().items()
        )


_TABLES = {"per_label", "per_length", "calibration"}
_FLAT = tuple(name for name in Scores.__dataclass_fields__ if name not in _TABLES)


def _shown(value: int | float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def evaluate(gold: Iterable[Sentence], system: Iterable[Sentence]) -> Scores:
    """Compare a parsed treebank with gold, sentence by sentence; O(words).

    Both are read in step and only a batch of sentences is held, so they may be of any size.

    Args:
        gold: the sentences as they should be.
        system: the same words in the same sentences, as a parser analysed them.

    Raises:
        TreebankError: the two differ in number of sentences or in words, a word has no head,
            a HeadProb is not a probability, or there is nothing to compare.
    """
    totals = _Totals()
    for comparison in comparisons(gold, system, totals.vocabulary):
        totals.add(comparison)
    if not totals.counts["words"]:
        raise TreebankError("nothing to compare: gold and system have no words. Check the inputs.")
    return totals.scores()


class _Totals:
    """Running sums over batches."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.counts: Counter[str] = Counter()
        self.labels = Table()
        self.lengths = Table()
        self.reliability = HeadReliability()

    def add(self, c: Comparison) -> None:
        full = c.heads & c.labels
        las = c.heads & c.relations
        tags = c.upos & c.features
        gold_content = las & c.gold.content
        kept = ~c.punctuation
        self._count(
            words=np.ones_like(kept),
            uas=c.heads,
            las=las,
            las_full=full,
            clas=gold_content,
            mlas=gold_content & tags & c.children,
            blex=gold_content & c.lemmas,
            gold_content=c.gold.content,
            system_content=c.system.content,
            upos=c.upos,
            xpos=c.xpos,
            ufeats=c.features,
            alltags=tags & c.xpos,
            lemmas=c.lemmas,
            kept=kept,
            uas_nopunct=c.heads & kept,
            las_nopunct=las & kept,
            las_full_nopunct=full & kept,
            gold_nonprojective=c.gold.nonprojective,
            system_nonprojective=c.system.nonprojective,
            found_nonprojective=c.gold.nonprojective & c.heads,
            right_nonprojective=c.system.nonprojective & c.heads,
        )
        roots = (c.gold.heads == 0) == (c.system.heads == 0)
        for name, agree in (("uem", c.heads), ("lem", full), ("root_accuracy", roots)):
            self.counts[name] += int(np.count_nonzero(c.per_sentence(~agree) == 0))
        self.counts["sentences"] += len(c.pairs)
        self.labels.add(c.gold.labels, c.system.labels, full)
        self.lengths.add(arc_lengths(c, c.gold), arc_lengths(c, c.system), c.heads)
        for pair in c.pairs:
            self.reliability.add_sentence(pair)

    def _count(self, **masks: NDArray[np.bool_]) -> None:
        for name, mask in masks.items():
            self.counts[name] += int(np.count_nonzero(mask))

    def scores(self) -> Scores:
        n = self.counts
        sentences, words, kept = n["sentences"], n["words"], n["kept"]
        content = n["gold_content"] + n["system_content"]

        def of(names: str, whole: int) -> dict[str, float]:
            return {name: 100 * (n[name] / whole) for name in names.split()}

        def content_f1(name: str) -> float:
            # The official score of a treebank without content words is 0, not undefined.
            return 100 * (2 * n[name] / content) if content else 0.0

        precision = share(n["right_nonprojective"], n["system_nonprojective"])
        recall = share(n["found_nonprojective"], n["gold_nonprojective"])
        per_label = self.labels.rows(self.vocabulary.labels)
        return Scores(
            sentences=sentences,
            words=words,
            **of("uas las las_full upos xpos ufeats alltags lemmas", words),
            **of("uem lem root_accuracy", sentences),
            clas=content_f1("clas"),
            mlas=content_f1("mlas"),
            blex=content_f1("blex"),
            uas_nopunct=share(n["uas_nopunct"], kept),
            las_nopunct=share(n["las_nopunct"], kept),
            las_full_nopunct=share(n["las_full_nopunct"], kept),
            nonprojective_precision=precision,
            nonprojective_recall=recall,
            nonprojective_f1=_harmonic(precision, recall),
            per_label=dict(sorted(per_label.items(), key=lambda row: (-row[1].gold, row[0]))),
            per_length=self.lengths.rows(LENGTHS),
            calibration=self.reliability.result() if self.reliability.count else None,
        )


def _harmonic(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

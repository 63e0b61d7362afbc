"""From sentences to trees: a model gives scores or trees, a decoder fills in the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import LimitError, ModelError
from crossarc.inference import (
    HigherOrderTrees,
    ProjectiveTrees,
    SpanningTrees,
    TreeDistribution,
    constrain,
)
from crossarc.inference.forest.trees import ForestTrees
from crossarc.limits import require
from crossarc.models.distributions import terms_of, terms_of_sentence, trees_of
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import (
    ArcIndex,
    BatchScores,
    Model,
    ParsingModel,
    PruningModel,
    ScoringModel,
    factors_of,
    labelled_scores,
    order_of,
    tree_arcs,
    tree_label_log_probs,
)
from crossarc.parser.entropy import labelled_entropies
from crossarc.parser.marks import set_comments, write_probabilities, write_tree
from crossarc.parser.options import ParseOptions
from crossarc.treebank import Sentence

__all__ = [
    "Decoder",
    "ScoreDecoder",
    "TreeDecoder",
    "information_of_heads",
    "make_decoder",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Heads with less probability have less than 1e-4 nats of information.
_RARE = 1e-5
# Sentences that need no estimate. Measured, for each arc: bytes and seconds of a core of scoring;
# for n^3 = 1: those of a forest.
_ALWAYS_FITS = 500
_SCORE_BYTES, _SCORE_SECONDS = 60.0, 2e-6
_FOREST_BYTES, _FOREST_SECONDS = 7.0, 1.4e-8
_REMEDY = "split it, use a model of the kind 'covington'"
_APPROXIMATE = {"probabilities": "approximate"}


class Decoder(Protocol):
    """What `Parser` asks for, whatever the model."""

    def check(self, options: ParseOptions) -> None:
        """Refuse options that the model cannot serve: ModelError."""

    def require(self, sentence: Sentence, options: ParseOptions) -> None:
        """Refuse a sentence that is too long for what is asked: LimitError."""

    def parse(self, sentences: Sequence[Sentence], options: ParseOptions) -> Iterator[Sentence]:
        """Fill in the sentences, which are changed; with `kbest`, several of each."""

    def distribution(self, sentence: Sentence, options: ParseOptions) -> TreeDistribution:
        """The distribution over the labelled trees of one sentence."""

    def head_probabilities(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """Marginals [h, m] of each sentence."""

    def head_information(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """What each word's head says about all heads, in nats."""

    def best_labels(self, sentence: Sentence, arcs: ArcIndex) -> Ints:
        """The most probable label of each of some arcs of a sentence."""


def make_decoder(model: Model, projective: bool, root: RootRule) -> Decoder:
    """The decoder for a model that scores, or for one that builds trees."""
    if isinstance(model, ScoringModel):
        return ScoreDecoder(model, projective, root)
    if isinstance(model, ParsingModel):
        return TreeDecoder(model)
    raise TypeError(f"a model must have score() or parse(): got {type(model).__name__}")


@dataclass(frozen=True, slots=True)
class ScoreDecoder:
    """A model that scores arcs, or arcs and parts, and the trees that are searched.

    Under a model of higher order, sums over trees that may cross are approximate: those of belief
    propagation, interpolated with those of first order if the model says so.
    """

    model: ScoringModel
    projective: bool
    root: RootRule

    def check(self, options: ParseOptions) -> None:
        """All options can be served."""

    def require(self, sentence: Sentence, options: ParseOptions) -> None:
        """Refuse a sentence whose arcs, labels or trees take too much memory or time.

        Raises:
            LimitError: it does.
        """
        n = len(sentence)
        # Asked for every sentence: to check the protocol would take longer than the rest.
        cubic = getattr(self.model, "cubic_bytes", 0.0)
        if n <= _ALWAYS_FITS and not cubic:
            return
        order = order_of(self.model)
        name = _named(sentence)
        if order > 1 and n > ForestTrees.max_words:
            raise LimitError(
                f"{name} has {n:,} words, and a model of order {order} parses at most "
                f"{ForestTrees.max_words:,}: split it, or use a model of order 1 or of the kind "
                "'covington'"
            )
        family: Any = ProjectiveTrees if self._is_projective(options) else SpanningTrees
        lists = options.kbest is not None
        bytes_an_arc = _SCORE_BYTES + family.arc_bytes
        bytes_an_arc += 32.0 * len(self.model.labels) if lists else 0.0
        seconds = _SCORE_SECONDS * n**2 + family.cubic_seconds * n**3
        memory = bytes_an_arc * n * n + cubic * n**3
        if lists and issubclass(family, ForestTrees):
            memory, seconds = memory + _FOREST_BYTES * n**3, seconds + _FOREST_SECONDS * n**3
        require(memory, seconds, f"{name}: parsing {n:,} words", _REMEDY)

    def trees(
        self, scores: Any, options: ParseOptions, terms: Mapping[str, Any]
    ) -> TreeDistribution[Any]:
        """The distribution of a sentence or a batch; see `trees_of`."""
        return trees_of(
            scores,
            terms,
            projective=self._is_projective(options),
            root=self.root,
            threads=options.threads,
        )

    def _is_projective(self, options: ParseOptions) -> bool:
        return self.projective if options.projective is None else options.projective

    def _score(self, sentences: Sequence[Sentence], options: ParseOptions) -> BatchScores:
        if options.keep_heads and isinstance(self.model, PruningModel):
            return self.model.score_given(sentences, threads=options.threads)
        return self.model.score(sentences, threads=options.threads)

    def distribution(self, sentence: Sentence, options: ParseOptions) -> TreeDistribution:
        """The distribution over the labelled trees of one sentence."""
        batch = self._score([sentence], options)
        [scores], terms = labelled_scores(batch), terms_of_sentence(terms_of(batch), 0)
        if options.keep_heads:
            return self._constrained(scores, terms, sentence, options)
        return self.trees(scores, options, terms)

    def parse(self, sentences: Sequence[Sentence], options: ParseOptions) -> Iterator[Sentence]:
        """Fill in the sentences, which are changed; with `kbest`, several of each."""
        if options.kbest is not None:
            for sentence in sentences:
                yield from self._kbest(sentence, options, options.kbest)
            return
        batch = self._score(sentences, options)
        found = self._infer(sentences, batch, options)
        trees, marginals = found.trees, found.marginals
        label_log_probs = tree_label_log_probs(batch, [tree.heads for tree in trees])
        entropies: list[float] = []
        if marginals is not None:
            labels = len(self.model.labels)
            entropies = labelled_entropies(batch, labels, marginals, found.entropies)
        for index, (sentence, tree) in enumerate(zip(sentences, trees, strict=True)):
            logs = label_log_probs[index]
            labels = logs.argmax(axis=1)
            write_tree(sentence, tree.heads, _relations(self.model, sentence, labels, options))
            if found.is_approximate[index] and (options.min_risk or marginals is not None):
                set_comments(sentence, _APPROXIMATE)
            if marginals is not None:
                heads, words = tree_arcs(tree.heads)
                write_probabilities(
                    sentence,
                    marginals[index][heads, words],
                    np.exp(logs[words - 1, labels]),
                    entropies[index],
                )
            yield sentence

    def head_probabilities(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """Marginals [h, m] of each sentence, given its heads if they are kept."""
        if options.keep_heads:
            return [trees.marginals() for trees in self._given(sentences, options)]
        batch = self._score(sentences, options)
        marginals: list[Floats] = self.trees(batch.arcs, options, terms_of(batch)).marginals()
        return marginals

    def head_information(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """What each word's head says about all heads, in nats: its own entropy and the others'.

        Where sums are approximate, its own entropy only.
        """
        if options.keep_heads:
            return [information_of_heads(trees)[0] for trees in self._given(sentences, options)]
        batch = self._score(sentences, options)
        return information_of_heads(self.trees(batch.arcs, options, terms_of(batch)))

    def _given(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[TreeDistribution]:
        """The distribution over the heads of each sentence, given those that it has."""
        batch = self._score(sentences, options)
        terms = terms_of(batch)
        return [
            self._constrained(scores, terms_of_sentence(terms, index), sentence, options)
            for index, (scores, sentence) in enumerate(zip(batch.arcs, sentences, strict=True))
        ]

    def best_labels(self, sentence: Sentence, arcs: ArcIndex) -> Ints:
        """The most probable label of each of some arcs of a sentence."""
        [logs] = self.model.score([sentence], threads=1).label_log_probs([arcs])
        labels: Ints = logs.argmax(axis=1)
        return labels

    def _infer(
        self, sentences: Sequence[Sentence], batch: BatchScores, options: ParseOptions
    ) -> _Inferred:
        """The chosen trees; with `probabilities` their marginals and entropies of heads."""
        needs_sums = options.probabilities or options.min_risk
        terms = terms_of(batch) if needs_sums else factors_of(batch)
        if not options.keep_heads:
            return _quantities(self.trees(batch.arcs, options, terms), options)
        results = []
        for index, (scores, sentence) in enumerate(zip(batch.arcs, sentences, strict=True)):
            own = terms_of_sentence(terms, index)
            results.append(_quantities(self._constrained(scores, own, sentence, options), options))
        return _Inferred(
            [one.trees for one in results],
            [one.marginals for one in results] if options.probabilities else None,
            [one.entropies for one in results],
            [one.is_approximate for one in results],
        )

    def _constrained(
        self,
        scores: Floats,
        terms: Mapping[str, Any],
        sentence: Sentence,
        options: ParseOptions,
    ) -> TreeDistribution:
        """The trees with the heads that are given.

        Given heads may cross under a projective model, or be several roots under a single one.
        They count more than such a rule: the sentence is parsed without it.
        """
        given = {m: h for m, h in enumerate(sentence.heads.tolist(), 1) if h >= 0}
        fixed = constrain(scores, heads=given)
        # Factors leave the trees possible that arcs do: sums over arcs only say whether there are.
        own = self._is_projective(options)
        attempts: list[tuple[bool, RootRule]] = [
            (own, self.root),
            (False, self.root),
            (own, "multi"),
            (False, "multi"),
        ]
        for projective, root in attempts:
            trees = trees_of(fixed, {}, projective=projective, root=root, threads=1)
            if trees.log_partition() > -np.inf:
                break
        if terms:
            trees = trees_of(fixed, terms, projective=projective, root=root, threads=1)
        return trees

    def _kbest(self, sentence: Sentence, options: ParseOptions, k: int) -> Iterator[Sentence]:
        trees = self.distribution(sentence, options)
        marginals = trees.marginals() if options.probabilities else None
        entropy = trees.entropy() if options.probabilities else 0.0
        best = list(trees.kbest(k))
        for rank, tree in enumerate(best, 1):
            copy = sentence.copy()
            heads, words = tree_arcs(tree.heads)
            labels = np.asarray(tree.labels)
            write_tree(copy, heads, _relations(self.model, sentence, labels, options))
            if marginals is not None:
                arcs = marginals.sum(axis=2)[heads, words]
                joint = marginals[heads, words, labels]
                write_probabilities(copy, arcs, joint / arcs, entropy)
            if isinstance(trees, HigherOrderTrees):
                set_comments(copy, _APPROXIMATE)
            set_comments(
                copy,
                {"kbest": f"{rank}/{len(best)}", "log_prob": f"{trees.log_prob(tree):.6f}"},
            )
            yield copy


@dataclass(frozen=True, slots=True)
class TreeDecoder:
    """A model that builds one tree a sentence, without probabilities."""

    model: ParsingModel

    def check(self, options: ParseOptions) -> None:
        """Refuse what needs more than one tree, or other trees.

        Raises:
            ModelError: the model cannot do it.
        """
        if options.probabilities or options.kbest is not None or options.min_risk:
            self._refuse()
        if options.projective is not None:
            raise ModelError(
                f"the trees of a parser of the kind {self.model.kind!r} are chosen when it is "
                "trained: train one with --projective or --nonprojective"
            )

    def require(self, sentence: Sentence, options: ParseOptions) -> None:
        """Any length: time and memory grow about as the words do."""

    def parse(self, sentences: Sequence[Sentence], options: ParseOptions) -> Iterator[Sentence]:
        """Fill in the sentences, which are changed."""
        trees = self.model.parse(sentences, keep_heads=options.keep_heads, threads=options.threads)
        for sentence, tree in zip(sentences, trees, strict=True):
            labels = np.asarray(tree.labels)
            write_tree(sentence, tree.heads, _relations(self.model, sentence, labels, options))
            yield sentence

    def distribution(self, sentence: Sentence, options: ParseOptions) -> NoReturn:
        """There is none."""
        self._refuse()

    def head_probabilities(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """There are none."""
        self._refuse()

    def head_information(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """There is none without probabilities."""
        self._refuse()

    def best_labels(self, sentence: Sentence, arcs: ArcIndex) -> NoReturn:
        """There are none without probabilities."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ModelError(
            f"a parser of the kind {self.model.kind!r} gives one tree and no probabilities: "
            "train one of the kind 'graph'"
        )


def _named(sentence: Sentence) -> str:
    """What to call a sentence in a message."""
    place = sentence.source or ""
    if sentence.sent_id is not None:
        return f"{place} (sentence {sentence.sent_id})" if place else f"sentence {sentence.sent_id}"
    return place or "the sentence"


class _Inferred(NamedTuple):
    """Of a sentence or a batch: trees; marginals and entropies where they are asked for."""

    trees: Any
    marginals: Any
    entropies: Any
    is_approximate: Any


def _quantities(trees: TreeDistribution[Any], options: ParseOptions) -> _Inferred:
    """The chosen trees of one sentence or a batch; with `probabilities` marginals and entropies."""
    chosen = trees.min_risk() if options.min_risk else trees.argmax()
    approximate: Any = isinstance(trees, HigherOrderTrees)
    if isinstance(chosen, list):
        approximate = [approximate] * len(chosen)
    if not options.probabilities:
        return _Inferred(chosen, None, 0.0, approximate)
    return _Inferred(chosen, trees.marginals(), trees.entropy(), approximate)


def information_of_heads(trees: TreeDistribution[Any]) -> list[Floats]:
    """What each word's head says about all heads, of one sentence or a batch."""
    if isinstance(trees, HigherOrderTrees):
        found = trees.marginals()
        tables = found if isinstance(found, list) else [found]
        return [
            -(table * np.log(np.where(table > 0.0, table, 1.0))).sum(axis=0)[1:] for table in tables
        ]
    information = trees.mutual_information(negligible=_RARE)
    tables = information if isinstance(information, list) else [information]
    return [table.sum(axis=1) for table in tables]


def _relations(model: Model, sentence: Sentence, labels: Ints, options: ParseOptions) -> list[str]:
    """The relations of words by their label numbers; with heads that are kept, given ones stay."""
    relations = [model.labels[label] for label in labels]
    if options.keep_heads:
        given = zip(relations, sentence.deprels, sentence.heads.tolist(), strict=True)
        relations = [old if head >= 0 and old != "_" else new for new, old, head in given]
    return relations

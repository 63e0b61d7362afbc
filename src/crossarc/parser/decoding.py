"""From sentences to trees: a model gives scores or trees, a decoder fills in the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees, SpanningTrees, TreeDistribution, constrain
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import (
    ArcIndex,
    BatchScores,
    Model,
    ParsingModel,
    ScoringModel,
    labelled_scores,
    tree_arcs,
)
from crossarc.parser.marks import set_comments, write_probabilities, write_tree
from crossarc.parser.options import ParseOptions
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["Decoder", "ScoreDecoder", "TreeDecoder", "make_decoder"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Arcs with less probability add nothing to the entropy that four decimals could show.
_NEGLIGIBLE = 1e-9
# Heads with less probability have less than 1e-4 nats of information.
_RARE = 1e-5
_ARCS_AT_ONCE = 20_000


class Decoder(Protocol):
    """What `Parser` asks for, whatever the model."""

    def check(self, options: ParseOptions) -> None:
        """Refuse options that the model cannot serve: ModelError."""

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
    """A model that scores arcs, and the trees that are searched for the best one."""

    model: ScoringModel
    projective: bool
    root: RootRule

    def check(self, options: ParseOptions) -> None:
        """All options can be served."""

    def trees(self, scores: Any, options: ParseOptions) -> TreeDistribution[Any]:
        """The distribution of a sentence or a batch."""
        return self._family(options)(scores, root=self.root, threads=options.threads)

    def _family(self, options: ParseOptions) -> type[TreeDistribution[Any]]:
        projective = self.projective if options.projective is None else options.projective
        return ProjectiveTrees if projective else SpanningTrees

    def distribution(self, sentence: Sentence, options: ParseOptions) -> TreeDistribution:
        """The distribution over the labelled trees of one sentence."""
        [scores] = labelled_scores(self.model.score([sentence], threads=options.threads))
        if options.keep_heads:
            return self._constrained(scores, sentence, options)
        return self.trees(scores, options)

    def parse(self, sentences: Sequence[Sentence], options: ParseOptions) -> Iterator[Sentence]:
        """Fill in the sentences, which are changed; with `kbest`, several of each."""
        if options.kbest is not None:
            for sentence in sentences:
                yield from self._kbest(sentence, options, options.kbest)
            return
        batch = self.model.score(sentences, threads=options.threads)
        trees, marginals, entropies = self._infer(sentences, batch.arcs, options)
        label_log_probs = batch.label_log_probs([tree_arcs(tree.heads) for tree in trees])
        label_entropies = None if marginals is None else _label_entropies(batch, marginals)
        for index, (sentence, tree) in enumerate(zip(sentences, trees, strict=True)):
            logs = label_log_probs[index]
            labels = logs.argmax(axis=1)
            write_tree(sentence, tree.heads, _relations(self.model, sentence, labels, options))
            if marginals is not None and label_entropies is not None:
                heads, words = tree_arcs(tree.heads)
                write_probabilities(
                    sentence,
                    marginals[index][heads, words],
                    np.exp(logs[words - 1, labels]),
                    entropies[index] + label_entropies[index],
                )
            yield sentence

    def head_probabilities(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """Marginals [h, m] of each sentence, given its heads if they are kept."""
        scores = self.model.score(sentences, threads=options.threads).arcs
        if options.keep_heads:
            pairs = zip(scores, sentences, strict=True)
            return [self._constrained(*pair, options).marginals() for pair in pairs]
        marginals: list[Floats] = self.trees(scores, options).marginals()
        return marginals

    def head_information(
        self, sentences: Sequence[Sentence], options: ParseOptions
    ) -> list[Floats]:
        """What each word's head says about all heads, in nats: its own entropy and the others'."""
        scores = self.model.score(sentences, threads=options.threads).arcs
        if options.keep_heads:
            pairs = zip(scores, sentences, strict=True)
            given = [self._constrained(*pair, options) for pair in pairs]
            tables = [trees.mutual_information(negligible=_RARE) for trees in given]
        else:
            tables = self.trees(scores, options).mutual_information(negligible=_RARE)
        return [table.sum(axis=1) for table in tables]

    def best_labels(self, sentence: Sentence, arcs: ArcIndex) -> Ints:
        """The most probable label of each of some arcs of a sentence."""
        [logs] = self.model.score([sentence], threads=1).label_log_probs([arcs])
        labels: Ints = logs.argmax(axis=1)
        return labels

    def _infer(
        self, sentences: Sequence[Sentence], scores: Sequence[Floats], options: ParseOptions
    ) -> tuple[list[Tree], list[Floats] | None, Sequence[float]]:
        """The chosen trees; with `probabilities` their marginals and entropies of heads."""
        if not options.keep_heads:
            return _quantities(self.trees(scores, options), options)
        results = [
            _quantities(self._constrained(own, sentence, options), options)
            for sentence, own in zip(sentences, scores, strict=True)
        ]
        marginals = [table for _, table, _ in results] if options.probabilities else None
        return [tree for tree, _, _ in results], marginals, [entropy for _, _, entropy in results]

    def _constrained(
        self, scores: Floats, sentence: Sentence, options: ParseOptions
    ) -> TreeDistribution:
        """The trees with the heads that are given.

        Given heads may cross under a projective model, or be several roots under a single one.
        They count more than such a rule: the sentence is parsed without it.
        """
        given = {m: h for m, h in enumerate(sentence.heads.tolist(), 1) if h >= 0}
        fixed = constrain(scores, heads=given)
        family = self._family(options)
        attempts: list[tuple[type[TreeDistribution[Any]], RootRule]] = [
            (family, self.root),
            (SpanningTrees, self.root),
            (family, "multi"),
        ]
        for trees, root in attempts:
            found = trees(fixed, root=root, threads=1)
            if found.log_partition() > -np.inf:
                return found
        return SpanningTrees(fixed, root="multi", threads=1)

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


def _quantities(trees: TreeDistribution[Any], options: ParseOptions) -> tuple[Any, Any, Any]:
    """The chosen trees of one sentence or a batch; with `probabilities` marginals and entropies."""
    chosen = trees.min_risk() if options.min_risk else trees.argmax()
    if not options.probabilities:
        return chosen, None, 0.0
    return chosen, trees.marginals(), trees.entropy()


def _label_entropies(batch: BatchScores, marginals: Sequence[Floats]) -> list[float]:
    """What labels add to the entropies: that of each arc's labels, times its probability."""
    arcs: list[ArcIndex] = []
    for table in marginals:
        heads, modifiers = np.nonzero(table > _NEGLIGIBLE)
        arcs.append((heads.astype(np.int64), modifiers.astype(np.int64)))
    # Log-probabilities of all labels need much memory: some sentences at a time.
    part = np.cumsum([len(heads) for heads, _ in arcs]) // _ARCS_AT_ONCE
    entropies = np.zeros(len(arcs))
    none = np.empty(0, np.int64), np.empty(0, np.int64)
    for number in np.unique(part):
        own = [index if p == number else none for index, p in zip(arcs, part, strict=True)]
        for k, logs in enumerate(batch.label_log_probs(own)):
            probabilities = np.exp(logs)
            entropy = -(probabilities * np.where(probabilities > 0.0, logs, 0.0)).sum(axis=1)
            entropies[k] += marginals[k][own[k]] @ entropy
    return entropies.tolist()


def _relations(model: Model, sentence: Sentence, labels: Ints, options: ParseOptions) -> list[str]:
    """The relations of words by their label numbers; with heads that are kept, given ones stay."""
    relations = [model.labels[label] for label in labels]
    if options.keep_heads:
        given = zip(relations, sentence.deprels, sentence.heads.tolist(), strict=True)
        relations = [old if head >= 0 and old != "_" else new for new, old, head in given]
    return relations

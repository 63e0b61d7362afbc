"""From sentences to trees: scores, the best tree or the safest, labels, probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import ProjectiveTrees, SpanningTrees, TreeDistribution, constrain
from crossarc.inference.distribution import Root
from crossarc.models.encode import Encoded
from crossarc.models.linear import LinearModel
from crossarc.models.scorers import Arcs
from crossarc.parser.marks import set_comments, write_probabilities, write_tree
from crossarc.treebank import Sentence

__all__ = ["Decoder", "Wishes", "relations"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Arcs with less probability add nothing to the entropy that four decimals could show.
_NEGLIGIBLE = 1e-9
# Heads with less probability tell less than 1e-4 nats, which changes no order that matters.
_RARE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a parse should be and tell.

    min_risk: the tree with the most expected right arcs, in place of the most probable one.
    probabilities: HeadProb, DeprelProb and the entropy.
    kbest: how many of the best trees, in place of one.
    keep_heads: heads that are given are constraints, and their relations stay.
    """

    min_risk: bool = False
    probabilities: bool = False
    kbest: int | None = None
    keep_heads: bool = False


@dataclass(frozen=True, slots=True)
class Decoder:
    """A model, and the trees that it chooses from."""

    model: LinearModel
    projective: bool
    root: Root

    def check(self, wishes: Wishes) -> None:
        """All wishes can be met."""

    def trees(self, scores: Any, threads: int | None = None) -> TreeDistribution:
        """The distribution of a sentence or a batch."""
        return _family(self.projective)(scores, root=self.root, threads=threads)

    def distribution(self, sentence: Sentence, *, keep_heads: bool = False) -> TreeDistribution:
        """The distribution over the labelled trees of one sentence."""
        encoded = self.model.encode([sentence])
        scores = self.model.labelled_scores(encoded)[0]
        return self._agreeing(scores, sentence) if keep_heads else self.trees(scores)

    def parse(
        self, sentences: Sequence[Sentence], wishes: Wishes, threads: int | None
    ) -> Iterator[Sentence]:
        """Fill in the sentences, which are changed; several of each when k best are wished for."""
        if wishes.kbest is not None:
            for sentence in sentences:
                yield from self._kbest(sentence, wishes, wishes.kbest)
            return
        encoded = self.model.encode(sentences)
        scores = self.model.arc_scores(encoded, threads)
        answers = self._answers(sentences, scores, wishes, threads)
        heads = [tree.heads for tree, _, _ in answers]
        logs = self.model.label_log_probs(encoded, heads, threads)
        for index, (sentence, own) in enumerate(zip(sentences, logs, strict=True)):
            labels = own.argmax(axis=1)
            deprels = relations(self.model.labels, sentence, labels, wishes)
            write_tree(sentence, heads[index], deprels)
            _, marginals, entropy = answers[index]
            if marginals is not None:
                words = np.arange(len(sentence))
                entropy += self._label_entropy(encoded, index, marginals, threads)
                chances = marginals[heads[index], words + 1]
                write_probabilities(sentence, chances, np.exp(own[words, labels]), entropy)
            yield sentence

    def head_probabilities(
        self, sentences: Sequence[Sentence], keep_heads: bool, threads: int | None
    ) -> list[Floats]:
        """Marginals [h, m] of each sentence, given its heads if they are kept."""
        scores = self.model.arc_scores(self.model.encode(sentences), threads)
        wishes = Wishes(probabilities=True, keep_heads=keep_heads)
        return [
            marginals
            for _, marginals, _ in self._answers(sentences, scores, wishes, threads)
            if marginals is not None
        ]

    def head_information(
        self, sentences: Sequence[Sentence], keep_heads: bool, threads: int | None
    ) -> list[Floats]:
        """What each word's head says about all heads, in nats: its own entropy and the others'."""
        scores = self.model.arc_scores(self.model.encode(sentences), threads)
        if keep_heads:
            pairs = zip(scores, sentences, strict=True)
            given = [self._agreeing(*pair) for pair in pairs]
            tables = [trees.mutual_information(negligible=_RARE) for trees in given]
        else:
            tables = self.trees(scores, threads).mutual_information(negligible=_RARE)
        return [table.sum(axis=1) for table in tables]

    def _answers(
        self,
        sentences: Sequence[Sentence],
        scores: list[Floats],
        wishes: Wishes,
        threads: int | None,
    ) -> list[tuple[Any, Floats | None, float]]:
        """For each sentence its tree, and if wished for its marginals and entropy."""
        if wishes.keep_heads:
            answers = []
            for sentence, own in zip(sentences, scores, strict=True):
                chosen = self._agreeing(own, sentence)
                answers.append(_asked(chosen, wishes))
            return answers
        trees, marginals, entropies = _asked(self.trees(scores, threads), wishes)
        if marginals is None:
            return [(tree, None, 0.0) for tree in trees]
        return list(zip(trees, marginals, entropies, strict=True))

    def _agreeing(self, scores: Floats, sentence: Sentence) -> TreeDistribution:
        """The trees with the heads that are given.

        Given heads may cross under a projective model, or be several roots under a single one.
        What a person has set counts more: such a sentence is parsed without that rule.
        """
        given = {m: h for m, h in enumerate(sentence.heads.tolist(), 1) if h >= 0}
        fixed = constrain(scores, heads=given)
        families: list[tuple[bool, Root]] = [
            (self.projective, self.root),
            (False, self.root),
            (self.projective, "multi"),
            (False, "multi"),
        ]
        for projective, root in families[:-1]:
            trees = _family(projective)(fixed, root=root, threads=1)
            if trees.log_partition() > -np.inf:
                return trees
        return SpanningTrees(fixed, root="multi", threads=1)

    def _label_entropy(
        self, encoded: Encoded, index: int, marginals: Floats, threads: int | None
    ) -> float:
        """What labels add to the entropy: that of each arc's labels, times its probability."""
        heads, modifiers = map(np.ascontiguousarray, np.nonzero(marginals > _NEGLIGIBLE))
        rows = np.full(len(heads), encoded.starts[index])
        logs = self.model.arc_label_log_probs(Arcs(encoded.codes, rows, heads, modifiers), threads)
        chances = np.exp(logs)
        surprise = -(chances * np.where(chances > 0.0, logs, 0.0)).sum(axis=1)
        return float(marginals[heads, modifiers] @ surprise)

    def _kbest(self, sentence: Sentence, wishes: Wishes, k: int) -> Iterator[Sentence]:
        trees = self.distribution(sentence, keep_heads=wishes.keep_heads)
        marginals = trees.marginals() if wishes.probabilities else None
        entropy = trees.entropy() if wishes.probabilities else 0.0
        best = list(trees.kbest(k))
        for rank, tree in enumerate(best, 1):
            twin = sentence.copy()
            words = np.arange(1, len(tree) + 1)
            names = relations(self.model.labels, sentence, tree.labels, wishes)
            write_tree(twin, tree.heads, names)
            if marginals is not None:
                arcs = marginals.sum(axis=2)[tree.heads, words]
                joint = marginals[tree.heads, words, tree.labels]
                write_probabilities(twin, arcs, joint / arcs, entropy)
            set_comments(
                twin,
                {"kbest": f"{rank}/{len(best)}", "log_prob": f"{trees.log_prob(tree):.6f}"},
            )
            yield twin


def relations(names: Sequence[str], sentence: Sentence, labels: Ints, wishes: Wishes) -> list[str]:
    """The relations of words by their label numbers; with heads that are kept, given ones stay."""
    chosen = [names[label] for label in labels]
    if wishes.keep_heads:
        given = zip(chosen, sentence.deprels, sentence.heads.tolist(), strict=True)
        chosen = [old if head >= 0 and old != "_" else new for new, old, head in given]
    return chosen


def _family(projective: bool) -> type[TreeDistribution]:
    return ProjectiveTrees if projective else SpanningTrees


def _asked(trees: TreeDistribution, wishes: Wishes) -> tuple[Any, Any, Any]:
    """The chosen trees; their marginals and entropies if wished for."""
    chosen = trees.min_risk() if wishes.min_risk else trees.argmax()
    if not wishes.probabilities:
        return chosen, None, 0.0
    return chosen, trees.marginals(), trees.entropy()

"""Trees of sentences under a person's constraints, and their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.app.server.decoded import Decoded, Ranked
from crossarc.app.server.limits import RefusalError
from crossarc.app.server.relations import Relations
from crossarc.app.server.schema import Constraints, ParseRequest
from crossarc.errors import TreebankError
from crossarc.inference import ProjectiveTrees, SpanningTrees, TreeDistribution, constrain
from crossarc.models.distributions import terms_of, terms_of_sentence, trees_of
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import (
    ArcIndex,
    BatchScores,
    PruningModel,
    ScoringModel,
    labelled_scores,
)
from crossarc.parser import Parser
from crossarc.parser.decoding import information_of_heads
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["decode"]

Floats = NDArray[np.float64]


def decode(
    parser: Parser,
    sentences: Sequence[Sentence],
    constraints: Sequence[Constraints],
    request: ParseRequest,
) -> list[Decoded]:
    """The trees of a batch of sentences, in order.

    Raises:
        CrossarcError: constraints that are out of range, or that the model cannot serve.
        RefusalError: constraints that no tree satisfies.
    """
    tagged = _tagged(parser, sentences, request)
    if isinstance(parser.model, ScoringModel):
        return _Batch(parser, parser.model, tagged, constraints, request).decode()
    return [
        _single_tree(parser, sentence, own, request)
        for sentence, own in zip(tagged, constraints, strict=True)
    ]


def _tagged(parser: Parser, sentences: Sequence[Sentence], request: ParseRequest) -> list[Sentence]:
    """Copies of the sentences; those without any tag are tagged, or all if it is asked for."""
    result = [sentence.copy() for sentence in sentences]
    if parser.tagger is None:
        return result
    untagged = [
        k
        for k, one in enumerate(result)
        if request.retag or all(tag == "_" for tag in chain(one.upos, one.xpos))
    ]
    found = parser.tagger.tag([result[k] for k in untagged], threads=1)
    for k, sentence in zip(untagged, found, strict=True):
        result[k] = sentence
    return result


def _single_tree(
    parser: Parser, sentence: Sentence, constraints: Constraints, request: ParseRequest
) -> Decoded:
    """The tree of a model that gives one tree a sentence: heads can be fixed, no more."""
    if (
        constraints.forbidden
        or request.needs_probabilities
        or request.compare not in (None, "input")
    ):
        raise RefusalError(
            f"a model of the kind {parser.kind!r} gives one tree and no probabilities: ask for "
            "heads only, or use a model of the kind 'graph'"
        )
    given = sentence.copy()
    heads = sentence.heads.tolist() if request.closest_to_input else [-1] * len(sentence)
    for word, head in constraints.heads.items():
        _check_word(word, sentence)
        heads[word - 1] = head
    given.heads = heads
    [parsed] = parser.parse([given], keep_heads=True, threads=1)
    deprels = list(parsed.deprels)
    for word, label in constraints.labels.items():
        _check_word(word, sentence)
        deprels[word - 1] = label
    compared = _input_tree(sentence) if request.compare == "input" else None
    return Decoded(sentence, constraints, parsed.heads.tolist(), deprels, compared=compared)


def _check_word(word: int, sentence: Sentence) -> None:
    if not 1 <= word <= len(sentence):
        raise RefusalError(f"there is no word {word} among {len(sentence)} words")


def _input_tree(sentence: Sentence) -> Ranked | None:
    """The tree of the input, if every word has a head."""
    heads = sentence.heads.tolist()
    return None if -1 in heads else Ranked(heads, list(sentence.deprels), 0.0)


class _Batch:
    """Sentences whose arcs are scored together."""

    def __init__(
        self,
        parser: Parser,
        model: ScoringModel,
        sentences: Sequence[Sentence],
        constraints: Sequence[Constraints],
        request: ParseRequest,
    ) -> None:
        self.parser, self.model, self.request = parser, model, request
        self.sentences, self.constraints = sentences, constraints
        self.labels = {label: number for number, label in enumerate(model.labels)}
        self._prunes = isinstance(model, PruningModel)
        self.batch = self._score(range(len(sentences)))
        self.scores = self._constrained_scores()
        if self._prunes and not self._have_trees():
            # Where what is not pruned is forbidden, all arcs are scored.
            self._prunes = False
            self.batch = self._score(range(len(sentences)))
            self.scores = self._constrained_scores()
        self.terms = terms_of(self.batch)
        projective = parser.projective if request.projective is None else request.projective
        self.family: type[TreeDistribution[Any]] = ProjectiveTrees if projective else SpanningTrees

    def _score(self, numbers: Sequence[int]) -> BatchScores:
        """The scores of some sentences; arcs that are not pruned allow the heads that are fixed."""
        sentences = [self.sentences[k] for k in numbers]
        if not isinstance(self.model, PruningModel):
            return self.model.score(sentences, threads=1)
        if not self._prunes:
            return self.model.score_unpruned(sentences, threads=1)
        given = []
        for k, sentence in zip(numbers, sentences, strict=True):
            heads = [-1] * len(sentence)
            for word, head in self.constraints[k].heads.items():
                _check_word(word, sentence)
                if not 0 <= head <= len(sentence) or head == word:
                    raise RefusalError(f"word {word} cannot have head {head}")
                heads[word - 1] = head
            given.append(sentence.copy())
            try:
                given[-1].heads = heads
            except TreebankError:
                raise _no_tree() from None
        return self.model.score_given(given, threads=1)

    def _have_trees(self) -> bool:
        """Whether every sentence has a tree under its constraints, of any kind."""
        own = [
            one for one, given in zip(self.scores, self.constraints, strict=True) if given.forbidden
        ]
        found = SpanningTrees(own, root="multi", threads=1).log_partition() if own else []
        return -np.inf not in found

    def _terms(self, k: int) -> dict[str, Any]:
        return terms_of_sentence(self.terms, k)

    def decode(self) -> list[Decoded]:
        """The sentences with their trees."""
        trees = self._trees()
        results = []
        for k, (sentence, tree) in enumerate(zip(self.sentences, trees, strict=True)):
            marginals: Floats = tree.marginals()
            best = tree.argmax()
            heads: list[int] = best.heads.tolist()
            if self.request.closest_to_input:
                heads = self._closest(k)
            result = Decoded(sentence, self.constraints[k], heads, [], marginals)
            if self.request.trees_a_sentence:
                self._use_ranked(result, self._kbest(k))
            result.log_prob = _log_prob(tree, result.heads)
            if self.request.entropy:
                result.entropy = float(tree.entropy())
            if self.request.information:
                [result.information] = information_of_heads(tree)
            result.compared = self._compared(k, best, result)
            results.append(result)
        Relations(self.labels, self.batch, self.request).fill_in(results)
        return results

    def _use_ranked(self, result: Decoded, ranked: list[Ranked]) -> None:
        rank = self.request.rank
        if rank is not None:
            chosen = ranked[min(rank, len(ranked)) - 1]
            result.heads, result.deprels = chosen.heads, chosen.deprels
        if self.request.kbest:
            result.kbest = ranked[: self.request.kbest]

    def _constrained_scores(self) -> list[Floats]:
        """Scores under which only the trees that satisfy the constraints are possible.

        A relation that is fixed is a factor of every arc that could have it: log p(l | h, m).
        """
        arcs: list[ArcIndex] = []
        for sentence, own in zip(self.sentences, self.constraints, strict=True):
            for word in own.labels:
                _check_word(word, sentence)
            words = [word for word, label in own.labels.items() if label in self.labels]
            pairs = [(h, m) for m in words for h in range(len(sentence) + 1) if h != m]
            columns = np.array(pairs, np.int64).reshape(-1, 2).T
            arcs.append((columns[0].copy(), columns[1].copy()))
        is_labelled = any(len(heads) for heads, _ in arcs)
        logs = self.batch.label_log_probs(arcs) if is_labelled else [np.empty((0, 0))] * len(arcs)
        result = []
        for scores, own, index, table in zip(
            self.batch.arcs, self.constraints, arcs, logs, strict=True
        ):
            fixed = constrain(scores, heads=own.heads, forbidden=own.forbidden)
            if len(index[0]):
                numbers = [self.labels[own.labels[word]] for word in index[1].tolist()]
                fixed[index] += table[np.arange(len(numbers)), numbers]
            result.append(fixed)
        return result

    def _trees(self) -> list[TreeDistribution]:
        return [
            self._feasible(self.scores[k], self._terms(k), self.family)
            if self.constraints[k]
            else _distribution(self.family, self.scores[k], self.parser.root, self._terms(k))
            for k in range(len(self.sentences))
        ]

    def _feasible(
        self, scores: Floats, terms: dict[str, Any], family: type[TreeDistribution[Any]]
    ) -> TreeDistribution:
        """The trees under constraints, which count more than projectivity and a single root."""
        attempts: list[tuple[type[TreeDistribution[Any]], RootRule]] = [
            (family, self.parser.root),
            (SpanningTrees, self.parser.root),
            (family, "multi"),
            (SpanningTrees, "multi"),
        ]
        for trees, root in attempts:
            # Factors leave the trees possible that arcs do.
            found = trees(scores, root=root, threads=1)
            if found.log_partition() > -np.inf:
                return _distribution(trees, scores, root, terms) if terms else found
        raise _no_tree()

    def _closest(self, k: int) -> list[int]:
        """The heads that differ from those of the input in as few words as constraints allow.

        Arcs of the input get a bonus that outweighs the scores of any tree. Arcs that the model has
        pruned are allowed again, and parts of several arcs count for nothing.
        """
        own, given = self.constraints[k], self.sentences[k].heads
        finite = self.batch.arcs[k][np.isfinite(self.batch.arcs[k])]
        is_pruned = np.isneginf(self.batch.arcs[k])
        least = float(finite.min(initial=0.0))
        scores = constrain(np.where(is_pruned, least, self.scores[k]), own.heads, own.forbidden)
        known = np.flatnonzero(given >= 0)
        bonus = 1.0 + 2.0 * len(given) * float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0))
        scores[given[known], known + 1] += bonus
        is_projective = self.request.projective is True
        family: type[TreeDistribution[Any]] = ProjectiveTrees if is_projective else SpanningTrees
        if (given == 0).sum() > 1 and not own:
            trees: TreeDistribution = family(scores, root="multi", threads=1)
        else:
            trees = self._feasible(scores, {}, family)
        heads: list[int] = trees.argmax().heads.tolist()
        return heads

    def _kbest(self, k: int) -> list[Ranked]:
        """The best labelled trees."""
        own = self.constraints[k]
        numbers = {m: self.labels[label] for m, label in own.labels.items() if label in self.labels}
        [scores] = labelled_scores(self._score([k]))
        fixed = constrain(scores, own.heads, own.forbidden, numbers)
        trees = self._feasible(fixed, self._terms(k), self.family)
        return [
            Ranked(
                tree.heads.tolist(),
                [self.model.labels[label] for label in np.asarray(tree.labels).tolist()],
                float(trees.log_prob(tree)),
            )
            for tree in islice(trees.kbest(self.request.trees_a_sentence), 100)
        ]

    def _compared(self, k: int, best: Tree, result: Decoded) -> Ranked | None:
        compare = self.request.compare
        if compare is None:
            return None
        if compare == "input":
            return _input_tree(self.sentences[k])
        tree = best
        if compare != "best":
            family = ProjectiveTrees if compare == "projective" else SpanningTrees
            tree = self._feasible(self.scores[k], self._terms(k), family).argmax()
        wide = _distribution(SpanningTrees, self.scores[k], "multi", self._terms(k))
        # Both by the score of the model, so that a reader can tell which is the better one.
        difference = float(wide.log_prob(tree)) - float(wide.log_prob(Tree(result.heads)))
        return Ranked(tree.heads.tolist(), [], (result.log_prob or 0.0) + difference)


def _distribution(
    family: type[TreeDistribution[Any]], scores: Floats, root: RootRule, terms: dict[str, Any]
) -> TreeDistribution:
    return trees_of(scores, terms, projective=family is ProjectiveTrees, root=root, threads=1)


def _no_tree() -> RefusalError:
    return RefusalError(
        "no tree satisfies the constraints: some make a cycle, or leave a word without a head",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _log_prob(trees: TreeDistribution, heads: list[int]) -> float | None:
    value = float(trees.log_prob(Tree(heads)))
    return value if np.isfinite(value) else None

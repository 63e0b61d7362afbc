"""What a parser needs of a model, whatever the model is made of.

A `ScoringModel` gives scores of arcs, and the parser finds trees, probabilities and k best trees by
inference; a `FeatureModel` can also say what each score is the sum of. A `ParsingModel` builds one
tree itself. `crossarc.models.kinds` lists the models that there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import Given
from crossarc.inference.higher import FirstOrder
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = [
    "ArcIndex",
    "BatchScores",
    "CompositeModel",
    "Described",
    "FactoredBatch",
    "FactoredModel",
    "FeatureModel",
    "InterpolatedBatch",
    "LabelEntropies",
    "Model",
    "ParsingModel",
    "Part",
    "PruningModel",
    "ScoringModel",
    "SentenceFeatures",
    "TreeLabels",
    "all_arcs",
    "factors_of",
    "has_approximate_sums",
    "labelled_scores",
    "of_sentences",
    "order_of",
    "tree_arcs",
    "tree_label_log_probs",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Heads and modifiers of some arcs of one sentence.
ArcIndex = tuple[Ints, Ints]


class Model(Protocol):
    """What every model has: its name in the registry, its relations, its weights, its file."""

    @property
    def kind(self) -> str:
        """The name under which `crossarc.models.kinds` knows this kind of model."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The relations, in the order of label numbers."""

    def state(self) -> dict[str, NDArray[Any]]:
        """The weights that training changes, by name: a checkpoint."""

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go back to a checkpoint."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""

    def metadata(self) -> dict[str, Any]:
        """The rest of a model file, as JSON can hold it."""


class BatchScores(Protocol):
    """The scores of a batch of sentences; what is computed once for a batch is kept here."""

    @property
    def arcs(self) -> Sequence[Floats]:
        """Scores [h, m] of each sentence, for `SpanningTrees` or `ProjectiveTrees`."""

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """log p(l | h, m) of some arcs of each sentence: an array (arcs, labels) a sentence."""


@runtime_checkable
class LabelEntropies(BatchScores, Protocol):
    """The scores of a model with a shorter way to entropies of labels than their probabilities."""

    def label_entropies(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """H(l | h, m) of some arcs of each sentence, in nats; faster in the order of modifiers."""

    @property
    def label_counts(self) -> tuple[int, int]:
        """How many labels an arc of the root may have, and any other."""


@runtime_checkable
class FactoredBatch(BatchScores, Protocol):
    """The scores of a model that may be of higher order: it also scores parts of several arcs."""

    @property
    def factors(self) -> Mapping[str, Sequence[Given]]:
        """The scores of parts of each sentence, by the name of the factor; none in first order."""


@runtime_checkable
class InterpolatedBatch(FactoredBatch, Protocol):
    """The scores of a model of higher order whose approximate probabilities are interpolated."""

    @property
    def first_order(self) -> Sequence[FirstOrder] | None:
        """With what, for each sentence; None where they are left as they are."""


@runtime_checkable
class TreeLabels(BatchScores, Protocol):
    """The scores of a model whose labels may depend on the whole tree."""

    def tree_label_log_probs(self, trees: Sequence[Ints]) -> list[Floats]:
        """log p(l | tree, m) of each word of each sentence, given the heads of its tree."""


@runtime_checkable
class ScoringModel(Model, Protocol):
    """A model that scores arcs, and labels given an arc."""

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> BatchScores:
        """The scores of a batch; HEAD and DEPREL are not read."""


@runtime_checkable
class FactoredModel(ScoringModel, Protocol):
    """A model that may be of higher order: its batches are of the class `FactoredBatch`."""

    @property
    def order(self) -> int:
        """How many arcs a part has, at most."""

    @property
    def cubic_bytes(self) -> float:
        """The memory that scores of parts take, for n^3 = 1; 0 where they are few."""


@runtime_checkable
class CompositeModel(ScoringModel, Protocol):
    """A model made of others."""

    @property
    def members(self) -> Sequence[Any]:
        """The others as `model`, and as `projective` the trees that each is for."""


@runtime_checkable
class PruningModel(ScoringModel, Protocol):
    """A model that forbids improbable arcs, and must know which heads are certain."""

    def score_given(
        self, sentences: Sequence[Sentence], *, threads: int | None = None
    ) -> BatchScores:
        """The scores of a batch under which trees with the heads that the sentences have exist."""

    def score_unpruned(
        self, sentences: Sequence[Sentence], *, threads: int | None = None
    ) -> BatchScores:
        """The scores of a batch, of all arcs."""


@runtime_checkable
class ParsingModel(Model, Protocol):
    """A model that builds one tree a sentence, without scores of others."""

    def parse(
        self,
        sentences: Sequence[Sentence],
        *,
        keep_heads: bool = False,
        threads: int | None = None,
    ) -> list[Tree]:
        """The trees of a batch, with label numbers.

        Args:
            keep_heads: heads of the sentences, where they have one, are constraints.
        """


class Part(NamedTuple):
    """A part of a tree that has a score of its own."""

    #: "arc"; of higher order, the name of the factor.
    kind: str
    #: In the order of the factor's array, (h, m) for an arc.
    nodes: tuple[int, ...]


class SentenceFeatures(Protocol):
    """The features of one sentence, in words, and what each adds to a score."""

    def part_weights(self, part: Part) -> Mapping[str, float]:
        """By feature; they sum to the score of the part."""

    def label_weights(self, h: int, m: int, *, heads: Ints | None = None) -> Mapping[str, Floats]:
        """By feature, for each label; differences of labels sum to those of log p(l | h, m).

        Args:
            heads: of the tree, for a model whose labels depend on it (`TreeLabels`).
        """


@runtime_checkable
class FeatureModel(ScoringModel, Protocol):
    """A model whose scores are sums of weights of features, so that they can be explained."""

    def features(self, sentence: Sentence) -> SentenceFeatures:
        """The features of a sentence; HEAD and DEPREL are not read."""


class Described:
    """A `repr` of one line and a table for notebooks, both from `summary`."""

    __slots__ = ()

    def summary(self) -> dict[str, str]:
        """What the object is, line by line."""
        return {}

    def __repr__(self) -> str:
        described = "; ".join(f"{name}: {value}" for name, value in self.summary().items())
        return f"<{type(self).__name__} {described}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in self.summary().items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


def tree_arcs(heads: Ints) -> ArcIndex:
    """The arcs of a tree, one a word."""
    return heads, np.arange(1, len(heads) + 1)


def all_arcs(n: int) -> ArcIndex:
    """All arcs [h, m] of a sentence of n words, m from 1 on, row by row; h = m included."""
    heads, modifiers = np.divmod(np.arange((n + 1) * n), max(n, 1))
    return heads, modifiers + 1


def of_sentences(table: Floats, arcs: Sequence[ArcIndex]) -> list[Floats]:
    """The rows of each sentence, of a table with one for each arc."""
    ends = np.cumsum([len(heads) for heads, _ in arcs]).tolist()
    return [table[end - len(heads) : end] for end, (heads, _) in zip(ends, arcs, strict=True)]


def tree_label_log_probs(batch: BatchScores, trees: Sequence[Ints]) -> list[Floats]:
    """Log-probabilities of labels (words, labels) of each sentence, given the heads of its tree."""
    if isinstance(batch, TreeLabels):
        return batch.tree_label_log_probs(trees)
    return batch.label_log_probs([tree_arcs(heads) for heads in trees])


def order_of(model: Model) -> int:
    """How many arcs a part has that the model scores, at most."""
    return model.order if isinstance(model, FactoredModel) else 1


def factors_of(batch: BatchScores, part: slice = slice(None)) -> dict[str, list[Given]]:
    """The factors of a batch, or of some of its sentences; none where only arcs are scored."""
    if not isinstance(batch, FactoredBatch):
        return {}
    return {name: list(factor[part]) for name, factor in batch.factors.items()}


def has_approximate_sums(model: Model, *, projective: bool) -> bool:
    """Whether probabilities, the model's own or those of a member, are approximate.

    Sums over trees that may cross are approximate where parts of several arcs are scored.
    """
    if isinstance(model, CompositeModel):
        return any(has_approximate_sums(m.model, projective=m.projective) for m in model.members)
    return order_of(model) > 1 and not projective


def labelled_scores(batch: BatchScores) -> list[Floats]:
    """Scores [h, m, l] of each sentence: the score of the arc plus log p(l | h, m).

    The labels of an arc have probabilities that sum to 1, so that labels leave the distribution
    over unlabelled trees as it is.
    """
    log_probs = batch.label_log_probs([all_arcs(len(arcs) - 1) for arcs in batch.arcs])
    result = []
    for arcs, logs in zip(batch.arcs, log_probs, strict=True):
        n, labels = len(arcs) - 1, logs.shape[1]
        scores = np.zeros((n + 1, n + 1, labels))
        scores[:, 1:] = arcs[:, 1:, None] + logs.reshape(n + 1, n, labels)
        result.append(scores)
    return result

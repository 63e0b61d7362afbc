"""The linear arc-factored model: sentences in, scores of arcs and probabilities of labels out.

An arc's score is the sum of the weights of its features. A labelled arc's score adds
log p(l | h, m), a softmax over the labels, so that labels leave the distribution over trees as it
is, and its sums stay exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.encode import Encoded, Encoder
from crossarc.models.features import arc_plan, label_plan
from crossarc.models.labels import log_softmax
from crossarc.models.scorers import Arcs, ArcScorer, LabelScorer, Scorer
from crossarc.models.slots import TAGS
from crossarc.models.vocabulary import Vocabulary
from crossarc.treebank import Sentence

__all__ = ["LinearModel", "seen_labels"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FORMAT = 1


class LinearModel:
    """Scores of arcs and labels from hashed features of words, tags and morphology.

    Attributes:
        labels: the relations, in the order of label numbers.
        root_labels, other_labels: whether each was seen on arcs of the root, and on other arcs;
            on arcs where it never was, its probability is 0.
        arc_temperature, label_temperature: what scores are divided by.
    """

    def __init__(
        self, encoder: Encoder, labels: Sequence[str], *, arc_bits: int, label_bits: int
    ) -> None:
        if not labels:
            raise ModelError("a model needs at least one label: train on sentences with relations")
        self.encoder = encoder
        self.labels = tuple(labels)
        self.root_labels = self.other_labels = np.ones(len(self.labels), np.bool_)
        self.arc_temperature = self.label_temperature = 1.0
        self._bits = {"arc_bits": arc_bits, "label_bits": label_bits}
        atoms, attributes = encoder.atoms, encoder.attributes
        place = atoms.index("upos")
        tag = place, min(len(encoder.columns[place]), TAGS)
        self.arcs = ArcScorer(arc_plan(atoms, attributes), bits=arc_bits, tag=tag)
        self.label_scorer = LabelScorer(
            label_plan(atoms, attributes), bits=label_bits, tag=tag, labels=len(self.labels)
        )

    @classmethod
    def build(
        cls,
        sentences: Sequence[Sentence],
        *,
        cutoff: int = 2,
        arc_bits: int = 22,
        label_bits: int = 22,
    ) -> LinearModel:
        """A model with the words and labels of a treebank, all weights 0.

        Args:
            cutoff: how often a form, a lemma or FEATS must occur to count as known.
            arc_bits, label_bits: the tables have two to this power weights.
        """
        labels, permitted = seen_labels(sentences)
        encoder = Encoder.build(sentences, cutoff=cutoff)
        model = cls(encoder, labels, arc_bits=arc_bits, label_bits=label_bits)
        model.root_labels, model.other_labels = permitted
        return model

    def encode(self, sentences: Sequence[Sentence], *, gold: bool = False) -> Encoded:
        """Codes of all words; with `gold`, of their heads and labels too."""
        return self.encoder.encode(sentences, Vocabulary(self.labels) if gold else None)

    def arc_scores(self, encoded: Encoded, threads: int | None = None) -> list[Floats]:
        """Scores [h, m] of each sentence, for `SpanningTrees` or `ProjectiveTrees`."""
        flat = self.arcs.scores(encoded, threads)
        if self.arc_temperature != 1.0:
            flat /= self.arc_temperature
        return encoded.split_arcs(flat)

    def label_log_probs(
        self, encoded: Encoded, heads: Sequence[Ints], threads: int | None = None
    ) -> list[Floats]:
        """log p(l | h, m) of each word's head, one array (n, labels) a sentence."""
        flat = np.concatenate([*heads, np.empty(0, np.int64)])
        table = self.arc_label_log_probs(Arcs.of_trees(encoded, flat), threads)
        return np.split(table, np.cumsum(encoded.sizes)[:-1]) if len(encoded) else []

    def labelled_scores(self, encoded: Encoded, threads: int | None = None) -> list[Floats]:
        """Scores [h, m, l] of each sentence: score of the arc plus log p(l | h, m)."""
        result = []
        for index, arcs in enumerate(self.arc_scores(encoded, threads)):
            n = len(arcs) - 1
            labelled = np.zeros((n + 1, n + 1, len(self.labels)))
            logs = self.arc_label_log_probs(Arcs.of_sentence(encoded, index), threads)
            labelled[:, 1:] = arcs[:, 1:, None] + logs.reshape(n + 1, n, -1)
            result.append(labelled)
        return result

    def arc_label_log_probs(self, arcs: Arcs, threads: int | None = None) -> Floats:
        """log p(l | h, m) of any arcs: (arcs, labels)."""
        scores = self.label_scorer.scores(arcs, threads)
        if self.label_temperature != 1.0:
            scores /= self.label_temperature
        at_root = arcs.heads == 0
        scores[np.ix_(at_root, ~self.root_labels)] = -np.inf
        scores[np.ix_(~at_root, ~self.other_labels)] = -np.inf
        log_softmax(scores, np.full(len(arcs), -1, np.int64))
        return scores

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights, in 16 bits."""
        return {
            f"{name}_{part}": tensor
            for name, scorer in (("arc", self.arcs), ("label", self.label_scorer))
            for part, tensor in scorer.tensors().items()
        }

    def metadata(self) -> dict[str, Any]:
        """All else that `restore` needs, for JSON."""
        return {
            "format": _FORMAT,
            "labels": self.labels,
            "root_labels": np.flatnonzero(self.root_labels).tolist(),
            "other_labels": np.flatnonzero(self.other_labels).tolist(),
            **self._bits,
            "arc_temperature": self.arc_temperature,
            "label_temperature": self.label_temperature,
            "encoder": self.encoder.metadata(),
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> LinearModel:
        """The model that was saved as `tensors` and `metadata`.

        Raises:
            ModelError: the model has another format, or its parts do not fit each other.
        """
        if metadata.get("format") != _FORMAT:
            raise ModelError(
                f"the model has format {metadata.get('format')}, not {_FORMAT}: "
                "train it again, or use the version of crossarc that made it"
            )
        model = cls(
            Encoder.restore(metadata["encoder"]),
            metadata["labels"],
            arc_bits=metadata["arc_bits"],
            label_bits=metadata["label_bits"],
        )
        numbers = np.arange(len(model.labels))
        model.root_labels = np.isin(numbers, metadata["root_labels"])
        model.other_labels = np.isin(numbers, metadata["other_labels"])
        model.arc_temperature = metadata["arc_temperature"]
        model.label_temperature = metadata["label_temperature"]
        for name, scorer in (("arc", model.arcs), ("label", model.label_scorer)):
            scorer.restore({part: tensors[f"{name}_{part}"] for part in Scorer.PARTS})
        return model


def seen_labels(sentences: Sequence[Sentence]) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """The labels of a treebank, and (2, labels) whether each is on arcs of the root, on others.

    Where there are no arcs of one kind, all labels may be on them.
    """
    arcs = Counter(
        (label, head == 0)
        for one in sentences
        for label, head in zip(one.deprels, one.heads.tolist(), strict=True)
        if head >= 0
    )
    labels = Vocabulary.build(label for label, _ in arcs.elements()).strings
    seen = np.array([[arcs[label, kind] > 0 for label in labels] for kind in (True, False)])
    return labels, seen | ~seen.any(axis=1, keepdims=True)

"""The linear arc-factored model: sentences in, scores of arcs and probabilities of labels out.

An arc's score is the sum of the weights of its features. A labelled arc's score adds
log p(l | h, m), a softmax over the labels, so that labels leave the distribution over trees as it
is, and its sums stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.models.checks import Fields, weights_fit
from crossarc.models.encode import (
    Encoded,
    Encoder,
    Vocabulary,
    checked_labels,
    forbid_labels,
    labels_metadata,
    permitted_counts,
    permitted_labels,
    seen_labels,
)
from crossarc.models.features import arc_plan, label_plan
from crossarc.models.first_order.explain import LinearFeatures
from crossarc.models.first_order.labels import log_softmax
from crossarc.models.first_order.scorers import TABLE_BITS, Arcs, ArcScorer, LabelScorer, Scorer
from crossarc.models.protocol import ArcIndex, Described, of_sentences
from crossarc.models.slots import TAGS
from crossarc.models.storage import check_format
from crossarc.treebank import Sentence

__all__ = ["LinearModel", "LinearScores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FORMAT = 1


class LinearModel(Described):
    """Scores of arcs and labels from hashed features of words, tags and morphology.

    Attributes:
        labels: the relations, in the order of label numbers.
        permitted: (2, labels): whether each was seen on arcs of the root, and on other arcs; on
            arcs where it never was, its probability is 0.
        arc_temperature, label_temperature: what scores are divided by.
    """

    kind = "graph"

    def __init__(
        self, encoder: Encoder, labels: Sequence[str], *, arc_bits: int, label_bits: int
    ) -> None:
        self.encoder = encoder
        self.labels = checked_labels(labels)
        self.permitted = np.ones((2, len(self.labels)), np.bool_)
        self.arc_temperature = self.label_temperature = 1.0
        self._bits = {"arc_bits": arc_bits, "label_bits": label_bits}
        atoms, attributes = encoder.atoms, encoder.attributes
        upos = atoms.index("upos")
        tag = upos, min(len(encoder.columns[upos]), TAGS)
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
        model.permitted = permitted
        return model

    def encode(self, sentences: Sequence[Sentence], *, gold: bool = False) -> Encoded:
        """Codes of all words; with `gold`, of their heads and labels too."""
        return self.encoder.encode(sentences, Vocabulary(self.labels) if gold else None)

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> LinearScores:
        """The scores of a batch."""
        return LinearScores(self, self.encode(sentences), threads)

    def features(self, sentence: Sentence) -> LinearFeatures:
        """The single features of a sentence, with their weights."""
        return LinearFeatures(self, sentence)

    def arc_scores(self, encoded: Encoded, threads: int | None = None) -> list[Floats]:
        """Scores [h, m] of each sentence."""
        flat = self.arcs.scores(encoded, threads)
        if self.arc_temperature != 1.0:
            flat /= self.arc_temperature
        return encoded.split_arcs(flat)

    def label_log_probs(self, arcs: Arcs, threads: int | None = None) -> Floats:
        """log p(l | h, m) of any arcs: (arcs, labels)."""
        scores = self.label_scorer.scores(arcs, threads)
        if self.label_temperature != 1.0:
            scores /= self.label_temperature
        return self.permitted_log_probs(scores, arcs.heads)

    def label_entropies(self, arcs: Arcs, threads: int | None = None) -> Floats:
        """H(l | h, m) of any arcs, in nats."""
        return self.label_scorer.entropies(arcs, self.permitted, self.label_temperature, threads)

    def permitted_log_probs(self, scores: Floats, heads: Ints) -> Floats:
        """Scores of labels to log-probabilities, in place; those never seen on an arc have none."""
        forbid_labels(scores, heads, self.permitted)
        log_softmax(scores, np.full(len(heads), -1, np.int64))
        return scores

    @property
    def _scorers(self) -> dict[str, Scorer]:
        return {"arc": self.arcs, "label": self.label_scorer}

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the two tables of weights, in float32."""
        return {name: scorer.copy_weights() for name, scorer in self._scorers.items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write weights into the tables."""
        for name, scorer in self._scorers.items():
            scorer.thaw()[:] = state[name]

    def freeze(self, max_weights: int) -> None:
        """Keep the largest weights of each table, at most so many, in 16 bits."""
        for scorer in self._scorers.values():
            scorer.freeze(scorer.thaw(), max_weights)

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        tables = {name: np.count_nonzero(one.weights) for name, one in self._scorers.items()}
        return {
            "labels": str(len(self.labels)),
            "weights": ", ".join(f"{count:,} of {name}s" for name, count in tables.items()),
            "temperatures": f"{self.arc_temperature:.2f}, {self.label_temperature:.2f}",
        }

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights, in 16 bits."""
        return {
            f"{name}_{part}": tensor
            for name, scorer in self._scorers.items()
            for part, tensor in scorer.tensors().items()
        }

    def metadata(self) -> dict[str, Any]:
        """All else that `restore` needs, for JSON."""
        return {
            "format": _FORMAT,
            **labels_metadata(self.labels, self.permitted),
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
        check_format(metadata, _FORMAT)
        about = Fields(metadata)
        bits = {name: about.whole(f"{name}_bits", *TABLE_BITS) for name in ("arc", "label")}
        for name, own in bits.items():
            weights_fit(tensors, f"{name}_slots", own)
        model = cls(
            Encoder.restore(about.fields("encoder")),
            about.texts("labels", written=True, least=1),
            arc_bits=bits["arc"],
            label_bits=bits["label"],
        )
        model.permitted = permitted_labels(about, len(model.labels))
        model.arc_temperature = about.number("arc_temperature", 0.0)
        model.label_temperature = about.number("label_temperature", 0.0)
        for name, scorer in model._scorers.items():
            scorer.restore({part: tensors[f"{name}_{part}"] for part in Scorer.PARTS})
        return model


class LinearScores:
    """The scores of a batch: its codes are computed once, for arcs and for labels."""

    def __init__(self, model: LinearModel, encoded: Encoded, threads: int | None = None) -> None:
        self._model, self._encoded, self._threads = model, encoded, threads
        self.arcs = model.arc_scores(encoded, threads)

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """log p(l | h, m) of some arcs of each sentence: an array (arcs, labels) a sentence."""
        table = self._model.label_log_probs(Arcs.of_batch(self._encoded, arcs), self._threads)
        return of_sentences(table, arcs)

    def label_entropies(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """H(l | h, m) of some arcs of each sentence, in nats."""
        found = self._model.label_entropies(Arcs.of_batch(self._encoded, arcs), self._threads)
        return of_sentences(found, arcs)

    @property
    def label_counts(self) -> tuple[int, int]:
        """How many labels an arc of the root may have, and any other."""
        return permitted_counts(self._model.permitted)

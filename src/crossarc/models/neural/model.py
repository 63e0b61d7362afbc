"""The neural model behind the protocol of scoring models.

An engine computes: PyTorch, or NumPy alone, which is enough to parse with a trained model.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.checks import Fields, tensor
from crossarc.models.encode import (
    Vocabulary,
    checked_labels,
    forbid_labels,
    labels_metadata,
    permitted_counts,
    permitted_labels,
)
from crossarc.models.neural.inputs import Batch, Inputs, Shape, Vocabularies, length_batches
from crossarc.models.protocol import ArcIndex, Described
from crossarc.models.storage import check_format
from crossarc.once import once
from crossarc.treebank import Sentence

__all__ = ["Engine", "NeuralModel", "NeuralScores"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_FORMAT = 1
# Words of a batch when parsing, and pairs of words whose labels are scored at a time.
_BATCH_WORDS = 4000
_PAIRS_AT_ONCE = 8192
# Measured, with probabilities: scores in 32 and in 64 bits, charts, marginals.
_CUBIC_BYTES = 36.0
#: The device that is no device of PyTorch.
NUMPY = "numpy"


class Engine(Protocol):
    """A network with its weights, and what computes it."""

    shape: Shape

    @property
    def device(self) -> Any:
        """Where it computes, for `repr`."""

    def forward(
        self, batch: Batch, sentences: Sequence[Sentence], threads: int | None
    ) -> tuple[Floats, Any]:
        """Scores [h, m] of a batch, (batch, n+1, n+1), and what labels are scored from."""

    def sibling_scores(self, vectors: Any, row: int, width: int, threads: int | None) -> Singles:
        """Scores [h, s, m] of a sentence of a batch with `width` - 1 words, in second order."""

    def label_scores(
        self, vectors: Any, rows: Ints, heads: Ints, modifiers: Ints, threads: int | None
    ) -> Floats:
        """Scores of the labels of given arcs of a batch, (arcs, labels)."""

    def label_entropies(
        self, vectors: Any, permitted: Bools, temperature: float, threads: int | None
    ) -> Floats:
        """Entropies [h, m] of the labels of all arcs of a batch, as of `label_entropies`."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all weights."""

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write weights into the network."""

    def encoder_metadata(self) -> dict[str, Any] | None:
        """What restores a pretrained encoder, but for its weights; None without one."""


class NeuralModel(Described):
    """Scores of arcs, of siblings in second order, and of labels from a neural network.

    Attributes:
        labels: the relations, in the order of label numbers.
        permitted: (2, labels): whether each was seen on arcs of the root, and on other arcs; on
            arcs where it never was, its probability is 0.
        arc_temperature, label_temperature: what scores are divided by; the first also those of
            siblings.
    """

    kind = "neural"

    def __init__(self, vocabularies: Vocabularies, labels: Sequence[str], engine: Engine) -> None:
        self.vocabularies = vocabularies
        self.labels = checked_labels(labels)
        self.permitted = np.ones((2, len(self.labels)), np.bool_)
        self.arc_temperature = self.label_temperature = 1.0
        self.engine = engine

    @property
    def order(self) -> int:
        """2 where siblings are scored, else 1."""
        return 2 if self.engine.shape.sibling_size else 1

    @property
    def cubic_bytes(self) -> float:
        """Of sibling scores and the charts of their inference, for n^3 = 1."""
        return _CUBIC_BYTES if self.order > 1 else 0.0

    def encode(self, sentences: Sequence[Sentence], *, gold: bool = False) -> Inputs:
        """Codes of all words; with `gold`, of their labels too."""
        return self.vocabularies.encode(sentences, Vocabulary(self.labels) if gold else None)

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> NeuralScores:
        """The scores of a batch."""
        return NeuralScores(self, self.encode(sentences), sentences, threads)

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all weights."""
        return self.engine.state()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write weights into the network."""
        self.engine.load_state(state)

    def freeze(self) -> None:
        """Round all weights to the 16 bits that they have in a file."""
        self.load_state(self.tensors())

    def tensors(self) -> dict[str, NDArray[Any]]:
        """All weights, in float16."""
        return {name: array.astype(np.float16) for name, array in self.state().items()}

    def metadata(self) -> dict[str, Any]:
        """All else that `restore` needs, for JSON."""
        return {
            "format": _FORMAT,
            **labels_metadata(self.labels, self.permitted),
            "arc_temperature": self.arc_temperature,
            "label_temperature": self.label_temperature,
            "vocabularies": self.vocabularies.metadata(),
            "shape": asdict(self.engine.shape),
            "encoder": self.engine.encoder_metadata(),
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> NeuralModel:
        """The model that was saved as `tensors` and `metadata`, with the engine that there is.

        Raises:
            ModelError: the model has another format, or its parts do not fit each other.
        """
        check_format(metadata, _FORMAT)
        about = Fields(metadata)
        vocabularies = Vocabularies.restore(about.fields("vocabularies"))
        labels = about.texts("labels", written=True, least=1)
        shape = Shape.restore(about.fields("shape"), vocabularies, len(labels))
        # Before a network of that size is made.
        for name, sizes in shape.weights().items():
            tensor(tensors, name, np.float16, sizes)
        encoder = None if about.is_none("encoder") else about.fields("encoder")
        others = set(tensors) - set(shape.weights())
        if (encoder is None) != (shape.encoder_size == 0) or (encoder is None and others):
            raise ModelError("the weights of the model do not fit its network: use another model")
        engine = _restored_engine(shape, encoder, tensors)
        model = cls(vocabularies, labels, engine)
        model.permitted = permitted_labels(about, len(labels))
        model.arc_temperature = about.number("arc_temperature", 0.0)
        model.label_temperature = about.number("label_temperature", 0.0)
        try:
            model.load_state(tensors)
        except (RuntimeError, KeyError, ValueError):
            raise ModelError(
                "the weights of the model do not fit its network: the file is damaged"
            ) from None
        return model

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        weights = sum(one.size for one in self.state().values())
        encoder = self.engine.encoder_metadata()
        return {
            **({"order": str(self.order)} if self.order > 1 else {}),
            "labels": str(len(self.labels)),
            "weights": f"{weights:,}",
            "encoder": "BiLSTM" if encoder is None else encoder["name"],
            "temperatures": f"{self.arc_temperature:.2f}, {self.label_temperature:.2f}",
            "device": str(self.engine.device),
        }


class NeuralScores:
    """The scores of a batch; vectors of words are kept for the labels.

    Attributes:
        arcs: scores [h, m] of each sentence.
    """

    def __init__(
        self,
        model: NeuralModel,
        inputs: Inputs,
        sentences: Sequence[Sentence],
        threads: int | None = None,
    ) -> None:
        self._model, self._threads = model, threads
        self._temperature = model.arc_temperature
        self.arcs: list[Floats] = [np.empty((0, 0))] * len(inputs)
        self._groups: list[tuple[Ints, Any]] = []
        for numbers in length_batches(inputs.sizes, _BATCH_WORDS):
            own = [sentences[number] for number in numbers.tolist()]
            arcs, vectors = model.engine.forward(inputs.batch(numbers), own, threads)
            arcs /= self._temperature
            for row, number in enumerate(numbers.tolist()):
                width = int(inputs.sizes[number]) + 1
                self.arcs[number] = np.ascontiguousarray(arcs[row, :width, :width])
            self._groups.append((numbers, vectors))

    @property
    def factors(self) -> dict[str, Sequence[Singles]]:
        """Sibling scores [h, s, m] of each sentence, in second order."""
        return {"sibling": _SiblingScores(self)} if self._model.order > 1 else {}

    @once
    def _rows(self) -> list[tuple[int, int]]:
        """The group of each sentence, and its row there."""
        places = [(0, 0)] * len(self.arcs)
        for group, (numbers, _) in enumerate(self._groups):
            for row, number in enumerate(numbers.tolist()):
                places[number] = group, row
        return places

    def _siblings(self, sentence: int) -> Singles:
        group, row = self._rows[sentence]
        table = self._model.engine.sibling_scores(
            self._groups[group][1], row, len(self.arcs[sentence]), self._threads
        )
        table /= np.float32(self._temperature)
        return table

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """log p(l | h, m) of some arcs of each sentence: an array (arcs, labels) a sentence."""
        result: list[Floats] = [np.empty((0, 0))] * len(arcs)
        for numbers, vectors in self._groups:
            own = [arcs[number] for number in numbers.tolist()]
            sizes = [len(one[0]) for one in own]
            rows = np.repeat(np.arange(len(own)), sizes)
            heads, modifiers = (np.concatenate([one[part] for one in own]) for part in range(2))
            logs = self._log_probs(vectors, rows, heads, modifiers)
            parts = np.split(logs, np.cumsum(sizes)[:-1])
            for number, part in zip(numbers.tolist(), parts, strict=True):
                result[number] = part
        return result

    def label_entropies(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """H(l | h, m) of some arcs of each sentence, in nats."""
        return [table[own] for table, own in zip(self._entropies, arcs, strict=True)]

    @once
    def _entropies(self) -> list[Floats]:
        """Entropies [h, m] of the labels of all arcs of each sentence, which cost little more."""
        model = self._model
        tables: list[Floats] = [np.empty((0, 0))] * len(self.arcs)
        for numbers, vectors in self._groups:
            found = model.engine.label_entropies(
                vectors, model.permitted, model.label_temperature, self._threads
            )
            for number, table in zip(numbers.tolist(), found, strict=True):
                tables[number] = table
        return tables

    @property
    def label_counts(self) -> tuple[int, int]:
        """How many labels an arc of the root may have, and any other."""
        return permitted_counts(self._model.permitted)

    def _log_probs(self, vectors: Any, rows: Ints, heads: Ints, modifiers: Ints) -> Floats:
        model = self._model
        out = np.empty((len(rows), len(model.labels)))
        for begin in range(0, len(rows), _PAIRS_AT_ONCE):
            part = slice(begin, begin + _PAIRS_AT_ONCE)
            out[part] = model.engine.label_scores(
                vectors, rows[part], heads[part], modifiers[part], self._threads
            )
        out /= model.label_temperature
        forbid_labels(out, heads, model.permitted)
        out -= out.max(axis=1, keepdims=True, initial=-np.inf)
        out -= np.log(np.exp(out).sum(axis=1, keepdims=True))
        return out


class _SiblingScores(Sequence[Singles]):
    """Of each sentence, computed when they are read: they are n^3 numbers."""

    def __init__(self, scores: NeuralScores) -> None:
        self._scores = scores

    def __len__(self) -> int:
        return len(self._scores.arcs)

    @overload
    def __getitem__(self, index: int) -> Singles: ...

    @overload
    def __getitem__(self, index: slice) -> list[Singles]: ...

    def __getitem__(self, index: int | slice) -> Singles | list[Singles]:
        if isinstance(index, slice):
            return [self._scores._siblings(k) for k in range(len(self))[index]]
        return self._scores._siblings(range(len(self))[index])


def _restored_engine(
    shape: Shape, encoder: Mapping[str, Any] | None, tensors: Mapping[str, NDArray[Any]]
) -> Engine:
    """PyTorch if it is installed, else NumPy; `CROSSARC_DEVICE=numpy` asks for the latter."""
    is_numpy = os.environ.get("CROSSARC_DEVICE") == NUMPY
    if is_numpy or importlib.util.find_spec("torch") is None:
        if encoder is not None:
            raise ModelError(
                'a pretrained encoder needs PyTorch: pip install "crossarc[transformers]"'
            )
        from crossarc.models.neural.numpy_engine import NumpyEngine

        return NumpyEngine(shape)
    from crossarc.models.neural.torch_engine import restored_engine

    return restored_engine(shape, encoder, tensors)

"""The neural model behind the protocol of scoring models."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.encode import Vocabulary, seen_labels
from crossarc.models.neural.inputs import Inputs, Vocabularies, length_batches
from crossarc.models.neural.kind import NeuralOptions
from crossarc.models.neural.network import Network, Shape
from crossarc.models.neural.pretrained import Pretrained
from crossarc.models.protocol import ArcIndex, Described
from crossarc.treebank import Sentence

__all__ = ["NeuralModel", "NeuralScores", "default_device", "torch_threads"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FORMAT = 1
# Words of a batch when parsing, and pairs of words whose labels are scored at a time.
_BATCH_WORDS = 4000
_PAIRS_AT_ONCE = 8192


class NeuralModel(Described):
    """Scores of arcs and labels from a neural network.

    Attributes:
        labels: the relations, in the order of label numbers.
        root_labels, other_labels: whether each was seen on arcs of the root, and on other arcs;
            on arcs where it never was, its probability is 0.
        arc_temperature, label_temperature: what scores are divided by.
    """

    kind = "neural"

    def __init__(
        self,
        vocabularies: Vocabularies,
        labels: Sequence[str],
        shape: Shape,
        pretrained: Pretrained | None = None,
    ) -> None:
        if not labels:
            raise ModelError("a model needs at least one label: train on sentences with relations")
        self.vocabularies = vocabularies
        self.labels = tuple(labels)
        self.root_labels = self.other_labels = np.ones(len(self.labels), np.bool_)
        self.arc_temperature = self.label_temperature = 1.0
        self.pretrained = pretrained
        self.network = Network(shape, None if pretrained is None else pretrained.module)
        self.device = torch.device("cpu")

    @classmethod
    def build(cls, sentences: Sequence[Sentence], options: NeuralOptions) -> NeuralModel:
        """A model with the words and labels of a treebank, weights drawn by PyTorch's generator."""
        labels, (root_labels, other_labels) = seen_labels(sentences)
        vocabularies = Vocabularies.build(sentences)
        pretrained = None if options.encoder is None else Pretrained.load(options.encoder)
        layers = options.layers
        if layers is None:
            layers = 2 if pretrained is None else 1
        shape = Shape.of(
            vocabularies,
            labels=len(labels),
            layers=layers,
            encoder_size=0 if pretrained is None else pretrained.size,
            **{name: getattr(options, name) for name in _SIZES},
        )
        model = cls(vocabularies, labels, shape, pretrained)
        model.root_labels, model.other_labels = root_labels, other_labels
        return model

    def to(self, device: torch.device | str) -> NeuralModel:
        """The model itself, moved to a device."""
        self.device = torch.device(device)
        self.network.to(self.device)
        return self

    def encode(self, sentences: Sequence[Sentence], *, gold: bool = False) -> Inputs:
        """Codes of all words; with `gold`, of their labels too."""
        return self.vocabularies.encode(sentences, Vocabulary(self.labels) if gold else None)

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> NeuralScores:
        """The scores of a batch."""
        return NeuralScores(self, self.encode(sentences), sentences, threads)

    def pieces(self, sentences: Sequence[Sentence], numbers: Ints) -> Any:
        """What the pretrained encoder reads of some of the sentences; None without one."""
        if self.pretrained is None:
            return None
        return self.pretrained.pieces([sentences[k] for k in numbers], self.device)

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all weights."""
        return {
            name: weight.detach().cpu().numpy().copy()
            for name, weight in self.network.state_dict().items()
        }

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Write weights into the network."""
        self.network.load_state_dict(
            {name: torch.from_numpy(np.array(array)).float() for name, array in state.items()}
        )

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
            "labels": self.labels,
            "root_labels": np.flatnonzero(self.root_labels).tolist(),
            "other_labels": np.flatnonzero(self.other_labels).tolist(),
            "arc_temperature": self.arc_temperature,
            "label_temperature": self.label_temperature,
            "vocabularies": self.vocabularies.metadata(),
            "shape": asdict(self.network.shape),
            "encoder": None if self.pretrained is None else self.pretrained.metadata(),
        }

    @classmethod
    def restore(cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> NeuralModel:
        """The model that was saved as `tensors` and `metadata`, on the default device.

        Raises:
            ModelError: the model has another format, or its parts do not fit each other.
        """
        if metadata.get("format") != _FORMAT:
            raise ModelError(
                f"the model has format {metadata.get('format')}, not {_FORMAT}: "
                "train it again, or use the version of crossarc that made it"
            )
        shape: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in metadata["shape"].items()
        }
        encoder = metadata["encoder"]
        model = cls(
            Vocabularies.restore(metadata["vocabularies"]),
            metadata["labels"],
            Shape(**shape),
            None if encoder is None else Pretrained.restore(encoder),
        )
        numbers = np.arange(len(model.labels))
        model.root_labels = np.isin(numbers, metadata["root_labels"])
        model.other_labels = np.isin(numbers, metadata["other_labels"])
        model.arc_temperature = metadata["arc_temperature"]
        model.label_temperature = metadata["label_temperature"]
        try:
            model.load_state(tensors)
        except RuntimeError:
            raise ModelError(
                "the weights of the model do not fit its network: the file is damaged"
            ) from None
        return model.to(default_device())

    def summary(self) -> dict[str, str]:
        """What the model is, line by line."""
        weights = sum(one.numel() for one in self.network.parameters())
        return {
            "labels": str(len(self.labels)),
            "weights": f"{weights:,}",
            "encoder": "BiLSTM" if self.pretrained is None else self.pretrained.name,
            "temperatures": f"{self.arc_temperature:.2f}, {self.label_temperature:.2f}",
            "device": str(self.device),
        }


_SIZES = ("hidden", "arc_size", "label_size", "dropout", "word_dropout")


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
        self.arcs: list[Floats] = [np.empty((0, 0))] * len(inputs)
        self._groups: list[tuple[Ints, torch.Tensor, torch.Tensor]] = []
        model.network.eval()
        with torch.inference_mode(), torch_threads(threads):
            for numbers in length_batches(inputs.sizes, _BATCH_WORDS):
                batch = inputs.batch(numbers).to(model.device)
                out = model.network(batch, model.pieces(sentences, numbers))
                arcs = out.arcs.double().div_(model.arc_temperature).cpu().numpy()
                for row, number in enumerate(numbers.tolist()):
                    width = int(inputs.sizes[number]) + 1
                    self.arcs[number] = np.ascontiguousarray(arcs[row, :width, :width])
                self._groups.append((numbers, out.label_heads, out.label_modifiers))

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        """log p(l | h, m) of some arcs of each sentence: an array (arcs, labels) a sentence."""
        result: list[Floats] = [np.empty((0, 0))] * len(arcs)
        with torch.inference_mode(), torch_threads(self._threads):
            for numbers, heads, modifiers in self._groups:
                own = [arcs[number] for number in numbers.tolist()]
                sizes = [len(one[0]) for one in own]
                rows = np.repeat(np.arange(len(own)), sizes)
                index = [np.concatenate([one[part] for one in own]) for part in range(2)]
                logs = self._log_probs(heads, modifiers, rows, *index)
                for number, part in zip(
                    numbers.tolist(), np.split(logs, np.cumsum(sizes)[:-1]), strict=True
                ):
                    result[number] = part
        return result

    def _log_probs(
        self, heads: torch.Tensor, modifiers: torch.Tensor, rows: Ints, h: Ints, m: Ints
    ) -> Floats:
        model = self._model
        out = np.empty((len(rows), len(model.labels)))
        for begin in range(0, len(rows), _PAIRS_AT_ONCE):
            part = slice(begin, begin + _PAIRS_AT_ONCE)
            r, hs, ms = (torch.from_numpy(one[part]).to(heads.device) for one in (rows, h, m))
            scores = model.network.label_table(heads[r, hs], modifiers[r, ms])
            out[part] = scores.double().cpu().numpy()
        out /= model.label_temperature
        out[np.ix_(h == 0, ~model.root_labels)] = -np.inf
        out[np.ix_(h != 0, ~model.other_labels)] = -np.inf
        out -= out.max(axis=1, keepdims=True, initial=-np.inf)
        out -= np.log(np.exp(out).sum(axis=1, keepdims=True))
        return out


def default_device() -> torch.device:
    """`CROSSARC_DEVICE`, else a GPU if there is one."""
    name = os.environ.get("CROSSARC_DEVICE")
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


@contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """PyTorch with so many threads on the CPU; None for as many as it has."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)

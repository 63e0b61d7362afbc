"""The network computed by PyTorch, on the CPU or on a GPU."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.neural.inputs import Batch, Shape
from crossarc.models.neural.network import Network, TensorBatch
from crossarc.models.neural.pretrained import Pretrained
from crossarc.treebank import Sentence

__all__ = ["TorchEngine", "default_device", "restored_engine", "torch_threads"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

# Scores of labels that are in memory at a time.
_SCORES_AT_ONCE = 1 << 20


class TorchEngine:
    """A network of PyTorch on a device."""

    def __init__(self, shape: Shape, pretrained: Pretrained | None = None) -> None:
        self.shape = shape
        self.pretrained = pretrained
        self.network = Network(shape, None if pretrained is None else pretrained.module)
        self.device = torch.device("cpu")

    def to(self, device: torch.device | str) -> TorchEngine:
        """The engine itself, moved to a device."""
        self.device = torch.device(device)
        self.network.to(self.device)
        return self

    def pieces(self, sentences: Sequence[Sentence]) -> Any:
        """What the pretrained encoder reads; None without one."""
        return None if self.pretrained is None else self.pretrained.pieces(sentences, self.device)

    def forward(
        self, batch: Batch, sentences: Sequence[Sentence], threads: int | None
    ) -> tuple[Floats, Any]:
        """Scores [h, m] of a batch, and vectors that labels are scored from."""
        self.network.eval()
        with torch.inference_mode(), torch_threads(threads):
            tensors = TensorBatch.of(batch, self.device)
            out = self.network(tensors, self.pieces(sentences))
            arcs: Floats = out.arcs.double().cpu().numpy()
        return arcs, out

    def sibling_scores(self, vectors: Any, row: int, width: int, threads: int | None) -> Singles:
        """Scores [h, s, m] of one sentence of a batch."""
        with torch.inference_mode(), torch_threads(threads):
            own = (one[row : row + 1, :width] for one in vectors.siblings)
            scores = self.network.sibling_scores.table(*own)[0]
            table: Singles = scores.float().cpu().numpy()
        return table

    def label_scores(
        self, vectors: Any, rows: Ints, heads: Ints, modifiers: Ints, threads: int | None
    ) -> Floats:
        """Scores of the labels of given arcs of a batch, (arcs, labels)."""
        with torch.inference_mode(), torch_threads(threads):
            r, h, m = (torch.from_numpy(o).to(self.device) for o in (rows, heads, modifiers))
            scores = self.network.label_table(
                vectors.label_heads[r, h], vectors.label_modifiers[r, m]
            )
            table: Floats = scores.double().cpu().numpy()
        return table

    def label_entropies(
        self, vectors: Any, permitted: Bools, temperature: float, threads: int | None
    ) -> Floats:
        """Entropies [h, m] of the labels of all arcs of a batch."""
        heads, modifiers = vectors.label_heads, vectors.label_modifiers
        sentences, width = heads.shape[:2]
        step = 1 + _SCORES_AT_ONCE // (sentences * width * permitted.shape[1])
        with torch.inference_mode(), torch_threads(threads):
            at_root = torch.arange(width, device=self.device) == 0
            of_root, others = torch.from_numpy(~permitted).to(self.device).unsqueeze(2)
            forbidden = torch.where(at_root, of_root, others)
            parts = []
            for some in modifiers.split(step, 1):
                scores = self.network.label_scores.tables(heads, some).double() / temperature
                logs = scores.masked_fill(forbidden, -torch.inf).log_softmax(2)
                parts.append(torch.special.entr(logs.exp()).sum(2))
            table: Floats = torch.cat(parts, 1).transpose(1, 2).cpu().numpy()
        return table

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

    def encoder_metadata(self) -> dict[str, Any] | None:
        """What restores the pretrained encoder, but for its weights."""
        return None if self.pretrained is None else self.pretrained.metadata()


def restored_engine(
    shape: Shape, encoder: Mapping[str, Any] | None, tensors: Mapping[str, NDArray[Any]]
) -> TorchEngine:
    """An engine on the default device, with weights still to be loaded.

    Args:
        tensors: of the model file, under the names of `Network`.
    """
    pretrained = None
    if encoder is not None:
        shapes = {
            name.removeprefix("encoder.model."): array.shape
            for name, array in tensors.items()
            if name.startswith("encoder.model.")
        }
        pretrained = Pretrained.restore(encoder, shapes)
        if pretrained.size != shape.encoder_size:
            raise ModelError("the encoder of the model has another size: use another model")
    engine = TorchEngine(shape, pretrained).to(default_device())
    engine.network.reduced = _is_reduced()
    return engine


def default_device() -> torch.device:
    """`CROSSARC_DEVICE`, else a GPU if there is one."""
    name = os.environ.get("CROSSARC_DEVICE")
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def _is_reduced() -> bool:
    """Whether `CROSSARC_PRECISION` asks for bfloat16 in the BiLSTM."""
    name = os.environ.get("CROSSARC_PRECISION") or "float32"
    if name not in ("float32", "bf16"):
        raise ModelError(f"CROSSARC_PRECISION must be float32 or bf16: got {name!r}")
    return name == "bf16"


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

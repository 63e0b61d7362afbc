"""The network: embeddings, a BiLSTM, and scores of arcs, of labels and, in second order, siblings.

Dozat & Manning (2017), Deep Biaffine Attention for Neural Dependency Parsing
(https://arxiv.org/abs/1611.01734): two vectors of each word, as a head and as a modifier, and

    score[h, m] = (head_h; 1)' U (modifier_m; 1)

once for arcs and once for each label. In second order three other vectors of each word, as a head,
as a modifier s of it and as the next modifier m on the same side, and a triaffine form of low rank
(Wang et al. 2019, https://aclanthology.org/P19-1454):

    sibling[h, s, m] = sum over r of   w[r] head_h[r] sibling_s[r] modifier_m[r]

Where m is the first modifier, s = h, a learnt vector takes the place of sibling_s.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from crossarc.models.encode import BOUNDARY, UNKNOWN
from crossarc.models.neural.inputs import COLUMNS, SIBLING_SIDES, Batch, Shape

__all__ = ["Biaffine", "Network", "Outputs", "TensorBatch", "Triaffine"]

_WORDS = tuple(COLUMNS.index(name) for name in ("form", "lemma"))
# Products of two vectors that are in memory at a time: in a cache, or enough to keep a GPU busy.
_ON_CPU, _ON_GPU = 1 << 20, 1 << 26
_TAGS = tuple(COLUMNS.index(name) for name in ("upos", "xpos"))


class TensorBatch(NamedTuple):
    """A `Batch` as tensors; lengths stay on the CPU, where packing needs them."""

    codes: Tensor
    forms: Tensor
    spelling: Tensor
    spelling_sizes: Tensor
    sizes: Tensor
    heads: Tensor
    labels: Tensor
    targets: Tensor

    @classmethod
    def of(cls, batch: Batch, device: torch.device) -> TensorBatch:
        """The arrays of a batch, copied to a device."""
        tensors = {name: torch.from_numpy(getattr(batch, name)) for name in cls._fields}
        on_cpu = ("spelling_sizes", "sizes")
        return cls(**{k: one if k in on_cpu else one.to(device) for k, one in tensors.items()})


class Outputs(NamedTuple):
    """What the network says about a batch.

    arcs: (batch, n+1, n+1), scores [h, m].
    label_heads, label_modifiers: (batch, n+1, label_size), what labels are scored from.
    siblings: (batch, n+1, sibling_size) of heads, siblings and modifiers; none in first order.
    """

    arcs: Tensor
    label_heads: Tensor
    label_modifiers: Tensor
    siblings: tuple[Tensor, ...] = ()


class Biaffine(nn.Module):  # type: ignore[misc]  # torch is not there for every type check
    """(head; 1)' U (modifier; 1), for each of some classes."""

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        # From zeros, all trees are equally probable at the beginning.
        self.weight = nn.Parameter(torch.zeros(classes, size + 1, size + 1))

    def table(self, heads: Tensor, modifiers: Tensor) -> Tensor:
        """Scores [h, m] of all pairs under the first class, (batch, n+1, n+1)."""
        return _with_one(heads) @ self.weight[0] @ _with_one(modifiers).transpose(1, 2)

    def pairs(self, heads: Tensor, modifiers: Tensor) -> Tensor:
        """Scores of given pairs, (pairs, classes)."""
        classes, size = self.weight.shape[:2]
        # One product of matrices, (pairs, size) (size, classes size), then one of vectors.
        flat = self.weight.permute(1, 0, 2).reshape(size, classes * size)
        left = (_with_one(heads) @ flat).view(-1, classes, size)
        return (left @ _with_one(modifiers).unsqueeze(2)).squeeze(2)

    def tables(self, heads: Tensor, modifiers: Tensor) -> Tensor:
        """Scores of all pairs, (batch, modifiers, classes, heads)."""
        classes, size = self.weight.shape[:2]
        # U (modifier; 1) of each class once a modifier, not once a pair.
        right = _with_one(modifiers) @ self.weight.permute(2, 0, 1).reshape(size, classes * size)
        pairs = right.view(len(heads), -1, size) @ _with_one(heads).transpose(1, 2)
        return pairs.view(len(heads), -1, classes, heads.shape[1])


class Triaffine(nn.Module):  # type: ignore[misc]
    """sum over r of w_r head_r sibling_r modifier_r."""

    def __init__(self, size: int) -> None:
        super().__init__()
        # From zeros, training begins with the scores of arcs.
        self.weight = nn.Parameter(torch.zeros(size))
        self.none = nn.Parameter(torch.ones(size))

    def table(self, heads: Tensor, siblings: Tensor, modifiers: Tensor) -> Tensor:
        """Scores [h, s, m] of all triples, (batch, n+1, n+1, n+1)."""
        weighted, right = heads * self.weight, modifiers.transpose(1, 2)
        step = 1 + (_ON_CPU if heads.is_cpu else _ON_GPU) // siblings.numel()
        tables = []
        for some in weighted.split(step, 1):
            pairs = some.unsqueeze(2) * siblings.unsqueeze(1)
            # One product of matrices, (h s, size) (size, m).
            tables.append((pairs.flatten(1, 2) @ right).view(*pairs.shape[:3], -1))
        nodes = torch.arange(heads.shape[1], device=heads.device)
        is_none = (nodes[:, None] == nodes).unsqueeze(2)
        first = (weighted * self.none) @ right
        return torch.where(is_none, first.unsqueeze(2), torch.cat(tables, 1))


class Network(nn.Module):  # type: ignore[misc]
    """From a batch of codes to scores.

    Args:
        encoder: a module that gives vectors of words, (batch, n+1, `shape.encoder_size`).

    Attributes:
        reduced: whether the BiLSTM computes in bfloat16, and all else in float32.
    """

    reduced = False

    def __init__(self, shape: Shape, encoder: nn.Module | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = encoder
        self.columns = nn.ModuleList(
            nn.Embedding(count, size)
            for count, size in zip(shape.columns, shape.column_sizes, strict=True)
        )
        self.feats = nn.Embedding(shape.feats, shape.feats_size, padding_idx=BOUNDARY)
        # Features once more, kept where tags and features are dropped.
        self.kept_feats = nn.Embedding(shape.feats, shape.feats_size, padding_idx=BOUNDARY)
        self.spelling = Spelling(shape)
        width = sum(shape.column_sizes) + 2 * shape.feats_size + shape.spelling_size
        width += shape.encoder_size
        self.dropout = nn.Dropout(shape.dropout)
        self.context: nn.LSTM | None = None
        if shape.layers:
            self.context = nn.LSTM(
                width,
                shape.hidden,
                shape.layers,
                batch_first=True,
                bidirectional=True,
                dropout=shape.dropout if shape.layers > 1 else 0.0,
            )
            width = 2 * shape.hidden
        self.arc_head, self.arc_modifier = (_Projection(width, shape.arc_size) for _ in range(2))
        self.label_head, self.label_modifier = (
            _Projection(width, shape.label_size) for _ in range(2)
        )
        self.projection_dropout = LockedDropout(shape.dropout)
        self.arc_scores = Biaffine(shape.arc_size, 1)
        self.label_scores = Biaffine(shape.label_size, shape.labels)
        if shape.sibling_size:
            for side in SIBLING_SIDES:
                self.add_module(f"sibling_{side}", _Projection(width, shape.sibling_size))
            self.sibling_scores = Triaffine(shape.sibling_size)
        self._initialise()

    def _initialise(self) -> None:
        for name, weight in self.named_parameters():
            if name.startswith("encoder."):
                continue
            if "weight_ih" in name or "weight_hh" in name:
                nn.init.orthogonal_(weight)
            elif "bias_ih" in name or "bias_hh" in name:
                nn.init.zeros_(weight)
        for table in (*self.columns, self.feats, self.kept_feats, self.spelling.characters):
            nn.init.normal_(table.weight, std=table.weight.shape[1] ** -0.5)
            with torch.no_grad():
                table.weight[BOUNDARY] = 0.0

    def forward(self, batch: TensorBatch, pieces: Any = None) -> Outputs:
        """Scores of a batch.

        Args:
            pieces: what the encoder reads, where there is one.
        """
        states = self._states(self._inputs(batch, pieces), batch.sizes + 1)
        drop = self.projection_dropout
        arcs = self.arc_scores.table(drop(self.arc_head(states)), drop(self.arc_modifier(states)))
        labels = drop(self.label_head(states)), drop(self.label_modifier(states))
        sides = SIBLING_SIDES if self.shape.sibling_size else ()
        projections = [self.get_submodule(f"sibling_{side}") for side in sides]
        return Outputs(arcs, *labels, tuple(drop(project(states)) for project in projections))

    def factors(self, out: Outputs) -> dict[str, Tensor]:
        """Scores of parts of several arcs, by the name of the factor, (batch, n+1, n+1, n+1)."""
        return {"sibling": self.sibling_scores.table(*out.siblings)} if out.siblings else {}

    def label_table(self, heads: Tensor, modifiers: Tensor) -> Tensor:
        """Scores of the labels of given pairs, (pairs, labels)."""
        scores: Tensor = self.label_scores.pairs(heads, modifiers)
        return scores

    def _inputs(self, batch: TensorBatch, pieces: Any) -> Tensor:
        columns = [batch.codes[..., number] for number in range(len(COLUMNS))]
        feats = batch.codes[..., len(COLUMNS) :]
        kept = self.kept_feats(feats).sum(2)
        if self.training and self.shape.word_dropout:
            without_tags = self._dropped(columns[0])
            for number in _WORDS:
                columns[number] = columns[number].masked_fill(self._dropped(columns[0]), UNKNOWN)
            for number in _TAGS:
                columns[number] = columns[number].masked_fill(without_tags, UNKNOWN)
            feats = feats.masked_fill(without_tags.unsqueeze(2), BOUNDARY)
        parts = [table(codes) for table, codes in zip(self.columns, columns, strict=True)]
        parts += [self.feats(feats).sum(2), kept, self.spelling(batch)]
        if self.encoder is not None:
            parts.append(self.encoder(pieces))
        inputs: Tensor = self.dropout(torch.cat(parts, -1))
        return inputs

    def _dropped(self, codes: Tensor) -> Tensor:
        return torch.rand(codes.shape, device=codes.device) < self.shape.word_dropout

    def _states(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        if self.context is None:
            return inputs
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        low = torch.autocast(inputs.device.type, torch.bfloat16) if self.reduced else nullcontext()
        with low:
            found = self.context(packed)[0]
        states: Tensor = pad_packed_sequence(found, batch_first=True)[0]
        if self.reduced:
            states = states.float()
        dropped: Tensor = self.projection_dropout(states)
        return dropped


class Spelling(nn.Module):  # type: ignore[misc]
    """Vectors of words from their characters: the last states of a BiLSTM."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.characters = nn.Embedding(shape.characters, shape.character_size, padding_idx=BOUNDARY)
        self.states = nn.LSTM(
            shape.character_size, shape.spelling_size // 2, batch_first=True, bidirectional=True
        )

    def forward(self, batch: TensorBatch) -> Tensor:
        """(batch, n+1, spelling_size)."""
        packed = pack_padded_sequence(
            self.characters(batch.spelling),
            batch.spelling_sizes,
            batch_first=True,
            enforce_sorted=False,
        )
        _, (last, _) = self.states(packed)
        return last.transpose(0, 1).flatten(1)[batch.forms]


class LockedDropout(nn.Module):  # type: ignore[misc]
    """Dropout that is the same for all words of a sentence."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, values: Tensor) -> Tensor:
        """The values, some of the last dimension set to 0 and the others scaled up."""
        if not self.training or not self.rate:
            return values
        mask = values.new_empty(values.shape[0], 1, values.shape[2])
        return values * (mask.bernoulli_(1.0 - self.rate) / (1.0 - self.rate))


class _Projection(nn.Sequential):  # type: ignore[misc]
    """A linear map and a leaky ReLU."""

    def __init__(self, size: int, out: int) -> None:
        super().__init__(nn.Linear(size, out), nn.LeakyReLU(0.1))
        nn.init.orthogonal_(self[0].weight)
        nn.init.zeros_(self[0].bias)


def _with_one(vectors: Tensor) -> Tensor:
    return torch.cat([vectors, torch.ones_like(vectors[..., :1])], -1)

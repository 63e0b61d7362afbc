"""The network computed by NumPy: a trained model parses without PyTorch.

The same formulas as `network`, in float32, without dropout. A step of an LSTM treats only the
sequences that are that long: they are sorted by length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.models.encode import BOUNDARY
from crossarc.models.entropies import label_entropies
from crossarc.models.neural.inputs import COLUMNS, SIBLING_SIDES, SIDES, Batch, Shape
from crossarc.treebank import Sentence

__all__ = ["NumpyEngine"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_NEGATIVE_SLOPE = np.float32(0.1)  # of leaky ReLUs
# Scores of labels that stay in a cache.
_SCORES_AT_ONCE = 1 << 16
# Products of two vectors that do.
_PRODUCTS_AT_ONCE = 1 << 18


class _Vectors(NamedTuple):
    """What labels and parts of a batch are scored from, (batch, n+1, size) each."""

    label_heads: Singles
    label_modifiers: Singles
    siblings: tuple[Singles, ...]


class NumpyEngine:
    """A network with its weights as arrays, under the names that they have in PyTorch."""

    device = "numpy"

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._weights: dict[str, Singles] = {}

    def forward(
        self, batch: Batch, sentences: Sequence[Sentence], threads: int | None
    ) -> tuple[Floats, Any]:
        """Scores [h, m] of a batch, and vectors that labels are scored from."""
        states = self._states(self._inputs(batch), batch.sizes + 1)
        heads, modifiers = (self._projected(states, f"arc_{one}") for one in SIDES)
        weight = self._weights["arc_scores.weight"][0]
        arcs = _product(_with_one(heads), weight.T) @ _with_one(modifiers).swapaxes(1, 2)
        siblings = SIBLING_SIDES if self.shape.sibling_size else ()
        return arcs.astype(np.float64), _Vectors(
            self._projected(states, "label_head"),
            self._projected(states, "label_modifier"),
            tuple(self._projected(states, f"sibling_{one}") for one in siblings),
        )

    def sibling_scores(
        self, vectors: _Vectors, row: int, width: int, threads: int | None
    ) -> Singles:
        """Scores [h, s, m] of one sentence of a batch."""
        heads, siblings, modifiers = (one[row, :width] for one in vectors.siblings)
        heads = heads * self._weights["sibling_scores.weight"]
        step = 1 + _PRODUCTS_AT_ONCE // siblings.size
        table = np.empty((width, width, width), np.float32)
        for first in range(0, width, step):
            some = np.arange(first, min(first + step, width))
            pairs = heads[some, None] * siblings
            pairs[some - first, some] = heads[some] * self._weights["sibling_scores.none"]
            table[some] = _product(pairs, modifiers)
        return table

    def label_scores(
        self, vectors: _Vectors, rows: Ints, heads: Ints, modifiers: Ints, threads: int | None
    ) -> Floats:
        """Scores of the labels of given arcs of a batch, (arcs, labels)."""
        weight = self._weights["label_scores.weight"]
        classes, size = weight.shape[:2]
        flat = weight.transpose(1, 0, 2).reshape(size, classes * size)
        left = (_with_one(vectors.label_heads[rows, heads]) @ flat).reshape(-1, classes, size)
        right = _with_one(vectors.label_modifiers[rows, modifiers])
        return (left @ right[:, :, None])[:, :, 0].astype(np.float64)

    def label_entropies(
        self, vectors: _Vectors, permitted: Bools, temperature: float, threads: int | None
    ) -> Floats:
        """Entropies [h, m] of the labels of all arcs of a batch."""
        weight = self._weights["label_scores.weight"]
        classes, size = weight.shape[:2]
        flat = weight.transpose(2, 0, 1).reshape(size, classes * size)
        heads, modifiers = _with_one(vectors.label_heads), _with_one(vectors.label_modifiers)
        width = heads.shape[1]
        step = 1 + _SCORES_AT_ONCE // (width * classes)
        out = np.empty((len(heads), width, width))
        for table, of_heads, of_modifiers in zip(out, heads, modifiers, strict=True):
            for first in range(0, width, step):
                some = of_modifiers[first : first + step]
                # U (modifier; 1) of each label once a modifier, not once an arc.
                scores = of_heads @ (some @ flat).reshape(-1, size).T
                found = np.empty(width * len(some))
                label_entropies(
                    scores.reshape(len(found), classes).astype(np.float64),
                    np.repeat(np.arange(width), len(some)),
                    permitted,
                    temperature,
                    found,
                )
                table[:, first : first + step] = found.reshape(width, len(some))
        return out

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all weights."""
        return {name: weight.copy() for name, weight in self._weights.items()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over weights.

        Raises:
            ValueError: some do not fit the shape.
        """
        size = self.shape.arc_size + 1
        if state["arc_scores.weight"].shape != (1, size, size):
            raise ValueError("the scores of arcs have another size")
        self._weights = {name: np.array(array, np.float32) for name, array in state.items()}

    def encoder_metadata(self) -> None:
        """There is no pretrained encoder."""

    def _inputs(self, batch: Batch) -> Singles:
        codes, feats = batch.codes[..., : len(COLUMNS)], batch.codes[..., len(COLUMNS) :]
        parts = [
            self._weights[f"columns.{number}.weight"][codes[..., number]]
            for number in range(len(COLUMNS))
        ]
        for name in ("feats", "kept_feats"):
            table = self._weights[f"{name}.weight"]
            used = (feats != BOUNDARY)[..., None]
            parts.append(np.where(used, table[feats], np.float32(0.0)).sum(axis=2))
        parts.append(self._spelling(batch))
        return np.concatenate(parts, axis=-1)

    def _spelling(self, batch: Batch) -> Singles:
        vectors = self._weights["spelling.characters.weight"][batch.spelling]
        _, last = self._bidirectional(vectors, batch.spelling_sizes, "spelling.states", 0)
        return last[batch.forms]

    def _states(self, inputs: Singles, lengths: Ints) -> Singles:
        for layer in range(self.shape.layers):
            inputs, _ = self._bidirectional(inputs, lengths, "context", layer)
        return inputs

    def _bidirectional(
        self, inputs: Singles, lengths: Ints, name: str, layer: int
    ) -> tuple[Singles, Singles]:
        """States at all positions, and the last ones of both directions."""
        order = np.argsort(-lengths, kind="stable")
        # One time after the other, so that a step reads contiguous rows.
        ordered = inputs[order].swapaxes(0, 1)
        # How many sequences have a position t.
        active = (lengths[:, None] > np.arange(inputs.shape[1])).sum(axis=0).tolist()
        results = []
        for suffix in (f"l{layer}", f"l{layer}_reverse"):
            bias = self._weights[f"{name}.bias_ih_{suffix}"]
            bias = bias + self._weights[f"{name}.bias_hh_{suffix}"]
            gates = _product(ordered, self._weights[f"{name}.weight_ih_{suffix}"]) + bias
            recurrent = np.ascontiguousarray(self._weights[f"{name}.weight_hh_{suffix}"].T)
            results.append(_lstm(gates, recurrent, active, suffix.endswith("reverse")))
        back = np.argsort(order)
        states, last = (
            np.concatenate(parts, axis=-1)[back] for parts in zip(*results, strict=True)
        )
        return states, last

    def _projected(self, states: Singles, name: str) -> Singles:
        values = _product(states, self._weights[f"{name}.0.weight"])
        values += self._weights[f"{name}.0.bias"]
        return np.where(values > 0, values, _NEGATIVE_SLOPE * values)


def _lstm(
    gates: Singles, recurrent: Singles, active: Sequence[int], reverse: bool
) -> tuple[Singles, Singles]:
    """States of an LSTM in one direction: all of them, and the last ones.

    Args:
        gates: what the inputs add to the gates, (time, batch, 4 size), longest sequences first.
        active: how many sequences have each time.
    """
    time, batch, width = gates.shape
    size = width // 4
    h, c = np.zeros((2, batch, size), np.float32)
    out = np.zeros((batch, time, size), np.float32)
    for t in range(time - 1, -1, -1) if reverse else range(time):
        used = active[t]
        step = gates[t, :used] + h[:used] @ recurrent
        keep_in, forget, value, keep_out = (step[:, k * size : (k + 1) * size] for k in range(4))
        c[:used] = _sigmoid(forget) * c[:used] + _sigmoid(keep_in) * np.tanh(value)
        h[:used] = _sigmoid(keep_out) * np.tanh(c[:used])
        out[:used, t] = h[:used]
    return out, h


def _product(values: Singles, weight: Singles) -> Singles:
    """values weight', as one product of matrices."""
    flat = values.reshape(-1, values.shape[-1]) @ weight.T
    return flat.reshape(*values.shape[:-1], len(weight))


def _sigmoid(values: Singles) -> Singles:
    # In terms of tanh there is no overflow.
    half = np.float32(0.5)
    result: Singles = half * np.tanh(half * values) + half
    return result


def _with_one(vectors: Singles) -> Singles:
    return np.concatenate([vectors, np.ones_like(vectors[..., :1])], axis=-1)

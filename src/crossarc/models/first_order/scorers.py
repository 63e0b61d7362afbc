"""Weights with their templates: scores of arcs and of labels, and updates of their weights.

Kernels of updates are loaded by the first update: parsing does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import GROUPS, Rule, WeightTable
from crossarc.models.checks import tensor
from crossarc.models.encode import Encoded
from crossarc.models.features import Plan
from crossarc.models.first_order.arcs import score_arcs
from crossarc.models.first_order.labels import ALIGNMENT, score_labels
from crossarc.models.protocol import ArcIndex
from crossarc.models.storage import pack, prune, quantised, unpack
from crossarc.parallel import over_ranges

__all__ = ["LEAST_DERIVATIVE", "TABLE_BITS", "ArcScorer", "Arcs", "LabelScorer", "Scorer"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Shorts = NDArray[np.int16]
Weights = Singles | Shorts
Ints = NDArray[np.int64]
T = TypeVar("T")

#: Arcs with a smaller derivative change no weight: most arcs, after a pass or two.
LEAST_DERIVATIVE = 1e-4
#: The least and most bits of a slot: in a part of a table 5, and all in 32 bits with a window more.
TABLE_BITS = 5 + GROUPS.bit_length() - 1, 30
_ALL: Bools = np.empty(0, np.bool_)
# Arcs are labelled in pieces of this size, so that threads have work to share.
_PIECE = 1024


class Scorer:
    """A table of weights: float32 while they are learnt, then whole numbers times a scale.

    In 16 bits the table is half as large, and the speed of scoring is that of the memory.
    """

    #: Names of the tensors.
    PARTS = ("slots", "weights", "scale")
    weights: Weights
    scale: float

    def __init__(self, plan: Plan, *, bits: int, tag: tuple[int, int], size: int) -> None:
        self.plan, self.tag, self.bits = plan, tag, bits
        self.weights, self.scale = np.zeros(size, np.float32), 1.0

    def freeze(self, weights: Singles, count: int) -> None:
        """Set the weights, the largest only, at most so many, in 16 bits."""
        self.weights, self.scale = quantised(prune(weights, count))

    def copy_weights(self) -> Singles:
        """The weights in float32."""
        return (self.weights * np.float32(self.scale)).astype(np.float32)

    def thaw(self) -> Singles:
        """The weights themselves, made float32 if they were frozen: they can be learnt then."""
        if self.weights.dtype != np.float32:
            self.weights, self.scale = self.copy_weights(), 1.0
        return cast(Singles, self.weights)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The weights in 16 bits, for `restore`."""
        is_frozen = self.weights.dtype == np.int16
        numbers, scale = (self.weights, self.scale) if is_frozen else quantised(self.copy_weights())
        slots, values = pack(cast(Shorts, numbers))
        return {"slots": slots, "weights": values, "scale": np.array([scale])}

    def restore(self, tensors: dict[str, NDArray[Any]]) -> None:
        """Set weights that were saved."""
        self.weights = unpack(tensors["slots"], tensors["weights"], len(self.weights))
        self.scale = float(tensor(tensors, "scale", np.float64, (1,))[0])


class ArcScorer(Scorer):
    """Scores of all arcs of sentences.

    Args:
        bits: the table has 2**bits weights.
        tag: the atom whose values between two words count, and how many it has.
    """

    def __init__(self, plan: Plan, *, bits: int, tag: tuple[int, int]) -> None:
        part = bits - (GROUPS.bit_length() - 1)
        super().__init__(plan, bits=part, tag=tag, size=1 << bits)

    def _on(self, kernel: Callable[..., T], encoded: Encoded) -> Callable[..., T]:
        """A kernel with its first arguments filled in."""
        words = encoded.codes, encoded.sizes, encoded.starts, encoded.squares
        return partial(kernel, *words, self.plan.atoms, self.plan.bounds, *self.tag, self.bits)

    def scores(self, encoded: Encoded, threads: int | None = None, allowed: Bools = _ALL) -> Floats:
        """(n + 1)^2 scores a sentence, one sentence after the other; unusable ones are 0.

        Args:
            allowed: which arcs are scored, laid out as the scores; empty for all of them.
        """
        score = self._on(score_arcs[self.weights.dtype], encoded)
        out = np.zeros(int(encoded.squares[-1]))

        def work(begin: int, end: int) -> None:
            score(allowed, self.weights, self.scale, out, begin, end)

        over_ranges(work, (encoded.sizes**2 + 20).tolist(), threads)
        return out

    def update(
        self,
        encoded: Encoded,
        gradient: Floats,
        rule: Rule,
        threads: int | None = None,
        least: float = LEAST_DERIVATIVE,
    ) -> None:
        """Change the weights.

        Args:
            gradient: of the loss in the scores of all arcs, laid out as the scores.
            least: derivatives up to this are left out.
        """
        self.gather(encoded, gradient, rule.table, threads, rule.step, least)
        rule.advance()

    def gather(
        self,
        encoded: Encoded,
        gradient: Floats,
        table: WeightTable,
        threads: int | None = None,
        step: Callable[[int], None] = lambda group: None,
        least: float = LEAST_DERIVATIVE,
    ) -> None:
        """Gather the gradient in the weights of each part of the table, and do a step there."""
        from crossarc.models.first_order.arc_gradients import gather_arcs

        gather = self._on(gather_arcs, encoded)
        table.update(partial(gather, gradient, least), step, threads)


class Arcs:
    """Single arcs of sentences: the row of each one's root, its head, its modifier."""

    def __init__(self, codes: Ints, rows: Ints, heads: Ints, modifiers: Ints) -> None:
        self.codes, self.rows, self.heads, self.modifiers = codes, rows, heads, modifiers

    @classmethod
    def of_trees(cls, encoded: Encoded, heads: Ints) -> Arcs:
        """One arc a word, given the heads of all sentences end to end."""
        ends = np.cumsum(encoded.sizes)
        numbers = np.arange(len(heads)) - np.repeat(ends - encoded.sizes, encoded.sizes) + 1
        rows = np.repeat(encoded.starts, encoded.sizes)
        return cls(encoded.codes, rows, np.ascontiguousarray(heads), numbers)

    @classmethod
    def of_batch(cls, encoded: Encoded, arcs: Sequence[ArcIndex]) -> Arcs:
        """Some arcs of each sentence."""
        none = np.empty(0, np.int64)
        rows = np.repeat(encoded.starts, [len(heads) for heads, _ in arcs])
        heads = np.concatenate([none, *(heads for heads, _ in arcs)])
        return cls(encoded.codes, rows, heads, np.concatenate([none, *(m for _, m in arcs)]))

    def only(self, chosen: NDArray[np.bool_]) -> Arcs:
        """Some of the arcs."""
        return Arcs(self.codes, self.rows[chosen], self.heads[chosen], self.modifiers[chosen])

    def __len__(self) -> int:
        return len(self.heads)


class LabelScorer(Scorer):
    """Scores of all labels for given arcs.

    Args:
        bits: the table has 2**bits weights, and in each part a window's more.
    """

    def __init__(self, plan: Plan, *, bits: int, tag: tuple[int, int], labels: int) -> None:
        part = bits - (GROUPS.bit_length() - 1)
        window = -(-labels >> ALIGNMENT) << ALIGNMENT
        super().__init__(plan, bits=part, tag=tag, size=GROUPS * ((1 << part) + window))
        self.labels = labels

    def _on(self, kernel: Callable[..., T], arcs: Arcs) -> Callable[..., T]:
        """A kernel with its first arguments filled in."""
        words = arcs.codes, arcs.rows, arcs.heads, arcs.modifiers
        return partial(kernel, *words, self.plan.atoms, self.plan.bounds, *self.tag, self.bits)

    def scores(self, arcs: Arcs, threads: int | None = None) -> Floats:
        """(arcs, labels)."""
        score = self._on(score_labels[self.weights.dtype], arcs)
        out = np.empty((len(arcs), self.labels))

        def work(begin: int, end: int) -> None:
            first, last = begin * _PIECE, min(end * _PIECE, len(arcs))
            score(self.weights, self.scale, out[first:last], first, last)

        over_ranges(work, [1.0] * -(-len(arcs) // _PIECE), threads)
        return out

    def entropies(
        self, arcs: Arcs, permitted: Bools, temperature: float, threads: int | None = None
    ) -> Floats:
        """Of the labels of each arc, in nats; arguments as of `label_entropies`."""
        from crossarc.models.entropies import label_entropies

        score = self._on(score_labels[self.weights.dtype], arcs)
        out = np.empty(len(arcs))

        def work(begin: int, end: int) -> None:
            scores = np.empty((_PIECE, self.labels))
            for first in range(begin * _PIECE, min(end * _PIECE, len(arcs)), _PIECE):
                part = slice(first, min(first + _PIECE, len(arcs)))
                own = scores[: part.stop - first]
                score(self.weights, self.scale, own, first, part.stop)
                label_entropies(own, arcs.heads[part], permitted, temperature, out[part])

        over_ranges(work, [1.0] * -(-len(arcs) // _PIECE), threads)
        return out

    def update(self, arcs: Arcs, gradient: Floats, rule: Rule, threads: int | None = None) -> None:
        """Change the weights.

        Args:
            gradient: (arcs, labels), of the loss in the label scores.
        """
        from crossarc.models.first_order.label_gradients import gather_labels

        gather = self._on(gather_labels, arcs)
        rule.table.update(partial(gather, gradient), rule.step, threads)
        rule.advance()

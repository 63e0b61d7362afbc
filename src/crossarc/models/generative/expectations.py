"""The E-step of arc-factored models: log Z of each sentence, and expected counts of parameters.

Scores are gathered from the parameters and marginals are added to their counts by two kernels, a
chunk of sentences of one length at a time; in between stand the kernels of `crossarc.inference`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import MARGINALS
from crossarc.kernels import READ_FLOAT, kernel
from crossarc.parallel import over_ranges

__all__ = ["ArcChunk", "ArcExpectations", "ShardSums", "in_shards"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Index = NDArray[np.int32]
T = TypeVar("T")

_READ_INDEX = types.Array(types.int32, 1, "C", readonly=True)
# Each shard has counts of its own, so that the sums do not depend on the number of threads.
_MOST_SHARDS = 16
_MOST_COUNTS = 1 << 24


@kernel(types.void(_READ_INDEX, READ_FLOAT, types.float64[::1]))
def _gather(index: Index, parameters: Floats, scores: Floats) -> None:
    """The parameter of each arc."""
    for cell in range(index.shape[0]):
        scores[cell] = parameters[index[cell]]


@kernel(types.void(_READ_INDEX, READ_FLOAT, types.float64[::1]))
def _scatter(index: Index, marginals: Floats, counts: Floats) -> None:
    """Add the probability of each arc to the count of its parameter."""
    for cell in range(index.shape[0]):
        counts[index[cell]] += marginals[cell]


class ArcChunk(NamedTuple):
    """Sentences of one length.

    Attributes:
        members: their indices in the corpus.
        words: of each of them.
        parameters: that of each entry of scores[h, m], sentence by sentence; where no tree has
            an arc, the number of parameters.
    """

    members: Ints
    words: int
    parameters: Index


class ShardSums(NamedTuple):
    """Of one shard: its sentences, the log Z of each, and expected counts."""

    members: Ints
    totals: Floats
    counts: Floats


class ArcExpectations:
    """log Z and expected counts over a corpus.

    Args:
        sentences: of the corpus; those that are in no chunk are empty, and have log Z = 0.
        parameters: how many there are.
        threads: as for `crossarc.parallel.over_ranges`; the result does not depend on it.
    """

    def __init__(
        self,
        chunks: Sequence[ArcChunk],
        sentences: int,
        parameters: int,
        *,
        projective: bool,
        single: bool,
        threads: int | None = None,
    ) -> None:
        self.chunks, self._sentences, self._parameters = chunks, sentences, parameters
        self._projective, self._single, self._threads = projective, single, threads

    def __call__(self, scores: Floats) -> tuple[Floats, Floats]:
        """log Z of each sentence and the expected count of each parameter.

        Args:
            scores: one for each parameter; -inf forbids its arcs.
        """
        return self.under(partial(self.gather, scores))

    def shards(self) -> list[ArcExpectations]:
        """The parts that have counts of their own, to be summed elsewhere.

        `combined([one.summed(scores) for one in shards])` is `__call__(scores)`, to the last digit.
        """
        count = _shard_count(len(self.chunks), self._parameters + 1)
        kind: Any = {"projective": self._projective, "single": self._single, "threads": 1}
        return [
            ArcExpectations(self.chunks[k::count], self._sentences, self._parameters, **kind)
            for k in range(count)
        ]

    def summed(self, scores: Floats) -> ShardSums:
        """log Z of the sentences of each chunk, and expected counts, chunk by chunk in order."""
        counts = np.zeros(self._parameters + 1)
        totals = []
        for chunk in self.chunks:
            found, marginals = self.solve(self.gather(scores, chunk), chunk)
            _scatter(chunk.parameters, marginals, counts)
            totals.append(found)
        members = [chunk.members for chunk in self.chunks]
        none = np.empty(0, np.int64)
        return ShardSums(np.concatenate([none, *members]), np.concatenate([none, *totals]), counts)

    def combined(self, sums: Sequence[ShardSums]) -> tuple[Floats, Floats]:
        """log Z of each sentence and the expected count of each parameter, from those of shards."""
        totals = np.zeros(self._sentences)
        for one in sums:
            totals[one.members] = one.totals
        counts = np.stack([one.counts for one in sums]).sum(axis=0)
        return totals, counts[:-1]

    def gather(self, scores: Floats, chunk: ArcChunk) -> Floats:
        """The scores of a chunk's arcs, from those of the parameters."""
        arcs = np.empty(len(chunk.parameters))
        _gather(chunk.parameters, np.append(scores[: self._parameters], -np.inf), arcs)
        return arcs

    def under(self, scores_of: Callable[[ArcChunk], Floats]) -> tuple[Floats, Floats]:
        """The same under other scores of arcs [sentence, h, m]."""
        totals = np.zeros(self._sentences)

        def run(chunk: ArcChunk, counts: Floats) -> None:
            totals[chunk.members], marginals = self.solve(scores_of(chunk), chunk)
            _scatter(chunk.parameters, marginals, counts)

        costs = [len(chunk.members) * chunk.words**3 + 1000 for chunk in self.chunks]
        counts = in_shards(self.chunks, costs, run, self._parameters + 1, self._threads)
        return totals, counts[:-1]

    def solve(self, scores: Floats, chunk: ArcChunk) -> tuple[Floats, Floats]:
        """log Z of each sentence, and marginals as the scores lie."""
        width = chunk.words + 1
        batch = Batch(scores.reshape(-1, width, width), [chunk.words] * len(chunk.members))
        if self._projective:
            from crossarc.inference.projective.first_order.sums import sum_over_trees

            marginals = np.zeros(len(batch.arcs))
            totals = sum_over_trees(batch, self._single, MARGINALS, marginals, 1)
        else:
            from crossarc.inference.spanning.matrix_tree import sums

            totals, marginals = sums.sum_over_trees(batch, self._single, MARGINALS, 1)
        return totals[0] + totals[1], marginals


def in_shards(
    pieces: Sequence[T],
    costs: Sequence[float],
    run: Callable[[T, Floats], None],
    size: int,
    threads: int | None,
) -> Floats:
    """The sum of what `run(piece, counts)` adds to counts, over threads.

    Pieces go to a number of shards that depends on `size` only, each with counts of its own.
    """
    shards = _shard_count(len(pieces), size)
    counts = np.zeros((shards, size))

    def work(begin: int, end: int) -> None:
        for shard in range(begin, end):
            for piece in pieces[shard::shards]:
                run(piece, counts[shard])

    over_ranges(work, [sum(costs[shard::shards]) for shard in range(shards)], threads)
    total: Floats = counts.sum(axis=0)
    return total


def _shard_count(pieces: int, size: int) -> int:
    return max(1, min(_MOST_SHARDS, _MOST_COUNTS // size, pieces))

"""A kind of model that is no part of crossarc: arcs are scored by their length alone.

One file and a call of `register` are all that a new kind takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import Progress
from crossarc.models.kinds import Kind, TrainOptions, option
from crossarc.models.protocol import ArcIndex
from crossarc.treebank import Sentence

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceOptions(TrainOptions):
    """Arcs longer than `longest` count as that long."""

    longest: int = option(5, "Longer arcs are all alike.", type=int, minimum=1, metavar="L")


class DistanceModel:
    """score[h, m] = log of how often arcs are as long, plus one; labels by their frequency."""

    kind = "distance"

    def __init__(self, labels: Sequence[str], lengths: Floats, label_counts: Floats) -> None:
        self.labels = tuple(labels)
        self.lengths, self.label_counts = lengths, label_counts

    def score(self, sentences: Sequence[Sentence], *, threads: int | None = None) -> DistanceScores:
        return DistanceScores(self, [len(one) for one in sentences])

    def state(self) -> dict[str, NDArray[Any]]:
        return {"lengths": self.lengths.copy(), "labels": self.label_counts.copy()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.lengths, self.label_counts = state["lengths"], state["labels"]

    def tensors(self) -> dict[str, NDArray[Any]]:
        return self.state()

    def metadata(self) -> dict[str, Any]:
        return {"labels": self.labels}


class DistanceScores:
    def __init__(self, model: DistanceModel, sizes: Sequence[int]) -> None:
        self._model = model
        self.arcs = [self._scores(n) for n in sizes]

    def _scores(self, n: int) -> Floats:
        nodes = np.arange(n + 1)
        lengths = np.abs(nodes[:, None] - nodes)
        return np.log(self._model.lengths)[np.minimum(lengths, len(self._model.lengths) - 1)]

    def label_log_probs(self, arcs: Sequence[ArcIndex]) -> list[Floats]:
        logs = np.log(self._model.label_counts / self._model.label_counts.sum())
        return [np.tile(logs, (len(heads), 1)) for heads, _ in arcs]


def _train(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: DistanceOptions,
    progress: Callable[[Progress], None] | None,
) -> DistanceModel:
    lengths = np.ones(options.longest + 1)
    labels: Counter[str] = Counter()
    for sentence in sentences:
        labels.update(sentence.deprels)
        for m, h in enumerate(sentence.heads.tolist(), 1):
            lengths[min(abs(h - m), options.longest)] += 1.0
    names = sorted(labels)
    return DistanceModel(names, lengths, np.array([float(labels[name]) for name in names]))


def _restore(tensors: dict[str, NDArray[Any]], metadata: dict[str, Any]) -> DistanceModel:
    return DistanceModel(metadata["labels"], tensors["lengths"], tensors["labels"])


DISTANCE = Kind("distance", "by the length of arcs", DistanceOptions, _train, _restore)

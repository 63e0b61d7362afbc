"""Training the Covington parser: passes of the averaged perceptron over a treebank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.distribution import Root
from crossarc.learning import Progress, run_passes
from crossarc.models.attachment import attachment_scores
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.packing import prune, quantised
from crossarc.treebank import Sentence

__all__ = ["CovingtonOptions", "train_covington"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True)
class CovingtonOptions:
    """How to train.

    max_degree, root, beam: as in `CovingtonModel`.
    passes, batch, seed, patience: as in `run_passes`.
    exploring: how often a wrong transition is followed, from the second pass on.
    most_weights: the largest weights are kept, at most so many.
    """

    max_degree: int | None = None
    root: Root = "single"
    beam: int = 1
    passes: int = 12
    batch: int = 64
    seed: int = 0
    patience: int = 3
    exploring: float = 0.9
    most_weights: int = 2_000_000
    threads: int | None = None


def train_covington(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    options: CovingtonOptions | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> CovingtonModel:
    """A model of a treebank; heads that are missing cost nothing.

    Args:
        dev: held-out sentences: the pass that labels most of their arcs right is kept.

    Raises:
        ModelError: there is no sentence, or none with heads.
    """
    how = options or CovingtonOptions()
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError("there is nothing to learn from: no sentence has a head")
    model = CovingtonModel.build(sentences, max_degree=how.max_degree, root=how.root, beam=how.beam)
    task = _Task(model, sentences, dev, how)
    run_passes(
        task,
        passes=how.passes,
        batch=how.batch,
        seed=how.seed,
        patience=how.patience,
        progress=progress,
    )
    model.weights = task.kept
    return model


class _Task:
    """A model, the sentences it learns from, and those it is measured on."""

    def __init__(
        self,
        model: CovingtonModel,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        how: CovingtonOptions,
    ) -> None:
        self.model, self.how = model, how
        self.data = model.encode(sentences, gold=True)
        self.dev = model.encode(dev, gold=True) if dev else None
        self.sizes = self.data.sizes
        self.kept = model.weights
        self._weights = np.zeros(model.size, np.int32)
        self._drift = np.zeros(model.size)
        self._counts = np.zeros(2, np.int64)
        self._exploring = 0.0

    def begin_pass(self, number: int) -> None:
        """Follow the oracle in the first pass, the weights in later ones."""
        self._exploring = 0.0 if number == 1 else self.how.exploring

    def learn(self, sentences: Ints) -> float:
        """Learn from sentences; returns the number of mistakes."""
        batch = self.data.take(sentences)
        before = self._counts[1]
        gold = batch.heads, batch.labels
        memory = self._drift, self._counts
        if self.how.beam == 1:
            from crossarc.models.covington.learning import learn_greedily

            learn = self.model.on(learn_greedily, batch, self._weights)
            learn(*gold, *memory, self._exploring, self.how.seed)
        else:
            from crossarc.models.covington.beam_learning import learn_with_beam

            learn = self.model.on(learn_with_beam, batch, self._weights)
            learn(*gold, *memory, self.how.beam)
        return float(self._counts[1] - before)

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the mean of the weights."""
        self.model.weights = self._mean()
        if self.dev is None:
            return {}
        heads, labels, _ = self.model.parse(self.dev, threads=self.how.threads)
        return attachment_scores(self.dev, heads, labels, self.model.labels)

    def _mean(self) -> Shorts:
        mean = self._weights - self._drift / max(1, self._counts[0])
        return quantised(prune(mean.astype(np.float32), self.how.most_weights))[0]

    def keep(self) -> None:
        """Remember the mean of the weights."""
        self.kept = self.model.weights

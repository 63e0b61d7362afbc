"""Training the Covington parser: passes of the averaged perceptron over a treebank."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.learning import Progress, run_passes
from crossarc.models.covington.kind import CovingtonOptions
from crossarc.models.covington.model import CovingtonModel
from crossarc.models.storage import prune, quantised
from crossarc.treebank import Sentence

__all__ = ["train_covington"]

Ints = NDArray[np.int64]
Shorts = NDArray[np.int16]


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
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError("there is nothing to learn from: no sentence has a head")
    chosen = (options or CovingtonOptions()).resolved(sentences)
    model = CovingtonModel.build(
        sentences, max_degree=chosen.max_degree, root=chosen.root or "single", beam=chosen.beam
    )
    task = _Task(model, sentences, dev, chosen)
    run_passes(
        task,
        passes=chosen.passes,
        batch=chosen.batch,
        seed=chosen.seed,
        patience=chosen.patience,
        progress=progress,
    )
    model.load_state(task.kept)
    return model


class _Task:
    """A model, the sentences it learns from, and those it is measured on."""

    def __init__(
        self,
        model: CovingtonModel,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        options: CovingtonOptions,
    ) -> None:
        self.model, self.options = model, options
        self.data = model.encode(sentences, gold=True)
        self.dev = model.encode(dev, gold=True) if dev else None
        self.sizes = self.data.sizes
        self.kept = model.state()
        self._weights = np.zeros(model.size, np.int32)
        self._drift = np.zeros(model.size)
        self._counts = np.zeros(2, np.int64)
        self._exploring = 0.0

    def begin_pass(self, number: int) -> None:
        """Follow the oracle in the first pass, the weights in later ones."""
        self._exploring = 0.0 if number == 1 else self.options.exploring

    def learn(self, sentences: Ints) -> float:
        """Learn from sentences; returns the number of mistakes."""
        batch = self.data.select(sentences)
        before = self._counts[1]
        gold = batch.heads, batch.labels
        memory = self._drift, self._counts
        if self.options.beam == 1:
            from crossarc.models.covington.learning import learn_greedily

            learn = self.model.bind(learn_greedily, batch, self._weights)
            learn(*gold, *memory, self._exploring, self.options.seed)
        else:
            from crossarc.models.covington.beam_learning import learn_with_beam

            learn = self.model.bind(learn_with_beam, batch, self._weights)
            learn(*gold, *memory, self.options.beam)
        return float(self._counts[1] - before)

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the mean of the weights."""
        self.model.weights = self._mean()
        if self.dev is None:
            return {}
        heads, labels, _ = self.model.parse_encoded(self.dev, threads=self.options.threads)
        return self.dev.attachment_scores(heads, labels, self.model.labels)

    def _mean(self) -> Shorts:
        mean = self._weights - self._drift / max(1, self._counts[0])
        return quantised(prune(mean.astype(np.float32), self.options.max_weights))[0]

    def keep(self) -> None:
        """Remember the mean of the weights."""
        self.kept = self.model.state()

"""Training the linear model: arcs and labels side by side, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees, SpanningTrees, TreeDistribution
from crossarc.inference.distribution import Root
from crossarc.learning import (
    AdaGrad,
    Perceptron,
    Progress,
    Rule,
    WeightTable,
    fit_temperature,
    learnable_heads,
    log_linear,
    perceptron,
    run_passes,
)
from crossarc.models.attachment import attachment_scores
from crossarc.models.encode import Encoded
from crossarc.models.labels import log_softmax
from crossarc.models.linear import LinearModel
from crossarc.models.scorers import Arcs
from crossarc.treebank import Sentence

__all__ = ["Options", "attachment", "calibrate", "train_linear"]

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
Learner = Literal["loglinear", "perceptron"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to train.

    learner: what arcs are trained by; labels are log-linear always.
    projective, root: the trees to learn and to parse with.
    passes, batch, seed, patience: as in `run_passes`.
    rate, inertia, l1, l2: as in `AdaGrad`.
    most_weights: the largest weights of each table are kept, at most so many.
    """

    learner: Learner = "loglinear"
    projective: bool = False
    root: Root = "single"
    passes: int = 6
    batch: int = 8
    seed: int = 0
    patience: int = 2
    rate: float = 0.1
    inertia: float = 1.0
    l1: float = 0.3
    l2: float = 0.0
    most_weights: int = 1_000_000
    threads: int | None = None

    @property
    def trees(self) -> type[TreeDistribution]:
        """Distributions over the trees to learn."""
        return ProjectiveTrees if self.projective else SpanningTrees


def train_linear(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    options: Options | None = None,
    model: LinearModel | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> LinearModel:
    """A model of a treebank; heads that are missing are learnt around.

    Args:
        dev: held-out sentences: the pass that labels most of their arcs right is kept, and
            temperatures are fitted on them.
        model: the model to train, by default one built from the sentences.

    Raises:
        ModelError: there is no sentence with heads to learn from, or none among those held out.
    """
    how = options or Options()
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError("there is nothing to learn from: no sentence has a head")
    if dev and not any((one.heads >= 0).any() for one in dev):
        raise ModelError("no held-out sentence has a head: give some with trees, or none at all")
    task = _LinearTask(model or LinearModel.build(sentences), sentences, dev, how)
    run_passes(
        task,
        passes=how.passes,
        batch=how.batch,
        seed=how.seed,
        patience=how.patience,
        progress=progress,
    )
    task.finish()
    if task.dev is not None:
        calibrate(task.model, task.dev, how)
    return task.model


class _LinearTask:
    """A model, the sentences it learns from, and those it is measured on."""

    def __init__(
        self,
        model: LinearModel,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        how: Options,
    ) -> None:
        self.model, self.how = model, how
        self.data = model.encode(sentences, gold=True)
        self.dev = model.encode(dev, gold=True) if dev else None
        self.sizes = self.data.sizes
        self.arc_rule = _arc_rule(WeightTable(model.arcs.thaw()), how)
        self.label_rule = _adagrad(WeightTable(model.label_scorer.thaw()), how)
        self._objective = log_linear if how.learner == "loglinear" else perceptron
        self._heads = [
            learnable_heads(self.data.gold_heads(s), projective=how.projective, root=how.root)
            for s in range(len(self.data))
        ]
        self._kept = self._means()

    def begin_pass(self, number: int) -> None:
        """Leave the first pass, whose weights know little yet, out of the mean."""
        if number == 2:
            self.arc_rule.restart_mean()
            self.label_rule.restart_mean()

    def learn(self, sentences: Ints) -> float:
        """One step of arcs and of labels, with the weights as they are for the whole batch."""
        batch = self.data.take(sentences)
        threads = self.how.threads
        scores = batch.split_arcs(self.model.arcs.scores(batch, threads))
        heads = [self._heads[s] for s in sentences.tolist()]
        loss, slopes = self._objective(self.how.trees, scores, heads, self.how.root, threads)
        flat = np.concatenate([slope.ravel() for slope in slopes])
        self.model.arcs.update(batch, flat, self.arc_rule, threads)
        return loss + self._learn_labels(batch)

    def _learn_labels(self, batch: Encoded) -> float:
        heads, labels = batch.gold_arcs()
        arcs = Arcs.of_trees(batch, heads).only((heads >= 0) & (labels >= 0))
        labels = labels[(heads >= 0) & (labels >= 0)]
        slopes = self.model.label_scorer.scores(arcs, self.how.threads)
        loss: float = log_softmax(slopes, labels)
        np.exp(slopes, out=slopes)
        slopes[np.arange(len(labels)), labels] -= 1.0
        self.model.label_scorer.update(arcs, slopes, self.label_rule, self.how.threads)
        return loss

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the mean of the weights.

        UAS decides where none of their labels is known, and LAS can only be 0.
        """
        if self.dev is None:
            return {}
        model = self.model
        kept = model.arcs.weights, model.label_scorer.weights
        model.arcs.weights, model.label_scorer.weights = self._means()
        scores = attachment(model, self.dev, self.how)
        model.arcs.weights, model.label_scorer.weights = kept
        return scores if (self.dev.gold_arcs()[1] >= 0).any() else dict(reversed(scores.items()))

    def _means(self) -> tuple[Singles, Singles]:
        return self.arc_rule.mean(), self.label_rule.mean()

    def keep(self) -> None:
        """Remember the mean of the weights."""
        self._kept = self._means()

    def finish(self) -> None:
        """Give the model the weights that were kept, as they will be in its file."""
        most = self.how.most_weights
        for scorer, weights in zip(
            (self.model.arcs, self.model.label_scorer), self._kept, strict=True
        ):
            scorer.freeze(weights, most)


def _adagrad(table: WeightTable, how: Options) -> Rule:
    return AdaGrad(table, rate=how.rate, inertia=how.inertia, l1=how.l1, l2=how.l2)


def _arc_rule(table: WeightTable, how: Options) -> Rule:
    return _adagrad(table, how) if how.learner == "loglinear" else Perceptron(table)


def attachment(model: LinearModel, gold: Encoded, how: Options) -> dict[str, float]:
    """LAS and UAS of the best trees; see `attachment_scores`."""
    best = how.trees(model.arc_scores(gold, how.threads), root=how.root, threads=how.threads)
    guessed = [tree.heads for tree in best.argmax()]
    chosen = np.concatenate(
        [logs.argmax(axis=1) for logs in model.label_log_probs(gold, guessed, how.threads)]
    )
    return attachment_scores(gold, np.concatenate(guessed), chosen, model.labels)


def calibrate(model: LinearModel, held_out: Encoded, options: Options | None = None) -> None:
    """Fit the temperatures of arcs and of labels on sentences that were not trained on."""
    how = options or Options()
    model.arc_temperature = model.label_temperature = 1.0
    scores = model.arc_scores(held_out, how.threads)
    heads = [
        learnable_heads(held_out.gold_heads(s), projective=how.projective, root=how.root)
        for s in range(len(held_out))
    ]

    def arc_loss(temperature: float) -> float:
        cooled = [one / temperature for one in scores]
        return log_linear(how.trees, cooled, heads, how.root, how.threads)[0]

    gold, labels = held_out.gold_arcs()
    known = (gold >= 0) & (labels >= 0)
    arcs = Arcs.of_trees(held_out, gold).only(known)
    label_scores = model.label_scorer.scores(arcs, how.threads)

    def label_loss(temperature: float) -> float:
        loss: float = log_softmax(label_scores / temperature, labels[known])
        return loss

    model.arc_temperature = fit_temperature(arc_loss)
    if known.any():
        model.label_temperature = fit_temperature(label_loss)

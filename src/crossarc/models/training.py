"""Training the linear model: arcs and labels in the same passes, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees, SpanningTrees, TreeDistribution
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
from crossarc.models.encode import Encoded
from crossarc.models.graph import GraphOptions
from crossarc.models.kinds import RootRule
from crossarc.models.labels import log_softmax
from crossarc.models.linear import LinearModel, LinearScores
from crossarc.models.protocol import tree_arcs
from crossarc.models.scorers import Arcs, LabelScorer
from crossarc.treebank import Sentence

__all__ = ["adagrad", "attachment", "calibrate", "learn_labels", "train_linear"]

Ints = NDArray[np.int64]


def train_linear(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    options: GraphOptions | None = None,
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
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError("there is nothing to learn from: no sentence has a head")
    if dev and not any((one.heads >= 0).any() for one in dev):
        raise ModelError("no held-out sentence has a head: give some with trees, or none at all")
    chosen = (options or GraphOptions()).resolved(sentences)
    task = _LinearTask(model or LinearModel.build(sentences), sentences, dev, chosen)
    run_passes(
        task,
        passes=chosen.passes,
        batch=chosen.batch,
        seed=chosen.seed,
        patience=chosen.patience,
        progress=progress,
    )
    task.model.load_state(task.kept)
    task.model.freeze(chosen.max_weights)
    if task.dev is not None:
        calibrate(task.model, task.dev, chosen)
    return task.model


class _LinearTask:
    """A model, the sentences it learns from, and those it is measured on."""

    def __init__(
        self,
        model: LinearModel,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        options: GraphOptions,
    ) -> None:
        self.model, self.options = model, options
        self.data = model.encode(sentences, gold=True)
        self.dev = model.encode(dev, gold=True) if dev else None
        self.sizes = self.data.sizes
        self.rules = {
            "arc": _arc_rule(WeightTable(model.arcs.thaw()), options),
            "label": adagrad(WeightTable(model.label_scorer.thaw()), options),
        }
        self.kept = model.state()
        self._objective = log_linear if options.learner == "loglinear" else perceptron
        self._heads = _learnable(self.data, options)

    def begin_pass(self, number: int) -> None:
        """Leave the first pass, whose weights know little yet, out of the mean."""
        if number == 2:
            for rule in self.rules.values():
                rule.restart_mean()

    def learn(self, sentences: Ints) -> float:
        """One step of arcs and of labels, with the weights as they are for the whole batch."""
        batch = self.data.select(sentences)
        threads = self.options.threads
        trees, root = _family(self.options)
        scores = batch.split_arcs(self.model.arcs.scores(batch, threads))
        heads = [self._heads[s] for s in sentences.tolist()]
        loss, gradients = self._objective(trees, scores, heads, root, threads)
        flat = np.concatenate([gradient.ravel() for gradient in gradients])
        self.model.arcs.update(batch, flat, self.rules["arc"], threads)
        return loss + self._learn_labels(batch)

    def _learn_labels(self, batch: Encoded) -> float:
        heads, labels = batch.gold_arcs()
        arcs, rule = Arcs.of_trees(batch, heads), self.rules["label"]
        return learn_labels(self.model.label_scorer, arcs, labels, rule, self.options.threads)

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the mean of the weights.

        UAS decides where none of their labels is known, and LAS can only be 0.
        """
        if self.dev is None:
            return {}
        current = self.model.state()
        self.model.load_state(self._means())
        scores = attachment(self.model, self.dev, self.options)
        self.model.load_state(current)
        return scores if (self.dev.gold_arcs()[1] >= 0).any() else dict(reversed(scores.items()))

    def _means(self) -> dict[str, NDArray[Any]]:
        return {name: rule.mean() for name, rule in self.rules.items()}

    def keep(self) -> None:
        """Remember the mean of the weights."""
        self.kept = self._means()


def _family(options: GraphOptions) -> tuple[type[TreeDistribution[Any]], RootRule]:
    """The trees to learn, and their root rule."""
    return ProjectiveTrees if options.projective else SpanningTrees, options.root or "single"


def _learnable(data: Encoded, options: GraphOptions) -> list[Ints]:
    projective, (_, root) = bool(options.projective), _family(options)
    return [
        learnable_heads(data.gold_heads(s), projective=projective, root=root)
        for s in range(len(data))
    ]


def learn_labels(
    scorer: LabelScorer, arcs: Arcs, labels: Ints, rule: Rule, threads: int | None
) -> float:
    """One log-linear step of the labels of arcs; a head or a label of -1 is not known."""
    known = (arcs.heads >= 0) & (labels >= 0)
    arcs, labels = arcs.only(known), labels[known]
    gradient = scorer.scores(arcs, threads)
    loss: float = log_softmax(gradient, labels)
    # d loss / d score[l] = p(l) - [l is gold]
    np.exp(gradient, out=gradient)
    gradient[np.arange(len(labels)), labels] -= 1.0
    scorer.update(arcs, gradient, rule, threads)
    return loss


def adagrad(table: WeightTable, options: GraphOptions) -> Rule:
    """The rule of log-linear weights."""
    return AdaGrad(table, rate=options.rate, inertia=options.inertia, l1=options.l1, l2=options.l2)


def _arc_rule(table: WeightTable, options: GraphOptions) -> Rule:
    return adagrad(table, options) if options.learner == "loglinear" else Perceptron(table)


def attachment(model: LinearModel, gold: Encoded, options: GraphOptions) -> dict[str, float]:
    """LAS and UAS of the best trees; see `Encoded.attachment_scores`."""
    trees, root = _family(options)
    scores = LinearScores(model, gold, options.threads)
    best = trees(scores.arcs, root=root, threads=options.threads).argmax()
    log_probs = scores.label_log_probs([tree_arcs(tree.heads) for tree in best])
    labels = np.concatenate([logs.argmax(axis=1) for logs in log_probs])
    return gold.attachment_scores(np.concatenate([t.heads for t in best]), labels, model.labels)


def calibrate(model: LinearModel, held_out: Encoded, options: GraphOptions | None = None) -> None:
    """Fit the temperatures of arcs and of labels on sentences that were not trained on."""
    chosen = options or GraphOptions()
    trees, root = _family(chosen)
    model.arc_temperature = model.label_temperature = 1.0
    scores = model.arc_scores(held_out, chosen.threads)
    heads = _learnable(held_out, chosen)

    def arc_loss(temperature: float) -> float:
        cooled = [one / temperature for one in scores]
        return log_linear(trees, cooled, heads, root, chosen.threads)[0]

    gold, labels = held_out.gold_arcs()
    known = (gold >= 0) & (labels >= 0)
    arcs = Arcs.of_trees(held_out, gold).only(known)
    label_scores = model.label_scorer.scores(arcs, chosen.threads)

    def label_loss(temperature: float) -> float:
        loss: float = log_softmax(label_scores / temperature, labels[known])
        return loss

    model.arc_temperature = fit_temperature(arc_loss)
    if known.any():
        model.label_temperature = fit_temperature(label_loss)

"""Training the model of second or third order.

A first-order model is trained, and models of folds of the treebank, which prune the arcs of the
sentences that they have not seen: so training prunes as parsing does. Gold arcs are always kept.
Then passes over the treebank change the weights of arcs and parts by an objective of
`crossarc.models.higher_order.objectives`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import (
    GROUPS,
    Perceptron,
    Progress,
    Rule,
    WeightTable,
    learnable_heads,
    run_passes,
)
from crossarc.models.encode import Encoded
from crossarc.models.first_order.model import LinearModel
from crossarc.models.first_order.scorers import TABLE_BITS, Arcs
from crossarc.models.first_order.training import adagrad, learn_labels, train_linear
from crossarc.models.graph import GraphOptions
from crossarc.models.higher_order.calibration import calibrate
from crossarc.models.higher_order.model import FactoredScores, HigherOrderModel
from crossarc.models.higher_order.objectives import Gradient, Trees, log_linear, max_margin
from crossarc.models.higher_order.pruning import surviving_arcs
from crossarc.treebank import Sentence

__all__ = ["train_higher_order"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# For pruning, models of folds need not be exact: arcs with a small derivative are left out.
_FOLDS, _FOLD_PASSES, _FOLD_DERIVATIVE = 4, 3, 1e-2
# Less probable arcs are pruned, given whether trees are projective (docs/parser.md).
_THRESHOLDS = {False: 2e-3, True: 2e-4}
# Margins say nothing of probabilities: without held-out sentences, about what fits Latin-Perseus.
_MARGIN_TEMPERATURE = 0.45
_LABEL_RATE = 0.1


def train_higher_order(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    options: GraphOptions,
    progress: Callable[[Progress], None] | None = None,
) -> HigherOrderModel:
    """A model of a treebank; heads that are missing are learnt around.

    Args:
        dev: held-out sentences: the pass that labels most of their arcs right is kept, and the
            temperature is fitted on them.

    Raises:
        ModelError: there is no sentence with heads to learn from, or none among those held out.
    """
    chosen = options.resolved(sentences)
    first = _train_first(sentences, dev, chosen, progress)
    allowed = _fold_arcs(sentences, chosen, progress)
    trees = Trees(bool(chosen.projective), chosen.root or "single", chosen.threads)
    model = HigherOrderModel(
        first,
        order=chosen.order,
        projective=trees.projective,
        root=trees.root,
        threshold=_THRESHOLDS[trees.projective],
    )
    task = _Task(model, trees, sentences, dev, allowed, chosen)
    run_passes(
        task,
        passes=chosen.passes,
        batch=chosen.batch,
        seed=chosen.seed,
        patience=chosen.patience,
        progress=progress,
    )
    model.load_state(task.kept)
    model.freeze(chosen.max_weights)
    if chosen.learner == "maxmargin":
        model.temperature = _MARGIN_TEMPERATURE
    if task.dev is not None:
        calibrate(model, task.dev, trees)
    return model


def _train_first(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence],
    options: GraphOptions,
    progress: Callable[[Progress], None] | None,
    *,
    is_fold: bool = False,
) -> LinearModel:
    """A log-linear model of arcs; its progress has no scores, which are those of the whole.

    Args:
        is_fold: whether it only prunes: it has no labels then, and less exact weights.
    """
    own = GraphOptions(
        projective=options.projective,
        root=options.root,
        seed=options.seed,
        threads=options.threads,
        max_weights=options.max_weights,
    )
    model = None
    if is_fold:
        own = replace(own, passes=_FOLD_PASSES, least_derivative=_FOLD_DERIVATIVE)
        model = LinearModel.build(sentences, label_bits=TABLE_BITS[0])
    report = None if progress is None else lambda state: progress(replace(state, scores={}))
    return train_linear(
        sentences, dev, options=own, model=model, labels=not is_fold, progress=report
    )


def _fold_arcs(
    sentences: Sequence[Sentence],
    options: GraphOptions,
    progress: Callable[[Progress], None] | None,
) -> list[Bools]:
    """The arcs [h, m] that survive in each sentence, by a model of other sentences."""
    folds = np.arange(len(sentences)) % _FOLDS
    kept: list[Bools] = [np.empty(0, np.bool_)] * len(sentences)
    for fold in range(_FOLDS):
        others = [one for one, k in zip(sentences, folds, strict=True) if k != fold]
        if not any((one.heads >= 0).any() for one in others):
            others = list(sentences)
        pruner = _train_first(others, (), options, progress, is_fold=True)
        numbers = np.flatnonzero(folds == fold).tolist()
        encoded = pruner.encode([sentences[k] for k in numbers], gold=True)
        for k, allowed in zip(numbers, _pruned(pruner, encoded, options), strict=True):
            kept[k] = allowed
    return kept


def _pruned(pruner: LinearModel, encoded: Encoded, options: GraphOptions) -> list[Bools]:
    """The surviving arcs, gold arcs among them, and arcs of trees with the heads that are known."""
    rules: dict[str, Any] = {
        "projective": bool(options.projective),
        "root": options.root or "single",
        "threshold": _THRESHOLDS[bool(options.projective)],
        "threads": options.threads,
    }
    squares = encoded.split_arcs(surviving_arcs(pruner, encoded, **rules))
    for index, allowed in enumerate(squares):
        heads = _learnable(encoded, index, options)
        words = np.flatnonzero(heads >= 0) + 1
        allowed[heads[words - 1], words] = True
        if 0 < len(words) < len(heads):
            one = encoded.select(np.array([index]))
            allowed |= one.split_arcs(surviving_arcs(pruner, one, [heads], **rules))[0]
    return squares


def _learnable(encoded: Encoded, index: int, options: GraphOptions) -> Ints:
    return learnable_heads(
        encoded.gold_heads(index),
        projective=bool(options.projective),
        root=options.root or "single",
    )


class _Task:
    """A model, the sentences it learns from, and those it is measured on."""

    def __init__(
        self,
        model: HigherOrderModel,
        trees: Trees,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        allowed: list[Bools],
        options: GraphOptions,
    ) -> None:
        self.model, self.options, self._trees = model, options, trees
        self.data = model.encode(sentences, gold=True)
        self.sizes = self.data.sizes
        self.dev = model.encode(dev, gold=True) if dev else None
        self._dev_allowed = model.surviving(self.dev, threads=options.threads) if self.dev else None
        self._heads = [_learnable(self.data, index, options) for index in range(len(self.data))]
        self._allowed = allowed
        self.rules = {
            name: _rule(WeightTable(scorer.thaw()), options)
            for name, scorer in model.factored.items()
        }
        self._label_rule = adagrad(
            WeightTable(model.label_scorer.thaw()), replace(options, rate=_LABEL_RATE)
        )
        self._arcs = model.tree_arcs(self.data, self.data.heads)
        self.kept: dict[str, NDArray[Any]] = {}

    def begin_pass(self, number: int) -> None:
        """Leave the first pass, whose weights know little yet, out of the mean."""
        if number == 2:
            for rule in (*self.rules.values(), self._label_rule):
                rule.restart_mean()

    def learn(self, sentences: Ints) -> float:
        """One step, with the weights as they are for the whole batch."""
        batch, numbers = self.data.select(sentences), sentences.tolist()
        allowed = np.concatenate([self._allowed[s].ravel() for s in numbers])
        scores = FactoredScores(self.model, batch, allowed, self.options.threads)
        heads = [self._heads[s] for s in numbers]
        if self.options.learner == "loglinear":
            loss, gradient = log_linear(self._trees, scores, heads)
        else:
            cost = 0.0 if self.options.learner == "perceptron" else 1.0
            loss, gradient = max_margin(self._trees, scores, heads, cost)
        self._gather(batch, gradient)
        if self.options.learner == "mira":
            self._scale_gradient(gradient.violation)
        for rule in self.rules.values():
            for group in range(GROUPS):
                rule.step(group)
            rule.advance()
        return loss + self._learn_labels(batch)

    def _learn_labels(self, batch: Encoded) -> float:
        """A step of the labels, given the gold trees."""
        heads, labels = batch.gold_arcs()
        arcs = Arcs.of_trees(replace(batch, codes=self._arcs.codes), heads)
        return learn_labels(
            self.model.label_scorer, arcs, labels, self._label_rule, self.options.threads
        )

    def _gather(self, batch: Encoded, gradient: Gradient) -> None:
        threads = self.options.threads
        self.model.arcs.gather(batch, gradient.arcs, self.rules["arc"].table, threads)
        for name, scorer in self.model.parts.items():
            scorer.gather(batch, *gradient.parts[name], self.rules[name].table, threads)

    def _scale_gradient(self, violation: float) -> None:
        """MIRA (Crammer et al. 2006): the least change under which the batch has its margin."""
        entries = [
            (rule.table.gradient, rule.table.touched(group))
            for rule in self.rules.values()
            for group in range(GROUPS)
        ]
        norm = sum(
            float(np.square(table[slots], dtype=np.float64).sum()) for table, slots in entries
        )
        factor = violation / norm if norm > 0.0 else 0.0
        for table, slots in entries:
            table[slots] *= np.float32(factor)

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the mean of the weights.

        UAS decides where none of their labels is known, and LAS can only be 0.
        """
        if self.dev is None or self._dev_allowed is None:
            return {}
        current = {name: scorer.weights for name, scorer in self.model.scorers.items()}
        for name, weights in self._means().items():
            self.model.scorers[name].weights = weights
        scores = FactoredScores(self.model, self.dev, self._dev_allowed, self.options.threads)
        best = self._trees.best(scores.arcs, scores.factors)
        labels = np.concatenate([logs.argmax(axis=1) for logs in scores.tree_label_log_probs(best)])
        for name, own in current.items():
            self.model.scorers[name].weights = own
        found = self.dev.attachment_scores(np.concatenate(best), labels, self.model.labels)
        return found if (self.dev.gold_arcs()[1] >= 0).any() else dict(reversed(found.items()))

    def _means(self) -> dict[str, NDArray[Any]]:
        own = {name: rule.mean() for name, rule in self.rules.items()}
        return {**own, "label": self._label_rule.mean()}

    def keep(self) -> None:
        """Remember the mean of the weights."""
        self.kept = self._means()


def _rule(table: WeightTable, options: GraphOptions) -> Rule:
    if options.learner in ("perceptron", "mira"):
        return Perceptron(table)
    return adagrad(table, options)

"""Training the linear model: arcs and labels in the same passes, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.learning import (
    LBFGS,
    AdaGrad,
    ConjugateGradient,
    Descent,
    Objective,
    PassState,
    Perceptron,
    Progress,
    Rule,
    WeightTable,
    fit_temperature,
    log_linear,
    max_margin,
    perceptron,
    run_passes,
)
from crossarc.models.checkpoints import Checkpoint, joined, section
from crossarc.models.encode import Encoded
from crossarc.models.first_order.labels import log_softmax
from crossarc.models.first_order.learners.learners import (
    ArcLearner,
    DescentLearner,
    DualLearner,
    MiraLearner,
    StepLearner,
)
from crossarc.models.first_order.learners.problem import ArcProblem, Trees
from crossarc.models.first_order.model import LinearModel, LinearScores
from crossarc.models.first_order.scorers import Arcs, LabelScorer
from crossarc.models.graph import GraphOptions
from crossarc.models.protocol import tree_arcs
from crossarc.treebank import Sentence

__all__ = [
    "adagrad",
    "arc_learner",
    "attachment",
    "calibrate",
    "learn_labels",
    "train_linear",
    "trees_of",
]

Ints = NDArray[np.int64]

_OBJECTIVES: dict[str, Objective] = {
    "loglinear": log_linear,
    "maxmargin": max_margin,
    "perceptron": perceptron,
}
_DESCENTS: dict[str, type[Descent]] = {"cg": ConjugateGradient, "lbfgs": LBFGS}
# Where no C is given. The first rate of exponentiated gradient is 1 / C, and overshoots where C is
# large: the objective then falls for many passes before the rate is small enough.
_C = {"loglinear": 0.5, "maxmargin": 0.03, "mira": 0.1}
_DUAL_C = {"loglinear": 0.05, "maxmargin": 0.03}
# Exponentiated gradient leaves marginals for later that change by less.
_LEAST_CHANGE = 1e-5
_LABEL_PASSES, _LABEL_RATE = 6, 0.1


def train_linear(
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] = (),
    *,
    options: GraphOptions | None = None,
    model: LinearModel | None = None,
    labels: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> LinearModel:
    """A model of a treebank; heads that are missing are learnt around.

    Args:
        dev: held-out sentences: the pass that labels most of their arcs right is kept, and
            temperatures are fitted on them.
        model: the model to train, by default one built from the sentences.
        labels: whether labels are learnt, too; arcs do not depend on them.

    Raises:
        ModelError: there is no sentence with heads to learn from, or none among those held out.
    """
    if not any((one.heads >= 0).any() for one in sentences):
        raise ModelError("there is nothing to learn from: no sentence has a head")
    if dev and not any((one.heads >= 0).any() for one in dev):
        raise ModelError("no held-out sentence has a head: give some with trees, or none at all")
    chosen = (options or GraphOptions()).resolved(sentences)
    task = _LinearTask(model or LinearModel.build(sentences), sentences, dev, chosen, labels)
    checkpoint = Checkpoint(chosen.checkpoint, _identity(task, chosen))
    run_passes(
        task,
        passes=chosen.passes,
        batch=chosen.batch if task.learner.in_batches else len(sentences),
        seed=chosen.seed,
        patience=chosen.patience,
        progress=progress,
        start=task.resume(checkpoint),
        on_pass=None if chosen.checkpoint is None else partial(task.save, checkpoint),
    )
    task.model.load_state(task.kept)
    task.model.freeze(chosen.max_weights)
    if task.dev is not None:
        calibrate(task.model, task.dev, chosen)
    checkpoint.remove()
    return task.model


def _identity(task: _LinearTask, options: GraphOptions) -> dict[str, Any]:
    """What must be the same for a training to resume."""
    own = asdict(options)
    for name in ("threads", "checkpoint"):
        del own[name]
    return own | {"words": int(task.sizes.sum()), "sentences": len(task.sizes)}


class _LinearTask:
    """A model, the sentences it learns from, and those it is measured on."""

    def __init__(
        self,
        model: LinearModel,
        sentences: Sequence[Sentence],
        dev: Sequence[Sentence],
        options: GraphOptions,
        labels: bool = True,
    ) -> None:
        self.model, self.options, self._has_labels = model, options, labels
        self.data = model.encode(sentences, gold=True)
        self.dev = model.encode(dev, gold=True) if dev else None
        self.sizes = self.data.sizes
        problem = ArcProblem.of(model.arcs, self.data, trees_of(options))
        self.learner = arc_learner(problem, options)
        self._labels = adagrad(
            WeightTable(model.label_scorer.thaw()), replace(options, rate=_LABEL_RATE)
        )
        self._number = 0
        self.kept = model.state()

    @property
    def objective(self) -> float | None:
        """Of all sentences, where the learner knows it."""
        return self.learner.objective

    @property
    def converged(self) -> bool:
        """Whether further passes would change nothing."""
        return self.learner.converged

    def begin_pass(self, number: int) -> None:
        """Leave the first pass, whose weights know little yet, out of the mean."""
        self._number = number
        self.learner.begin_pass(number)
        if number == 2:
            self._labels.restart_mean()

    def learn(self, sentences: Ints) -> float:
        """Learn arcs and labels from a batch, which may be all sentences."""
        loss = self.learner.learn(sentences)
        # Labels are learnt in steps, and long before a descent has made its many passes.
        is_early = self.learner.in_batches or self._number <= _LABEL_PASSES
        if self._has_labels and is_early:
            for begin in range(0, len(sentences), self.options.batch):
                loss += self._learn_labels(sentences[begin : begin + self.options.batch])
        return loss

    def _learn_labels(self, sentences: Ints) -> float:
        batch = self.data.select(sentences)
        heads, labels = batch.gold_arcs()
        arcs = Arcs.of_trees(batch, heads)
        return learn_labels(
            self.model.label_scorer, arcs, labels, self._labels, self.options.threads
        )

    def end_pass(self, number: int) -> dict[str, float]:
        """LAS and UAS of the held-out sentences, under the weights that would be kept.

        UAS decides where none of their labels is known, and LAS can only be 0.
        """
        self.learner.end_pass()
        if self.dev is None:
            return {}
        current = self.model.state()
        self.model.load_state(self._learnt())
        scores = attachment(self.model, self.dev, self.options)
        self.model.load_state(current)
        return scores if (self.dev.gold_arcs()[1] >= 0).any() else dict(reversed(scores.items()))

    def _learnt(self) -> dict[str, NDArray[Any]]:
        return {"arc": self.learner.weights(), "label": self._labels.mean()}

    def keep(self) -> None:
        """Remember the weights."""
        self.kept = self._learnt()

    def save(self, checkpoint: Checkpoint, state: PassState) -> None:
        """Write a checkpoint."""
        arrays = joined(arcs=self.learner.state(), labels=self._labels.state(), kept=self.kept)
        best = None if math.isinf(state.best) else state.best
        checkpoint.save(arrays, {"made": state.made, "best": best, "kept": state.kept})

    def resume(self, checkpoint: Checkpoint) -> PassState:
        """Go on where a checkpoint was written, if there is one."""
        found = checkpoint.load()
        if found is None:
            return PassState()
        arrays, state = found
        self.learner.load_state(section(arrays, "arcs"))
        self._labels.load_state(section(arrays, "labels"))
        self.kept = section(arrays, "kept")
        best = -math.inf if state["best"] is None else state["best"]
        return PassState(state["made"], best, state["kept"])


def trees_of(options: GraphOptions) -> Trees:
    """The trees to learn."""
    projective = bool(options.projective)
    family = ProjectiveTrees if projective else SpanningTrees
    return Trees(family, projective, options.root or "single", options.threads)


def arc_learner(problem: ArcProblem, options: GraphOptions) -> ArcLearner:
    """The learner of the weights of arcs that the options name."""
    if options.optimizer == "eg":
        margin, c = options.learner == "maxmargin", options.c or _DUAL_C[options.learner]
        return DualLearner(problem, margin=margin, c=c, least=_LEAST_CHANGE)
    c = options.c or _C.get(options.learner, 1.0)
    if options.optimizer in _DESCENTS:
        return DescentLearner(problem, log_linear, _DESCENTS[options.optimizer], c=c)
    if options.learner == "mira":
        return MiraLearner(
            problem,
            kbest=options.kbest,
            cost_augmented=options.cost_augmented,
            c=c,
            averaged=options.averaged,
        )
    table = WeightTable(problem.scorer.thaw())
    rule: Rule = Perceptron(table)
    if options.learner != "perceptron":
        rule = adagrad(table, options, -(-len(problem.data) // options.batch))
    return StepLearner(
        problem,
        _OBJECTIVES[options.learner],
        rule,
        averaged=options.averaged,
        least=options.least_derivative,
    )


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


def adagrad(table: WeightTable, options: GraphOptions, steps: int | None = None) -> Rule:
    """AdaGrad; of the objective with `c` where the steps of a pass are given."""
    penalties = {"l1": options.l1, "l2": options.l2}
    if steps is not None and options.c is not None:
        # C sum of losses + |w|^2 / 2, divided by C, the penalty shared out among the steps.
        penalties = {"l1": 0.0, "l2": 0.0, "decay": 1.0 / (options.c * steps)}
    return AdaGrad(table, rate=options.rate, inertia=options.inertia, **penalties)


def attachment(model: LinearModel, gold: Encoded, options: GraphOptions) -> dict[str, float]:
    """LAS and UAS of the best trees; see `Encoded.attachment_scores`."""
    scores = LinearScores(model, gold, options.threads)
    best = trees_of(options).best(scores.arcs)
    log_probs = scores.label_log_probs([tree_arcs(heads) for heads in best])
    labels = np.concatenate([logs.argmax(axis=1) for logs in log_probs])
    return gold.attachment_scores(np.concatenate(best), labels, model.labels)


def calibrate(model: LinearModel, held_out: Encoded, options: GraphOptions | None = None) -> None:
    """Fit the temperatures of arcs and of labels on sentences that were not trained on."""
    chosen = options or GraphOptions()
    trees = trees_of(chosen)
    model.arc_temperature = model.label_temperature = 1.0
    scores = model.arc_scores(held_out, chosen.threads)
    heads = trees.learnable(held_out)

    def arc_loss(temperature: float) -> float:
        cooled = [one / temperature for one in scores]
        return log_linear(trees.family, cooled, heads, trees.root, chosen.threads)[0]

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

"""The learners of the weights of arcs: in steps, by descent, and in the dual.

Each makes passes over the sentences. A learner in steps changes the weights after every batch; the
others treat all sentences as one batch, so that a pass is one iteration.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.learning import (
    GROUPS,
    Descent,
    DualSentences,
    Objective,
    Perceptron,
    Rule,
    WeightTable,
    completed_heads,
    margin_step,
    tree_differences,
    wrong_arcs,
)
from crossarc.models.first_order.learners.problem import ArcProblem, FullObjective, flat
from crossarc.models.first_order.scorers import LEAST_DERIVATIVE

__all__ = ["ArcLearner", "DescentLearner", "DualLearner", "MiraLearner", "StepLearner"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


class ArcLearner(ABC):
    """A way to learn the weights of arcs.

    Attributes:
        in_batches: it learns from batches; else from all sentences at once.
        objective: after a pass, of all sentences; None where the learner does not know it.
        converged: further passes would change nothing.
    """

    in_batches = True
    objective: float | None = None
    converged = False

    def __init__(self, problem: ArcProblem) -> None:
        self.problem = problem

    def begin_pass(self, number: int) -> None:
        """Called before each pass, counted from 1."""
        return

    @abstractmethod
    def learn(self, sentences: Ints) -> float:
        """Learn from some sentences; returns their loss."""

    def end_pass(self) -> None:
        """Called after each pass."""
        return

    def weights(self) -> Singles:
        """What was learnt so far."""
        return self.problem.scorer.copy_weights()

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """All that later passes depend on."""

    @abstractmethod
    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""


class _RuleLearner(ArcLearner):
    """Steps by a rule, and the mean of the weights over them.

    Args:
        averaged: what was learnt is the mean of the weights over all steps after the first pass,
            whose weights know little yet; else the weights after the last step.
    """

    def __init__(self, problem: ArcProblem, rule: Rule, *, averaged: bool) -> None:
        super().__init__(problem)
        self._rule, self._averaged = rule, averaged

    def begin_pass(self, number: int) -> None:
        """Leave the first pass out of the mean."""
        if number == 2:
            self._rule.restart_mean()

    def end_pass(self) -> None:
        """Bring weights up to date that were not touched."""
        self._rule.refresh()

    def weights(self) -> Singles:
        """The mean of the weights, or the last ones."""
        return self._rule.mean() if self._averaged else super().weights()

    def state(self) -> dict[str, NDArray[Any]]:
        """That of the rule."""
        return self._rule.state()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        self._rule.load_state(state)


class StepLearner(_RuleLearner):
    """A step down the gradient of an objective after every batch.

    Args:
        least: derivatives up to this in the score of an arc are left out.
    """

    def __init__(
        self,
        problem: ArcProblem,
        objective: Objective,
        rule: Rule,
        *,
        averaged: bool = True,
        least: float = LEAST_DERIVATIVE,
    ) -> None:
        super().__init__(problem, rule, averaged=averaged)
        self._loss, self._least = objective, least

    def learn(self, sentences: Ints) -> float:
        """One step, with the weights as they are for the whole batch."""
        loss, gradient = self.problem.loss(self._loss, sentences)
        self.problem.update(sentences, gradient, self._rule, self._least)
        return loss


class MiraLearner(_RuleLearner):
    """MIRA: after each sentence the least change that beats its k best trees by their errors.

    McDonald, Crammer & Pereira (2005); Crammer et al. (2006).

    Args:
        kbest: how many trees must be beaten.
        cost_augmented: they are the best by score and number of errors, not by score alone.
        c: the most that the steps of a sentence may sum to, in feature differences of trees.
    """

    def __init__(
        self,
        problem: ArcProblem,
        *,
        kbest: int = 1,
        cost_augmented: bool = True,
        c: float = math.inf,
        averaged: bool = True,
    ) -> None:
        self._table = WeightTable(problem.scorer.thaw())
        super().__init__(problem, Perceptron(self._table), averaged=averaged)
        self._kbest, self._augmented, self._c = kbest, cost_augmented, c

    def learn(self, sentences: Ints) -> float:
        """A step for each sentence; returns the wrong heads of their best trees."""
        loss = 0
        for number in sentences.tolist():
            one = np.array([number])
            [scores] = self.problem.scores(one)
            guesses, right = self._trees(scores, self.problem.heads[number])
            loss += int(np.count_nonzero(guesses[0] != right))
            others = [guess for guess in guesses if (guess != right).any()]
            if others:
                step = self._step(one, scores, others, right)
                self.problem.update(one, step.ravel(), self._rule, least=0.0)
            else:
                self._rule.advance()
        return float(loss)

    def _trees(self, scores: Floats, gold: Ints) -> tuple[list[Ints], Ints]:
        """The trees to beat, and the gold tree."""
        family, root = self.problem.trees.family, self.problem.trees.root
        raised = scores + wrong_arcs(gold) if self._augmented else scores
        found = family(raised, root=root, threads=1)
        best = [found.argmax()] if self._kbest == 1 else list(found.kbest(self._kbest))
        guesses = [tree.heads for tree in best]
        [right] = completed_heads(family, [scores], [gold], guesses[:1], root)
        return guesses, right

    def _step(self, sentence: Ints, scores: Floats, guesses: list[Ints], gold: Ints) -> Floats:
        """What to do to the weights, as a gradient in the scores of arcs."""
        # Of arcs that only the guess has, less those that only the gold tree has.
        differences = tree_differences(guesses, [gold] * len(guesses))
        errors = [np.count_nonzero(guess != gold) for guess in guesses]
        margins = [float((scores * one).sum()) for one in differences]
        violations = np.array(errors) + np.array(margins)
        steps = margin_step(self._gram(sentence, differences), violations, self._c)
        total: Floats = np.tensordot(steps, np.array(differences), axes=1)
        return total

    def _gram(self, sentence: Ints, differences: list[Floats]) -> Floats:
        """Dot products of the features of differences of trees."""
        sparse = []
        for difference in differences:
            self.problem.gather(sentence, difference.ravel(), self._table)
            slots = np.concatenate([self._table.touched(group) for group in range(GROUPS)])
            sparse.append((slots, self._table.gradient[slots].astype(np.float64)))
            self._table.gradient[slots] = 0.0
        gram = np.empty((len(sparse), len(sparse)))
        scratch = self._table.gradient
        for i, (slots, values) in enumerate(sparse):
            scratch[slots] = values
            for j, (others, their) in enumerate(sparse):
                gram[i, j] = float(scratch[others] @ their)
            scratch[slots] = 0.0
        return gram


class DescentLearner(ArcLearner):
    """Iterations of a descent of C times the loss of all sentences plus |w|^2 / 2."""

    in_batches = False

    def __init__(
        self, problem: ArcProblem, objective: Objective, descent: type[Descent], *, c: float
    ) -> None:
        super().__init__(problem)
        self._c = c
        start = problem.scorer.thaw().astype(np.float64)
        self._descent = descent(FullObjective(problem, objective, c), start)

    def learn(self, sentences: Ints) -> float:
        """One iteration, whatever the sentences: it is the one of all of them."""
        self._descent.iterate()
        point = self._descent.point
        self.problem.scorer.thaw()[:] = point
        self.objective, self.converged = self._descent.value, self._descent.converged
        return (self._descent.value - float(point @ point) / 2.0) / self._c

    def state(self) -> dict[str, NDArray[Any]]:
        """That of the descent."""
        return self._descent.state()

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        self._descent.load_state(state)
        self.problem.scorer.thaw()[:] = self._descent.point


class DualLearner(ArcLearner):
    """Exponentiated gradient, sentence by sentence in their order (Koo et al. 2007, Figure 2).

    Only sentences with all their heads are learnt from; one whose tree is of another kind has the
    nearest tree that is (footnote 4).

    Args:
        margin: max-margin; else log-linear.
        least: see `DualSentences`.
    """

    in_batches = False

    def __init__(self, problem: ArcProblem, *, margin: bool, c: float, least: float = 0.0) -> None:
        super().__init__(problem.whole())
        if not len(self.problem.data):
            raise ModelError(
                "exponentiated gradient learns from sentences with all heads, and there is none: "
                "use another optimizer"
            )
        self._c = c
        self._table = WeightTable(problem.scorer.thaw())
        trees = self.problem.trees
        self._dual = DualSentences(
            trees.family,
            self.problem.heads,
            margin=margin,
            c=c,
            root=trees.root,
            least=least,
            threads=trees.threads,
        )
        self._table.weights[:] = 0.0
        self._add(np.arange(len(self.problem.data)), flat(self._dual.initial_gradients()))

    def _add(self, sentences: Ints, gradient: Floats) -> None:
        """Add C times the features of arcs, each so many times, to the weights."""
        gradient *= self._c
        self.problem.gather(sentences, gradient, self._table)
        for group in range(GROUPS):
            slots = self._table.touched(group)
            self._table.weights[slots] += self._table.gradient[slots]
            self._table.gradient[slots] = 0.0

    def learn(self, sentences: Ints) -> float:
        """A step for each sentence; returns the sum of their terms of the dual objective."""
        for index in range(len(self.problem.data)):
            one = np.array([index])
            [scores] = self.problem.scores(one)
            self._add(one, self._dual.step(index, scores).ravel())
        squared_norm = self._squared_norm()
        self.objective = self._dual.end_pass(squared_norm)
        return (self.objective + squared_norm / 2.0) / self._c

    def _squared_norm(self) -> float:
        weights = self._table.weights
        return float(np.square(weights, dtype=np.float64).sum())

    def change_c(self, c: float) -> None:
        """Go on with another C from the distributions that were found: a warm start."""
        self._table.weights *= np.float32(c / self._c)
        self._c = c
        self._dual.rescale(c)

    def state(self) -> dict[str, NDArray[Any]]:
        """The dual variables, and the weights."""
        return self._dual.state() | {"weights": self._table.weights.copy()}

    def load_state(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on where `state` was taken."""
        self._dual.load_state(state)
        self._table.weights[:] = state["weights"]
        self.objective = self._dual.objective

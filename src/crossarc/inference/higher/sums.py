"""What is asked of all trees of a sentence: sums over them, by belief propagation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError
from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.face import facts
from crossarc.inference.factors import Given
from crossarc.inference.higher.beliefs import (
    BP_ITERATIONS,
    BP_TOLERANCE,
    NO_TREES,
    Beliefs,
    bp_options,
    propagate,
)
from crossarc.inference.higher.branching import solve
from crossarc.inference.higher.interpolation import FirstOrder, Interpolation
from crossarc.inference.higher.packing import arcs_of, problems_of
from crossarc.inference.higher.problem import FACTORS, Arcs, Problem, Problems, problem_view
from crossarc.inference.higher.tables import FactorTable, tree_scores
from crossarc.inference.hooks import require_room
from crossarc.inference.projective.model import read_limits
from crossarc.inference.questions.likelihood import arc_scores
from crossarc.inference.runtime.answers import Answers
from crossarc.inference.runtime.arguments import one_each
from crossarc.inference.runtime.batch import Batch, Scores
from crossarc.inference.typed import Root, check_root
from crossarc.once import once
from crossarc.parallel import thread_count
from crossarc.trees import Tree

__all__ = ["TreeSums"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")


class TreeSums:
    """The packed sentences of `HigherOrderTrees`, and sums over their trees."""

    # As of `TreeHooks`, measured at 1,200 and 3,000 words; dual decomposition may take longer.
    arc_bytes: ClassVar[float] = 250.0
    cubic_seconds: ClassVar[float] = 0.6e-9

    def __init__(
        self,
        scores: Scores,
        *,
        root: Root = "single",
        sibling: Given | Sequence[Given] | None = None,
        grandchild: Given | Sequence[Given] | None = None,
        grand_sibling: Given | Sequence[Given] | None = None,
        tri_sibling: Given | Sequence[Given] | None = None,
        max_modifiers: Any = None,
        first_order: FirstOrder | Sequence[FirstOrder] | None = None,
        lengths: Sequence[int] | None = None,
        bp_tolerance: float = BP_TOLERANCE,
        bp_iterations: int = BP_ITERATIONS,
        threads: int | None = None,
    ) -> None:
        check_root(root)
        if threads is not None:
            thread_count(threads)
        self.root: Root = root
        self._bp_options = bp_options(bp_tolerance, bp_iterations)
        require_room(type(self), scores)
        self._batch, self._threads = Batch(scores, lengths), threads
        self._limits = None if max_modifiers is None else read_limits(max_modifiers, self._batch)
        self._interpolation = None
        if first_order is not None:
            self._interpolation = Interpolation(first_order, self._batch, root)
        given = (sibling, grandchild, grand_sibling, tri_sibling)
        self._factors = {
            factor.name: FactorTable(factor, one, self._batch, self._arcs)
            for factor, one in zip(FACTORS, given, strict=True)
            if one is not None
        }

    def __repr__(self) -> str:
        arguments = [*self._factors, *([] if self._limits is None else ["max_modifiers"])]
        return f"<HigherOrderTrees: {', '.join(facts(self._batch, self.root, arguments))}>"

    # Sums over trees, by belief propagation.

    def log_partition(self) -> Any:
        """The Bethe approximation of the log of the summed weight of all trees; -inf without one.

        Exact with arc scores only.
        """
        return self._each(lambda index: self._beliefs[index].log_partition)

    def marginals(self, part: str = "arc") -> Any:
        """Approximate probability of each arc, in the shape of the scores; read-only.

        Exact with arc scores only. `first_order` has its share in those of arcs.

        Args:
            part: "arc", or a factor for its parts: in its shape, or for `Parts` one number each.
        """
        if part != "arc" and part not in self._factors:
            known = ", ".join(["arc", *self._factors])
            raise ValueError(f"part must be one of {known}: got {part!r}")
        return self._each(lambda index: self._marginals(index, part))

    def entropy(self) -> Any:
        """The Bethe approximation of the entropy, in nats: log Z minus the expected score.

        With `first_order`, the mean of it and of the exact one, by their shares.
        """
        return self._each(self._entropy)

    def log_prob(self, tree: Tree | Sequence[Tree]) -> Any:
        """The score of a tree minus the Bethe approximation of log Z; for a batch, of a list.

        Args:
            tree: without labels under labelled scores, their weights are summed; -inf for a tree
                that is not possible.
        """
        trees = one_each(self._batch, tree, Tree)
        return self._each(lambda index: self._log_prob(index, trees[index]))

    def convergence(self) -> Any:
        """How belief propagation ended: iterations, the largest change of a message in the last."""
        return self._each(lambda index: self._beliefs[index].convergence)

    # Sentence `index`.

    def _node_limits(self, index: int) -> Ints:
        n = self._batch.width(index) - 1
        limits = np.full(n + 1, n) if self._limits is None else self._limits[index].copy()
        if self.root == "single":
            limits[0] = min(1, limits[0])
        return limits

    @once
    def _arcs(self) -> Arcs:
        limits = [self._node_limits(index) for index in range(len(self._batch))]
        return arcs_of(self._batch.arcs, self._batch.sizes, limits)

    @once
    def _problems(self) -> Problems:
        tables = {name: (one.values, one.offsets) for name, one in self._factors.items()}
        return problems_of(self._arcs, self._batch.arcs, tables)

    def _problem(self, index: int) -> Problem:
        return problem_view(self._problems, index)

    def _tables(self, index: int) -> dict[str, Floats]:
        return {name: one.table(index) for name, one in self._factors.items()}

    @once
    def _answers(self) -> Answers:
        return Answers((self._batch.sizes**3 + 1000).tolist(), self._threads)

    def _each(self, answer: Callable[[int], T]) -> T | list[T]:
        return self._listed(self._answers.all(answer))

    def _listed(self, answers: list[T]) -> T | list[T]:
        return answers if self._batch.is_batch else answers[0]

    def _feasible(self, index: int, answer: T | None) -> T:
        if answer is None:
            raise InfeasibleError(
                f"{self._batch.name(index)}no tree is possible: too many arcs are forbidden, or "
                "constraints contradict each other"
            )
        return answer

    @once
    def _beliefs(self) -> list[Beliefs]:
        return self._answers.all(self._propagate)

    def _propagate(self, index: int) -> Beliefs:
        batch, problem = self._batch, self._problem(index)
        scores = batch.square(index)
        # Belief propagation does not notice that there is no tree within the limits of modifiers
        # and without forbidden parts.
        is_limited = self._limits is not None or self._forbidding(index)
        if is_limited and solve(problem).heads is None:
            return NO_TREES
        if batch.labelled:
            with np.errstate(divide="ignore"):
                scores = scores + np.log(batch.label_sum(index))
        return propagate(problem, scores, self._tables(index), **self._bp_options)

    def _forbidding(self, index: int) -> dict[str, FactorTable]:
        """The factors that forbid parts."""
        return {name: one for name, one in self._factors.items() if one.forbids(index)}

    def _marginals(self, index: int, part: str) -> Floats:
        if part != "arc":
            beliefs = self._beliefs[index]
            self._feasible(index, beliefs.arcs)
            table = self._factors[part].in_given_shape(index, beliefs.parts(part))
        else:
            table = self._arc_beliefs(index)
            if self._interpolation is not None:
                table = self._interpolation.marginals(index, table)
        table.flags.writeable = False
        return table

    def _arc_beliefs(self, index: int) -> Floats:
        """In the shape of the scores."""
        from crossarc.inference.runtime.packing import spread_labels

        batch = self._batch
        arcs = self._feasible(index, self._beliefs[index].arcs)
        if not batch.labelled:
            return arcs
        table = np.empty(batch.labelled[index].shape)
        sums = batch.label_sum(index)
        spread_labels(batch.labelled[index], batch.square(index), sums, arcs, False, table)
        return table

    def _entropy(self, index: int) -> float:
        beliefs = self._beliefs[index]
        expected = [_expectation(self._arc_beliefs(index), self._batch.scores(index))]
        for name, one in self._factors.items():
            expected.append(_expectation(beliefs.parts(name), one.table(index)))
        # That of an approximation may fall below 0.
        bethe = max(0.0, beliefs.log_partition - exact_sum(expected))
        return bethe if self._interpolation is None else self._interpolation.entropy(index, bethe)

    def _log_prob(self, index: int, tree: Tree) -> float:
        arcs, heads = arc_scores(self._batch, index, tree), tree.heads
        counts = np.bincount(heads, minlength=len(heads) + 1)
        if (counts > self._node_limits(index)).any() or -math.inf in arcs:
            return -math.inf
        parts = self._parts_of(index, heads)
        if -math.inf in parts:
            return -math.inf
        return exact_sum([*arcs, *parts]) - self._beliefs[index].log_partition

    def _cells(self, index: int, tree: Tree) -> Floats:
        """The scores of a tree's arcs; without labels, under scores that have labels, of all."""
        own, words = self._batch.scores(index), np.arange(1, len(tree.heads) + 1)
        labels = () if tree.labels is None else (np.asarray(tree.labels),)
        found: Floats = own[(tree.heads, words, *labels)]
        return found

    def _parts_of(self, index: int, heads: Ints) -> list[float]:
        """The scores of the parts of a tree over allowed arcs; 0 for some that it lacks."""
        arcs = self._batch.arcs
        scores = tree_scores(self._arcs, arcs, self._factors, heads, index, index + 1)
        parts: list[float] = scores[:, 1:].reshape(-1).tolist()
        return parts


def _expectation(probabilities: Floats, scores: Floats) -> float:
    used = probabilities > 0.0
    return float(probabilities[used] @ scores[used])

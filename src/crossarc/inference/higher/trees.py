"""Trees that may cross, under factors of several arcs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from numbers import Real
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError
from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.face import facts
from crossarc.inference.factors import Given, weighted
from crossarc.inference.higher.beliefs import (
    BP_ITERATIONS,
    BP_TOLERANCE,
    NO_TREES,
    Beliefs,
    bp_options,
    propagate,
)
from crossarc.inference.higher.branching import TOLERANCE, Solution, solve
from crossarc.inference.higher.problem import FACTORS, FactorTable, Problem, problem_of
from crossarc.inference.higher.ranking import ranked
from crossarc.inference.hooks import require_room
from crossarc.inference.projective.automata.factor import layout_of
from crossarc.inference.projective.automata.layout import Layout
from crossarc.inference.projective.model import read_limits
from crossarc.inference.questions.likelihood import arc_scores
from crossarc.inference.runtime.answers import Answers
from crossarc.inference.runtime.arguments import one_each, tree_number
from crossarc.inference.runtime.batch import Batch, Scores
from crossarc.inference.typed import Root, check_root
from crossarc.once import once
from crossarc.parallel import thread_count
from crossarc.trees import Tree

__all__ = ["HigherOrderTrees", "Method"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")
Method = Literal["dual", "ilp", "substitution", "bp"]

# Certificates of the integer programme allow for the tolerances of its solver.
_ILP_TOLERANCE = 1e-6
# A projective tree is a start of arc substitution where its forest has at most so many instances.
_MOST_INSTANCES = 5_000_000


class HigherOrderTrees:
    """All dependency trees over a sentence, crossing arcs included, under higher-order factors.

    To find the best tree is NP-hard (docs/hardness.md), so each method returns a tree with an upper
    bound on all trees. `tree.is_optimal` says that no tree is better (docs/higher-order.md). Sums
    over trees are approximated by belief propagation; with arc scores only they are exact.

    Args:
        scores: `scores[h, m]` or `scores[h, m, l]`, natural logarithms; a list of such arrays
            is a batch, and methods then return lists. -inf forbids an arc; column 0 and the
            diagonal are never read.
        root: "single" for trees with exactly one word at the root, "multi" for one or more.
        sibling: `sibling[h, s, m]`, one part for every arc h -> m: s is the modifier of h nearest
            to m between h and m, or s = h when there is none. An array (n+1, n+1, n+1), or
            `Parts`; for a batch a list of them. -inf forbids a part.
        grandchild: `grandchild[g, h, m]`, one part for every arc h -> m with h != 0: g is the head
            of h. Likewise an array or `Parts`.
        grand_sibling: `grand_sibling[g, h, s, m]`, one part for every arc h -> m with h != 0: g and
            s as above.
        tri_sibling: `tri_sibling[h, t, s, m]`, one part for every three modifiers of h that follow
            each other on one side, t the innermost.
        max_modifiers: the most modifiers that a node may have: one number for all of them, the
            root included, or n + 1 of them, index 0 the root; for a batch one number or a list.
        lengths: for padded arrays (sentences, n+1, n+1[, labels]): the words of each sentence.
        bp_tolerance, bp_iterations: belief propagation ends when no probability changes by more in
            an iteration, or after so many.
        threads: by default `CROSSARC_THREADS`, else all cores; the result does not depend on it,
            except under a time limit.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
        ValueError: another argument that makes no sense.
    """

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
        given = (sibling, grandchild, grand_sibling, tri_sibling)
        self._factors = {
            factor.name: FactorTable(factor, one, self._batch, self._layouts)
            for factor, one in zip(FACTORS, given, strict=True)
            if one is not None
        }

    def __repr__(self) -> str:
        arguments = [*self._factors, *([] if self._limits is None else ["max_modifiers"])]
        return f"<HigherOrderTrees: {', '.join(facts(self._batch, self.root, arguments))}>"

    # Best trees.

    def argmax(self, method: Method = "dual", time_limit: float | None = None) -> Any:
        """A tree with a high score, the best one where `is_optimal` says so.

        Args:
            method: "dual" for dual decomposition with branch and bound; "ilp" for an integer linear
                programme, solved by HiGHS; "substitution" for local search, which is fast, and "bp"
                for min-risk decoding by belief propagation, both without a bound.
            time_limit: seconds for each sentence; the best tree and bound by then are returned.
                0 gives the tree of "substitution". None: "ilp" runs until the tree is optimal,
                "dual" for up to a few thousand sub-problems.

        Raises:
            InfeasibleError: no tree is possible.
        """
        if method not in get_args(Method):
            known = ", ".join(get_args(Method))
            raise ValueError(f"method must be one of {known}: got {method!r}")
        if time_limit is not None and not (isinstance(time_limit, Real) and time_limit >= 0):
            raise ValueError(f"time_limit must be seconds from 0 up, or None: got {time_limit!r}")
        return self._each(lambda index: self._argmax(index, method, time_limit))

    def kbest(self, k: int) -> Any:
        """The k best trees, best first; fewer when there are fewer. One sentence: an iterator.

        `bound` is an upper bound on every tree that has not come before, so `is_optimal` says that
        the tree has its place in the list by right. Each tree costs up to n searches.
        """
        k = tree_number(k)
        if not self._batch.is_batch:
            return self._ranked(0, k)
        return self._each(lambda index: list(self._ranked(index, k)))

    # Sums over trees, by belief propagation.

    def log_partition(self) -> Any:
        """The Bethe approximation of the log of the summed weight of all trees; -inf without one.

        Exact with arc scores only.
        """
        return self._each(lambda index: self._beliefs[index].log_partition)

    def marginals(self, part: str = "arc") -> Any:
        """Approximate probability of each arc, in the shape of the scores; read-only.

        Exact with arc scores only.

        Args:
            part: "arc", or a factor for its parts: in its shape, or for `Parts` one number each.
        """
        if part != "arc" and part not in self._factors:
            known = ", ".join(["arc", *self._factors])
            raise ValueError(f"part must be one of {known}: got {part!r}")
        return self._each(lambda index: self._marginals(index, part))

    def min_risk(self) -> Any:
        """The tree with the highest expected number of right arcs (and labels), by `marginals`."""
        return self._each(self._min_risk)

    def entropy(self) -> Any:
        """The Bethe approximation of the entropy, in nats: log Z minus the expected score."""
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

    @once
    def _layouts(self) -> list[Layout]:
        layouts = []
        for index in range(len(self._batch)):
            n = self._batch.width(index) - 1
            limits = np.full(n + 1, n) if self._limits is None else self._limits[index].copy()
            if self.root == "single":
                limits[0] = min(1, limits[0])
            layouts.append(layout_of(self._batch.scores(index), limits))
        return layouts

    @once
    def _problems(self) -> list[Problem]:
        return [
            problem_of(layout, self._batch.square(index), self._tables(index))
            for index, layout in enumerate(self._layouts)
        ]

    def _tables(self, index: int) -> dict[str, Floats]:
        return {name: one.table(index) for name, one in self._factors.items()}

    @once
    def _answers(self) -> Answers:
        return Answers((self._batch.sizes**3 + 1000).tolist(), self._threads)

    @once
    def _beliefs(self) -> list[Beliefs]:
        return self._answers.all(self._propagate)

    def _each(self, answer: Callable[[int], T]) -> T | list[T]:
        answers = self._answers.all(answer)
        return answers if self._batch.is_batch else answers[0]

    def _feasible(self, index: int, answer: T | None) -> T:
        if answer is None:
            raise InfeasibleError(
                f"{self._batch.name(index)}no tree is possible: too many arcs are forbidden, or "
                "constraints contradict each other"
            )
        return answer

    def _argmax(self, index: int, method: Method, time_limit: float | None) -> Tree:
        if method == "bp" and time_limit != 0:
            return self._min_risk(index)
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        problem = self._problems[index]
        if method == "substitution" or time_limit == 0:
            heads = self._feasible(index, self._substitution(index))
            return self._tree(index, heads, math.inf, TOLERANCE)
        if method == "ilp":
            from crossarc.inference.higher.ilp import solve_ilp

            found = solve_ilp(problem, self._substitution(index), deadline)
            return self._solution(index, found, _ILP_TOLERANCE)
        return self._solution(index, solve(problem, deadline=deadline), TOLERANCE)

    def _solution(self, index: int, found: Solution, tolerance: float) -> Tree:
        """The tree of a solution; where only its bound was found in time, that of substitution."""
        if found.heads is None and found.bound > -math.inf:
            found.heads = self._substitution(index)
        heads = self._feasible(index, found.heads)
        return self._tree(index, heads, found.bound, tolerance)

    def _tree(
        self, index: int, heads: Ints, bound: float, tolerance: float, scores: Floats | None = None
    ) -> Tree:
        """A tree with its best labels under `scores`, by default the model's, and certificate."""
        from crossarc.inference.runtime.scoring import best_labels

        own, words = self._batch.scores(index), np.arange(1, len(heads) + 1)
        labels: Ints | None = None
        if own.ndim == 3:
            labels = best_labels(own if scores is None else scores)[1][heads, words]
            labels.flags.writeable = False
        cells = own[heads, words] if labels is None else own[heads, words, labels]
        parts = [x for one in self._factors.values() for x in one.of_tree(index, heads)]
        heads.flags.writeable = False
        tree = Tree._trusted(heads, labels)
        tree.score = exact_sum([*cells.tolist(), *parts])
        tree.bound = max(float(bound), tree.score)
        tree.is_optimal = bool(tree.bound - tree.score <= tolerance * max(1.0, abs(tree.score)))
        return tree

    def _substitution(self, index: int) -> Ints | None:
        """The better of the trees from two starts: the best spanning and the best projective tree.

        Where neither leads to a tree without forbidden parts and with few enough modifiers, one is
        searched for.
        """
        from crossarc.inference.higher.substitution import best_substitution
        from crossarc.inference.spanning.edmonds.argmax import best_heads

        problem = self._problems[index]
        spanning = best_heads(self._batch.square(index), self.root == "single")
        if spanning[0] < 0:
            return None
        found = best_substitution(problem, [spanning, self._projective(index)])
        return solve(problem).heads if found is None else found

    def _projective(self, index: int) -> Ints | None:
        """Heads of the best projective tree under the same factors; None if there are too many."""
        from crossarc.inference.projective import ProjectiveTrees
        from crossarc.inference.projective.automata.system import most_instances

        names, layout = set(self._factors), self._layouts[index]
        grand = bool(names & {"grandchild", "grand_sibling"})
        if most_instances(layout, grand, "tri_sibling" in names) > _MOST_INSTANCES:
            return None
        factors: dict[str, Any] = {name: one.as_parts(index) for name, one in self._factors.items()}
        limits = None if self._limits is None else self._limits[index]
        trees = ProjectiveTrees(
            self._batch.square(index), root=self.root, max_modifiers=limits, threads=1, **factors
        )
        try:
            heads: Ints = trees.argmax().heads
        except InfeasibleError:
            return None
        return heads

    def _ranked(self, index: int, k: int) -> Iterator[Tree]:
        trees = ranked(self._problems[index], self._batch.scores(index))
        first = self._feasible(index, next(trees, None))
        return (
            self._tree(index, heads, bound, TOLERANCE, scores)
            for heads, scores, bound in chain([first], islice(trees, k - 1))
        )

    def _propagate(self, index: int) -> Beliefs:
        batch, problem = self._batch, self._problems[index]
        scores = batch.square(index)
        # Belief propagation does not notice that there is no tree within the limits of modifiers
        # and without forbidden parts.
        is_limited = self._limits is not None or self._forbidding(index)
        if is_limited and solve(problem).heads is None:
            return NO_TREES
        if batch.labelled:
            with np.errstate(divide="ignore"):
                scores = scores + np.log(batch.label_sum(index))
        tables, layout = self._tables(index), self._layouts[index]
        return propagate(problem, scores, layout, tables, **self._bp_options)

    def _forbidding(self, index: int) -> dict[str, FactorTable]:
        """The factors that forbid parts."""
        return {name: one for name, one in self._factors.items() if one.forbids(index)}

    def _marginals(self, index: int, part: str) -> Floats:
        from crossarc.inference.runtime.packing import spread_labels

        beliefs, batch = self._beliefs[index], self._batch
        arcs = self._feasible(index, beliefs.arcs)
        if part != "arc":
            table = self._factors[part].in_given_shape(index, beliefs.parts(part))
        elif batch.labelled:
            table = np.empty(batch.labelled[index].shape)
            sums = batch.label_sum(index)
            spread_labels(batch.labelled[index], batch.square(index), sums, arcs, False, table)
        else:
            table = arcs
        table.flags.writeable = False
        return table

    def _entropy(self, index: int) -> float:
        beliefs = self._beliefs[index]
        self._feasible(index, beliefs.arcs)
        expected = [_expectation(self._marginals(index, "arc"), self._batch.scores(index))]
        for name, one in self._factors.items():
            expected.append(_expectation(beliefs.parts(name), one.table(index)))
        # That of an approximation may fall below 0.
        return max(0.0, beliefs.log_partition - exact_sum(expected))

    def _log_prob(self, index: int, tree: Tree) -> float:
        arcs, heads = arc_scores(self._batch, index, tree), tree.heads
        counts = np.bincount(heads, minlength=len(heads) + 1)
        if (counts > self._layouts[index].limits).any() or -math.inf in arcs:
            return -math.inf
        parts = [x for one in self._factors.values() for x in one.of_tree(index, heads)]
        if -math.inf in parts:
            return -math.inf
        return exact_sum([*arcs, *parts]) - self._beliefs[index].log_partition

    def _min_risk(self, index: int) -> Tree:
        from crossarc.inference.runtime.scoring import best_labels

        allowed = self._batch.scores(index) > -np.inf
        gains = np.where(allowed, self._marginals(index, "arc"), -np.inf)
        arcs = best_labels(gains)[0] if gains.ndim == 3 else gains
        heads = self._feasible(index, self._best_under(index, arcs))
        return self._tree(index, heads, math.inf, TOLERANCE, gains)

    def _best_under(self, index: int, arcs: Floats) -> Ints | None:
        """The best tree under scores of arcs only, among those that are possible."""
        from crossarc.inference.spanning.edmonds.argmax import best_heads

        forbidding = self._forbidding(index)
        if self._limits is None and not forbidding:
            heads = best_heads(np.ascontiguousarray(arcs), self.root == "single")
            return heads if heads[0] >= 0 else None
        tables = {name: weighted(one.table(index), 0.0) for name, one in forbidding.items()}
        problem = problem_of(self._layouts[index], arcs, tables)
        return solve(problem).heads


def _expectation(probabilities: Floats, scores: Floats) -> float:
    used = probabilities > 0.0
    return float(probabilities[used] @ scores[used])

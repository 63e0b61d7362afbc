"""Trees that may cross, under factors of several arcs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeVar, get_args

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
from crossarc.inference.higher.branching import TOLERANCE, Solution, solve, solve_some, start_all
from crossarc.inference.higher.packing import arcs_of, only_arcs, problems_of
from crossarc.inference.higher.problem import FACTORS, Arcs, Problem, Problems, problem_view
from crossarc.inference.higher.ranking import ranked
from crossarc.inference.higher.tables import FactorTable, tree_scores
from crossarc.inference.projective.automata.factor import layout_of
from crossarc.inference.projective.model import read_limits
from crossarc.inference.runtime.answers import Answers
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
        self._batch, self._threads = Batch(scores, lengths), threads
        self._limits = None if max_modifiers is None else read_limits(max_modifiers, self._batch)
        given = (sibling, grandchild, grand_sibling, tri_sibling)
        self._factors = {
            factor.name: FactorTable(factor, one, self._batch, self._arcs)
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
        if time_limit is not None and not time_limit >= 0:
            raise ValueError(f"time_limit must not be negative: got {time_limit}")
        if method == "dual" and time_limit is None:
            return self._listed(self._best_trees())
        return self._each(lambda index: self._argmax(index, method, time_limit))

    def kbest(self, k: int) -> Any:
        """The k best trees, best first; fewer when there are fewer. One sentence: an iterator.

        `bound` is an upper bound on every tree that has not come before, so `is_optimal` says that
        the tree has its place in the list by right. Each tree costs up to n searches.
        """
        if k != int(k) or k < 1:
            raise ValueError(f"k must be a whole number from 1 on: got {k!r}")
        if not self._batch.is_batch:
            return self._ranked(0, int(k))
        return self._each(lambda index: list(self._ranked(index, int(k))))

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
        trees = [tree] if isinstance(tree, Tree) else list(tree)
        if self._batch.is_batch == isinstance(tree, Tree) or len(trees) != len(self._batch):
            raise ValueError(f"log_prob takes {len(self._batch)} trees, as there are sentences")
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

    @once
    def _beliefs(self) -> list[Beliefs]:
        return self._answers.all(self._propagate)

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

    def _best_trees(self) -> list[Tree]:
        """By dual decomposition, of all sentences, many in a call."""
        problems, progress = self._problems, start_all(self._problems)

        def some(begin: int, end: int) -> list[Tree]:
            found = solve_some(problems, progress, begin, end)
            return self._solutions(begin, found, TOLERANCE)

        return self._answers.ranges(some)

    def _first_heads(self) -> list[Ints]:
        """The heads of trees that are nearly always the best, from one round of steps."""
        problems, progress = self._problems, start_all(self._problems)

        def some(begin: int, end: int) -> list[Any]:
            found = solve_some(problems, progress, begin, end, tighten=False, rounds=1)
            return [
                self._substitution(index) if one.heads is None else one.heads
                for index, one in enumerate(found, begin)
            ]

        return self._answers.ranges(some)

    def _argmax(self, index: int, method: Method, time_limit: float | None) -> Tree:
        if method == "bp" and time_limit != 0:
            return self._min_risk(index)
        deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        problem = self._problem(index)
        if method == "substitution" or time_limit == 0:
            heads = self._feasible(index, self._substitution(index))
            return self._tree(index, heads, math.inf, TOLERANCE)
        if method == "ilp":
            from crossarc.inference.higher.ilp import solve_ilp

            found = solve_ilp(problem, self._substitution(index), deadline)
            return self._solutions(index, [found], _ILP_TOLERANCE)[0]
        return self._solutions(index, [solve(problem, deadline=deadline)], TOLERANCE)[0]

    def _solutions(self, begin: int, found: list[Solution], tolerance: float) -> list[Tree]:
        """The trees of sentences `begin`, ...; that of substitution where only a bound was found
        in time.
        """
        heads = []
        for index, one in enumerate(found, begin):
            if one.heads is None and one.bound > -math.inf:
                one.heads = self._substitution(index)
            heads.append(self._feasible(index, one.heads))
        scores = tree_scores(
            self._arcs,
            self._batch.arcs,
            self._factors,
            np.concatenate(heads),
            begin,
            begin + len(found),
        )
        terms, count, place, trees = scores.reshape(-1).tolist(), scores.shape[1], 0, []
        for index, (one, own) in enumerate(zip(found, heads, strict=True), begin):
            end = place + count * len(own)
            tree = Tree._trusted(_sealed(own), self._best_labels(index, own))
            trees.append(_certified(tree, exact_sum(terms[place:end]), one.bound, tolerance))
            place = end
        return trees

    def _best_labels(self, index: int, heads: Ints, scores: Floats | None = None) -> Ints | None:
        """The best labels of a tree under `scores`, by default the model's; None without labels."""
        from crossarc.inference.runtime.scoring import best_labels

        if not self._batch.labelled:
            return None
        own = self._batch.scores(index) if scores is None else scores
        return _sealed(best_labels(own)[1][heads, np.arange(1, len(heads) + 1)])

    def _tree(
        self, index: int, heads: Ints, bound: float, tolerance: float, scores: Floats | None = None
    ) -> Tree:
        """A tree with its best labels under `scores`, by default the model's, and certificate."""
        labels = self._best_labels(index, heads, scores)
        tree = Tree._trusted(_sealed(heads), labels)
        terms = [*self._cells(index, tree).tolist(), *self._parts_of(index, heads)]
        return _certified(tree, exact_sum(terms), bound, tolerance)

    def _cells(self, index: int, tree: Tree) -> Floats:
        """The scores of a tree's arcs; without labels, under scores that have labels, of all."""
        own, words = self._batch.scores(index), np.arange(1, len(tree.heads) + 1)
        if tree.labels is None:
            return own[tree.heads, words]
        return own[tree.heads, words, np.asarray(tree.labels)]

    def _parts_of(self, index: int, heads: Ints) -> list[float]:
        """The scores of the parts of a tree over allowed arcs; 0 for some that it lacks."""
        arcs = self._batch.arcs
        scores = tree_scores(self._arcs, arcs, self._factors, heads, index, index + 1)
        parts: list[float] = scores[:, 1:].reshape(-1).tolist()
        return parts

    def _substitution(self, index: int) -> Ints | None:
        """The better of the trees from two starts: the best spanning and the best projective tree.

        Where neither leads to a tree without forbidden parts and with few enough modifiers, one is
        searched for.
        """
        from crossarc.inference.higher.substitution import best_substitution
        from crossarc.inference.spanning.edmonds.argmax import best_heads

        problem = self._problem(index)
        spanning = best_heads(self._batch.square(index), self.root == "single")
        if spanning[0] < 0:
            return None
        found = best_substitution(problem, [spanning, self._projective(index)])
        return solve(problem).heads if found is None else found

    def _projective(self, index: int) -> Ints | None:
        """Heads of the best projective tree under the same factors; None if there are too many."""
        from crossarc.inference.projective import ProjectiveTrees
        from crossarc.inference.projective.automata.system import most_instances

        names = set(self._factors)
        layout = layout_of(self._batch.scores(index), self._node_limits(index))
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
        trees = ranked(self._problem(index), self._batch.scores(index))
        first = self._feasible(index, next(trees, None))
        return (
            self._tree(index, heads, bound, TOLERANCE, scores)
            for heads, scores, bound in chain([first], islice(trees, k - 1))
        )

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
        own, heads = self._batch.scores(index), tree.heads
        if len(heads) != len(own) - 1:
            raise ValueError(f"the tree has {len(heads)} words, the scores {len(own) - 1}")
        cells = self._cells(index, tree)
        if cells.ndim == 2:
            cells = np.logaddexp.reduce(cells, axis=1)
        counts = np.bincount(heads, minlength=len(own))
        if (counts > self._node_limits(index)).any() or (cells == -np.inf).any():
            return -math.inf
        parts = self._parts_of(index, heads)
        if -math.inf in parts:
            return -math.inf
        return exact_sum([*cells.tolist(), *parts]) - self._beliefs[index].log_partition

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
        tables = {}
        for name, one in forbidding.items():
            table = weighted(one.table(index), 0.0)
            tables[name] = table, np.array([0, len(table)])
        own = only_arcs(self._arcs, index)
        problems = problems_of(own, np.ascontiguousarray(arcs).reshape(-1), tables)
        return solve(problem_view(problems, 0)).heads


def _sealed(array: Ints) -> Ints:
    array.flags.writeable = False
    return array


def _certified(tree: Tree, score: float, bound: float, tolerance: float) -> Tree:
    """With its score and an upper bound on all trees."""
    tree.score, tree.bound = score, max(float(bound), score)
    tree.is_optimal = bool(tree.bound - score <= tolerance * max(1.0, abs(score)))
    return tree


def _expectation(probabilities: Floats, scores: Floats) -> float:
    used = probabilities > 0.0
    return float(probabilities[used] @ scores[used])

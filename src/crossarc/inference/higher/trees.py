"""Trees that may cross, under factors of several arcs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import chain, islice
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError
from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.factors import weighted
from crossarc.inference.higher.branching import TOLERANCE, Solution, solve, solve_some, start_all
from crossarc.inference.higher.packing import only_arcs, problems_of
from crossarc.inference.higher.problem import problem_view
from crossarc.inference.higher.ranking import ranked
from crossarc.inference.higher.sums import TreeSums
from crossarc.inference.higher.tables import tree_scores
from crossarc.inference.projective.automata.factor import layout_of
from crossarc.inference.typed import counting
from crossarc.trees import Tree

__all__ = ["HigherOrderTrees", "Method"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["dual", "ilp", "substitution", "bp"]

# Certificates of the integer programme allow for the tolerances of its solver.
_ILP_TOLERANCE = 1e-6
# A projective tree is a start of arc substitution where its forest has at most so many instances.
_MOST_INSTANCES = 5_000_000


class HigherOrderTrees(TreeSums):
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
        first_order: `FirstOrder(share, offset)`, for a batch a list: `share` of the probabilities
            (`marginals` of arcs, `min_risk`, `entropy`) is that of the distribution without factors
            and limits whose scores are `scores + offset`. Best trees, log Z and `log_prob` do not
            depend on it.
        lengths: for padded arrays (sentences, n+1, n+1[, labels]): the words of each sentence.
        bp_tolerance, bp_iterations: belief propagation ends when no probability changes by more in
            an iteration, or after so many.
        threads: by default `CROSSARC_THREADS`, else all cores; the result does not depend on it,
            except under a time limit.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
        ValueError: another argument that makes no sense.
    """

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
        if method == "dual" and time_limit is None:
            return self._listed(self._best_trees())
        return self._each(lambda index: self._argmax(index, method, time_limit))

    def kbest(self, k: int) -> Any:
        """The k best trees, best first; fewer when there are fewer. One sentence: an iterator.

        `bound` is an upper bound on every tree that has not come before, so `is_optimal` says that
        the tree has its place in the list by right. Each tree costs up to n searches.
        """
        k = counting("k", k)
        if not self._batch.is_batch:
            return self._ranked(0, k)
        return self._each(lambda index: list(self._ranked(index, k)))

    def min_risk(self) -> Any:
        """The tree with the highest expected number of right arcs (and labels), by `marginals`."""
        return self._each(self._min_risk)

    # Sentence `index`.

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

"""All computations of Attardi's degree-2 system on a sentence, under scores of transitions.

Sums are taken in float64 after an exact rescaling: every item [h1, i, h2 h3, j] has shifted i ..
j-1 and removed all of them and h1 but h2 and h3, so a factor for each node's shift, and one for its
removal, multiplies all of an item's computations alike. With the largest weight of each node's
shift and removal at 1, nothing overflows, and rounding to zero can lose at most

    2^-1074 x (number of products) x (number of computations)  <  2^(-1034 + 5 n)

of Z. Where Z is not far above that, the sums are taken again in logarithms.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, LimitError, ScoreError
from crossarc.inference.arithmetic.wide import LARGEST_SCORE
from crossarc.inference.transition.attardi.charts import Charts, Weights
from crossarc.inference.transition.attardi.sharing import fill_rows
from crossarc.inference.transition.attardi.vectors import BEST, LOG, SUM, zero_of
from crossarc.once import once
from crossarc.parallel import over_ranges, thread_count

__all__ = ["MAX_WORDS", "Computation", "Computations", "TransitionScores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Longer sentences are refused: 100 words need 2 GB.
MAX_WORDS = 100
# Shorter sentences are not worth a second thread.
_SHORTEST_SHARED = 24
# Nor are the rows of the last nodes, of any sentence.
_ROWS_TOGETHER = 12
# How many bits below 2^-1034 must remain of Z for relative errors of 2^-60.
_MARGIN_BITS = 60


class TransitionScores(NamedTuple):
    """Log-weights of the transitions of a sentence by nodes, 0 being `$`; -inf forbids one.

    b1 is the topmost node, b3 < b2 < b1; all other entries are never read, nor are those of la1 and
    la2 that would remove `$`.
    """

    #: [b1, node shifted]
    sh: Floats
    #: [b2, b1]: removes b2
    la1: Floats
    #: [b2, b1]: removes b1
    ra1: Floats
    #: [b3, b2, b1]: removes b3
    la2: Floats
    #: [b3, b2, b1]: removes b1
    ra2: Floats


class Computation(NamedTuple):
    """One computation: its transitions (`machine` has their codes), and the tree that it makes."""

    transitions: tuple[int, ...]
    #: The head of word 1 first.
    heads: Ints
    #: Of the best one: the sum of its transitions' scores.
    score: float | None = None


class Computations:
    """Sums over the computations of a sentence, the best one, and random ones.

    Args:
        scores: (n+1, n+1) and (n+1, n+1, n+1) arrays.
        single_root: whether `$` has exactly one modifier. Its last one is attached by ra1 at the
            end of a computation; so no other ra1, and no ra2, may have it as the head.
        threads: as for `crossarc.parallel.over_ranges`; the results do not depend on it.

    Raises:
        ScoreError: arrays of a wrong shape, NaN, +inf or scores over 1e12, or too many words.
    """

    def __init__(
        self,
        scores: TransitionScores,
        *,
        single_root: bool = False,
        threads: int | None = None,
    ) -> None:
        self.nodes = _checked(scores)
        self.single_root = single_root
        self._scores = _masked(scores, single_root)
        self.threads = thread_count(threads) if self.nodes > _SHORTEST_SHARED else 1

    def log_total(self) -> float:
        """The log of the summed weight of all computations; -inf if there is none."""
        return self._total

    @property
    def total_weight(self) -> float:
        """The summed weight itself, which may over- or underflow; exact for whole numbers."""
        _, charts, total = self._sums
        shifts, removals = self._scales
        if charts.semiring == SUM and not shifts.any() and not removals.any():
            return float(charts.goal[-1])
        return math.exp(total) if total < 709.0 else math.inf

    def expectations(self) -> TransitionScores:
        """The expected number of times that each transition is made, in the shape of the scores.

        Raises:
            InfeasibleError: there is no computation.
        """
        self._feasible()
        return self._expectations

    def best(self) -> Computation:
        """The computation of the largest weight.

        Raises:
            InfeasibleError: there is none.
        """
        from crossarc.inference.transition.attardi.derivations import traced

        charts = self._inside(BEST, self._packed)
        if not charts.goal[-1] > -math.inf:
            raise InfeasibleError("no computation has a positive weight")
        ((codes, heads),) = traced(self._packed, charts, np.zeros((1, 2 * self.nodes)))
        return Computation(tuple(codes.tolist()), heads, float(charts.goal[-1]))

    def sample(self, count: int, rng: np.random.Generator) -> list[Computation]:
        """Computations drawn independently of each other.

        Raises:
            InfeasibleError: there is none.
        """
        from crossarc.inference.transition.attardi.derivations import traced

        self._feasible()
        found = traced(self._weights, self._charts, rng.random((count, 2 * self.nodes)))
        return [Computation(tuple(codes.tolist()), heads) for codes, heads in found]

    @once
    def _packed(self) -> Weights:
        return _pairs(self._scores)

    @once
    def _scales(self) -> tuple[Floats, Floats]:
        """The largest log-weight of each node's shift, and of its removal."""
        s = self._scores
        shifts = s.sh.max(axis=0)
        removals = np.maximum(s.la1.max(axis=1), s.ra1.max(axis=0))
        removals = np.maximum(removals, s.la2.max(axis=(1, 2)))
        removals = np.maximum(removals, s.ra2.max(axis=(0, 1)))
        return tuple(np.where(np.isfinite(one), one, 0.0) for one in (shifts, removals))  # type: ignore[return-value]

    @once
    def _sums(self) -> tuple[Weights, Charts, float]:
        """Weights and charts that sums are taken in, and log Z."""
        shifts, removals = self._scales
        s = self._scores
        scaled = TransitionScores(
            s.sh - shifts,
            s.la1 - removals[:, None],
            s.ra1 - removals,
            s.la2 - removals[:, None, None],
            s.ra2 - removals,
        )
        factor = float(shifts.sum() + removals.sum())
        weights = Weights(*map(np.exp, _pairs(scaled)))
        charts = self._inside(SUM, weights)
        total = charts.goal[-1]
        if total > 2.0 ** (-1034 + 5 * self.nodes + _MARGIN_BITS):
            return weights, charts, math.log(total) + factor
        charts = self._inside(LOG, self._packed)
        return self._packed, charts, float(charts.goal[-1])

    @property
    def _weights(self) -> Weights:
        return self._sums[0]

    @property
    def _charts(self) -> Charts:
        return self._sums[1]

    @property
    def _total(self) -> float:
        return self._sums[2]

    def _feasible(self) -> None:
        if self._total == -math.inf:
            raise InfeasibleError("no computation has a positive weight")

    def _inside(self, semiring: int, weights: Weights) -> Charts:
        from crossarc.inference.transition.attardi.inside import inside

        nodes = self.nodes
        charts = _new_charts(nodes, semiring)
        last = nodes - _ROWS_TOGETHER if self.threads > 1 else 0
        inside(weights, charts, nodes - 1, last + 1, 0, nodes)
        if last > 0:

            def rows(i: int, begin: int, end: int) -> None:
                inside(weights, charts, i, i, begin, end)

            fill_rows(rows, nodes, last, self.threads)
        # G[j] = sum over k of  G[k] R[0, k; j]
        goal, steps = charts.goal, self._root_steps(charts)
        goal[:] = charts.zero
        goal[1] = 1.0 if semiring == SUM else 0.0
        for j in range(2, nodes + 1):
            goal[j] = _product(semiring, goal[1:j], steps[1:j, j])
        return charts

    def _root_steps(self, charts: Charts) -> Floats:
        """R[0, k; j] where it may be part of a complete computation."""
        nodes, zero = self.nodes, charts.zero
        steps = np.full((nodes, nodes + 1), zero)
        for k in range(1, nodes):
            begin = charts.kept_begin[0, k]
            steps[k, k + 1 :] = charts.kept[begin : begin + nodes - k]
        if self.single_root:
            steps[2:] = steps[:, 2:nodes] = zero
        return steps

    @once
    def _expectations(self) -> TransitionScores:
        from crossarc.inference.transition.attardi.outside import new_derivatives, outside

        weights, charts, _ = self._sums
        nodes, goal, zero = self.nodes, charts.goal, charts.zero
        is_sum = charts.semiring == SUM
        outer = _new_charts(nodes, charts.semiring, with_tables=False)
        steps = self._root_steps(charts)
        outer.goal[:] = zero
        outer.goal[nodes] = 1.0 / goal[nodes] if is_sum else -goal[nodes]
        for k in range(nodes - 1, 0, -1):
            outer.goal[k] = _product(charts.semiring, steps[k, k + 1 :], outer.goal[k + 1 :])
        found = new_derivatives(nodes, zero)
        arguments = weights, charts, outer, found
        if self.threads == 1:
            outside(*arguments, 1, nodes - 1, 0, nodes)
        else:
            # Rows (g, s) of one g need only those of lower ones.
            for g in range(nodes - 1):

                def rows(begin: int, end: int, g: int = g) -> None:
                    outside(*arguments, g + 1 + begin, g + end, g, g + 1)

                over_ranges(rows, _row_costs(nodes, g), self.threads)
        sh = np.full((nodes, nodes), zero)
        for j in range(1, nodes):
            tails = (nodes - j) * (nodes - j + 1) // 2
            sh[:j, j] = outer.a[outer.a_begin[j] : outer.a_begin[j] + j * tails : tails]
        add = np.add if is_sum else np.logaddexp
        derivatives = Weights(sh, *(add.reduce(table, axis=0) for table in found))
        if is_sum:
            values = [w * d for w, d in zip(weights, derivatives, strict=True)]
        else:
            values = [np.exp(w + d) for w, d in zip(weights, derivatives, strict=True)]
        return _dense(Weights(*values))


@lru_cache(maxsize=128)
def _offsets(nodes: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Where the parts of charts begin; a_begin and b_begin also have the ends."""
    i = np.arange(nodes + 1)
    tails = (nodes - i) * (nodes - i + 1) // 2
    a_begin = np.concatenate([[0], np.cumsum(i * tails)])
    b_begin = np.concatenate([[0], np.cumsum((i * (i - 1) // 2)[:-1] * tails[1:])])
    joined, kept = np.zeros((2, nodes, nodes + 1), np.int64)
    for h in range(nodes):
        joined[h, h + 1 : nodes] = h * tails[h + 1 : nodes]
        kept[h, h + 1 : nodes] = max(h, 1) * (nodes - i[h + 1 : nodes])
    begins = [
        (np.cumsum(table) - table.reshape(-1)).reshape(table.shape) for table in (joined, kept)
    ]
    return a_begin, b_begin, begins[0], begins[1]


def _new_charts(nodes: int, semiring: int, *, with_tables: bool = True) -> Charts:
    """Charts of so many nodes, not filled."""
    a_begin, b_begin, joined_begin, kept_begin = _offsets(nodes)
    # The last column of both is empty, and so begins at the end.
    sizes = (int(joined_begin[-1, -1]), int(kept_begin[-1, -1])) if with_tables else (0, 0)
    return Charts(
        np.empty(int(a_begin[-1])),
        np.empty(int(b_begin[-1])),
        np.empty(sizes[0]),
        np.empty(sizes[1]),
        np.empty(nodes + 1),
        a_begin,
        b_begin,
        joined_begin,
        kept_begin,
        semiring,
        zero_of(semiring),
    )


def _row_costs(nodes: int, h1: int) -> Floats:
    """About what the rows (h1, h1 + 1), (h1, h1 + 2) ... take, of inside or outside."""
    rest = np.arange(nodes - 1 - h1, 0, -1, dtype=np.float64)
    return rest**5 + 20.0 * h1 * h1 * rest**3


@lru_cache(maxsize=128)
def _triangle(nodes: int) -> tuple[Ints, Ints]:
    """All pairs of nodes in order."""
    return np.triu_indices(nodes, 1)


@lru_cache(maxsize=128)
def _masks(nodes: int, single_root: bool) -> tuple[NDArray[np.bool_], ...]:
    """Where transitions are: nodes in order, and `$` not removed."""
    b = np.arange(nodes)
    pairs = b[:, None] < b
    triples = pairs[:, :, None] & pairs
    from_words = (b > 0)[:, None]
    words_only = triples & from_words[:, :, None]
    return pairs, pairs & from_words, pairs, words_only, words_only if single_root else triples


def _product(semiring: int, x: Floats, y: Floats) -> float:
    if semiring == SUM:
        return float(x @ y)
    both = x + y
    return float(both.max() if semiring == BEST else np.logaddexp.reduce(both))


def _checked(scores: TransitionScores) -> int:
    nodes = len(scores.sh)
    if nodes - 1 > MAX_WORDS:
        raise LimitError(
            f"{nodes - 1} words are too many for Attardi's system: {MAX_WORDS} at most"
        )
    for name, table in zip(scores._fields, scores, strict=True):
        shape = (nodes,) * (3 if name in ("la2", "ra2") else 2)
        if np.shape(table) != shape:
            raise ScoreError(f"scores of {name} must have shape {shape}: got {np.shape(table)}")
        if not np.where(table == -math.inf, 0.0, np.abs(table)).max() <= LARGEST_SCORE:
            raise ScoreError(
                f"scores of {name} must be numbers of up to {LARGEST_SCORE:.0e}, or -inf to forbid"
            )
    return nodes


def _masked(scores: TransitionScores, single_root: bool) -> TransitionScores:
    """With -inf wherever no transition is."""
    masks = _masks(len(scores.sh), single_root)
    return TransitionScores(
        *(np.where(mask, table, -math.inf) for mask, table in zip(masks, scores, strict=True))
    )


def _pairs(scores: TransitionScores) -> Weights:
    """The tables that kernels read: of triples, those in order."""
    rows, columns = _triangle(len(scores.sh))
    two = [np.ascontiguousarray(table) for table in scores[:3]]
    three = [np.ascontiguousarray(table[:, rows, columns]) for table in scores[3:]]
    return Weights(*two, *three)


def _dense(tables: Weights) -> TransitionScores:
    nodes = len(tables.sh)
    rows, columns = _triangle(nodes)
    three = []
    for table in tables[3:]:
        dense = np.zeros((nodes,) * 3)
        dense[:, rows, columns] = table
        three.append(dense)
    return TransitionScores(*tables[:3], *three)

"""Every question about a tree distribution, answered by listing its trees.

Tree scores are added up exactly, as whole multiples of the smallest power of two that the given
scores need, and only differences of them are rounded to floats. So the answers stay good to about
1e-13 for scores of any size: with an offset of 1e6 in each column, a plain sum of five scores would
already be 1e-9 off.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from support.definitions import between, nonprojective_arcs
from support.trees import all_trees

Heads = tuple[int, ...]
Labels = tuple[int, ...]
Scores = NDArray[np.floating[Any]]


def any_tree(heads: Heads) -> bool:
    return True


def projective_tree(heads: Heads) -> bool:
    return not any(nonprojective_arcs(heads))


def sibling_parts(heads: Heads) -> list[tuple[int, ...]]:
    """(h, s, m) for every arc h -> m: s the modifier of h nearest to m between them, else h."""
    parts = []
    for m, h in enumerate(heads, 1):
        others = [s for s in between(h, m) if heads[s - 1] == h]
        parts.append((h, min(others, key=lambda s, m=m: abs(s - m), default=h), m))
    return parts


@cache
def _all_trees(n: int) -> tuple[Heads, ...]:
    return tuple(all_trees(n))


@dataclass(frozen=True)
class ScoredTree:
    """A tree and its exact score, a whole number of `BruteForce.unit`."""

    heads: Heads
    labels: Labels | None
    units: int

    @property
    def key(self) -> tuple[Heads, Labels | None]:
        return self.heads, self.labels

    def cells(self) -> Iterator[tuple[int, ...]]:
        """Where the arcs of this tree stand in the score array."""
        for m, h in enumerate(self.heads, 1):
            yield (h, m) if self.labels is None else (h, m, self.labels[m - 1])

    def has_heads(self, heads: Mapping[int, int]) -> bool:
        return all(self.heads[m - 1] == h for m, h in heads.items())


@dataclass(frozen=True, eq=False)
class BruteForce:
    """The distribution p(tree) proportional to exp(score), over the trees that `support` admits."""

    scores: Scores
    root: str = "single"
    support: Callable[[Heads], bool] = any_tree
    #: Scores of parts beyond arcs, sibling[h, s, m] unless `parts_of` says otherwise; or None.
    #: -inf forbids a part.
    factor: Scores | None = None
    #: The index in `factor` of each part of a tree.
    parts_of: Callable[[Heads], list[tuple[int, ...]]] = sibling_parts

    @property
    def n(self) -> int:
        return len(self.scores) - 1

    @property
    def labelled(self) -> bool:
        return self.scores.ndim == 3

    @cached_property
    def _cells(self) -> dict[tuple[int, ...], tuple[int, int]]:
        """The usable scores as ratios of whole numbers; forbidden arcs are left out."""
        found = {}
        for cell in np.ndindex(self.scores.shape):
            if cell[1] != 0 and cell[0] != cell[1] and self.scores[cell] != -math.inf:
                found[cell] = float(self.scores[cell]).as_integer_ratio()
        return found

    @cached_property
    def unit(self) -> int:
        """Scores are counted in units of 1 / unit, a power of two."""
        factor = [] if self.factor is None else self.factor[np.isfinite(self.factor)].tolist()
        ratios = [*self._cells.values(), *(float(value).as_integer_ratio() for value in factor)]
        return max((denominator for _, denominator in ratios), default=1)

    def _factor_units(self, heads: Heads) -> int | None:
        """The score of a tree's parts beyond arcs; None where one is forbidden."""
        if self.factor is None:
            return 0
        scores = [float(self.factor[p]) for p in self.parts_of(heads)]
        if -math.inf in scores:
            return None
        ratios = [score.as_integer_ratio() for score in scores]
        return sum(a * (self.unit // b) for a, b in ratios)

    @cached_property
    def trees(self) -> tuple[ScoredTree, ...]:
        """All trees that have a chance, best first."""
        units = {cell: a * (self.unit // b) for cell, (a, b) in self._cells.items()}
        labels = range(self.scores.shape[2]) if self.labelled else (None,)
        found = []
        for heads in _all_trees(self.n):
            if (self.root == "single" and heads.count(0) != 1) or not self.support(heads):
                continue
            arcs = [
                [(label, units[cell]) for label in labels if (cell := _cell(h, m, label)) in units]
                for m, h in enumerate(heads, 1)
            ]
            factor = self._factor_units(heads) if all(arcs) else None
            if factor is None:
                continue
            for choice in itertools.product(*arcs):
                names = tuple(label for label, _ in choice) if self.labelled else None
                total = sum(value for _, value in choice) + factor
                found.append(ScoredTree(heads, names, total))
        return tuple(sorted(found, key=lambda tree: -tree.units))

    @property
    def feasible(self) -> bool:
        return bool(self.trees)

    def score(self, tree: ScoredTree) -> float:
        return tree.units / self.unit

    def tree_scores(self) -> NDArray[np.float64]:
        """The score of each tree, best first."""
        return np.array([self.score(tree) for tree in self.trees])

    @cached_property
    def _gaps(self) -> list[float]:
        """How far each tree is below the best one."""
        return [(self.trees[0].units - tree.units) / self.unit for tree in self.trees]

    @cached_property
    def _weights(self) -> list[float]:
        return [math.exp(-gap) for gap in self._gaps]

    @cached_property
    def _log_mass(self) -> float:
        """log Z less the best score."""
        return math.log1p(math.fsum(self._weights[1:]))

    def log_partition(self) -> float:
        return self.score(self.trees[0]) + self._log_mass if self.trees else -math.inf

    def _log_share(self, members: Sequence[int]) -> float:
        """Log of the probability of the trees with these (increasing) places in the list."""
        if not members:
            return -math.inf
        top = self.trees[members[0]].units
        inside = (math.exp((self.trees[i].units - top) / self.unit) for i in members)
        direct = (top - self.trees[0].units) / self.unit + math.log(math.fsum(inside))
        share = direct - self._log_mass
        if share < -0.5:
            return share
        # A probability near 1 has few leading digits of its logarithm: count what is missing.
        outside = set(range(len(self.trees))).difference(members)
        missing = math.fsum(self._weights[i] for i in outside) / math.exp(self._log_mass)
        return math.log1p(-missing)

    def log_joint(self, heads: Mapping[int, int]) -> float:
        """Log of the probability that all these words have these heads."""
        return self._log_share([i for i, tree in enumerate(self.trees) if tree.has_heads(heads)])

    def log_prob(self, heads: Heads, labels: Labels | None = None) -> float:
        """Log of the probability of a tree, summed over labels where none are given."""
        return self._log_share(
            [
                i
                for i, tree in enumerate(self.trees)
                if tree.heads == heads and (labels is None or tree.labels == labels)
            ]
        )

    @cached_property
    def log_marginals(self) -> NDArray[np.float64]:
        members: dict[tuple[int, ...], list[int]] = {}
        for i, tree in enumerate(self.trees):
            for cell in tree.cells():
                members.setdefault(cell, []).append(i)
        logs = np.full(self.scores.shape, -math.inf)
        for cell, places in members.items():
            logs[cell] = self._log_share(places)
        return logs

    @cached_property
    def part_log_marginals(self) -> NDArray[np.float64]:
        """The same for parts beyond arcs, in the shape of the factor."""
        members: dict[tuple[int, ...], list[int]] = {}
        for i, tree in enumerate(self.trees):
            for part in self.parts_of(tree.heads):
                members.setdefault(part, []).append(i)
        assert self.factor is not None
        logs = np.full(self.factor.shape, -math.inf)
        for part, places in members.items():
            logs[part] = self._log_share(places)
        return logs

    def joint(self, first: tuple[int, ...], second: tuple[int, ...]) -> float:
        """The probability of two arcs, (h, m) or (h, m, l)."""
        members = [
            i
            for i, tree in enumerate(self.trees)
            if all(
                tree.heads[m - 1] == h and (not named or tree.labels[m - 1] == named[0])
                for h, m, *named in (first, second)
            )
        ]
        return math.exp(self._log_share(members))

    def given(self, heads: Mapping[int, int], labels: Mapping[int, int]) -> BruteForce:
        """The same distribution over the trees with these heads and labels."""

        def agrees(found: Heads) -> bool:
            return self.support(found) and all(found[m - 1] == h for m, h in heads.items())

        scores = self.scores.copy()
        for m, label in labels.items():
            scores[:, m, np.arange(scores.shape[2]) != label] = -math.inf
        return type(self)(scores, self.root, agrees, self.factor, self.parts_of)

    def mutual_information(self) -> NDArray[np.float64]:
        """Sum of p(h, h') log p(h, h') / (p(h) p(h')) for the heads of every two words."""
        chances = [math.exp(-gap - self._log_mass) for gap in self._gaps]
        table = np.zeros((self.n, self.n))
        for m, other in itertools.product(range(self.n), repeat=2):
            both: dict[tuple[int, int], float] = {}
            for tree, chance in zip(self.trees, chances, strict=True):
                pair = tree.heads[m], tree.heads[other]
                both[pair] = both.get(pair, 0.0) + chance
            for (h, k), chance in both.items():
                alone = math.fsum(p for (a, _), p in both.items() if a == h)
                others = math.fsum(p for (_, b), p in both.items() if b == k)
                if chance > 1e-290:
                    table[m, other] += chance * (math.log(chance / alone) - math.log(others))
        return table

    def max_marginals(self) -> NDArray[np.float64]:
        """The score of the best tree with each arc."""
        best = np.full(self.scores.shape, -math.inf)
        for tree in self.trees:
            for cell in tree.cells():
                best[cell] = max(best[cell], self.score(tree))
        return best

    @cached_property
    def marginals(self) -> NDArray[np.float64]:
        return np.exp(self.log_marginals)

    def _expectation(self, values: Iterable[float]) -> float:
        """Mean of one value a tree."""
        pairs = zip(self._weights, values, strict=True)
        return math.fsum(w * value for w, value in pairs if w > 0.0) / math.exp(self._log_mass)

    def entropy(self) -> float:
        # H = log(Z / best) + E[best - score]: two terms that are never negative.
        return self._log_mass + self._expectation(self._gaps)

    def function_values(self, f: Scores) -> list[float]:
        """The sum of f over each tree's arcs, less that of the best tree."""
        best = list(self.trees[0].cells())
        return [
            math.fsum([f[cell] for cell in tree.cells()] + [-f[cell] for cell in best])
            for tree in self.trees
        ]

    def covariance(self, x: Sequence[float], y: Sequence[float]) -> float:
        """Of two values a tree, in the order of `trees`."""
        x_mean, y_mean = self._expectation(x), self._expectation(y)
        return self._expectation([(a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True)])

    @cached_property
    def _lighter(self) -> dict[tuple[int, ...], tuple[float, list[int]]]:
        """For each arc, the trees that have it or those that have not, whichever weigh less.

        With the sign that the first have.
        """
        places = np.arange(len(self.trees))
        weights = np.array(self._weights)
        listed = [set(tree.cells()) for tree in self.trees]
        found = {}
        for cell in set().union(*listed):
            has = np.array([cell in cells for cells in listed])
            is_rare = weights[has].sum() <= weights[~has].sum()
            found[cell] = (1.0, places[has]) if is_rare else (-1.0, places[~has])
        return {cell: (sign, members.tolist()) for cell, (sign, members) in found.items()}

    def slopes(self, values: Sequence[float]) -> NDArray[np.float64]:
        """The covariance of each arc with a value of the whole tree.

        Good relative to min(mu, 1 - mu).
        """
        mean, total = self._expectation(values), math.exp(self._log_mass)
        terms = [w * (value - mean) for w, value in zip(self._weights, values, strict=True)]
        slopes = np.zeros(self.scores.shape)
        for cell, (sign, members) in self._lighter.items():
            slopes[cell] = sign * math.fsum(terms[i] for i in members) / total
        return slopes

    def rarity(self) -> NDArray[np.float64]:
        """min(mu, 1 - mu) of each arc, without cancellation."""
        rarity = np.zeros(self.scores.shape)
        for cell, (_, members) in self._lighter.items():
            rarity[cell] = math.fsum(self._weights[i] for i in members) / math.exp(self._log_mass)
        return rarity

    def _other_gaps(self, other: BruteForce) -> list[float]:
        """For each tree of this distribution, how far it is below the best tree of the other."""
        gaps = dict(zip((tree.key for tree in other.trees), other._gaps, strict=True))
        return [gaps.get(tree.key, math.inf) for tree in self.trees]

    def cross_entropy(self, other: BruteForce) -> float:
        """-E[log q], infinite where q forbids a tree that this distribution allows."""
        gaps = self._other_gaps(other)
        if math.inf in gaps:
            return math.inf
        return other._log_mass + self._expectation(gaps)

    def kl(self, other: BruteForce) -> float:
        """E[log p - log q], with the logs subtracted tree by tree."""
        theirs = self._other_gaps(other)
        if math.inf in theirs:
            return math.inf
        shift = other._log_mass - self._log_mass
        pairs = zip(theirs, self._gaps, strict=True)
        return self._expectation([q - p + shift for q, p in pairs])

    def attachment(self, heads: Heads, labels: Labels | None = None) -> float:
        """Expected share of words whose head (and label) agrees with these."""
        right = []
        for m, h in enumerate(heads, 1):
            mine = self.marginals[h, m] if labels is None else self.marginals[h, m, labels[m - 1]]
            right.append(float(np.sum(mine)))
        return math.fsum(right) / self.n

    def risk_value(self, tree: ScoredTree, score_weight: float) -> float:
        """What min-risk decoding maximises: marginals, blended with scores."""
        chance = math.fsum(self.marginals[cell] for cell in tree.cells())
        return (1.0 - score_weight) * chance + score_weight * self.score(tree)

    def best_risk_value(self, score_weight: float = 0.0) -> float:
        return max(self.risk_value(tree, score_weight) for tree in self.trees)

    def find(self, heads: Heads, labels: Labels | None) -> ScoredTree | None:
        """The tree with these heads and labels, if it has a chance."""
        return next((tree for tree in self.trees if tree.key == (heads, labels)), None)


def _cell(h: int, m: int, label: int | None) -> tuple[int, ...]:
    return (h, m) if label is None else (h, m, label)

"""Factors of all orders: their parts by definition, random scores of them, and enumeration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc import Parts, ProjectiveTrees
from support.brute_force import BruteForce, Heads, projective_tree, sibling_parts
from support.law_base import (
    assert_accurate,
    assert_log_marginals,
    assert_marginals,
    assert_ranked,
)
from support.trees import all_trees

__all__ = [
    "ORDERS",
    "PARTS",
    "SUBSETS",
    "assert_all_answers",
    "enumerated",
    "factor_log_marginals",
    "mirrored_factors",
    "usable_parts",
]

Floats = NDArray[np.float64]
PartsOf = Callable[[Heads], list[tuple[int, ...]]]


def grandchild_parts(heads: Heads) -> list[tuple[int, ...]]:
    """(g, h, m) for every arc h -> m whose head h has itself a head g, the root included."""
    return [(heads[h - 1], h, m) for m, h in enumerate(heads, 1) if h > 0]


def grand_sibling_parts(heads: Heads) -> list[tuple[int, ...]]:
    """(g, h, s, m) for the same arcs, s as in `sibling_parts`."""
    return [(heads[h - 1], h, s, m) for h, s, m in sibling_parts(heads) if h > 0]


def tri_sibling_parts(heads: Heads) -> list[tuple[int, ...]]:
    """(h, t, s, m) for modifiers of h on one side, nothing else of h between them."""
    found = []
    for h in range(len(heads) + 1):
        right = [m for m, head in enumerate(heads, 1) if head == h and m > h]
        left = [m for m, head in enumerate(heads, 1) if head == h and m < h][::-1]
        for side in (left, right):
            found += [(h, *side[i : i + 3]) for i in range(len(side) - 2)]
    return found


PARTS: dict[str, PartsOf] = {
    "sibling": sibling_parts,
    "grandchild": grandchild_parts,
    "grand_sibling": grand_sibling_parts,
    "tri_sibling": tri_sibling_parts,
}
ORDERS = {"sibling": 3, "grandchild": 3, "grand_sibling": 4, "tri_sibling": 4}
#: Every subset of the factors, as tuples of names.
SUBSETS = [names for size in range(5) for names in combinations(PARTS, size)]


@cache
def _is_projective(heads: Heads) -> bool:
    return projective_tree(heads)


@cache
def _cells(name: str, heads: Heads) -> list[int]:
    """The indices of a tree's parts in the flat factor."""
    parts = PARTS[name](heads)
    shape = (len(heads) + 1,) * ORDERS[name]
    return [int(np.ravel_multi_index(part, shape)) for part in parts]


def enumerated(
    scores: Floats, root: str, factors: Mapping[str, Floats], limits: Any = None
) -> BruteForce:
    """The list of trees; its factor is all factors, flat and end to end."""
    starts = np.cumsum([0, *(factor.size for factor in factors.values())]).tolist()

    def parts_of(heads: Heads) -> list[tuple[int, ...]]:
        names = zip(factors, starts, strict=False)
        return [(start + cell,) for name, start in names for cell in _cells(name, heads)]

    def support(heads: Heads) -> bool:
        counts = [heads.count(h) for h in range(len(heads) + 1)]
        return _is_projective(heads) and (limits is None or bool((counts <= limits).all()))

    flat = np.concatenate([np.empty(0), *(factor.ravel() for factor in factors.values())])
    return BruteForce(scores, root, support, flat, parts_of)


def factor_log_marginals(truth: BruteForce, factors: Mapping[str, Floats]) -> dict[str, Floats]:
    """Log-probabilities of parts, in the shape of each factor."""
    found, start = {}, 0
    for name, factor in factors.items():
        found[name] = truth.part_log_marginals[start : start + factor.size].reshape(factor.shape)
        start += factor.size
    return found


def assert_all_answers(
    trees: ProjectiveTrees,
    truth: BruteForce,
    factors: Mapping[str, Floats],
    given: Mapping[str, Any] | None = None,
) -> None:
    """log Z, marginals of every kind of part, the complete list, entropy.

    Args:
        given: the factors in the form in which `trees` has them, by default arrays.
    """
    assert_accurate(trees.log_partition(), truth.log_partition())
    assert_marginals(trees.marginals(), truth.marginals)
    for name, logs in factor_log_marginals(truth, factors).items():
        form = None if given is None else given[name]
        own = logs[tuple(form.index.T)] if isinstance(form, Parts) else logs
        assert_log_marginals(trees.log_marginals(name), own)
        assert_marginals(trees.marginals(name), np.exp(own))
    assert_accurate(trees.entropy(), truth.entropy())
    assert_ranked(trees, truth)


@cache
def usable_parts(name: str, n: int) -> frozenset[tuple[int, ...]]:
    """The parts that some projective tree of n words has."""
    trees = (heads for heads in all_trees(n) if _is_projective(heads))
    return frozenset(part for heads in trees for part in PARTS[name](heads))


@cache
def mirrored_factors(n: int, names: Iterable[str] = tuple(PARTS)) -> dict[str, Floats]:
    """Multiples of 1/4, zero for every other part, the same read from right to left.

    Where no projective tree has a part there is NaN: it must not be read.
    """
    rng, order = np.random.default_rng(n), np.array([0, *range(n, 0, -1)])
    factors = {}
    for name in names:
        values = rng.integers(-8, 9, size=(n + 1,) * ORDERS[name]) / 4.0
        values[rng.random(values.shape) < 0.5] = 0.0
        mirrored = values[np.ix_(*[order] * values.ndim)]
        # The root stays on the left, so that its modifiers come in the opposite order.
        of_root = values[0] + values[0].T[np.ix_(*[order] * (values.ndim - 1))]
        values = values + mirrored
        if name in ("sibling", "tri_sibling"):
            values[0] = of_root
        if name == "sibling":
            values[0, 0] = 0.5
        factors[name] = np.full(values.shape, np.nan)
        for part in usable_parts(name, n):
            factors[name][part] = values[part]
    return factors

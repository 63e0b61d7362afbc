"""Random trees by the block against the enumeration of all small trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from support import definitions
from support.frequencies import assert_distribution
from support.trees import all_trees

from crossarc.treebank.synthetic.random_trees import mixed_heads, projective_heads, uniform_heads


@pytest.mark.parametrize(("n", "single", "multi"), [(1, 0, 0), (2, 0, 0), (3, 2, 4), (4, 34, 70)])
def test_shortest_nonprojective_trees(n: int, single: int, multi: int) -> None:
    """Three words are the fewest that can cross; of 9 trees with a single root two do."""
    crossing = [heads for heads in all_trees(n) if any(definitions.nonprojective_arcs(heads))]
    assert len(crossing) == multi
    assert sum(heads.count(0) == 1 for heads in crossing) == single


@pytest.mark.parametrize("draw", [projective_heads, uniform_heads])
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_trees_are_uniform(draw: Callable[..., np.ndarray], single: bool, n: int) -> None:
    count = 20_000
    heads = draw(np.random.default_rng(n), np.full(count, n), single=single)[1:].reshape(count, n)
    local = np.where(heads > 0, heads - n * np.arange(count)[:, None], 0)
    found = Counter(map(tuple, local.tolist()))
    possible = [
        tree
        for tree in all_trees(n)
        if (not single or tree.count(0) == 1)
        and not (draw is projective_heads and any(definitions.nonprojective_arcs(tree)))
    ]
    assert set(found) <= set(possible)
    assert_distribution([found[tree] for tree in possible], [1.0] * len(possible))


def one_move(heads: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The trees made by moving a subtree past words that its head does not dominate."""
    n, made = len(heads), set()
    for word, head in enumerate(heads, 1):
        block = definitions.subtree(heads, word)
        rest = [v for v in range(1, n + 1) if v not in block]
        for gap in range(len(rest) + 1):
            order = rest[:gap] + block + rest[gap:]
            reach = sorted((order.index(word), order.index(head))) if head else (0, 0)
            if any(not definitions.dominates(heads, head, v) for v in order[slice(*reach)]):
                made.add(tuple(order.index(heads[v - 1]) + 1 if heads[v - 1] else 0 for v in order))
    return made


@pytest.mark.parametrize("single", [True, False])
def test_trees_that_have_to_cross_are_one_move_from_projective_ones(single: bool) -> None:
    """All of those, and no others, are found; `crossing` decides sentence by sentence."""
    count, n = 20_000, 4
    crossing = np.arange(count) % 3 == 0
    heads = mixed_heads(np.random.default_rng(0), np.full(count, n), crossing, single=single)
    rows = heads[1:].reshape(count, n)
    local = np.where(rows > 0, rows - n * np.arange(count)[:, None], 0)
    projective = {
        tree
        for tree in all_trees(n)
        if not any(definitions.nonprojective_arcs(tree)) and (tree.count(0) == 1 or not single)
    }
    assert set(map(tuple, local[~crossing].tolist())) == projective
    reachable = set().union(*map(one_move, projective))
    assert set(map(tuple, local[crossing].tolist())) == reachable
    assert all(any(definitions.nonprojective_arcs(tree)) for tree in reachable)

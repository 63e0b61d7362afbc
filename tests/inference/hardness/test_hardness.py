"""Reductions of hard problems to parsing, and back (McDonald & Satta 2007, section 5)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.crossing import EnumeratedTrees
from support.trees import all_trees

import crossarc as ca
from crossarc.inference import hardness
from crossarc.inference.hardness import HamiltonianPath, HorizontalMatching, VerticalMatching

# Figure 1: 1 Mr. 2 Tomash 3 will 4 remain 5 as 6 a 7 director 8 emeritus.
FIGURE = [2, 3, 0, 3, 4, 7, 5, 7]
REMAIN = 4


def test_neighbourhoods_of_figure_4() -> None:
    """Of the arc from will to remain: everything below it and the arc above; Tomash's beside it."""
    vertical = hardness.vertical_neighbourhood(FIGURE, REMAIN)
    assert vertical == {(0, 3), (3, 4), (4, 5), (5, 7), (7, 6), (7, 8)}
    assert hardness.horizontal_neighbourhood(FIGURE, REMAIN) == {(3, 2), (3, 4)}


@pytest.mark.parametrize("direction", ["vertical", "horizontal"])
def test_weights_by_definition(direction: str) -> None:
    """A term for each arc with up to d arcs before it; order d is order d + 1 that looks less."""
    weigh = getattr(hardness, f"{direction}_weight")
    labels = [1, 2, 3, 4, 5, 6, 7, 8]
    seen: list[Any] = []
    assert weigh(FIGURE, labels, 2, lambda before, arc: seen.append((before, arc)) or 2.0) == 2.0**8
    above = {arc: before for before, arc in seen}
    if direction == "vertical":
        assert above[7, 6, 6] == ((4, 5, 5), (5, 7, 7))
        assert above[3, 2, 2] == ((0, 3, 3),)
    else:
        assert above[7, 8, 8] == above[7, 6, 6] == ()  # on different sides of their head
        assert weigh([0, 1, 1, 1], None, 1, lambda b, a: 1.0 + a[1] * sum(s for _, s, _ in b)) == (
            1.0 * 1.0 * (1.0 + 3 * 2) * (1.0 + 4 * 3)
        )

    def weight(before: Any, arc: Any) -> float:
        return 0.5 + sum(
            (i + 1) * (7 * h + 3 * m) % 11 for i, (h, m, _) in enumerate((*before, arc))
        )

    for heads, order in itertools.product(itertools.islice(all_trees(4), 0, None, 7), range(3)):

        def embedded(before: Any, arc: Any, order: int = order) -> float:
            return weight(before[max(0, len(before) - order) :], arc)

        assert weigh(heads, None, order + 1, embedded) == weigh(heads, None, order, weight)


GRAPHS = [
    (4, [(1, 2), (2, 3), (3, 4), (4, 1), (2, 4), (4, 3)]),
    (4, [(1, 2), (1, 3), (1, 4)]),  # a star: no path
    (5, [(i, j) for i in range(1, 6) for j in range(1, 6) if i != j]),  # 5! paths
    (5, [(1, 2), (2, 1), (3, 4), (4, 5), (5, 3)]),  # two components
]


@pytest.mark.parametrize(("n", "edges"), GRAPHS)
def test_hamiltonian_paths(n: int, edges: Any) -> None:
    arcs = set(edges)
    paths = [
        list(path)
        for path in itertools.permutations(range(1, n + 1))
        if all(pair in arcs for pair in itertools.pairwise(path))
    ]
    problem = HamiltonianPath(n, edges)
    trees = EnumeratedTrees(problem.scores, "multi", {}, np.ones(n + 1))
    assert len(trees) == len(paths)
    if paths:
        starts = [sum(path[0] == i for path in paths) for i in range(1, n + 1)]
        counts = trees.marginals()[0, 1:] * math.exp(trees.log_partition())
        np.testing.assert_allclose(counts, starts, atol=1e-9)
    parser = ca.HigherOrderTrees(problem.scores, root="multi", max_modifiers=problem.max_modifiers)
    for method in ("dual", "ilp"):
        if not paths:
            with pytest.raises(ca.InfeasibleError):
                parser.argmax(method)
            continue
        tree = parser.argmax(method)
        assert tree.is_optimal
        assert problem.path(tree) in paths
    for path in paths:
        assert problem.path(problem.tree(path)) == path


CUBE = list(itertools.product((1, 2), repeat=3))
TRIPLES = [
    (2, CUBE),
    (2, [(1, 1, 1), (2, 2, 2)]),
    (2, [(1, 1, 1), (1, 2, 2), (2, 1, 2)]),  # no matching
    (2, [(1, 1, 1), (2, 1, 2), (1, 2, 2)]),  # no matching
    (2, [(1, 2, 1), (2, 1, 2), (1, 1, 2), (2, 2, 2)]),
    (3, [(1, 1, 2), (2, 3, 1), (3, 2, 3), (1, 2, 1), (2, 1, 3), (3, 3, 3)]),
    (3, [(1, 1, 2), (2, 1, 1), (3, 2, 3), (2, 2, 1), (3, 3, 3)]),
]


def matchings(m: int, triples: Any) -> list[set[Any]]:
    """By definition."""
    return [
        set(some)
        for some in itertools.combinations(sorted(set(triples)), m)
        if all(len({t[k] for t in some}) == m for k in range(3))
    ]


@pytest.mark.parametrize(("m", "triples"), TRIPLES)
def test_horizontal_markovization(m: int, triples: Any) -> None:
    expected, problem = matchings(m, triples), HorizontalMatching(m, triples)
    trees = ca.HigherOrderTrees(problem.scores, root=problem.root, sibling=problem.sibling)
    for method in ("dual", "ilp", "substitution"):
        if not expected:
            with pytest.raises(ca.InfeasibleError):
                trees.argmax(method)
            continue
        tree = trees.argmax(method)
        assert tree.score == 0.0
        assert tree.is_optimal == (method != "substitution")
        assert problem.matching(tree) in expected
    for matching in expected:
        assert problem.matching(problem.tree(matching)) == matching
    best = list(trees.kbest(5)) if expected else []
    assert len(best) == len(expected)
    assert sorted(map(sorted, map(problem.matching, best))) == sorted(map(sorted, expected))


@pytest.mark.parametrize(("m", "triples"), TRIPLES)
def test_vertical_markovization(m: int, triples: Any) -> None:
    expected, problem = matchings(m, triples), VerticalMatching(m, triples)
    best = problem.solve()
    assert (best is not None) == bool(expected)
    if best is not None:
        assert problem.weight(*best) == 1.0
        assert problem.matching(*best) in expected
    found = list(problem.labelled_trees())
    assert all(problem.weight(*one) == 1.0 for one in found)
    assert sorted(sorted(problem.matching(*one)) for one in found) == sorted(map(sorted, expected))
    for matching in expected:
        assert problem.weight(*problem.tree(matching)) == 1.0
        assert problem.tree(problem.matching(*problem.tree(matching))) == problem.tree(matching)

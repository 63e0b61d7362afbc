"""The compiled algorithm against the definitions of Nivre (2006), and laws of the result."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from support import covington_definitions as definitions
from support.trees import all_trees, trees

from crossarc import Tree
from crossarc.inference.transition import CONSTRAINTS, Order, covington, degree_bound

ORDERS: tuple[Order, ...] = ("incremental", "shortest-first")


def assert_follows_definitions(
    forest: list[tuple[int, ...]], constraints: tuple[str, ...], order: Order
) -> None:
    results = covington([Tree(heads) for heads in forest], constraints, order=order, threads=1)
    starts = np.cumsum([0, *map(len, forest)])
    for constraint in constraints:
        found = results[constraint]
        for k, gold in enumerate(forest):
            expected = definitions.parse(gold, constraint, order)
            assert found.heads[starts[k] : starts[k + 1]].tolist() == expected.heads
            assert found.active[k] == expected.active
            assert found.correct[k] == sum(map(int.__eq__, expected.heads, gold))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_all_small_trees(n: int, order: Order) -> None:
    """Six words leave room for a degree of 4."""
    bounds = tuple(f"d<={k}" for k in range(1, n - 1))
    constraints = ("projectivity", *bounds, "acyclicity", "single-head", "none")
    assert_follows_definitions(list(all_trees(n)), constraints, order)


def random_tree(rng: random.Random, n: int) -> tuple[int, ...]:
    order = list(range(1, n + 1))
    rng.shuffle(order)
    heads = [0] * n
    for place in range(n):
        parent = rng.randint(0, place)
        heads[order[place] - 1] = 0 if parent == 0 else order[parent - 1]
    return tuple(heads)


def nearly_projective_tree(rng: random.Random, n: int) -> tuple[int, ...]:
    """Mostly short arcs, as in a treebank: each word hangs on a near one that does not close a
    cycle."""
    heads = [-1] * (n + 1)
    heads[rng.randint(1, n)] = 0
    for word in rng.sample(range(1, n + 1), n):
        while heads[word] < 0:
            head = word + rng.choice((-3, -2, -1, -1, 1, 1, 2, 4))
            if 1 <= head <= n and not reaches(heads, head, word):
                heads[word] = head
            elif rng.random() < 0.05:
                heads[word] = 0
    return tuple(heads[1:])


def reaches(heads: list[int], word: int, goal: int) -> bool:
    while word > 0 and word != goal:
        word = heads[word]
    return word == goal


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n", [8, 13, 20, 30])
def test_random_trees(n: int, order: Order) -> None:
    rng = random.Random(n)
    forest = [random_tree(rng, n), nearly_projective_tree(rng, n)]
    forest += [nearly_projective_tree(rng, n) for _ in range(2)]
    assert_follows_definitions(forest, (*CONSTRAINTS, "d<=7"), order)
    definitions.strictest.cache_clear()


@given(trees(max_words=9))
def test_any_tree(heads: list[int]) -> None:
    for order in ORDERS:
        assert_follows_definitions([tuple(heads)], ("projectivity", "d<=1", "d<=2"), order)


@given(trees(max_words=25))
def test_laws(heads: list[int]) -> None:
    """Weaker constraints keep more pairs active; no arc is lost without a bound."""
    tree = Tree(heads)
    n = len(tree)
    for order in ORDERS:
        results = covington([tree], (*CONSTRAINTS, f"d<={n}"), order=order)
        assert results["none"].active.tolist() == [n * (n - 1) // 2]
        for name in ("none", "single-head", "acyclicity", f"d<={n}"):
            assert results[name].heads.tolist() == heads
        assert results[f"d<={n}"].active == results["acyclicity"].active
        assert results["acyclicity"].active <= results["single-head"].active
        assert results["single-head"].active <= results["none"].active
        # Each linked pair was active.
        for found in results.values():
            assert np.count_nonzero(found.heads) <= found.active[0]
        if tree.is_projective:
            assert results["projectivity"].correct.tolist() == [n]
        else:
            assert results["projectivity"].correct[0] < n
        # What is found is a subset of the gold tree, and obeys the bound.
        for name in CONSTRAINTS[:7]:
            kept = results[name].heads
            assert ((kept == heads) | (kept == 0)).all()
            assert Tree(kept).degree <= (degree_bound(name) or 0)


def test_projectivity_is_degree_0() -> None:
    rng = random.Random(5)
    forest = [Tree(random_tree(rng, 12)) for _ in range(20)]
    results = covington(forest, ("projectivity", "d<=0"))
    assert results["projectivity"].heads.tolist() == results["d<=0"].heads.tolist()


def test_figure_1_of_nivre_2006() -> None:
    """The only non-projective arc is 5 -> 1, of degree 1; without it, 1 -> 2 is still there."""
    results = covington([Tree([5, 1, 0, 5, 3, 3, 6, 0])])
    assert results["projectivity"].heads.tolist() == [0, 1, 0, 5, 3, 3, 6, 0]
    assert results["d<=1"].correct.tolist() == [8]


def test_error_propagation() -> None:
    """Worked out by hand. Only 4 -> 2 is non-projective, but 1 -> 3 comes first and finds word 2
    in its way, since word 4 is not below 1 yet; 4 -> 2 then finds 3 in its way, and 1 -> 4 both.
    One non-projective arc costs three. At degree 1 nothing is lost."""
    tree = Tree([0, 4, 1, 1])
    assert tree.nonprojective_arcs.tolist() == [False, True, False, False]
    results = covington([tree], ("projectivity", "d<=1"))
    assert results["projectivity"].heads.tolist() == [0, 0, 0, 0]
    assert results["d<=1"].correct.tolist() == [4]


def test_a_degree_that_falls_later() -> None:
    """Worked out by hand. 1 -> 4 passes over 2 and 3, whose head 5 comes below 1 only afterwards.
    Its degree is 2 when it is tried and 0 in the end, so d<=1 refuses a tree of degree 1."""
    tree = Tree([0, 5, 5, 1, 1])
    assert tree.arc_degrees.tolist() == [0, 1, 1, 0, 0]
    assert covington([tree], ["d<=1"])["d<=1"].heads[3] == 0
    assert covington([tree], ["d<=2"])["d<=2"].correct.tolist() == [5]


def test_any_number_of_threads_gives_the_same() -> None:
    rng = random.Random(3)
    forest = [Tree(random_tree(rng, rng.randint(1, 20))) for _ in range(50)]
    one, two = covington(forest, threads=1), covington(forest, threads=3)
    for name in CONSTRAINTS:
        assert one[name].heads.tolist() == two[name].heads.tolist()
        assert one[name].active.tolist() == two[name].active.tolist()


def test_no_trees_and_single_words() -> None:
    assert covington([])["d<=1"].active.tolist() == []
    alone = covington([Tree([0]), Tree([0])])
    assert all(found.active.tolist() == [0, 0] for found in alone.values())
    assert all(found.correct.tolist() == [1, 1] for found in alone.values())


def test_wrong_names() -> None:
    with pytest.raises(ValueError, match="no constraint 'd<2': use projectivity, d<=1"):
        covington([Tree([0])], ["d<2"])
    with pytest.raises(ValueError, match='order must be "incremental" or "shortest-first"'):
        covington([Tree([0])], order="longest-first")  # type: ignore[arg-type]
    assert degree_bound("d<=10") == 10
    assert degree_bound("projectivity") == 0
    assert degree_bound("none") is None

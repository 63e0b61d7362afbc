"""The compiled measures against the definitions of the papers."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from support import definitions
from support.trees import all_trees, trees

from crossarc import Tree


def assert_measures_follow_definitions(heads: list[int] | tuple[int, ...]) -> None:
    tree = Tree(heads)
    words = range(1, len(heads) + 1)
    degrees = [definitions.arc_degree(heads, m) for m in words]
    gaps = [definitions.gap_degree(heads, m) for m in words]
    assert tree.nonprojective_arcs.tolist() == definitions.nonprojective_arcs(heads)
    assert tree.arc_degrees.tolist() == degrees
    assert tree.degree == max(degrees)
    assert tree.gap_degrees.tolist() == gaps
    assert tree.gap_degree == max(gaps)
    assert tree.block_degree == max(gaps) + 1
    assert tree.is_well_nested == definitions.is_well_nested(heads)
    assert tree.crossings == definitions.crossings(heads)
    assert tree.is_planar == (definitions.crossings(heads) == 0)
    assert tree.is_projective == (not any(definitions.nonprojective_arcs(heads)))
    assert tree.is_single_root == (list(heads).count(0) == 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_trees(n: int) -> None:
    for heads in all_trees(n):
        assert_measures_follow_definitions(heads)


@given(trees(min_words=6, max_words=14))
def test_random_trees(heads: list[int]) -> None:
    assert_measures_follow_definitions(heads)


@pytest.mark.parametrize(
    ("n", "single", "multi"),
    [(1, 1, 1), (2, 2, 3), (3, 7, 12), (4, 30, 55), (5, 143, 273), (6, 728, 1428)],
)
def test_number_of_projective_trees(n: int, single: int, multi: int) -> None:
    """Counts of projective trees: OEIS A006013 with a single root, A001764 with several."""
    projective = [tree for heads in all_trees(n) if (tree := Tree(heads)).is_projective]
    assert len(projective) == multi
    assert sum(tree.is_single_root for tree in projective) == single


def test_figure_1_of_nivre_2006() -> None:
    """The Czech sentence of Figure 1: only the arc 5 -> 1 is non-projective, of degree 1."""
    tree = Tree([5, 1, 0, 5, 3, 3, 6, 0])
    assert tree.arc_degrees.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert tree.nonprojective_arcs.tolist() == [True] + [False] * 7
    assert tree.degree == 1
    assert not tree.is_single_root


def test_one_tree_of_each_kind() -> None:
    """Planar yet not projective; well-nested with a crossing; ill-nested. Counted by hand."""
    planar = Tree([2, 0, 1])
    assert (planar.crossings, planar.is_well_nested, planar.gap_degree) == (0, True, 1)
    crossing = Tree([3, 4, 0, 3])
    assert (crossing.crossings, crossing.is_well_nested, crossing.gap_degree) == (1, True, 1)
    ill_nested = Tree([5, 5, 1, 2, 0])
    assert (ill_nested.crossings, ill_nested.is_well_nested, ill_nested.gap_degree) == (2, False, 1)


@given(trees(max_words=20))
def test_laws(heads: list[int]) -> None:
    tree = Tree(heads)
    n = len(heads)
    mirrored = Tree([n + 1 - h if h else 0 for h in reversed(heads)])
    assert mirrored.arc_degrees.tolist() == tree.arc_degrees.tolist()[::-1]
    assert mirrored.gap_degrees.tolist() == tree.gap_degrees.tolist()[::-1]
    assert mirrored.crossings == tree.crossings
    assert mirrored.is_well_nested == tree.is_well_nested
    assert tree.is_projective == (tree.degree == 0) == (tree.gap_degree == 0)
    assert ((tree.arc_degrees > 0) == tree.nonprojective_arcs).all()
    if tree.is_projective:
        assert tree.is_planar
        assert tree.is_well_nested


def test_long_chain_and_star() -> None:
    """20,000 words in a chain and around one hub: projective, and measured without recursion."""
    n = 20_000
    for heads in (range(n), [n // 2] * (n // 2 - 1) + [0] + [n // 2] * (n // 2)):
        tree = Tree(list(heads))
        assert tree.is_projective
        assert tree.is_well_nested
        assert (tree.degree, tree.gap_degree, tree.crossings) == (0, 0, 0)


def test_long_shuffled_chain() -> None:
    """A chain in random word order. The definitions are recomputed here with sets of words."""
    n = 3_000
    order = list(range(1, n + 1))
    random.Random(1).shuffle(order)
    heads = [0] * n
    for parent, child in itertools.pairwise(order):
        heads[child - 1] = parent
    tree = Tree(heads)
    below: set[int] = set()
    blocks, expected = 0, 0
    for word in reversed(order):
        blocks += 1 - (word - 1 in below) - (word + 1 in below)
        below.add(word)
        expected = max(expected, blocks - 1)
    assert tree.gap_degree == expected
    assert tree.is_well_nested
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h]
    assert tree.crossings == sum(
        a < b < c < d for i, (a, c) in enumerate(arcs) for b, d in arcs[:i]
    ) + sum(a < b < c < d for i, (b, d) in enumerate(arcs) for a, c in arcs[:i])

"""The projective tree with the fewest changed heads, against brute force and a plain Eisner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from support import definitions
from support.eisner import least_cost
from support.files import treebank_files
from support.trees import all_trees, trees

from crossarc import Tree, projectivize, read_conllu
from crossarc.treebank import sample

Heads = list[int] | tuple[int, ...]


def distance(heads: Heads, u: int, v: int) -> int:
    """Arcs on the way from u to v: up from u until above v, and down."""
    up = 0
    while not definitions.dominates(heads, u, v):
        u = heads[u - 1]
        up += 1
    down = 0
    while v != u:
        v = heads[v - 1]
        down += 1
    return up + down


def changes_and_distance(old: Heads, new: Heads) -> tuple[int, int]:
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    return len(pairs), sum(distance(old, a, b) for a, b in pairs)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_trees(n: int) -> None:
    """Fewest changed heads of all projective trees, then nearest; single root if it was."""
    projective = [heads for heads in all_trees(n) if not any(definitions.nonprojective_arcs(heads))]
    for heads in all_trees(n):
        tree = Tree(heads)
        closest = projectivize(tree)
        assert closest.is_projective
        allowed = [p for p in projective if p.count(0) == 1 or heads.count(0) > 1]
        found = changes_and_distance(heads, closest.heads.tolist())
        assert found == min(changes_and_distance(heads, p) for p in allowed)
        assert closest.is_single_root or not tree.is_single_root


def test_all_trees_of_six_words_keep_most_heads() -> None:
    """The number of changed heads alone, over all 16,807 trees and all 1,428 projective ones."""
    everything = list(all_trees(6))
    projective = np.array([heads for heads in everything if Tree(heads).is_projective])
    single = projective[(projective == 0).sum(axis=1) == 1]
    for heads in everything:
        allowed = single if heads.count(0) == 1 else projective
        expected = (allowed != np.array(heads)).sum(axis=1).min()
        assert (projectivize(Tree(heads)).heads != np.array(heads)).sum() == expected


@given(trees(min_words=6, max_words=40))
def test_longer_trees(heads: list[int]) -> None:
    """Against a plain Eisner with the same costs, as one whole number."""
    n = len(heads)
    tree = Tree(heads)
    changes, way = changes_and_distance(heads, projectivize(tree).heads.tolist())

    def cost(h: int, m: int) -> int:
        old = heads[m - 1]
        return 0 if h == old else n**3 + distance(heads, old, h)

    expected = least_cost(n, cost, single_root=tree.is_single_root)
    assert changes * n**3 + way == expected


@given(trees(max_words=40))
def test_laws(heads: list[int]) -> None:
    tree = Tree(heads, [f"l{m}" for m in range(len(heads))])
    closest = projectivize(tree, "loss")
    assert closest.is_projective
    assert projectivize(closest) is closest
    assert closest.labels == tree.labels
    assert closest.is_single_root or not tree.is_single_root
    lifted = projectivize(tree, "lifting")
    assert (closest.heads != tree.heads).sum() <= (lifted.heads != tree.heads).sum()
    if tree.is_projective:
        assert closest is tree


def test_ties_go_to_the_nearest_head() -> None:
    """4 -> 2 has to go: one change either way, and 3, the head of 4, is nearest to 4."""
    assert projectivize(Tree([3, 4, 0, 3])).heads.tolist() == [3, 3, 0, 3]


def test_the_root_changes_only_if_that_saves_heads() -> None:
    """By hand: 1 heads words on both sides of the root, 3. Lifting changes one head a word.

    Making 1 the root changes two heads: its own and that of 3. With two words on the far side that
    is a tie, and lifting is nearer; with three it saves one.
    """
    two = Tree([3, 1, 0, 1, 1])
    assert projectivize(two).heads.tolist() == [3, 1, 0, 3, 3]
    three = Tree([3, 1, 0, 1, 1, 1])
    assert projectivize(three).heads.tolist() == [0, 1, 1, 1, 1, 1]
    assert projectivize(three, "lifting").heads.tolist() == [3, 1, 0, 3, 3, 3]


def test_sample_bank() -> None:
    for sentence in sample():
        tree = sentence.tree
        closest = projectivize(tree)
        assert closest.is_projective
        assert closest.is_single_root
        assert closest.labels == tree.labels
        crossing = tree.nonprojective_arcs.sum()
        assert (closest.heads != tree.heads).sum() <= crossing


@pytest.mark.skipif(not treebank_files(), reason="no treebanks beside the project")
def test_treebanks_lose_less_than_by_lifting() -> None:
    for path in treebank_files():
        for sentence in read_conllu(path):
            tree = sentence.tree
            if len(tree) > 60 or tree.is_projective:
                continue
            closest, lifted = projectivize(tree), projectivize(tree, "lifting", encoding="none")
            assert closest.is_projective
            assert closest.is_single_root == tree.is_single_root or not tree.is_single_root
            assert (closest.heads != tree.heads).sum() <= (lifted.heads != tree.heads).sum()

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


def arc_cost(heads: Heads, h: int, m: int) -> tuple[int, int, int]:
    """Changed or not, hung from a stranger or not, way from the old head to the new one."""
    changed = h != heads[m - 1]
    return changed, not definitions.dominates(heads, h, m), distance(heads, heads[m - 1], h)


def tree_cost(old: Heads, new: Heads) -> tuple[int, ...]:
    costs = [arc_cost(old, h, m) for m, h in enumerate(new, 1)]
    return tuple(map(sum, zip(*costs, strict=True)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_trees(n: int) -> None:
    """Fewest changed heads, then fewest strangers, then nearest; single root if it was."""
    projective = [heads for heads in all_trees(n) if not any(definitions.nonprojective_arcs(heads))]
    for heads in all_trees(n):
        tree = Tree(heads)
        closest = projectivize(tree)
        assert closest.is_projective
        allowed = [p for p in projective if p.count(0) == 1 or heads.count(0) > 1]
        assert tree_cost(heads, closest.heads.tolist()) == min(tree_cost(heads, p) for p in allowed)
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


@given(trees(min_words=6, max_words=25))
def test_longer_trees(heads: list[int]) -> None:
    """Against a plain Eisner with the same costs, as one whole number."""
    n = len(heads)
    tree = Tree(heads)

    def as_one(cost: tuple[int, ...]) -> int:
        changed, strangers, way = cost
        return (changed * n**2 + strangers) * n**3 + way

    expected = least_cost(
        n, lambda h, m: as_one(arc_cost(heads, h, m)), single_root=tree.is_single_root
    )
    assert as_one(tree_cost(heads, projectivize(tree).heads.tolist())) == expected


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
    """By hand: 4 -> 2 has to go, and 3, the head of 4, is the nearest ancestor that word 2 has.

    In the second tree 1 -> 4 and 1 -> 5 have to go, and word 5 could hang from word 4 as well.
    """
    assert projectivize(Tree([3, 4, 0, 3])).heads.tolist() == [3, 3, 0, 3]
    assert projectivize(Tree([3, 1, 0, 1, 1])).heads.tolist() == [3, 1, 0, 3, 3]


def test_the_root_changes_only_if_that_saves_heads() -> None:
    """By hand: 1 heads words on both sides of the root, 3. Lifting changes one head a word.

    Making 1 the root changes two heads: its own and that of 3. With two words on the far side that
    is a tie, as in the test above; with three it saves one.
    """
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
    for path in (path for path in treebank_files() if path.name.startswith("dev")):
        for sentence in read_conllu(path):
            tree = sentence.tree
            if tree.is_projective:
                continue
            closest, lifted = projectivize(tree), projectivize(tree, "lifting", encoding="none")
            assert closest.is_projective
            assert closest.is_single_root == tree.is_single_root or not tree.is_single_root
            assert (closest.heads != tree.heads).sum() <= (lifted.heads != tree.heads).sum()

"""Lifting against its definition, and what it must keep."""

from __future__ import annotations

import pytest
from hypothesis import given
from support import definitions
from support.trees import all_trees, trees

from crossarc import Tree
from crossarc.transforms import projectivize


def lifted_by_definition(heads: list[int]) -> list[int]:
    """Nivre & Nilsson (2005), section 2: lift the smallest non-projective arc while there is one.

    Smallest is shortest; ties go from left to right.
    """
    lifted = list(heads)
    while any(crossing := definitions.nonprojective_arcs(lifted)):
        arcs = [(lifted[m - 1], m) for m in range(1, len(lifted) + 1) if crossing[m - 1]]
        h, m = min(arcs, key=lambda arc: (abs(arc[0] - arc[1]), min(arc)))
        lifted[m - 1] = lifted[h - 1]
    return lifted


def lift(heads: list[int] | tuple[int, ...]) -> list[int]:
    return projectivize(Tree(heads), "lifting").heads.tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_all_small_trees(n: int) -> None:
    for heads in all_trees(n):
        assert lift(heads) == lifted_by_definition(list(heads))


@given(trees(min_words=6, max_words=14))
def test_random_trees(heads: list[int]) -> None:
    assert lift(heads) == lifted_by_definition(heads)


@given(trees(max_words=40))
def test_laws(heads: list[int]) -> None:
    tree = Tree(heads)
    lifted = projectivize(tree, "lifting")
    assert lifted.is_projective
    assert projectivize(lifted, "lifting") == lifted
    if tree.is_projective:
        assert lifted == tree
    if tree.is_single_root:
        assert lifted.is_single_root
        assert lifted.heads.tolist().index(0) == heads.index(0)
    for m, (old, new) in enumerate(zip(heads, lifted.heads.tolist(), strict=True), 1):
        assert definitions.dominates(heads, new, old)
        assert new != m


def test_figure_1_of_nivre_and_nilsson_2005() -> None:
    """The Czech sentence "Z nich je jen jedna na kvalitu ." (Figures 1 and 2 of the paper).

    The arc from "jedna" to "Z", AuxP, is lifted to "je"; "jedna" is Sb. With the path encoding
    the lifted word only says that it was lifted, and "jedna" that it is on the way.
    """
    heads = [5, 1, 0, 5, 3, 3, 6, 0]
    labels = ["AuxP", "Atr", "Pred", "AuxZ", "Sb", "AuxP", "Adv", "AuxK"]
    tree = Tree(heads, labels)
    expected = {
        "none": ("AuxP", "Sb"),
        "head": ("AuxP↑Sb", "Sb"),
        "path": ("AuxP↑", "Sb↓"),
        "head+path": ("AuxP↑Sb", "Sb↓"),
        "exact": ("AuxP↑Sb", "Sb"),
    }
    for encoding, (first, fifth) in expected.items():
        lifted = projectivize(tree, "lifting", encoding=encoding)
        assert lifted.heads.tolist() == [3, 1, 0, 5, 3, 3, 6, 0]
        assert lifted.labels == (first, *labels[1:4], fifth, *labels[5:])


def test_the_shortest_arc_goes_first() -> None:
    """Followed by hand. Only 4 -> 2 passes a word that its head does not dominate."""
    assert lift([3, 4, 0, 3]) == [3, 3, 0, 3]
    # 1 -> 3 and 1 -> 5 cover word 2, which is not below 1.
    assert lift([2, 0, 1, 2, 1]) == [2, 0, 2, 2, 2]
    # 2 -> 4 is shorter than 1 -> 4 would be: it goes to 1, then to 3.
    assert lift([3, 1, 0, 2]) == [3, 1, 0, 3]


def test_several_roots_may_become_more() -> None:
    """1 -> 3 covers word 2, another root, so word 3 can only hang from the root itself."""
    assert lift([0, 0, 1]) == [0, 0, 0]

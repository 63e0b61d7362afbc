"""The public functions: what they accept, and one clear line for what they do not."""

from __future__ import annotations

import pytest

from crossarc import Tree, TreebankError, deprojectivize, projectivize
from crossarc.transforms.encoding import ENCODINGS

CROSSING = [3, 4, 0, 3]


@pytest.mark.parametrize("labels", [None, [7, 8, 9, 7]])
def test_labels_that_are_no_strings_are_kept(labels: list[int] | None) -> None:
    tree = Tree(CROSSING, labels)
    for encoding in (None, "none"):
        lifted = projectivize(tree, "lifting", encoding=encoding)
        assert lifted == Tree([3, 3, 0, 3], labels)
        assert deprojectivize(lifted) == lifted
    with pytest.raises(TreebankError, match=r'encoding "head" needs labels that are strings'):
        projectivize(tree, "lifting", encoding="head")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_projective_tree_stays(encoding: str) -> None:
    tree = Tree([2, 0, 2], ["nsubj:pass", "root", "a|b"])
    assert projectivize(tree, "lifting", encoding=encoding) is tree
    assert deprojectivize(tree) is tree


def test_the_input_is_not_changed() -> None:
    tree = Tree(CROSSING, ["a", "b", "root", "d"])
    projectivize(tree, "lifting")
    assert tree == Tree(CROSSING, ["a", "b", "root", "d"])


def test_unknown_options() -> None:
    tree = Tree(CROSSING, ["a", "b", "root", "d"])
    with pytest.raises(ValueError, match='by must be "loss" or "lifting": got \'luck\''):
        projectivize(tree, "luck")
    with pytest.raises(ValueError, match=r"encoding must be one of exact, head, .*: got 'tail'"):
        projectivize(tree, "lifting", encoding="tail")
    with pytest.raises(ValueError, match='leave it out with by="loss"'):
        projectivize(tree, "loss", encoding="head")

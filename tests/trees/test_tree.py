"""The tree as an object: what it accepts, equality, what it says when it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.trees import is_tree, trees

from crossarc import CrossarcError, Tree, TreebankError
from crossarc.trees import find_cycle


def test_heads_and_labels() -> None:
    tree = Tree([2, 0, 2], labels=["det", "root", "punct"])
    assert tree.heads.tolist() == [2, 0, 2]
    assert tree.heads.dtype == np.int64
    assert tree.labels == ("det", "root", "punct")
    assert len(tree) == 3
    assert repr(tree) == "Tree([2, 0, 2], labels=['det', 'root', 'punct'])"
    assert repr(Tree([2, 0], np.array([1, 0]))) == "Tree([2, 0], labels=[1, 0])"
    labels = Tree([0, 1], labels=np.array([3, 1])).labels
    assert isinstance(labels, np.ndarray)
    assert labels.tolist() == [3, 1]
    assert Tree([0]).labels is None


def test_arrays_are_read_only_and_copied() -> None:
    heads = np.array([2, 0])
    tree = Tree(heads)
    heads[0] = 0
    assert tree.heads.tolist() == [2, 0]
    for array in (tree.heads, tree.arc_degrees, tree.nonprojective_arcs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_equality() -> None:
    assert Tree([0, 1]) == Tree(np.array([0, 1], np.int8))
    assert hash(Tree([0, 1])) == hash(Tree([0, 1]))
    assert Tree([0, 1]) != Tree([2, 0])
    assert Tree([0, 1], ["root", "obj"]) != Tree([0, 1])
    assert Tree([0, 1], [1, 2]) == Tree([0, 1], np.array([1, 2]))
    assert Tree([0, 1], [1, 2]) != Tree([0, 1], [2, 1])
    assert Tree([0, 1]) != "Tree([0, 1])"
    assert pickle.loads(pickle.dumps(Tree([0, 1], ["root", "obj"]))) == Tree(
        [0, 1], ["root", "obj"]
    )


def test_only_inference_sets_scores() -> None:
    tree = Tree([0])
    assert (tree.score, tree.bound, tree.is_optimal) == (None, None, None)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([], "one or more whole numbers"),
        ([[0, 1]], "shape (1, 2)"),
        ([0.0, 1.0], "whole numbers"),
        ([0, 3], "word 2 has head 3, but there are only 2 words"),
        ([0, -2], "word 2 has head -2: use 0 for the root, -1 if it is not known"),
        ([3, -1, 1], "a cycle: 1 -> 3 -> 1"),
        ([2, 1], "no root"),
        ([1, 0], "a cycle: 1 -> 1"),
        ([0, 3, 4, 2], "a cycle: 2 -> 3 -> 4 -> 2"),
    ],
)
def test_invalid_heads(heads: list[int], message: str) -> None:
    with pytest.raises(TreebankError) as caught:
        Tree(heads)
    assert message in str(caught.value)
    assert isinstance(caught.value, CrossarcError)
    assert isinstance(caught.value, ValueError)


def test_partial_trees() -> None:
    """3 -> 1 and 4 -> 2 cross, whatever the head of word 4 is. Counted by hand."""
    tree = Tree([3, 4, 0, -1], labels=["a", "b", "c", "_"])
    assert tree.heads.tolist() == [3, 4, 0, -1]
    assert not tree.is_complete
    assert Tree([3, 4, 0, 3]).is_complete
    assert (tree.crossings, tree.is_planar) == (1, False)
    assert (Tree([3, -1, 0, -1, 3]).crossings, Tree([3, -1, 0, -1, 3]).is_planar) == (0, True)
    assert Tree([-1]).crossings == 0
    assert tree == Tree([3, 4, 0, -1], labels=["a", "b", "c", "_"])
    assert tree != Tree([3, 4, 0, 0], labels=["a", "b", "c", "_"])
    assert repr(Tree([-1, 0])) == "Tree([-1, 0])"
    assert tree._repr_svg_() is None


@pytest.mark.parametrize(
    "name",
    [
        "is_projective",
        "nonprojective_arcs",
        "is_single_root",
        "arc_degrees",
        "degree",
        "gap_degrees",
        "gap_degree",
        "block_degree",
        "is_well_nested",
    ],
)
def test_measures_that_depend_on_missing_heads(name: str) -> None:
    with pytest.raises(TreebankError, match=r"^word 2 has no head: of a partial tree only cross"):
        getattr(Tree([3, -1, 0, -1, 3]), name)


@given(trees(max_words=9), st.data())
def test_crossings_of_partial_trees(heads: list[int], data: st.DataObject) -> None:
    """Those of the arcs that are left, counted by the definition."""
    absent = data.draw(st.sets(st.integers(0, len(heads) - 1)))
    left = [-1 if k in absent else head for k, head in enumerate(heads)]
    arcs = [sorted((h, m)) for m, h in enumerate(left, 1) if h > 0]
    crossings = sum(a < b < c < d for a, c in arcs for b, d in arcs)
    assert Tree(left).crossings == crossings


def test_long_cycles_are_shown_shortened() -> None:
    with pytest.raises(TreebankError, match=r"2 -> 3 -> .* -> 9 -> \.\.\. -> 2 "):
        Tree([0, *range(3, 101), 2])


@pytest.mark.parametrize("labels", [["root"], ["root", 1], [0.5, 1.5]])
def test_invalid_labels(labels: list[object]) -> None:
    with pytest.raises(TreebankError, match="labels"):
        Tree([0, 1], labels)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 7), min_size=1, max_size=7))
def test_cycles_are_found(heads: list[int]) -> None:
    heads = [min(head, len(heads)) for head in heads]
    cycle = find_cycle(heads)
    assert (cycle is None) == is_tree(tuple(heads))
    if cycle is not None:
        assert [heads[word - 1] for word in cycle] == cycle[1:] + cycle[:1]


@given(trees())
def test_every_tree_is_accepted(heads: list[int]) -> None:
    assert Tree(heads).heads.tolist() == heads

"""The way back: exact where theory says so, a tree in any case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.files import treebank_files
from support.trees import all_trees, trees

from crossarc import Tree, deprojectivize, projectivize, read_conllu
from crossarc.transforms.encoding import ENCODINGS, Encoding
from crossarc.treebank import sample

ENCODED: list[Encoding] = [encoding for encoding in ENCODINGS if encoding != "none"]


def there_and_back(tree: Tree, encoding: Encoding) -> Tree:
    lifted = projectivize(tree, "lifting", encoding=encoding)
    assert lifted.is_projective
    return deprojectivize(lifted)


@st.composite
def labelled_trees(draw: st.DrawFn, max_words: int = 40, alphabet: str = "ab") -> Tree:
    heads = draw(trees(max_words=max_words))
    label = st.text(alphabet=alphabet, max_size=2)
    return Tree(heads, draw(st.lists(label, min_size=len(heads), max_size=len(heads))))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_exact_gives_back_every_small_tree(n: int) -> None:
    """Also where all labels are the same, so that they say nothing else about the head."""
    for heads in all_trees(n):
        tree = Tree(heads, ["x"] * n)
        assert there_and_back(tree, "exact") == tree


@given(labelled_trees())
def test_exact_gives_back_any_tree(tree: Tree) -> None:
    assert there_and_back(tree, "exact") == tree
    assert deprojectivize(projectivize(tree, "lifting")) == tree


@given(labelled_trees(alphabet="↑↓\\_1a"))
def test_labels_with_arrows_survive(tree: Tree) -> None:
    assert there_and_back(tree, "exact") == tree
    for encoding in ENCODED:
        assert there_and_back(tree, encoding).labels == tree.labels


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_distinct_labels_name_the_head(n: int) -> None:
    """The head is always below the lifted word's head at its turn, so its label finds it."""
    labels = [f"l{m}" for m in range(1, n + 1)]
    for heads in all_trees(n):
        tree = Tree(heads, labels)
        assert there_and_back(tree, "head") == tree
        assert there_and_back(tree, "head+path") == tree


@given(trees(max_words=40))
def test_distinct_labels_name_the_head_of_longer_trees(heads: list[int]) -> None:
    tree = Tree(heads, [f"l{m}" for m in range(1, len(heads) + 1)])
    assert there_and_back(tree, "head") == tree
    assert there_and_back(tree, "head+path") == tree


def assert_one_lifted_word_comes_back(heads: list[int] | tuple[int, ...]) -> bool:
    """If one word is lifted, the only marked path leads to its head, whatever the labels."""
    tree = Tree(heads, ["x"] * len(heads))
    lifted = projectivize(tree, "lifting", encoding="none")
    if (lifted.heads != tree.heads).sum() > 1:
        return False
    assert there_and_back(tree, "path") == tree
    assert there_and_back(tree, "head+path") == tree
    return True


@pytest.mark.parametrize("n", [3, 4, 5])
def test_one_path_leads_back(n: int) -> None:
    crossing = [heads for heads in all_trees(n) if not Tree(heads).is_projective]
    assert sum(map(assert_one_lifted_word_comes_back, crossing)) > len(crossing) / 2


@given(trees(max_words=20))
def test_one_path_leads_back_in_longer_trees(heads: list[int]) -> None:
    assert_one_lifted_word_comes_back(heads)


def test_where_head_and_path_fail() -> None:
    """Followed by hand: 5 -> 2 and 6 -> 3 are lifted to 4, and 5 and 6 have the same label.

    Both searches find 5 first, so word 3 comes back to the wrong head; "exact" says "the second".
    """
    tree = Tree([4, 5, 6, 0, 4, 4], ["a", "b", "c", "root", "x", "x"])
    lifted = projectivize(tree, "lifting")
    assert lifted == Tree([4, 4, 4, 0, 4, 4], ["a", "b↑x", "c↑x↑2", "root", "x", "x"])
    assert deprojectivize(lifted) == tree
    for encoding in ("head", "path", "head+path"):
        assert there_and_back(tree, encoding).heads.tolist() == [4, 5, 5, 0, 4, 4]


@given(labelled_trees(alphabet="ab|:"))
def test_a_tree_without_marks_stays(tree: Tree) -> None:
    assert deprojectivize(tree) is tree


def test_a_tree_without_string_labels_stays() -> None:
    for tree in (Tree([2, 0, 1]), Tree([2, 0, 1], [4, 4, 4])):
        assert deprojectivize(tree) is tree


@given(
    trees(max_words=12),
    st.lists(st.sampled_from(["a", "a↓", "a↑", "a↑↓", "a↑a", "a↑b↑3", "a↑a↑2↓", "b", "b↓"])),
)
def test_any_marks_give_a_tree(heads: list[int], marks: list[str]) -> None:
    """As a parser may predict them. Roots may come down, but one stays, and none is added."""
    labels = [*marks, *["a"] * len(heads)][: len(heads)]
    restored = deprojectivize(Tree(heads, labels))
    assert set(restored.labels or ()) <= {"a", "b"}
    roots = [m for m, h in enumerate(restored.heads.tolist(), 1) if h == 0]
    assert set(roots) <= {m for m, h in enumerate(heads, 1) if h == 0}


def test_marks_that_lead_nowhere() -> None:
    """No word labelled c; no marked path; a rank beyond the words there are, so the last one."""
    assert deprojectivize(Tree([0, 1, 1], ["root", "b↑c", "d"])).heads.tolist() == [0, 1, 1]
    assert deprojectivize(Tree([0, 1, 1], ["root", "b↑", "d"])).heads.tolist() == [0, 1, 1]
    assert deprojectivize(Tree([0, 1, 1], ["root", "b↑d↑7", "d"])).heads.tolist() == [0, 3, 1]


def test_the_sample_bank_comes_back() -> None:
    crossing = [s.tree for s in sample() if not s.tree.is_projective]
    assert len(crossing) == 70
    assert all(there_and_back(tree, "exact") == tree for tree in crossing)
    # The others are measured, not proved: most trees come back, by each of them.
    recovered = {e: sum(there_and_back(t, e) == t for t in crossing) for e in ENCODED}
    assert recovered == {"exact": 70, "head": 69, "path": 66, "head+path": 69}


@pytest.mark.skipif(not treebank_files(), reason="no treebanks beside the project")
def test_treebanks_come_back() -> None:
    for path in treebank_files():
        for sentence in read_conllu(path):
            tree = sentence.tree
            if not tree.is_projective:
                assert deprojectivize(projectivize(tree, "lifting")) == tree

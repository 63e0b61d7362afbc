"""The two functions that users call: to a projective tree, and back."""

from __future__ import annotations

from typing import Literal

from crossarc.errors import TreebankError
from crossarc.transforms.encoding import ENCODINGS, Encoding, marks_of_lifting
from crossarc.transforms.lifting import lifted_heads
from crossarc.transforms.loss import closest_projective_heads
from crossarc.transforms.marks import Mark, read_mark, write_mark
from crossarc.transforms.restoring import restored_heads
from crossarc.trees import Tree

__all__ = ["deprojectivize", "projectivize"]

METHODS = ("loss", "lifting")


def projectivize(
    tree: Tree, by: Literal["loss", "lifting"] = "loss", *, encoding: Encoding | None = None
) -> Tree:
    """A projective tree over the same words; a single root stays single.

    A tree that is projective already is left as it is, but that with an encoding other than
    "none" a label that holds ↑, ↓ or a backslash is escaped.

    Args:
        tree: any tree.
        by: "loss" for the projective tree with the fewest changed heads (Koo et al. 2007,
            footnote 4), O(n^3). "lifting" to move crossing arcs up to the head's head until none
            is left (Nivre & Nilsson 2005), which can be undone.
        encoding: for lifting, what the labels say about it: "exact", "head", "path", "head+path"
            or "none". By default "exact" if the labels are strings, else "none".

    Raises:
        TreebankError: an encoding is asked for, and the tree has no labels that are strings.
        ValueError: an unknown method or encoding, or an encoding with "loss".
    """
    if by not in METHODS:
        raise ValueError(f'by must be "loss" or "lifting": got {by!r}')
    if encoding is not None and encoding not in ENCODINGS:
        raise ValueError(f"encoding must be one of {', '.join(ENCODINGS)}: got {encoding!r}")
    _require_tree(tree)
    if by == "lifting":
        return _lifted(tree, encoding)
    if encoding is not None:
        raise ValueError('an encoding is for by="lifting": leave it out with by="loss"')
    return tree if tree.is_projective else Tree(closest_projective_heads(tree), tree.labels)


def _lifted(tree: Tree, encoding: Encoding | None) -> Tree:
    labels = _string_labels(tree)
    if encoding is None:
        encoding = "none" if labels is None else "exact"
    if encoding == "none":
        return tree if tree.is_projective else Tree(lifted_heads(tree.heads), tree.labels)
    if labels is None:
        raise TreebankError(
            f'encoding "{encoding}" needs labels that are strings: label the tree, or use '
            'encoding="none"'
        )
    if tree.is_projective:
        escaped = tuple(write_mark(Mark(label)) for label in labels)
        return tree if escaped == labels else Tree(tree.heads, escaped)
    heads = lifted_heads(tree.heads)
    marks = marks_of_lifting(tree.heads.tolist(), heads.tolist(), labels, encoding)
    return Tree(heads, [write_mark(mark) for mark in marks])


def deprojectivize(tree: Tree) -> Tree:
    """Undo `projectivize(tree, by="lifting")` by what the labels say, and clean the labels.

    The labels tell which encoding was used. "exact" gives back the tree that was lifted, whatever
    it was; the others do so for most trees of a treebank. A tree without marks in its labels is
    left as it is, and so is a partial tree. Marks that lead nowhere, as a parser may predict them,
    leave their word where it is; the result is always a tree, with a single root if there was one.

    O(n) for each lifted word.
    """
    _require_tree(tree)
    labels = _string_labels(tree)
    if labels is None or not tree.is_complete:
        return tree
    marks = [read_mark(label) for label in labels]
    cleaned = tuple(mark.label for mark in marks)
    if cleaned == labels:
        return tree
    return Tree(restored_heads(tree.heads.tolist(), marks), cleaned)


def _require_tree(tree: object) -> None:
    if not isinstance(tree, Tree):
        raise TreebankError(f"expected a Tree, as Tree(heads) or sentence.tree: got {tree!r:.60}")


def _string_labels(tree: Tree) -> tuple[str, ...] | None:
    """The labels, if they are strings."""
    return tree.labels if isinstance(tree.labels, tuple) else None

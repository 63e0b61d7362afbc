"""From scores to the forest of their projective trees, and from a derivation back to a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.arithmetic.exact import exact_sum
from crossarc.inference.forest import Forest
from crossarc.trees import Tree

__all__ = ["first_order_forest", "read_tree", "sibling_forest"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# Instances, items and parts are numbered in 32 bits.
_MOST_PARTS = 1 << 31
_MOST_WORDS = 1200


def first_order_forest(scores: Floats, single: bool) -> Forest:
    """Trees whose parts are arcs: the entries of `scores`, (n+1, n+1) or (n+1, n+1, labels)."""
    from crossarc.inference.projective.first_order.rules import emit_first_order

    _check_size(scores)
    labelled = scores.reshape(*scores.shape[:2], -1)
    return _sealed(emit_first_order(labelled, single), scores.reshape(-1))


def sibling_forest(scores: Floats, single: bool, sibling: Floats, places: Ints | None) -> Forest:
    """Trees whose parts are arcs, and behind those in number, sibling parts.

    Args:
        scores: (n+1, n+1) or (n+1, n+1, labels).
        sibling: the scores of all parts [h, s, m], laid flat, or of those that are listed.
        places: None, or for each listed part its place in the dense array, -1 if no tree has it.
    """
    from crossarc.inference.projective.sibling.rules import emit_sibling

    _check_size(scores, len(sibling))
    labelled = scores.reshape(*scores.shape[:2], -1)
    numbers = np.empty(0, np.int32)
    if places is not None:
        numbers = np.full(len(scores) ** 3, -1, np.int32)
        used = np.flatnonzero(places >= 0)
        numbers[places[used]] = scores.size + used
    arrays = emit_sibling(labelled, single, numbers)
    return _sealed(arrays, np.concatenate([scores.reshape(-1), sibling]))


def _check_size(scores: Floats, others: int = 0) -> None:
    if len(scores) - 1 > _MOST_WORDS or scores.size + others >= _MOST_PARTS:
        raise ScoreError(
            f"scores of shape {scores.shape} are too large for a packed forest, which holds "
            f"{_MOST_WORDS} words: split the sentence"
        )


def _sealed(arrays: tuple[Shorts, Shorts, Shorts, Shorts], scores: Floats) -> Forest:
    for array in (*arrays, scores):
        array.flags.writeable = False
    return Forest(*arrays, scores)


def read_tree(forest: Forest, parts: Shorts, shape: tuple[int, ...]) -> Tree:
    """The tree that has these parts, and its score; `shape` is that of the scores."""
    places = np.unravel_index(parts[parts < np.prod(shape)], shape)
    heads, labels = np.empty(shape[0] - 1, np.int64), None
    heads[places[1] - 1] = places[0]
    heads.flags.writeable = False
    if len(shape) == 3:
        labels = np.empty_like(heads)
        labels[places[1] - 1] = places[2]
        labels.flags.writeable = False
    tree = Tree._trusted(heads, labels)
    tree.score = exact_sum(forest.score[parts].tolist())
    return tree

"""How probable given trees and heads are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.constraints import constrain
from crossarc.trees import Tree

if TYPE_CHECKING:
    from crossarc.inference.hooks import TreeHooks
    from crossarc.inference.runtime.batch import Batch

__all__ = [
    "arc_scores",
    "arcs_of",
    "expected_attachment",
    "log_prob",
    "log_prob_by_parts",
    "log_prob_under",
]

Floats = NDArray[np.float64]


def log_prob(trees: TreeHooks, tree: Any, heads: Any) -> float:
    """`TreeDistribution.log_prob`."""
    if (tree is None) == (heads is None):
        raise ValueError("give either a tree or heads=")
    if heads is not None:
        given = trees._given(heads, Mapping)
        return trees._each(lambda index: log_prob_under(trees, index, given[index]))
    some = trees._given(tree, Tree)
    return trees._each(lambda index: trees._tree_log_prob(index, some[index]))


def expected_attachment(trees: TreeHooks, tree: Any) -> float:
    """`TreeDistribution.expected_attachment`."""
    some = trees._given(tree, Tree)

    def share(index: int) -> float:
        probabilities = trees._feasible_marginals(index, False)
        # Summed over labels, a probability may be rounded to more than 1.
        return min(1.0, float(np.mean(arcs_of(trees._batch, index, some[index], probabilities))))

    return trees._each(share)


def log_prob_by_parts(trees: TreeHooks, index: int, tree: Tree) -> float:
    """The scores of the tree's parts less log Z; O(n)."""
    batch = trees._batch
    high, low = trees._feasible_total(index)
    if trees.root == "single" and not tree.is_single_root:
        return -math.inf
    if not trees._in_support(tree):
        return -math.inf
    terms = arc_scores(batch, index, tree)
    if -math.inf in terms:
        return -math.inf
    terms += trees._factor_scores(index, tree)
    return min(0.0, math.fsum([*terms, -high, -low]))


def log_prob_under(
    trees: TreeHooks,
    index: int,
    heads: Mapping[int, int],
    labels: Mapping[int, int] | None = None,
) -> float:
    """log Z of the trees with some heads (and labels), less log Z of all."""
    total = trees._feasible_total(index)
    scores = constrain(trees._batch.scores(index), heads=heads, labels=labels)
    high, low = trees._with_scores(scores, [index], 1)._log_total(0)
    if high == -math.inf:
        return -math.inf
    return min(0.0, math.fsum([high, low, -total[0], -total[1]]))


def arc_scores(batch: Batch, index: int, tree: Tree) -> list[float]:
    """Numbers that sum to the score of the tree's arcs; labels summed over if the tree has none."""
    if not batch.labelled or tree.labels is not None:
        own: list[float] = arcs_of(batch, index, tree, batch.scores(index)).tolist()
        return own
    best = arcs_of(batch, index, tree, batch.square(index))
    label_sums = arcs_of(batch, index, tree, batch.label_sum(index))
    if best.min() == -np.inf:
        return [-math.inf]
    return [*best.tolist(), *np.log(label_sums).tolist()]


def arcs_of(batch: Batch, index: int, tree: Tree, table: Floats) -> Floats:
    """The table's entries for the tree's arcs; labels summed over if the tree has none."""
    if len(tree) != batch.sizes[index]:
        raise ScoreError(
            f"{batch.name(index)}the tree has {len(tree)} words, the scores {batch.sizes[index]}"
        )
    if not tree.is_complete:
        word = int(np.argmin(tree.heads)) + 1
        raise ScoreError(
            f"{batch.name(index)}word {word} of the tree has no head: give heads= for the "
            "heads that are known"
        )
    words = np.arange(1, len(tree) + 1)
    entries: Floats = table[tree.heads, words]
    if entries.ndim == 1:
        return entries
    if tree.labels is None:
        return cast(Floats, entries.sum(axis=1))
    labels = np.asarray(tree.labels)
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= entries.shape[1]:
        raise ScoreError(f"labels of the tree must be numbers from 0 to {entries.shape[1] - 1}")
    return cast(Floats, entries[words - 1, labels])

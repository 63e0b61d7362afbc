"""Attachment scores of a model on sentences with trees, from the scores that it gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crossarc.models.distributions import bounded_slices, trees_of
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import BatchScores, factors_of, tree_arcs
from crossarc.treebank import Sentence
from crossarc.trees import Tree

__all__ = ["attachment_scores"]


def attachment_scores(
    batch: BatchScores,
    gold: Sequence[Sentence],
    labels: Sequence[str],
    *,
    projective: bool,
    root: RootRule,
    threads: int | None = None,
) -> dict[str, float]:
    """LAS and UAS of the best trees, in percent of the words that have a head.

    Subtypes of labels do not count.

    Args:
        batch: the scores of the sentences.
        labels: the relations of the model.
    """
    best: list[Tree] = []
    for part in bounded_slices(batch.arcs):
        trees = trees_of(
            batch.arcs[part],
            factors_of(batch, part),
            projective=projective,
            root=root,
            threads=threads,
        )
        best += trees.argmax()
    log_probs = batch.label_log_probs([tree_arcs(tree.heads) for tree in best])
    types = np.array([_type(name) for name in labels], object)
    right, labelled, words = 0, 0, 0
    for sentence, tree, logs in zip(gold, best, log_probs, strict=True):
        same_head = (tree.heads == sentence.heads) & (sentence.heads >= 0)
        own = np.array([_type(name) for name in sentence.deprels], object)
        right += int(same_head.sum())
        labelled += int((same_head & (types[logs.argmax(axis=1)] == own)).sum())
        words += int((sentence.heads >= 0).sum())
    return {"las": 100.0 * labelled / words, "uas": 100.0 * right / words}


def _type(relation: str) -> str:
    return relation.partition(":")[0]

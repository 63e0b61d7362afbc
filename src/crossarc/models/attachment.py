"""Attachment scores of a model on sentences with trees, from the scores that it gives them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import BatchScores, tree_arcs
from crossarc.treebank import Sentence

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
    family = ProjectiveTrees if projective else SpanningTrees
    best = family(list(batch.arcs), root=root, threads=threads).argmax()
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

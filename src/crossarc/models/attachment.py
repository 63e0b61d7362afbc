"""Attachment scores of a model on sentences with trees, from the scores that it gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import BatchScores, factors_of, tree_arcs
from crossarc.treebank import Sentence

__all__ = ["attachment_scores", "bounded_slices"]

Floats = NDArray[np.float64]

# Factors of several arcs are in memory for so many arcs at a time.
_ARCS_AT_ONCE = 100_000


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
        batch: the scores of the sentences; in higher order, for projective trees.
        labels: the relations of the model.
    """
    family: Any = ProjectiveTrees if projective else SpanningTrees
    best = []
    for part in bounded_slices(batch.arcs):
        factors = factors_of(batch, part)
        best += family(batch.arcs[part], root=root, threads=threads, **factors).argmax()
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


def bounded_slices(arcs: Sequence[Floats]) -> Iterator[slice]:
    """The sentences of a batch one part after the other, each of a bounded number of arcs."""
    begin, size = 0, 0
    for index, one in enumerate(arcs):
        if size and size + one.size > _ARCS_AT_ONCE:
            yield slice(begin, index)
            begin, size = index, 0
        size += one.size
    if size:
        yield slice(begin, len(arcs))


def _type(relation: str) -> str:
    return relation.partition(":")[0]

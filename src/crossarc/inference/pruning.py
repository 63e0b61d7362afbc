"""Coarse to fine: which arcs are worth the attention of a costlier model.

Charniak & Johnson (2005) prune by the marginals of a coarser model; Koo & Collins (2010, section 6.1)
do so before third-order dependency parsing.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.distribution import Root
from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.runtime.batch import Scores
from crossarc.inference.spanning import SpanningTrees

__all__ = ["prune"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def prune(
    scores: Scores,
    threshold: float = 1e-3,
    *,
    max_heads: int | None = None,
    projective: bool = False,
    root: Root = "single",
    lengths: Sequence[int] | None = None,
    threads: int | None = None,
) -> Any:
    """A copy of scores in which improbable arcs are forbidden, by first-order marginals, O(n^3).

    The arcs of the best tree always stay, so that there is still a tree.

    Args:
        scores: as for `SpanningTrees`. An arc with labels is judged by the sum over its labels,
            and keeps or loses all of them.
        threshold: an arc stays if its probability is at least this. With 0, only arcs that no
            tree has are pruned.
        max_heads: at most so many heads stay of each word: that in the best tree, then the most
            probable ones, the first of those that tie.
        projective: whether the marginals are those of projective trees. For pruning before
            `ProjectiveTrees`, so that the best projective tree stays.
        root: "single" or "multi".
        lengths: for padded arrays, the words of each sentence.
        threads: by default `CROSSARC_THREADS`, else all cores.

    Returns:
        What was given (an array, a list of arrays or a padded array), in float64, with -inf for all
        arcs but those that stay; column 0, the diagonal and padding are -inf as well.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
        InfeasibleError: no tree is possible.
        ValueError: a threshold that is not from 0 to 1, or a `max_heads` below 1.
    """
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold must be from 0 to 1: got {threshold}")
    if max_heads is not None:
        _check_limit(max_heads)
    kind = ProjectiveTrees if projective else SpanningTrees
    trees = kind(scores, root=root, lengths=lengths, threads=threads)
    batch = trees._batch
    best = trees.argmax() if batch.is_batch else [trees.argmax()]
    tables = batch.squares(trees._flat_marginals(True))
    pruned = []
    for index, (tree, log_probs) in enumerate(zip(best, tables, strict=True)):
        kept = _kept(log_probs, tree.heads, threshold, max_heads)
        own = batch.scores(index)
        pruned.append(np.where(kept if own.ndim == 2 else kept[:, :, None], own, -np.inf))
    if lengths is not None:
        return _padded(pruned, np.shape(scores))
    return pruned if batch.is_batch else pruned[0]


def _check_limit(max_heads: int) -> None:
    try:
        whole = operator.index(max_heads)
    except TypeError:
        raise ValueError(f"max_heads must be a whole number: got {max_heads!r}") from None
    if whole < 1:
        raise ValueError(f"max_heads must be at least 1: got {max_heads}")


def _kept(log_probs: Floats, heads: Ints, threshold: float, max_heads: int | None) -> Bools:
    """[h, m]: which arcs of a sentence stay."""
    with np.errstate(divide="ignore"):
        kept: Bools = (log_probs > -np.inf) & (log_probs >= np.log(threshold))
    words = np.arange(1, len(heads) + 1)
    if max_heads is not None and max_heads < len(heads):
        ranked = log_probs.copy()
        ranked[heads, words] = np.inf
        order = np.argsort(-ranked, axis=0, kind="stable")
        np.put_along_axis(kept, order[max_heads:], False, axis=0)
    kept[heads, words] = True
    return kept


def _padded(arrays: Sequence[Floats], shape: tuple[int, ...]) -> Floats:
    whole = np.full(shape, -np.inf)
    for own, array in zip(whole, arrays, strict=True):
        own[: len(array), : len(array)] = array
    return whole

"""Coarse to fine: improbable arcs are pruned before a model of higher order is asked.

As Carreras et al. (2008, https://aclanthology.org/W08-2102) and Koo & Collins (2010,
https://aclanthology.org/P10-1001) do before parsing with higher-order factors, by the marginals of
a first-order model. The parts of factors are then listed by joining the arcs that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.runtime.batch import Scores
from crossarc.inference.spanning import SpanningTrees
from crossarc.inference.typed import Root, counting

__all__ = ["list_parts", "prune"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PartName = Literal["sibling", "grandchild", "grand_sibling", "tri_sibling"]

# At these, pruning loses at most 0.25% of the gold arcs of each treebank that was tried
# (benchmarks/pruning.py). There are fewer projective trees, and so their marginals are sharper.
_SPANNING_THRESHOLD = 5e-4
_PROJECTIVE_THRESHOLD = 5e-5


def prune(
    scores: Scores,
    threshold: float | None = None,
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
        scores: as for `SpanningTrees`. Of an arc with labels the sum over its labels counts, and
            it keeps or loses all of them.
        threshold: an arc stays if its probability is at least this. With 0, only arcs that no
            tree has are pruned. By default 5e-4, for projective trees 5e-5 (docs/inference.md).
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
    if threshold is None:
        threshold = _PROJECTIVE_THRESHOLD if projective else _SPANNING_THRESHOLD
    if not 0.0 <= threshold <= 1.0:
        raise ValueError(f"threshold must be from 0 to 1: got {threshold}")
    if max_heads is not None:
        counting("max_heads", max_heads)
    kind = ProjectiveTrees if projective else SpanningTrees
    trees = kind(scores, root=root, lengths=lengths, threads=threads)
    batch = trees._batch
    found = trees.argmax()
    best = found if isinstance(found, list) else [found]
    tables = batch.squares(trees._flat_marginals(True))
    pruned = []
    for index, (tree, log_probs) in enumerate(zip(best, tables, strict=True)):
        kept = _kept(log_probs, tree.heads, threshold, max_heads)
        own = batch.scores(index)
        pruned.append(np.where(kept if own.ndim == 2 else kept[:, :, None], own, -np.inf))
    if lengths is not None:
        return _padded(pruned, np.shape(scores))
    return pruned if batch.is_batch else pruned[0]


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


def list_parts(
    scores: Scores, part: PartName, *, projective: bool = True, root: Root = "single"
) -> NDArray[np.int32]:
    """The parts of a factor that trees may have, given the arcs that are allowed.

    Their number grows with that of the arcs, not with a power of the sentence's length: with k
    heads a word, there are O(n k^2) or O(n k^3) of them.

    Args:
        scores: of one sentence, as `prune` returns them: (n+1, n+1), or with labels behind; -inf
            forbids an arc.
        part: "sibling", "grandchild", "grand_sibling" or "tri_sibling".
        projective: whether parts of crossing trees alone are left out.
        root: "single" or "multi".

    Returns:
        The first argument of `Parts`, with 3 or 4 indices a row. Sorted; none is missing, but some
        may be in no tree, for want of other arcs.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
        ValueError: an unknown name.
    """
    trees = SpanningTrees(scores, root=root)
    if trees._batch.is_batch:
        raise ScoreError("list_parts takes the scores of one sentence: got a list")
    allowed = trees._batch.square(0) > -np.inf
    arcs, width = np.argwhere(allowed), len(allowed)
    siblings = _siblings(arcs, root == "single")
    if part == "sibling":
        found = siblings
    elif part == "tri_sibling":
        h, s, m = siblings[siblings[:, 0] != siblings[:, 1]].T
        inner, outer = _join(h * width + m, h * width + s)
        found = np.column_stack([h[inner], s[inner], m[inner], m[outer]])
    elif part in ("grandchild", "grand_sibling"):
        below = arcs if part == "grandchild" else siblings
        above, own = _join(arcs[:, 1], below[:, 0])
        found = np.column_stack([arcs[above, 0], below[own]])
        found = found[_fits_above(found, projective)]
    else:
        raise ValueError(f"part must be one of {list(get_args(PartName))}: got {part!r}")
    order = np.argsort(np.ravel_multi_index(tuple(found.T), (width,) * found.shape[1]))
    return found[order].astype(np.int32)


def _siblings(arcs: Ints, single: bool) -> Ints:
    """(h, h, m) and (h, s, m): innermost modifiers, and pairs on one side of a head."""
    h, m = arcs.T
    inner, outer = _join(2 * h + (m > h), 2 * h + (m > h))
    is_pair = np.abs(m - h)[inner] < np.abs(m - h)[outer]
    if single:
        is_pair &= h[inner] > 0
    inner, outer = inner[is_pair], outer[is_pair]
    pairs = np.column_stack([h[inner], m[inner], m[outer]])
    return np.concatenate([np.column_stack([h, h, m]), pairs])


def _fits_above(parts: Ints, projective: bool) -> Bools:
    """Whether g is none of the words below h, and for projective trees not between h and m."""
    g, h, m = parts[:, 0], parts[:, 1], parts[:, -1]
    fits: Bools = np.logical_and.reduce([column != g for column in parts.T[2:]])
    if projective:
        fits &= (g < np.minimum(h, m)) | (g > np.maximum(h, m))
    return fits


def _join(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """The indices of all pairs of equal keys, which are small whole numbers."""
    counts = np.bincount(right, minlength=int(left.max(initial=0)) + 1)
    order, begin = np.argsort(right, kind="stable"), np.cumsum(counts) - counts
    own = counts[left]
    first = np.repeat(np.arange(len(left)), own)
    ranks = np.arange(len(first)) - np.repeat(np.cumsum(own) - own, own)
    return first, order[np.repeat(begin[left], own) + ranks]

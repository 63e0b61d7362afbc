"""Which arcs a model of higher order scores: those that a first-order model finds probable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.inference.constraints import constrain
from crossarc.inference.pruning import prune
from crossarc.models.encode import Encoded
from crossarc.models.first_order.model import LinearModel
from crossarc.models.kinds import RootRule

__all__ = ["surviving_arcs"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Ordinary sentences stay far below: this is a third of a second and some hundred megabytes. What
# no model can make sense of keeps fewer heads a word until it is below, too.
_MOST_INSTANCES, _FEWER_HEADS = 2e7, (16, 8, 4)


def surviving_arcs(
    first: LinearModel,
    encoded: Encoded,
    given: Sequence[Ints] | None = None,
    *,
    projective: bool,
    root: RootRule,
    threshold: float | None = None,
    threads: int | None = None,
) -> Bools:
    """Which arcs of all sentences stay after pruning by a first-order model, flat.

    Those of the best tree always do, for a model of all trees also those of the best projective
    one, so that both kinds of trees are possible.

    Args:
        given: heads of each sentence that are certain, -1 for others.
    """
    # Temperatures are not used: models of folds have none.
    scores = encoded.split_arcs(first.arcs.scores(encoded, threads))
    options: dict[str, Any] = {"threshold": threshold, "threads": threads}
    allowed = [np.empty(0, np.bool_)] * len(scores)
    free = [k for k in range(len(scores)) if given is None or (given[k] < 0).all()]
    some = [scores[k] for k in free]
    trees_of: dict[str, Any] = {"projective": projective, "root": root, **options}
    for k, one in zip(free, prune(some, **trees_of), strict=True):
        allowed[k] = one > -np.inf
        for most in _FEWER_HEADS:
            if _instance_bound(allowed[k]) > _MOST_INSTANCES:
                allowed[k] = prune(scores[k], max_heads=most, **trees_of) > -np.inf
    if not projective:
        trees: Any = ProjectiveTrees(some, root=root, threads=threads)
        for k, tree in zip(free, trees.argmax(), strict=True):
            allowed[k][tree.heads, np.arange(1, len(allowed[k]))] = True
    for k, heads in enumerate(given or ()):
        if (heads >= 0).any():
            allowed[k] = _prune_given(scores[k], heads, projective, root, options) > -np.inf
    return np.concatenate([np.empty(0, np.bool_), *(mask.ravel() for mask in allowed)])


def _instance_bound(allowed: Bools) -> float:
    """About how many rule instances the grandchildren of a sentence make."""
    counts = [part.sum(axis=1, dtype=np.float64) for part in (np.tril(allowed), np.triu(allowed))]
    heads = np.maximum(allowed.sum(axis=0), 1)
    return float(heads @ (counts[0] ** 2 + counts[1] ** 2))


def _prune_given(
    scores: Floats, heads: Ints, projective: bool, root: RootRule, options: dict[str, Any]
) -> Floats:
    """The pruned scores of a sentence some of whose heads are certain, by the trees that it has.

    Heads that cross, or several at the root, count more than the rule against them.
    """
    fixed = constrain(scores, heads={m: int(h) for m, h in enumerate(heads, 1) if h >= 0})
    attempts: list[tuple[bool, RootRule]] = [
        (projective, root),
        (False, root),
        (projective, "multi"),
    ]
    for is_projective, rule in attempts:
        family: Any = ProjectiveTrees if is_projective else SpanningTrees
        if family(fixed, root=rule, threads=1).log_partition() > -np.inf:
            return np.asarray(prune(fixed, projective=is_projective, root=rule, **options))
    return np.asarray(prune(fixed, projective=False, root="multi", **options))

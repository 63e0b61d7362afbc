"""How probable it is that no arcs cross."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack, overload

from numpy.typing import NDArray

from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.runtime.batch import Scores
from crossarc.inference.spanning import SpanningTrees
from crossarc.inference.typed import Options, Root

__all__ = ["projective_log_prob"]


@overload
def projective_log_prob(
    scores: NDArray[Any], *, lengths: None = None, **options: Unpack[Options]
) -> float: ...


@overload
def projective_log_prob(
    scores: Scores, *, lengths: Sequence[int], **options: Unpack[Options]
) -> list[float]: ...


@overload
def projective_log_prob(
    scores: Sequence[NDArray[Any]], **options: Unpack[Options]
) -> list[float]: ...


def projective_log_prob(
    scores: Scores,
    *,
    root: Root = "single",
    lengths: Sequence[int] | None = None,
    threads: int | None = None,
) -> float | list[float]:
    """Log of the probability that a tree drawn from `SpanningTrees` is projective.

    log Z of the projective trees less log Z of all trees, both as sums of two floats: right to
    about 1e-14, relative or absolute, at any scale of the scores. Never above 0; -inf when no
    tree is projective. O(n^3).

    Args:
        scores: as for `SpanningTrees`; for a batch the result is a list.
        root: "single" or "multi".
        lengths: for padded arrays, the words of each sentence.
        threads: by default `CROSSARC_THREADS`, else all cores.

    Raises:
        ScoreError: a wrong shape, NaN, or plus infinity.
        InfeasibleError: no tree is possible.
    """
    every = SpanningTrees(scores, root=root, lengths=lengths, threads=threads)
    projective = ProjectiveTrees(scores, root=root, lengths=lengths, threads=threads)

    def share(index: int) -> float:
        total, part = every._feasible_total(index), projective._log_total(index)
        if part[0] == -math.inf:
            return -math.inf
        return min(0.0, math.fsum([*part, -total[0], -total[1]]))

    return every._listed([share(index) for index in range(len(every._batch))])

"""Distributions over trees, from what a model gives for a batch of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import HigherOrderTrees, ProjectiveTrees, SpanningTrees, TreeDistribution
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import BatchScores, InterpolatedBatch, factors_of

__all__ = ["bounded_slices", "terms_of", "terms_of_sentence", "trees_of"]

Floats = NDArray[np.float64]
#: What a distribution is given beside the scores of arcs, by the name of its argument.
Terms = Mapping[str, Any]

_FIRST_ORDER = "first_order"
# Factors of several arcs are in memory for so many arcs at a time.
_ARCS_AT_ONCE = 100_000


def terms_of(batch: BatchScores) -> dict[str, list[Any]]:
    """What the distributions of a batch need beside the scores of arcs, for each sentence."""
    terms: dict[str, list[Any]] = dict(factors_of(batch))
    if isinstance(batch, InterpolatedBatch) and batch.first_order is not None:
        terms[_FIRST_ORDER] = list(batch.first_order)
    return terms


def terms_of_sentence(terms: Mapping[str, Sequence[Any]], index: int) -> dict[str, Any]:
    """Those of one sentence."""
    return {name: one[index] for name, one in terms.items()}


def trees_of(
    scores: Floats | Sequence[Floats],
    terms: Terms,
    *,
    projective: bool,
    root: RootRule,
    threads: int | None = None,
    bp_tolerance: float = 1e-6,
) -> TreeDistribution[Any]:
    """The distribution over the trees of one sentence or a batch.

    Sums are exact, but over trees that may cross if there are factors. These alone are interpolated
    with those of first order.

    Args:
        terms: of the same sentence or batch, as `terms_of` or `terms_of_sentence` gives them.
        bp_tolerance: as of `HigherOrderTrees`; by default for probabilities of four decimals.
    """
    family: Any = ProjectiveTrees if projective else SpanningTrees
    given: dict[str, Any] = dict(terms)
    if given and not projective:
        family, given["bp_tolerance"] = HigherOrderTrees, bp_tolerance
    elif projective:
        given.pop(_FIRST_ORDER, None)
    trees: TreeDistribution[Any] = family(scores, root=root, threads=threads, **given)
    return trees


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

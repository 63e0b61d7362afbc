"""Projective trees, first order (Eisner 1996).

Items span words i..j; arrows point away from the head.

    C>(i, j)   head i; everything between i and j hangs below i        (complete)
    I>(i, j)   the same, and j is the outermost modifier of i          (incomplete)
    C<, I<     mirror images, head j
    B(i, j)    two complete items side by side, heads i and j          (before an arc joins them)

Rules                                          part            for
    C>(i, k)  C<(k+1, j)  =>  B(i, j)          -               i <= k < j
    B(i, j)               =>  I>(i, j)         arc i -> j      each label
    B(i, j)               =>  I<(i, j)         arc j -> i      each label, i > 0
    I>(i, k)  C>(k, j)    =>  C>(i, j)         -               i < k <= j
    C<(i, k)  I<(k, j)    =>  C<(i, j)         -               i <= k < j

C>(i, i) and C<(i, i) are axioms, one item for all of them. Goal C>(0, n). With a single root,
C>(0, j) exists for j = n only, so that the root has one modifier. A tree has exactly one
derivation: k is the outermost modifier in the last two rules, and where the halves meet in the
first.

n^3 / 2 rule instances, 5 n^2 / 2 items. An arc is two rules, so that B is shared by both
directions and by all labels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import FactorScores
from crossarc.inference.forest.arrays import (
    Arrays,
    Chart,
    Numbering,
    add,
    close,
    emitter,
    join,
    open_chart,
    trimmed,
)
from crossarc.inference.forest.solver import Solver
from crossarc.inference.projective.model import Model, has_single_root
from crossarc.inference.runtime.batch import Batch
from crossarc.kernels import kernel, subkernel

__all__ = ["FirstOrder", "add_arcs", "allowed_arcs", "emit_first_order"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def allowed_arcs(scores: Floats) -> int:
    """How many (labelled) arcs are not forbidden."""
    count = 0
    for h in range(scores.shape[0]):
        for m in range(scores.shape[0]):
            for label in range(scores.shape[2]):
                count += scores[h, m, label] > -np.inf
    return count


@subkernel()
def add_arcs(chart: Chart, scores: Floats, h: int, m: int, tail: int) -> int:
    """I(h, m): one instance a label. -1 where the arc is forbidden."""
    if tail >= 0:
        labels = scores.shape[2]
        for label in range(labels):
            if scores[h, m, label] > -np.inf:
                add(chart, tail, -1, (h * scores.shape[0] + m) * labels + label)
    return close(chart)


@kernel(emitter())
def emit_first_order(scores: Floats, single: bool) -> Arrays:
    """The forest of `scores[h, m, l]`, -inf where an arc is forbidden; parts are its entries."""
    n = scores.shape[0] - 1
    chart = open_chart(
        5 * (n + 1) * (n + 2) // 2 + 1, (n + 1) * (n + 2) * (n + 3) // 2 + allowed_arcs(scores)
    )
    # Items by [i, j]; `transposed` by [j, i], so that `join` reads rows only.
    tables = np.full((6, n + 1, n + 1), -1, np.int32)
    right, right_transposed, left, left_transposed = tables[0], tables[1], tables[2], tables[3]
    incomplete_right, incomplete_left_transposed = tables[4], tables[5]
    add(chart, -1, -1, -1)
    axiom = close(chart)
    for j in range(n + 1):
        right[j, j] = right_transposed[j, j] = left[j, j] = left_transposed[j, j] = axiom
        for i in range(j - 1, -1, -1):
            join(chart, right[i, i:j], left_transposed[j, i + 1 : j + 1])
            both = close(chart)
            incomplete_right[i, j] = add_arcs(chart, scores, i, j, both)
            if i > 0:
                incomplete_left_transposed[j, i] = add_arcs(chart, scores, j, i, both)
                join(chart, left[i, i:j], incomplete_left_transposed[j, i:j])
                left[i, j] = left_transposed[j, i] = close(chart)
            if i > 0 or j == n or not single:
                join(chart, incomplete_right[i, i + 1 : j + 1], right_transposed[j, i + 1 : j + 1])
                right[i, j] = right_transposed[j, i] = close(chart)
    return trimmed(chart, right[0, n])


class FirstOrder(Model):
    """Parts are arcs."""

    def emit(self, scores: Floats, limits: Ints, numbering: Mapping[str, Numbering]) -> Arrays:
        """See `Model`."""
        return emit_first_order(scores, has_single_root([limits]))

    def kernels(
        self,
        batch: Batch,
        factors: Mapping[str, FactorScores],
        single: bool,
        threads: int | None,
    ) -> Solver | None:
        """See `Model`."""
        from crossarc.inference.projective.kernel_solvers import FirstOrderKernels

        return FirstOrderKernels(batch, single, threads)

"""Projective trees with sibling factors, second order (Eisner 1996, McDonald & Pereira 2006).

The algorithm of Nivre's notes on higher-order models, Figure 2, with its slips mended: k stays
strictly between i and j, arcs are scored too, and nothing enters node 0. Items as in `first_order`,
with other kinds instead of B:

    S(i, j)    complete items of i and j side by side, both modifiers of a word beyond   (sibling)
    J>(i, j)   I>(i, j) before its arc has been scored; J< its mirror image

Rules                                          part                     for
    C>(i, k)  C<(k+1, j)  =>  S(i, j)          -                        0 < i <= k < j
    C<(i+1, j)            =>  J>(i, j)         sibling (i, i, j)
    I>(i, k)  S(k, j)     =>  J>(i, j)         sibling (i, k, j)        i < k < j
    C>(i, j-1)            =>  J<(i, j)         sibling (j, j, i)        i > 0
    S(i, k)  I<(k, j)     =>  J<(i, j)         sibling (j, k, i)        0 < i < k < j
    J>(i, j)              =>  I>(i, j)         arc i -> j               each label
    J<(i, j)              =>  I<(i, j)         arc j -> i               each label, i > 0
    I>(i, k)  C>(k, j)    =>  C>(i, j)         -                        i < k <= j
    C<(i, k)  I<(k, j)    =>  C<(i, j)         -                        i <= k < j

Goal C>(0, n). With a single root, 0 has no modifier after its first, and C>(0, j) exists for
j = n only. A tree has exactly one derivation: modifiers are added from the inside out.

5 n^3 / 6 rule instances, 7 n^2 / 2 items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.factors import SIBLING, Factor, FactorScores, Given
from crossarc.inference.forest.arrays import (
    NOT_SCORED,
    Arrays,
    Chart,
    Numbering,
    add,
    close,
    emitter,
    join,
    open_chart,
    part_number,
    trimmed,
)
from crossarc.inference.forest.solver import Solver
from crossarc.inference.projective.first_order.rules import add_arcs, allowed_arcs
from crossarc.inference.projective.model import Model, has_single_root
from crossarc.inference.runtime.batch import Batch
from crossarc.kernels import kernel, subkernel

__all__ = ["Sibling", "emit_sibling"]

Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@subkernel()
def _add_siblings(
    chart: Chart,
    listed: Shorts,
    first: int,
    width: int,
    h: int,
    m: int,
    lone: int,
    inner: Shorts,
    outer: Shorts,
) -> int:
    """J(h, m): m as the first modifier, or after each s between.

    Args:
        listed, first: the numbering of sibling parts.
        lone: the complete item of m that ends next to h.
        inner, outer: I(h, s) and S(s, m) for each s between, from left to right.
    """
    if lone >= 0:
        add(chart, lone, -1, part_number(listed, first, (h * width + h) * width + m))
    for k in range(inner.shape[0]):
        if inner[k] >= 0 and outer[k] >= 0:
            s = min(h, m) + 1 + k
            part = part_number(listed, first, (h * width + s) * width + m)
            if h < m:
                add(chart, inner[k], outer[k], part)
            else:
                add(chart, outer[k], inner[k], part)
    return close(chart)


@kernel(emitter(factors=1))
def emit_sibling(scores: Floats, single: bool, siblings: Numbering) -> Arrays:
    """The forest of `scores[h, m, l]`, -inf where an arc is forbidden, and a sibling factor."""
    n, width = scores.shape[0] - 1, scores.shape[0]
    listed, first = siblings.listed, siblings.first
    chart = open_chart(
        7 * (n + 1) * (n + 2) // 2 + 1, (n + 1) * (n + 2) * (n + 3) * 5 // 6 + allowed_arcs(scores)
    )
    # Items by [i, j]; `transposed` by [j, i], so that rows only are joined.
    tables = np.full((9, n + 1, n + 1), -1, np.int32)
    right, right_transposed, left, left_transposed = tables[0], tables[1], tables[2], tables[3]
    incomplete_right, incomplete_left_transposed = tables[4], tables[5]
    sibling, sibling_transposed = tables[6], tables[7]
    none = tables[8, 0, :0]
    add(chart, -1, -1, -1)
    axiom = close(chart)
    for j in range(n + 1):
        right[j, j] = right_transposed[j, j] = left[j, j] = left_transposed[j, j] = axiom
        for i in range(j - 1, -1, -1):
            root_once = single and i == 0
            inner = none if root_once else incomplete_right[i, i + 1 : j]
            outer = none if root_once else sibling_transposed[j, i + 1 : j]
            lone = left_transposed[j, i + 1]
            joined = _add_siblings(chart, listed, first, width, i, j, lone, inner, outer)
            incomplete_right[i, j] = add_arcs(chart, scores, i, j, joined)
            if i > 0:
                join(chart, right[i, i:j], left_transposed[j, i + 1 : j + 1])
                sibling[i, j] = sibling_transposed[j, i] = close(chart)
                inner, outer = incomplete_left_transposed[j, i + 1 : j], sibling[i, i + 1 : j]
                lone = right[i, j - 1]
                joined = _add_siblings(chart, listed, first, width, j, i, lone, inner, outer)
                incomplete_left_transposed[j, i] = add_arcs(chart, scores, j, i, joined)
                join(chart, left[i, i:j], incomplete_left_transposed[j, i:j])
                left[i, j] = left_transposed[j, i] = close(chart)
            if not root_once or j == n:
                join(chart, incomplete_right[i, i + 1 : j + 1], right_transposed[j, i + 1 : j + 1])
                right[i, j] = right_transposed[j, i] = close(chart)
    return trimmed(chart, right[0, n])


class Sibling(Model):
    """Parts are arcs and sibling pairs."""

    factors: ClassVar[tuple[Factor, ...]] = (SIBLING,)

    def emit(self, scores: Floats, limits: Ints, numbering: Mapping[str, Numbering]) -> Arrays:
        """See `Model`."""
        single = has_single_root([limits])
        return emit_sibling(scores, single, numbering.get("sibling", NOT_SCORED))

    def hold(
        self, factor: Factor, given: Given | Sequence[Given], batch: Batch, limits: Sequence[Ints]
    ) -> FactorScores:
        """Packed, as the kernels read them."""
        from crossarc.inference.projective.sibling.factor import SiblingFactor

        return SiblingFactor(given, batch, has_single_root(limits))

    def kernels(
        self,
        batch: Batch,
        factors: Mapping[str, FactorScores],
        single: bool,
        threads: int | None,
    ) -> Solver | None:
        """See `Model`."""
        from crossarc.inference.projective.kernel_solvers import SiblingKernels
        from crossarc.inference.projective.sibling.factor import SiblingFactor

        packed = factors.get("sibling")
        if not isinstance(packed, SiblingFactor):
            return None
        return SiblingKernels(batch, packed, single, threads)

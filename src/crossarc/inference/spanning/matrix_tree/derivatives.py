"""Derivatives of marginals along a direction of the scores: Hessian-vector products of log Z.

The matrix-tree algorithm on dual numbers, O(n^3): sums, products and quotients of positive numbers
have derivatives that are right to a few rounding units of the numbers themselves.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.dual import dual_cells, read_derivative, scale_derivative
from crossarc.inference.arithmetic.lanes import read_number
from crossarc.inference.arithmetic.wide import narrowed
from crossarc.inference.runtime.lockstep import MARGINALS, cells_for
from crossarc.inference.spanning.matrix_tree.layout import layout_of, workspace_size
from crossarc.inference.spanning.matrix_tree.solve import solve
from crossarc.inference.spanning.matrix_tree.weights import find_weights
from crossarc.kernels import READ_FLOAT, kernel

__all__ = ["fold_direction", "marginal_derivatives", "unfold_derivatives"]

Floats = NDArray[np.float64]

_F1, _F2, _F3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_FLOATS_A_DUAL_NUMBER = 3


@kernel(types.void(READ_FLOAT, READ_FLOAT, types.boolean, _READ2, _F2, _F1))
def _marginal_derivatives(
    scores: Floats,
    label_sums: Floats,
    single: bool,
    direction: Floats,
    out: Floats,
    workspace: Floats,
) -> None:
    cells, n = dual_cells(workspace), out.shape[0] - 1
    layout = layout_of(cells, n)
    width, only = layout.width, np.zeros(1, np.int64)
    find_weights(cells, layout, scores, label_sums, only + n, only, only, single)
    for m in range(n):
        row = layout.blocks + m * (width + 1)
        for h in range(n + 1):
            scale_derivative(cells, row + (width if h == 0 else h - 1), direction[h, m + 1])
    solve(cells, layout, False, single, MARGINALS, True, np.empty(1), np.empty(1, np.int64))
    for h in range(n + 1):
        out[h, 0] = 0.0
        row = layout.roots if h == 0 else layout.escapes + (h - 1) * width
        for m in range(n):
            _, exponent = read_number(cells, row + m, 0)
            out[h, m + 1] = narrowed(read_derivative(cells, row + m), exponent)


def marginal_derivatives(
    scores: Floats, label_sums: Floats, single: bool, direction: Floats
) -> Floats:
    """Of a sentence that has trees, with scores that are small enough to be summed over.

    Args:
        scores, label_sums: (n + 1, n + 1), as of the kernels of `sums`; label_sums may be empty.
        direction: of the logarithms of the arcs' weights.
    """
    out = np.empty(scores.shape)
    workspace = cells_for(_FLOATS_A_DUAL_NUMBER * workspace_size(len(scores) - 1), 1, False)
    flat = scores.reshape(-1), label_sums.reshape(-1)
    _marginal_derivatives(*flat, single, direction, out, workspace)
    return out


@kernel(types.void(_READ3, _READ2, _READ2, _READ3, _F2))
def fold_direction(
    scores: Floats, column_max: Floats, label_sums: Floats, direction: Floats, out: Floats
) -> None:
    """The derivative of the logarithm of each arc's weight: the mean of its labels' directions."""
    width, labels = scores.shape[0], scores.shape[2]
    for h in range(width):
        for m in range(width):
            out[h, m] = 0.0
            for k in range(labels):
                if scores[h, m, k] > -np.inf:
                    share = math.exp(scores[h, m, k] - column_max[h, m]) / label_sums[h, m]
                    out[h, m] += share * direction[h, m, k]


@kernel(types.void(_READ3, _READ2, _READ2, _READ3, _READ2, _READ2, _READ3, _F3))
def unfold_derivatives(
    scores: Floats,
    column_max: Floats,
    label_sums: Floats,
    marginals: Floats,
    derivatives: Floats,
    folded: Floats,
    direction: Floats,
    out: Floats,
) -> None:
    """mu(a, l) = mu(a) share(l | a) has the derivative share mu'(a) + mu(a, l) (v(l) - mean v)."""
    width, labels = scores.shape[0], scores.shape[2]
    for h in range(width):
        for m in range(width):
            for k in range(labels):
                out[h, m, k] = 0.0
                if scores[h, m, k] > -np.inf:
                    share = math.exp(scores[h, m, k] - column_max[h, m]) / label_sums[h, m]
                    change = direction[h, m, k] - folded[h, m]
                    out[h, m, k] = share * derivatives[h, m] + marginals[h, m, k] * change

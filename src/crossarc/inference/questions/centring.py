"""Slopes of marginals along a direction: what is done before and after, whatever the trees.

The slope of mu(a) along v is  sum over b of Cov(a, b) v(b) = mu(a) (E[V | a] - E[V]),  where V
is the sum of v over a tree's arcs: the Hessian of log Z times v. Each word has one head, so a
number added to all of v for a word changes nothing, and the slopes of a word's arcs add up to 0.
Both are used against cancellation.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import kernel

__all__ = ["balance", "centre"]

Floats = NDArray[np.float64]

_F3 = types.float64[:, :, ::1]
_READ3 = types.Array(types.float64, 3, "C", readonly=True)


@kernel(types.boolean(_READ3, _READ3, _READ3, types.float64, _F3))
def centre(direction: Floats, scores: Floats, marginals: Floats, scale: float, out: Floats) -> bool:
    """`scale` times the direction, for each word less its mean; 0 where an arc is forbidden.

    Returns whether all that counts is finite. Differences are taken from the likeliest arc, so that
    they keep their digits when nearly all of the mass is there.
    """
    width, labels = scores.shape[0], scores.shape[2]
    finite = True
    out[:] = 0.0
    for m in range(1, width):
        top_head, top_label = 0, 0
        for h in range(width):
            for k in range(labels):
                if marginals[h, m, k] > marginals[top_head, m, top_label]:
                    top_head, top_label = h, k
        reference = direction[top_head, m, top_label] * scale
        mean = 0.0
        for h in range(width):
            for k in range(labels):
                if scores[h, m, k] > -np.inf:
                    out[h, m, k] = direction[h, m, k] * scale - reference
                    mean += marginals[h, m, k] * out[h, m, k]
        finite &= np.isfinite(mean)
        for h in range(width):
            for k in range(labels):
                if scores[h, m, k] > -np.inf:
                    out[h, m, k] -= mean
                    finite &= np.isfinite(out[h, m, k])
    return finite


@kernel(types.void(_READ3, types.float64, _F3))
def balance(marginals: Floats, scale: float, slopes: Floats) -> None:
    """Give each word's likeliest arc minus the slopes of the others; all divided by `scale`."""
    width, labels = slopes.shape[0], slopes.shape[2]
    for m in range(1, width):
        top_head, top_label = 0, 0
        for h in range(width):
            for k in range(labels):
                slopes[h, m, k] /= scale
                if marginals[h, m, k] > marginals[top_head, m, top_label]:
                    top_head, top_label = h, k
        others = 0.0
        for h in range(width):
            for k in range(labels):
                if h != top_head or k != top_label:
                    others += slopes[h, m, k]
        slopes[top_head, m, top_label] = -others

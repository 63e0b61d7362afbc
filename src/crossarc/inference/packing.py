"""Score arrays made ready for kernels: checked, private, unusable entries forbidden."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.extended import exp_parts, power_of_two
from crossarc.kernels import kernel, subkernel

__all__ = ["pack_arcs", "pack_labelled", "spread_labels"]

Floats = NDArray[np.float64]

_F2, _F3 = types.float64[:, ::1], types.float64[:, :, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ3 = types.Array(types.float64, 3, "C", readonly=True)


@kernel(types.int64(_READ2, _F2))
def pack_arcs(scores: Floats, out: Floats) -> int:
    """Copy scores, with -inf where no tree has an arc; returns the place of a bad one, or -1."""
    width = scores.shape[0]
    bad = -1
    for h in range(width):
        out[h, 0] = -np.inf
        for m in range(1, width):
            x = scores[h, m]
            if h == m:
                x = -np.inf
            elif not x < np.inf:
                bad = h * width + m
            out[h, m] = x
    return bad


@subkernel(reorder=True)
def _mass(scores: Floats, top: float) -> float:
    """Sum of exp(score - top) over the labels of an arc."""
    total = 0.0
    for k in range(scores.shape[0]):
        usable = scores[k] > -np.inf
        mantissa, exponent = exp_parts(scores[k] - top if usable else 0.0, 0.0)
        total += mantissa * power_of_two(exponent) if usable else 0.0
    return total


@kernel(types.int64(_READ3, _F3, _F2, _F2))
def pack_labelled(scores: Floats, out: Floats, tops: Floats, masses: Floats) -> int:
    """The same for labelled arcs, with each arc's best score and its mass.

    The mass is the weight of all labels over that of the best: the arc's weight is
    mass * exp(top), without the rounding of a logarithm.
    """
    width, labels = scores.shape[0], scores.shape[2]
    bad = -1
    for h in range(width):
        for m in range(width):
            usable = m > 0 and h != m
            top = -np.inf
            for k in range(labels):
                x = scores[h, m, k] if usable else -np.inf
                if not x < np.inf:
                    bad = (h * width + m) * labels + k
                out[h, m, k] = x
                top = max(top, x)
            tops[h, m], masses[h, m] = top, 1.0
            if top > -np.inf and bad < 0:
                masses[h, m] = _mass(out[h, m], top)
    return bad


@kernel(types.void(_READ3, _READ2, _READ2, _READ2, types.boolean, _F3))
def spread_labels(
    scores: Floats, tops: Floats, masses: Floats, arcs: Floats, logs: bool, out: Floats
) -> None:
    """Marginals of labelled arcs from those of arcs: times each label's share of the mass."""
    width, labels = scores.shape[0], scores.shape[2]
    for h in range(width):
        for m in range(width):
            for k in range(labels):
                x = scores[h, m, k]
                if x == -np.inf:
                    out[h, m, k] = -np.inf if logs else 0.0
                elif logs:
                    out[h, m, k] = arcs[h, m] + (x - tops[h, m]) - math.log(masses[h, m])
                else:
                    out[h, m, k] = arcs[h, m] * (math.exp(x - tops[h, m]) / masses[h, m])

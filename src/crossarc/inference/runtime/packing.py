"""Score arrays made ready for kernels: checked, private, unusable entries forbidden."""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.wide import exp_parts, power_of_two
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["pack_labelled", "pack_padded", "seal_arcs", "spread_labels", "unpack_padded"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F2, _F3 = types.float64[:, ::1], types.float64[:, :, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ3 = types.Array(types.float64, 3, "C", readonly=True)


@kernel(types.int64(types.float64[::1], READ_INT, READ_INT))
def seal_arcs(scores: Floats, sizes: Ints, offsets: Ints) -> int:
    """Put -inf where no tree has an arc; returns the flat place of the first bad score, or -1."""
    for s in range(sizes.shape[0]):
        width = sizes[s] + 1
        for h in range(width):
            row = offsets[s] + h * width
            scores[row] = scores[row + h] = -np.inf
    # One loop over all, without a branch, is a matter of vector instructions.
    count = 0
    for place in range(scores.shape[0]):
        count += 0 if scores[place] < np.inf else 1
    if count > 0:
        for place in range(scores.shape[0]):
            if not scores[place] < np.inf:
                return place
    return -1


@kernel(types.void(_READ3, READ_INT, READ_INT, types.float64[::1]))
def pack_padded(padded: Floats, sizes: Ints, offsets: Ints, out: Floats) -> None:
    """The first n + 1 rows and columns of each sentence, end to end."""
    for s in range(sizes.shape[0]):
        width, at = sizes[s] + 1, offsets[s]
        for h in range(width):
            row, place = padded[s, h], at + h * width
            for m in range(width):
                out[place + m] = row[m]


@kernel(types.void(READ_FLOAT, READ_INT, READ_INT, _F3))
def unpack_padded(flat: Floats, sizes: Ints, offsets: Ints, out: Floats) -> None:
    """The opposite of `pack_padded`, 0 beyond each sentence."""
    for s in range(sizes.shape[0]):
        width, at = sizes[s] + 1, offsets[s]
        for h in range(out.shape[1]):
            row, place = out[s, h], at + h * width
            used = width if h < width else 0
            for m in range(used):
                row[m] = flat[place + m]
            for m in range(used, row.shape[0]):
                row[m] = 0.0


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
def pack_labelled(scores: Floats, out: Floats, column_max: Floats, label_sums: Floats) -> int:
    """Copy labelled scores, -inf where no tree has an arc, with each arc's best score and mass.

    Returns the flat place of a bad score, or -1.

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
            column_max[h, m], label_sums[h, m] = top, 1.0
            if top > -np.inf and bad < 0:
                label_sums[h, m] = _mass(out[h, m], top)
    return bad


@kernel(types.void(_READ3, _READ2, _READ2, _READ2, types.boolean, _F3))
def spread_labels(
    scores: Floats, column_max: Floats, label_sums: Floats, arcs: Floats, logs: bool, out: Floats
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
                    out[h, m, k] = arcs[h, m] + (x - column_max[h, m]) - math.log(label_sums[h, m])
                else:
                    out[h, m, k] = arcs[h, m] * (math.exp(x - column_max[h, m]) / label_sums[h, m])

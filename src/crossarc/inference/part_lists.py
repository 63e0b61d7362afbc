"""The parts that trees over some allowed arcs may have, listed in the order of their indices."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.kernels import READ_BOOL, READ_INT, kernel, subkernel

__all__ = ["PART_NAMES", "batch_parts"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

#: The numbers of factors, as arguments of kernels.
PART_NAMES = {"sibling": 0, "grandchild": 1, "grand_sibling": 2, "tri_sibling": 3}
_BOOL, _INT = types.boolean, types.int64


@subkernel()
def _is_sibling(allowed: Bools, h: int, s: int, m: int, is_single: bool) -> bool:
    """Whether s may be the modifier of h before m, or h itself for none; arc h -> m is allowed."""
    if s == h:
        return True
    if (h == 0 and is_single) or not allowed[h, s]:
        return False
    return h < s < m or m < s < h


@subkernel()
def _fits_above(g: int, h: int, m: int, is_projective: bool) -> bool:
    """Whether g may be the head of h given an arc h -> m."""
    return g != m and not (is_projective and min(h, m) < g < max(h, m))


@subkernel(inline=True)
def _store(out: Shorts, p: int, a: int, b: int, c: int, d: int) -> int:
    """Write a part unless parts are only counted; returns the number of the next."""
    if out.shape[0] > 0:
        out[p, 0], out[p, 1], out[p, 2] = a, b, c
        if d >= 0:
            out[p, 3] = d
    return p + 1


@subkernel()
def _list_siblings(allowed: Bools, is_single: bool, out: Shorts, p: int) -> int:
    width = allowed.shape[0]
    for h in range(width):
        for s in range(width):
            if s == h or allowed[h, s]:
                for m in range(1, width):
                    if allowed[h, m] and _is_sibling(allowed, h, s, m, is_single):
                        p = _store(out, p, h, s, m, -1)
    return p


@subkernel()
def _list_grandchildren(allowed: Bools, is_projective: bool, out: Shorts, p: int) -> int:
    width = allowed.shape[0]
    for g in range(width):
        for h in range(1, width):
            if allowed[g, h]:
                for m in range(1, width):
                    if allowed[h, m] and _fits_above(g, h, m, is_projective):
                        p = _store(out, p, g, h, m, -1)
    return p


@subkernel()
def _list_grand_siblings(
    allowed: Bools, is_single: bool, is_projective: bool, out: Shorts, p: int
) -> int:
    width = allowed.shape[0]
    for g in range(width):
        for h in range(1, width):
            if not allowed[g, h]:
                continue
            for s in range(1, width):
                if s == g or not (s == h or allowed[h, s]):
                    continue
                for m in range(1, width):
                    if (
                        allowed[h, m]
                        and _is_sibling(allowed, h, s, m, is_single)
                        and _fits_above(g, h, m, is_projective)
                    ):
                        p = _store(out, p, g, h, s, m)
    return p


@subkernel()
def _list_tri_siblings(allowed: Bools, is_single: bool, out: Shorts, p: int) -> int:
    width = allowed.shape[0]
    for h in range(1 if is_single else 0, width):
        for t in range(1, width):
            if not allowed[h, t]:
                continue
            for s in range(1, width):
                if not (allowed[h, s] and (h < t < s or s < t < h)):
                    continue
                for m in range(1, width):
                    if allowed[h, m] and (s < m if h < s else m < s):
                        p = _store(out, p, h, t, s, m)
    return p


@kernel(
    _INT(READ_BOOL, READ_INT, READ_INT, _INT, _BOOL, _BOOL, types.int64[::1], types.int32[:, ::1])
)
def _list_parts(
    flat: Bools,
    widths: Ints,
    squares: Ints,
    factor: int,
    is_single: bool,
    is_projective: bool,
    offsets: Ints,
    out: Shorts,
) -> int:
    """Write the parts of all sentences, or only count them where `out` is empty."""
    p = 0
    for index in range(widths.shape[0]):
        width = widths[index]
        square = flat[squares[index] : squares[index] + width * width].reshape((width, width))
        offsets[index] = p
        if factor == 0:
            p = _list_siblings(square, is_single, out, p)
        elif factor == 1:
            p = _list_grandchildren(square, is_projective, out, p)
        elif factor == 2:
            p = _list_grand_siblings(square, is_single, is_projective, out, p)
        else:
            p = _list_tri_siblings(square, is_single, out, p)
    offsets[widths.shape[0]] = p
    return p


def batch_parts(
    allowed: Bools, widths: Ints, part: str, *, projective: bool, single: bool
) -> tuple[Shorts, Ints]:
    """The parts of a factor in all sentences of a batch, one sentence after the other.

    Args:
        allowed: which arcs [h, m] are allowed, of all sentences, flat; none in column 0 or on the
            diagonal.
        widths: words of each sentence and its root.

    Returns:
        (parts, 3 or 4) indices, and where the parts of each sentence begin and the last ones end.
    """
    squares = np.cumsum(widths**2) - widths**2
    offsets = np.empty(len(widths) + 1, np.int64)
    order = 3 if PART_NAMES[part] < 2 else 4
    arguments = allowed, widths, squares, PART_NAMES[part], single, projective, offsets
    out = np.empty((_list_parts(*arguments, np.empty((0, order), np.int32)), order), np.int32)
    if len(out):
        _list_parts(*arguments, out)
    return out, offsets

"""The order of work of the matrix-tree algorithm, shared by its two arithmetics.

E[h, m], the probability that the walk from h reaches the root before m, is quantity for all pairs.
Half of the nodes are eliminated, the problem is solved for the half that is kept, and E is
substituted back for the eliminated nodes; then once more with the halves exchanged. That needs no
subtraction, where the usual reverse pass computes one minus a probability. About 1.28 n^3
multiplications and additions in all, against n^3 for the inverse of a matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["BACK", "BASE", "REDUCE", "schedule"]

#: Kinds of steps: eliminate half of a block, substitute back, solve a small block.
REDUCE, BACK, BASE = 0, 1, 2

_STEP = 7


@subkernel()
def _middle(low: int, high: int, aligned: bool) -> int:
    """Where a block is divided: in the middle, or a power of two above `low`."""
    if not aligned:
        return low + (high - low) // 2
    power = 1
    while 2 * power < high - low:
        power *= 2
    return low + power


@subkernel()
def _emit(
    steps: NDArray[np.int64], row: int, kind: int, middle: int, upper: int, frame: NDArray[np.int64]
) -> None:
    step = steps[row]
    step[0], step[1], step[2], step[3] = kind, frame[0], middle, frame[1]
    step[4], step[5], step[6] = upper, frame[2], frame[3]


@subkernel()
def schedule(n: int, base: int, aligned: bool) -> NDArray[np.int64]:
    """Steps for n nodes, O(n) of them; blocks of up to `base` nodes are not divided further.

    With `aligned`, blocks are divided at powers of two: then words added at the end do not change
    where, which costs up to a quarter more work.

    A row is (kind, low, middle, high, upper, block, roots): the block of nodes low..high - 1 is
    stored at `block` and its root weights at `roots`; `upper` is 1 when its upper half is kept
    and 0 when the lower half is. What is kept goes behind the block, at `block` + size^2 and
    `roots` + size.
    """
    steps = np.empty((5 * n + 1, _STEP), np.int64)
    frames = np.empty((70, 5), np.int64)
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3], frames[0, 4] = 0, n, 0, 0, 0
    count, depth = 0, 0
    while depth >= 0:
        low, high, block, roots, phase = frames[depth]
        size = high - low
        middle = _middle(low, high, aligned)
        if size <= base:
            _emit(steps, count, BASE, middle, 0, frames[depth])
            count += 1
            depth -= 1
            continue
        if phase > 0:
            _emit(steps, count, BACK, middle, phase - 1, frames[depth])
            count += 1
        if phase == 2:
            depth -= 1
            continue
        _emit(steps, count, REDUCE, middle, phase, frames[depth])
        count += 1
        frames[depth, 4] = phase + 1
        depth += 1
        frames[depth, 0] = middle if phase else low
        frames[depth, 1] = high if phase else middle
        frames[depth, 2] = block + size * size
        frames[depth, 3] = roots + size
        frames[depth, 4] = 0
    return steps[:count]

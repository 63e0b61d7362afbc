"""The numbers in charts, and operations on vectors of them.

Kernels learn when they run which semiring they work in, so that each is compiled once: its loops
over vectors branch, and nothing else.
"""

from __future__ import annotations

import math

import numpy as np

from crossarc.inference.arithmetic.lanes import (
    Cells,
    load_scalar,
    offset,
    store_scalar,
)
from crossarc.kernels import subkernel

__all__ = [
    "BEST",
    "LOG",
    "SUM",
    "add",
    "add_and_dot",
    "copy",
    "dot",
    "fill",
    "plus",
    "zero_of",
]

#: Sums and products of weights; the same of their logarithms, in which nothing over- or underflows,
#: at ten times the price; the best of sums of scores.
SUM, LOG, BEST = 0, 1, 2


def zero_of(semiring: int) -> float:
    """The weight of what is impossible."""
    return 0.0 if semiring == SUM else -math.inf


@subkernel()
def _plus_log(x: float, y: float) -> float:
    high, low = (x, y) if x > y else (y, x)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@subkernel(inline=True)
def plus(semiring: int, x: float, y: float) -> float:
    """x or y."""
    if semiring == SUM:
        return x + y
    return _plus_log(x, y) if semiring == LOG else max(x, y)


# Below, a loop for each semiring: LLVM makes vector instructions of loops without branches.


@subkernel()
def add(
    semiring: int, z: Cells, z_begin: int, x: float, y: Cells, y_begin: int, count: int
) -> None:
    """Add x times a vector to another one."""
    target, source = offset(z, z_begin), offset(y, y_begin)
    if semiring == SUM:
        for t in range(count):
            store_scalar(target, t, x * load_scalar(source, t) + load_scalar(target, t))
    elif semiring == BEST:
        for t in range(count):
            own, other = x + load_scalar(source, t), load_scalar(target, t)
            store_scalar(target, t, own if own > other else other)
    else:
        for t in range(count):
            own, other = x + load_scalar(source, t), load_scalar(target, t)
            store_scalar(target, t, _plus_log(own, other))


@subkernel(reorder=True)
def dot(semiring: int, x: Cells, x_begin: int, y: Cells, y_begin: int, count: int) -> float:
    """The sum of the products of two vectors, of weights or of their logarithms."""
    left, right = offset(x, x_begin), offset(y, y_begin)
    total = 0.0
    if semiring == SUM:
        for t in range(count):
            total += load_scalar(left, t) * load_scalar(right, t)
    else:
        total = -np.inf
        for t in range(count):
            total = _plus_log(load_scalar(left, t) + load_scalar(right, t), total)
    return total


@subkernel(reorder=True)
def add_and_dot(
    semiring: int,
    z: Cells,
    x: Cells,
    begin: int,
    weight: float,
    y: Cells,
    y_begin: int,
    count: int,
) -> float:
    """Add a multiple of y to z from `begin` on; returns the product of x there with y."""
    if semiring != SUM:
        add(semiring, z, begin, weight, y, y_begin, count)
        return dot(semiring, x, begin, y, y_begin, count)
    target, left, right = offset(z, begin), offset(x, begin), offset(y, y_begin)
    total = 0.0
    for t in range(count):
        own = load_scalar(right, t)
        store_scalar(target, t, weight * own + load_scalar(target, t))
        total += load_scalar(left, t) * own
    return total


@subkernel()
def fill(z: Cells, begin: int, count: int, value: float) -> None:
    """Set a vector to one number; an assignment to a slice takes longer to compile."""
    target = offset(z, begin)
    for t in range(count):
        store_scalar(target, t, value)


@subkernel()
def copy(z: Cells, begin: int, y: Cells, count: int) -> None:
    """Copy the beginning of y."""
    target = offset(z, begin)
    for t in range(count):
        store_scalar(target, t, load_scalar(y, t))

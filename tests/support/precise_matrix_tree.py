"""Marginals and their derivatives from the inverse of a Laplacian, to very many digits.

With M linear in the weights w (Koo et al. 2007) and X its inverse, log Z = log |M|, so that

    mu(a) = w(a) tr(X dM/dw(a))
    mu'(a) = v(a) mu(a) + w(a) tr(X' dM/dw(a))        X' = -X M' X        w' = w v

All of this subtracts; 2,000 digits make up for it.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Matrix = list[list[Decimal]]

_DIGITS = 2000
#: Of the weights themselves, which are then taken to be exact.
_WEIGHT_DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)


def precise_derivatives(scores: Floats, root: str, direction: Floats) -> tuple[Floats, Floats]:
    """The derivatives of all marginals, and min(mu, 1 - mu), rounded to floats."""
    n = len(scores) - 1
    with localcontext(Context(prec=_DIGITS, Emin=-(10**9), Emax=10**9)):
        weights = _weights(scores)
        moved = {a: w * Decimal(float(direction[a])) for a, w in weights.items()}
        inverse = _inverse(_matrix(weights, n, root))
        change = _product(_product(inverse, _matrix(moved, n, root)), inverse)
        derivatives, rarity = np.zeros(scores.shape), np.zeros(scores.shape)
        for arc, weight in weights.items():
            mu = weight * _trace(inverse, arc, root)
            derivative = Decimal(float(direction[arc])) * mu - weight * _trace(change, arc, root)
            derivatives[arc], rarity[arc] = float(derivative), float(min(mu, 1 - mu))
    return derivatives, rarity


def precise_log_marginals(scores: Floats, root: str) -> tuple[float, Floats]:
    """log Z and the logarithms of all marginals, rounded to floats."""
    n = len(scores) - 1
    with localcontext(Context(prec=_DIGITS, Emin=-(10**9), Emax=10**9)):
        weights = _weights(scores)
        matrix = _matrix(weights, n, root)
        inverse = _inverse(matrix)
        logs = np.full(scores.shape, -np.inf)
        for arc, weight in weights.items():
            mu = weight * _trace(inverse, arc, root)
            logs[arc] = float(mu.ln(_WEIGHT_DIGITS)) if mu > 0 else -np.inf
        return float(_determinant(matrix).ln(_WEIGHT_DIGITS)), logs


def _weights(scores: Floats) -> dict[tuple[int, int], Decimal]:
    n = len(scores) - 1
    return {
        (h, m): Decimal(float(scores[h, m])).exp(_WEIGHT_DIGITS)
        for h in range(n + 1)
        for m in range(1, n + 1)
        if h != m and scores[h, m] > -np.inf
    }


def _determinant(matrix: Matrix) -> Decimal:
    rows, product = [row[:] for row in matrix], Decimal(1)
    for k in range(len(rows)):
        best = max(range(k, len(rows)), key=lambda i, k=k: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        product *= rows[k][k] if best == k else -rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k], strict=True)]
    return product


def _entries(arc: tuple[int, int], root: str) -> list[tuple[int, int, int]]:
    """dM/dw(arc): rows, columns and signs of its entries."""
    h, m = arc[0] - 1, arc[1] - 1
    if root == "multi":
        return [(m, m, 1)] if h < 0 else [(m, m, 1), (h, m, -1)]
    if h < 0:
        return [(0, m, 1)]
    return [entry for entry in ((m, m, 1), (h, m, -1)) if entry[0] > 0]


def _matrix(weights: dict[tuple[int, int], Decimal], n: int, root: str) -> Matrix:
    matrix = [[Decimal(0)] * n for _ in range(n)]
    for arc, weight in weights.items():
        for i, j, sign in _entries(arc, root):
            matrix[i][j] += sign * weight
    return matrix


def _trace(x: Matrix, arc: tuple[int, int], root: str) -> Decimal:
    return sum((sign * x[j][i] for i, j, sign in _entries(arc, root)), Decimal(0))


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns: Any = list(zip(*b, strict=True))
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Decimal(0)) for column in columns]
        for row in a
    ]


def _inverse(matrix: Matrix) -> Matrix:
    """By Gauss and Jordan, with the largest pivot."""
    n = len(matrix)
    rows = [[*row, *(Decimal(int(i == j)) for j in range(n))] for i, row in enumerate(matrix)]
    for k in range(n):
        best = max(range(k, n), key=lambda i, k=k: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]

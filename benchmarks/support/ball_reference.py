"""log Z and marginals of spanning trees in ball arithmetic, to any number of digits.

The Laplacian of Koo et al. (2007) is inverted as it stands, cancellation and all; python-flint
keeps a rigorous radius around each value, and bits are added until the radii are small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

__all__ = ["Reference", "possible_arcs"]

Floats = NDArray[np.float64]

CERTIFIED_BITS = 80
COMPARING_BITS = 160


class Reference:
    """log Z and the marginals of all arcs that some tree has, as balls with proven radii.

    Args:
        scores: (n + 1, n + 1), -inf in column 0 and on the diagonal; some tree must be possible.
        root: "single" or "multi".
        bits: the precision to begin with; it is doubled until every value is known to 2^-80.
    """

    def __init__(self, scores: Floats, root: str, bits: int) -> None:
        self.bits = bits
        self.log_z: Any = arb(0)
        self.marginals: dict[tuple[int, int], Any] = {}
        self.certified_bits = 0
        possible = possible_arcs(scores > -np.inf, root)
        while not self._compute(scores, root, possible):
            self.bits *= 2
        ctx.prec = COMPARING_BITS
        self.log_z = +self.log_z

    def _compute(self, scores: Floats, root: str, possible: NDArray[np.bool_]) -> bool:
        """Koo et al. (2007), sections 3.1 to 3.3; whether all balls are small enough."""
        ctx.prec = self.bits
        n = len(scores) - 1
        weights = [[arb(float(s)).exp() if s > -np.inf else arb(0) for s in row] for row in scores]
        rows = [[-weights[h][m] for m in range(1, n + 1)] for h in range(1, n + 1)]
        for m in range(1, n + 1):
            heads = range(0 if root == "multi" else 1, n + 1)
            rows[m - 1][m - 1] = sum((weights[h][m] for h in heads), arb(0))
        if root == "single":
            rows[0] = weights[0][1:]
        matrix = arb_mat(rows)
        try:
            inverse = matrix.inv()
        except ZeroDivisionError:
            return False
        determinant = self._determinant(matrix)
        if determinant is None:
            return False
        self.log_z = determinant.log()
        self.marginals = {}
        for h, m in np.argwhere(possible).tolist():
            if h == 0:
                factor = inverse[m - 1, 0 if root == "single" else m - 1]
            else:
                down = 0 if root == "single" and m == 1 else inverse[m - 1, m - 1]
                across = 0 if root == "single" and h == 1 else inverse[m - 1, h - 1]
                factor = down - across
            self.marginals[h, m] = weights[h][m] * factor
        self.certified_bits = min(int(b.rel_accuracy_bits()) for b in self.marginals.values())
        return self.certified_bits >= CERTIFIED_BITS

    def _determinant(self, matrix: Any) -> Any:
        """The determinant, for which fewer bits than for the inverse are often enough."""
        bits = 192
        while bits <= self.bits:
            ctx.prec = bits
            determinant = (+matrix).det()
            ctx.prec = self.bits
            if determinant > 0 and determinant.rel_accuracy_bits() >= CERTIFIED_BITS:
                return determinant
            bits *= 2
        return None


def possible_arcs(allowed: NDArray[np.bool_], root: str) -> NDArray[np.bool_]:
    """The arcs that some tree has: the root reaches their head without their modifier."""
    n = len(allowed) - 1
    between = allowed[1:, 1:]
    starts = allowed[0, 1:].copy()
    if root == "single":  # the one root must reach every word
        starts &= [bool(_reached(between, np.arange(n) == c).all()) for c in range(n)]
    possible = np.zeros_like(allowed)
    possible[0, 1:] = starts
    for m in range(n):
        others = np.arange(n) != m
        heads = _reached(between & others[:, None] & others, starts & others)
        possible[1:, m + 1] = between[:, m] & heads
    return possible


def _reached(arcs: NDArray[np.bool_], starts: NDArray[np.bool_]) -> NDArray[np.bool_]:
    reached = starts
    while True:
        more = reached | arcs[reached].any(axis=0)
        if (more == reached).all():
            return reached
        reached = more

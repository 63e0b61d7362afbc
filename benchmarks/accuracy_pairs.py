"""How many digits of the probability of two arcs are right.

    .venv-bench/bin/python benchmarks/accuracy_pairs.py

The reference is the same determinant of two by two, from the inverse of the matrix of Koo et al.
(2007), in ball arithmetic (python-flint) with as many bits as it takes. For each case: the largest
error of the determinant as crossarc computes it, and the error that it reckons with; the share of
pairs that `joint` sums over anew for that reason, and the largest error then, which must stay below
1e-12 (else the exit status is 1); and the largest relative error of `log_prob(heads=)`.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray
from support.score_cases import (
    Case,
    drifting_chain,
    forbidden,
    gaussian,
    nested_cycles,
    rising_chain,
)

from crossarc import SpanningTrees
from crossarc.inference.distribution import Root
from crossarc.inference.spanning.matrix_tree.pairs import joint_arcs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PAIRS = 200
LIMIT = 1e-12
CERTIFIED = 60


def cases() -> list[Case]:
    return [
        *(gaussian(sd, 20) for sd in (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)),
        gaussian(10.0, 60),
        drifting_chain(60),
        rising_chain(40),
        nested_cycles(5),
        forbidden(10.0, 40),
        forbidden(1000.0, 40),
    ]


def some_pairs(trees: SpanningTrees, seed: int) -> tuple[Ints, Ints]:
    """Arcs of two words each, half of them probable ones."""
    chance = np.random.default_rng(seed)
    marginals = trees.marginals()
    possible = np.isfinite(trees.log_marginals())
    n = len(marginals) - 1

    def head(m: int) -> int:
        mix = marginals[:, m] / marginals[:, m].sum() + possible[:, m] / possible[:, m].sum()
        return int(chance.choice(n + 1, p=mix / 2))

    words = [chance.permutation(n)[:2] + 1 for _ in range(PAIRS)]
    arcs = np.array([[(head(m), m) for m in pair.tolist()] for pair in words])
    return np.ascontiguousarray(arcs[:, 0]), np.ascontiguousarray(arcs[:, 1])


class Inverse:
    """The inverse of Koo's matrix as balls, and what it says about two arcs."""

    def __init__(self, scores: Floats, root: str, bits: int) -> None:
        ctx.prec = bits
        n = len(scores) - 1
        self._single = root == "single"
        self._weights = [
            [arb(float(s)).exp() if s > -np.inf else arb(0) for s in row] for row in scores
        ]
        rows = [[-self._weights[h][m] for m in range(1, n + 1)] for h in range(1, n + 1)]
        for m in range(1, n + 1):
            heads = range(1 if self._single else 0, n + 1)
            rows[m - 1][m - 1] = sum((self._weights[h][m] for h in heads), arb(0))
        if self._single:
            rows[0] = self._weights[0][1:]
        self._inverse = arb_mat(rows).inv()

    def _entry(self, x: int, h: int, m: int) -> Any:
        """Row x of the inverse times what a unit of weight on h -> m adds to the matrix."""
        if h == 0:
            return self._inverse[x - 1, 0 if self._single else m - 1]
        down = 0 if self._single and m == 1 else self._inverse[x - 1, m - 1]
        across = 0 if self._single and h == 1 else self._inverse[x - 1, h - 1]
        return down - across

    def joint(self, first: Ints, second: Ints) -> Any:
        """The probability of two arcs (h, m) of different words."""
        (h, m), (k, j) = first.tolist(), second.tolist()
        own = self._entry(m, h, m) * self._entry(j, k, j)
        crossed = self._entry(m, k, j) * self._entry(j, h, m)
        return self._weights[h][m] * self._weights[k][j] * (own - crossed)


def reference(case: Case, root: str, first: Ints, second: Ints) -> list[Any]:
    """Probabilities with proven radii far below the errors that are measured."""
    bits = case.bits
    while True:
        try:
            inverse = Inverse(case.scores, root, bits)
            found = [inverse.joint(a, b) for a, b in zip(first, second, strict=True)]
        except ZeroDivisionError:
            found = []
        if found and all(p.rad() < 2.0**-CERTIFIED * 1e-6 for p in found):
            return found
        bits *= 2


def measure(case: Case, root: Root) -> float:
    trees = SpanningTrees(case.scores, root=root)
    first, second = some_pairs(trees, case.n)
    exact = [float(p.mid()) for p in reference(case, root, first, second)]
    raw, reckoned = np.empty(PAIRS), np.empty(PAIRS)
    joint_arcs(*trees._weight_gradients(0), first, second, raw, reckoned)
    found = trees.joint(first, second)
    relative = 0.0
    for a, b, p in zip(first.tolist(), second.tolist(), exact, strict=True):
        if p > 1e-30:
            log = trees.log_prob(heads={a[1]: a[0], b[1]: b[0]})
            relative = max(relative, abs(math.expm1(log - math.log(p))))
    worst = float(np.abs(found - exact).max())
    print(
        f"{case.name:24} n={case.n:<3} {root:6}  determinant {np.abs(raw - exact).max():.1e}"
        f"  reckoned {reckoned.max():.1e}  anew {np.mean(reckoned > LIMIT):4.0%}"
        f"  joint {worst:.1e}  log_prob (relative) {relative:.1e}",
        flush=True,
    )
    return worst


def main() -> None:
    roots: tuple[Root, ...] = ("single", "multi")
    sys.exit(max(measure(case, root) for case in cases() for root in roots) > LIMIT)


if __name__ == "__main__":
    main()

"""The step of MIRA: the least change of weights that beats some trees by their number of errors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["margin_step"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9
_STEPS_A_CONSTRAINT = 200
_BETWEEN_SOLUTIONS = 20


def margin_step(gram: Floats, violations: Floats, c: float = math.inf) -> Floats:
    """How much of each constraint's feature difference to add to the weights.

    The constraints are w.d_j >= E_j with d_j the features of the gold tree less those of tree j.
    What minimises |w' - w|^2 / 2 + C max_j (E_j - w'.d_j)+ is w' = w + sum_j a_j d_j, with a >= 0,
    sum a <= C and a the maximum of a.b - a.G.a / 2 (Crammer et al. 2006; McDonald et al. 2005).
    With one constraint a = min(C, b / |d|^2).

    Args:
        gram: G[i, j] = d_i.d_j.
        violations: b_j = E_j - w.d_j, by how much each constraint is missed.
        c: the most that all steps may sum to.
    """
    k = len(violations)
    # What is left of C is the step of one more constraint, which always holds exactly.
    steps = np.append(np.zeros(k), c)
    padded = np.pad(gram, (0, 1))
    tolerance = _TOLERANCE * max(1.0, float(np.abs(violations).max()))
    for number in range(1, _STEPS_A_CONSTRAINT * k + 1):
        gradient = np.append(violations - gram @ steps[:k], 0.0)
        # Mass moves to the steepest constraint from the least steep one that has some.
        best = int(gradient.argmax())
        givers = np.flatnonzero(steps > 0.0)
        worst = int(givers[gradient[givers].argmin()])
        gap = gradient[best] - gradient[worst]
        curvature = padded[best, best] + padded[worst, worst] - 2.0 * padded[best, worst]
        size = min(steps[worst], gap / curvature) if curvature > 0.0 else steps[worst]
        if gap <= tolerance or not math.isfinite(size):
            break
        steps[best] += size
        steps[worst] -= size
        if number % _BETWEEN_SOLUTIONS == 0:
            # Steps between two constraints at a time are slow where differences are nearly alike.
            steps = _solved(gram, violations, steps, c)
    found: Floats = steps[:k]
    return found


def _solved(gram: Floats, violations: Floats, steps: Floats, c: float) -> Floats:
    """The steps for which constraints in use hold alike; those given, if these are out of range.

    Where C is used up, their sum is C, and they are missed by the same number s:
    G a + s = b, sum a = C.
    """
    used = np.flatnonzero(steps[:-1] > 0.0)
    if len(used) == 0:
        return steps
    matrix, right = gram[np.ix_(used, used)], violations[used]
    if steps[-1] <= 0.0:
        matrix = np.pad(matrix, (0, 1), constant_values=1.0)
        matrix[-1, -1] = 0.0
        right = np.append(right, c)
    found = np.linalg.lstsq(matrix, right, rcond=None)[0][: len(used)]
    if found.min() < 0.0 or found.sum() > c * (1.0 + 1e-12):
        return steps
    solved = np.zeros_like(steps)
    solved[used] = found
    solved[-1] = max(0.0, c - float(found.sum())) if steps[-1] > 0.0 else 0.0
    return solved

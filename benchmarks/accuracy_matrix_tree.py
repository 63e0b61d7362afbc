"""How many digits of log Z and of the marginals are right, from easy scores to hopeless ones.

    .venv-bench/bin/python benchmarks/accuracy_matrix_tree.py

The reference inverts the Laplacian of Koo et al. (2007) in ball arithmetic (python-flint), with as
many bits as it takes: every reference value carries a proven radius, and errors are measured to
the far end of the ball. crossarc must stay within

    |error of log Z| <= 1e-13 max(1, |log Z|)
    relative error of every marginal >= 1e-290 <= 1e-12
    |error of log mu| <= 1e-12 max(1, |log mu|) for every arc, underflowing or not

without a NaN, and gives 0 where no tree has the arc; otherwise the exit status is 1. Peers stand
beside it where they are installed, in double precision; they have no log-marginals. SuPar rounds
log Z to single precision and torch-struct adds 1e-5 to every weight by design. "fails" is a number
that is not finite or 10^9 times off.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from support.ball_reference import Reference
from support.matrix_tree_peers import running_peers
from support.score_cases import Case, all_cases

from crossarc import SpanningTrees

Floats = NDArray[np.float64]
Answer = tuple[float, Floats, Floats | None]  # log Z, marginals, log-marginals

SMALLEST = 1e-290
LOG_Z_LIMIT, MARGINAL_LIMIT = 1e-13, 1e-12


@dataclass(frozen=True)
class Errors:
    """Worst errors of one system on one case; infinite where it has no number."""

    log_z: float
    marginal: float
    log_marginal: float | None

    @property
    def acceptable(self) -> bool:
        """Whether everything that was measured is within its limit."""
        logs = 0.0 if self.log_marginal is None else self.log_marginal
        return self.log_z <= LOG_Z_LIMIT and max(self.marginal, logs) <= MARGINAL_LIMIT


def measure(reference: Reference, answer: Answer) -> Errors:
    log_z, marginals, logs = answer
    worst, worst_log = 0.0, 0.0
    for h, m in np.ndindex(marginals.shape):
        truth = reference.marginals.get((h, m))
        if truth is None:
            if marginals[h, m] != 0.0:
                worst = math.inf
            if logs is not None and logs[h, m] != -math.inf:
                worst_log = math.inf
            continue
        if float(truth) >= SMALLEST:
            worst = max(worst, _error(float(marginals[h, m]), truth, truth))
        elif not 0.0 <= marginals[h, m] <= 2 * SMALLEST:
            worst = math.inf
        if logs is not None:
            log_truth = truth.log()
            scale = log_truth if abs(log_truth) > 1 else arb(1)
            worst_log = max(worst_log, _error(float(logs[h, m]), log_truth, scale))
    scale = reference.log_z if abs(reference.log_z) > 1 else arb(1)
    return Errors(
        _error(log_z, reference.log_z, scale), worst, worst_log if logs is not None else None
    )


def _error(value: float, truth: Any, scale: Any) -> float:
    if not math.isfinite(value):
        return math.inf
    return float(((arb(value) - truth) / scale).abs_upper())


def ours(scores: Floats, root: str) -> Answer:
    trees = SpanningTrees(scores, root="multi" if root == "multi" else "single")
    return trees.log_partition(), trees.marginals(), trees.log_marginals()


def attempt(system: Callable[[Floats, str], tuple[float, Floats]], case: Case, root: str) -> Answer:
    """A peer's answer, or NaN where it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            log_z, marginals = system(case.scores.copy(), root)
    except (RuntimeError, ValueError, ArithmeticError):
        return math.nan, np.full(case.scores.shape, math.nan), None
    return log_z, marginals, None


def shown(error: float) -> str:
    return f"{error:.0e}" if error < 1e9 else "fails"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("treebanks", nargs="?", help="not used; `make bench` gives it to all")
    parser.parse_args()
    peers, remarks = running_peers()
    for remark in remarks:
        print(remark)
    columns = ["log Z", "mu", "log mu"]
    print(f"{'':<40}{'reference':<17}{'crossarc':<27}" + "".join(f"{n:<18}" for n in peers))
    print(
        f"{'scores':<26}{'n':<5}{'root':<9}{'bits':<7}{'radius':<10}"
        + "".join(f"{c:<9}" for c in [*columns, *(c for _ in peers for c in columns[:2])])
    )
    acceptable = True
    for case in all_cases():
        for root in ("single", "multi"):
            reference = Reference(case.scores, root, case.bits)
            errors = measure(reference, ours(case.scores, root))
            row = [errors.log_z, errors.marginal, errors.log_marginal or 0.0]
            for peer in peers.values():
                other = measure(reference, attempt(peer, case, root))
                row += [other.log_z, other.marginal]
            acceptable &= errors.acceptable
            radius = f"2^-{reference.certified_bits}"
            print(
                f"{case.name:<26}{case.n:<5}{root:<9}{reference.bits:<7}{radius:<10}"
                + "".join(f"{shown(error):<9}" for error in row)
                + ("" if errors.acceptable else "  OVER THE LIMIT"),
                flush=True,
            )
    print(f"\ncrossarc within {LOG_Z_LIMIT:g} (log Z) and {MARGINAL_LIMIT:g}: {acceptable}")
    return 0 if acceptable else 1


if __name__ == "__main__":
    sys.exit(main())

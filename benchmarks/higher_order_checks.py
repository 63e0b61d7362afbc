"""Higher-order trees that may cross: errors of beliefs, a search for a wrong certificate.

    .venv/bin/python benchmarks/higher_order_checks.py [beliefs wrong]
        [--instances N] [--seconds S] [--model MODEL --treebank FILE]

With a trained model of second or third order and a treebank, `beliefs` compares belief propagation
with the tree factor of projective trees with their exact marginals, sentence by sentence.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.higher_order_scores import MODELS, NAMES, Group, is_certified, synthetic, trained

import crossarc as ca
from crossarc.inference.higher.beliefs import projective_factor, propagate
from crossarc.inference.higher.branching import solve_dual
from crossarc.inference.higher.problem import FACTORS

Ints = NDArray[np.int64]


def beliefs(model: Path | None, treebank: Path | None) -> None:
    if model is not None and treebank is not None:
        projective_beliefs(trained(model, treebank))
        return
    enumerated_beliefs()
    for title, names in MODELS.items():
        projective_beliefs(synthetic((10, 20, 40), names, 20, title))


def projective_beliefs(groups: list[Group]) -> None:
    """The tree factor of projective trees: against exact marginals, of words and log Z."""
    print("with the tree factor of projective trees: mean and largest error of marginals, log Z")
    for group in groups:
        errors, totals, means, converged = [], [], [], 0
        for one in group.sentences:
            trees = ca.HigherOrderTrees(one.scores, threads=1, **one.factors)
            exact = ca.ProjectiveTrees(one.scores, threads=1, **one.factors)
            scores, tables = trees._batch.square(0), trees._tables(0)
            found = propagate(trees._problem(0), scores, tables, projective_factor)
            assert found.arcs is not None
            error = np.abs(found.arcs - exact.marginals())[scores > -np.inf]
            errors.append(error.max())
            means.append(error.mean())
            totals.append(abs(found.log_partition - exact.log_partition()))
            converged += found.convergence.converged
        print(
            f"  {group.title:15} {group.words:>6} words ({len(errors)}): marginals "
            f"{np.mean(means):.4f} {np.max(errors):.3f}, log Z {np.mean(totals):.4f} "
            f"{np.max(totals):.3f}, converged {converged / len(errors):.0%}",
            flush=True,
        )


def enumerated_beliefs() -> None:
    print("belief propagation against all trees of 4 words, sd of arcs 1: mean and largest error")
    heads = np.stack(np.meshgrid(*[np.arange(5)] * 4, indexing="ij"), -1).reshape(-1, 4)
    heads = heads[[not _has_cycle(one) for one in heads.tolist()]]
    for scale in (0.1, 0.3, 1.0, 2.0):
        rng, errors, totals, converged = np.random.default_rng(1), [], [], 0
        for _ in range(100):
            scores = rng.normal(size=(5, 5))
            factors: dict[str, Any] = {f.name: rng.normal(0, scale, f.shape(5)) for f in FACTORS}
            trees = ca.HigherOrderTrees(scores, root="multi", **factors)
            values = scores[heads, np.arange(1, 5)].sum(axis=1)
            for factor in FACTORS:
                dense = factors[factor.name]
                values += [dense[tuple(factor.parts_of(one).T)].sum() for one in heads]
            total = np.logaddexp.reduce(values)
            exact = np.zeros((5, 5))
            for one, p in zip(heads, np.exp(values - total), strict=True):
                exact[one, np.arange(1, 5)] += p
            errors.append(np.abs(trees.marginals() - exact)[:, 1:])
            totals.append(abs(trees.log_partition() - total))
            converged += trees.convergence().converged
        print(
            f"  sd of factors {scale}: marginals {np.mean(errors):.4f} {np.max(errors):.3f}, "
            f"log Z {np.mean(totals):.4f} {np.max(totals):.3f}, converged {converged}%"
        )


def _has_cycle(heads: list[int]) -> bool:
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if word > 0 else 0
        if word > 0:
            return True
    return False


def wrong(instances: int, seconds: float) -> None:
    """Random problems of up to 5 words against all trees, half of them with limits, some with
    forbidden parts."""

    @cache
    def trees_of(n: int) -> tuple[Ints, dict[str, Ints]]:
        heads = np.stack(np.meshgrid(*[np.arange(n + 1)] * n, indexing="ij"), -1).reshape(-1, n)
        heads = heads[[not _has_cycle(one) for one in heads.tolist()]]
        cells = {}
        for factor in FACTORS:
            size = (n + 1) ** len(factor.axes)
            rows = np.full((len(heads), n), size)
            for i, one in enumerate(heads):
                parts = factor.parts_of(one)
                if len(parts):
                    flat = np.ravel_multi_index(tuple(parts.T), factor.shape(n + 1))
                    rows[i, : len(parts)] = flat
            cells[factor.name] = rows
        return heads, cells

    rng, start, done, certified, infeasible = np.random.default_rng(0), time.monotonic(), 0, 0, 0
    while done < instances and time.monotonic() - start < seconds:
        n, single = int(rng.integers(1, 6)), bool(rng.integers(2))
        names = [name for name in NAMES if rng.random() < 0.5]
        scores = rng.normal(size=(n + 1, n + 1))
        scores[rng.random(scores.shape) < rng.choice([0.0, 0.3])] = -np.inf
        scale = rng.choice([0.3, 1.0, 3.0])
        factors: dict[str, Any] = {
            f.name: rng.normal(0, scale, f.shape(n + 1)) for f in FACTORS if f.name in names
        }
        for one in factors.values():
            one[rng.random(one.shape) < rng.choice([0.0, 0.0, 0.1, 0.4])] = -np.inf
        limits = rng.integers(0, 4, n + 1) if rng.random() < 0.5 else None
        heads, cells = trees_of(n)
        values = scores[heads, np.arange(1, n + 1)].sum(axis=1)
        for name, factor in factors.items():
            values = values + np.append(factor.ravel(), 0.0)[cells[name]].sum(axis=1)
        if single:
            values[(heads == 0).sum(axis=1) != 1] = -np.inf
        if limits is not None:
            counts = (heads[:, :, None] == np.arange(n + 1)).sum(axis=1)
            values[(counts > limits).any(axis=1)] = -np.inf
        best = values.max()
        root: Any = "single" if single else "multi"
        trees = ca.HigherOrderTrees(scores, root=root, max_modifiers=limits, threads=1, **factors)
        problem = trees._problem(0)
        tighten = bool(rng.integers(2))
        found = solve_dual(problem, np.ones(len(problem.score), np.int64), tighten=tighten)
        done += 1
        infeasible += best == -np.inf
        if found.heads is None:
            assert best == -np.inf or found.bound > -np.inf, (done, names, limits)
            continue
        assert found.bound >= best - 1e-12, (done, names, limits)
        if is_certified(found):
            certified += 1
            assert found.score >= best - 1e-9 * max(1.0, abs(best)), (done, names, limits)
    print(
        f"{done} random problems, {infeasible} of them infeasible, half without branching: "
        f"{certified} certificates, none wrong; no bound too low"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    jobs: dict[str, Callable[[], None]] = {
        "beliefs": lambda: beliefs(options.model, options.treebank),
        "wrong": lambda: wrong(options.instances, options.seconds),
    }
    parser.add_argument("jobs", nargs="*", choices=[*jobs, []], default=[])
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=600.0, help="for the search, at most")
    parser.add_argument("--model", type=Path, help="of second or third order")
    parser.add_argument("--treebank", type=Path, help="whose sentences it scores")
    options = parser.parse_args()
    if (options.model is None) != (options.treebank is None):
        parser.error("--model and --treebank go together")
    for name in options.jobs or jobs:
        jobs[name]()


if __name__ == "__main__":
    main()

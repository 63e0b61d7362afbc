"""Projective trees by packed forests: crossarc beside SuPar.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/forest.py

log Z with marginals, first order and sibling, single root, batch 16, one thread, in turn, medians
of five; then what every question of one sentence costs, and how forests grow.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from support.forests import ask_forests
from support.harness import medians

import crossarc as ca

Floats = NDArray[np.float64]
Jobs = dict[str, Callable[[], object]]
BATCH = 16
SIZES = (20, 50)
HAS_SUPAR = importlib.util.find_spec("supar") is not None


def first_order_jobs(scores: Floats) -> Jobs:
    def ours() -> None:
        ask_forests(ca.ProjectiveTrees(list(scores), threads=1), len(scores))

    jobs: Jobs = {"crossarc": ours}
    if HAS_SUPAR:
        import torch
        from supar.structs import DependencyCRF as SuparCRF

        turned = torch.tensor(scores.transpose(0, 2, 1).copy())

        def supar() -> object:
            trees = SuparCRF(turned)
            return trees.marginals, trees.log_partition

        jobs["SuPar"] = supar
    return jobs


def sibling_jobs(scores: Floats, sibling: Floats) -> Jobs:
    def ours() -> None:
        trees = ca.ProjectiveTrees(list(scores), sibling=list(sibling), threads=1)
        ask_forests(trees, len(scores))

    jobs: Jobs = {"crossarc": ours}
    if HAS_SUPAR:
        import torch
        from supar.structs import Dependency2oCRF

        arcs = torch.tensor(scores.transpose(0, 2, 1).copy())
        parts = torch.tensor(sibling.transpose(0, 3, 1, 2).copy())

        def supar() -> object:
            trees = Dependency2oCRF((arcs, parts))
            return trees.marginals, trees.log_partition

        jobs["SuPar"] = supar
    return jobs


def compare(title: str, n: int, jobs: Jobs) -> None:
    for job in jobs.values():
        job()
    seconds = medians(jobs)
    shown = "  ".join(f"{name} {BATCH / value:,.0f}" for name, value in seconds.items())
    ratios = "  ".join(
        f"{value / seconds['crossarc']:.1f}x {name}" for name, value in list(seconds.items())[1:]
    )
    print(f"  {title} n={n}: {shown} sentences/s\n      crossarc is {ratios}", flush=True)


QUESTIONS: dict[str, Callable[[ca.ProjectiveTrees], object]] = {
    "forest": lambda trees: trees._forest(0),
    "argmax": lambda trees: trees.argmax(),
    "log Z": lambda trees: trees.log_partition(),
    "marginals": lambda trees: trees.marginals(),
    "entropy": lambda trees: trees.entropy(),
    "max-marginals": lambda trees: trees.max_marginals(),
    "100 best": lambda trees: list(trees.kbest(100)),
    "100 samples": lambda trees: trees.sample(100, seed=0),
    "100 distinct": lambda trees: trees.sample(100, seed=0, replace=False),
}


def answer(
    ask: Callable[[ca.ProjectiveTrees], object], make: Callable[[], ca.ProjectiveTrees]
) -> None:
    ask(make())


def questions(title: str, n: int, make: Callable[[], ca.ProjectiveTrees]) -> None:
    jobs: Jobs = {name: partial(answer, ask, make) for name, ask in QUESTIONS.items()}
    for job in jobs.values():
        job()
    seconds = medians(jobs, rounds=9)
    forest = make()._forest(0)
    shown = "  ".join(f"{name} {value * 1e3:.2f}" for name, value in seconds.items())
    print(f"  {title} n={n}, {len(forest.left):,} instances, ms: {shown}", flush=True)


def main() -> None:
    chance = np.random.default_rng(0)
    print("log Z and marginals")
    for n in SIZES:
        scores = chance.normal(size=(BATCH, n + 1, n + 1))
        sibling = chance.normal(size=(BATCH, n + 1, n + 1, n + 1))
        compare("first order", n, first_order_jobs(scores))
        compare("sibling", n, sibling_jobs(scores, sibling))
    print("\none sentence, one thread, from scores to answer")
    for n in (*SIZES, 100):
        arcs, parts = chance.normal(size=(n + 1,) * 2), chance.normal(size=(n + 1,) * 3)
        sparse = arcs.copy()
        sparse[np.argsort(-arcs, axis=0)[10:], np.arange(n + 1)] = -np.inf
        sparse[np.arange(n), np.arange(1, n + 1)] = 0.0  # so that there is a tree
        make = partial(ca.ProjectiveTrees, threads=1)
        questions("first order", n, partial(make, arcs))
        questions("ten heads a word", n, partial(make, sparse))
        questions("sibling", n, partial(make, arcs, sibling=parts))


if __name__ == "__main__":
    main()

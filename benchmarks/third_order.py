"""Projective trees with grandchild, grand-sibling and tri-sibling factors: time, growth, memory.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/third_order.py

Best tree, and log Z with marginals, of one sentence from scores to answer, single root, one thread,
processor time, medians: all arcs allowed and factors as arrays; ten heads a word in the mean and
factors as `Parts`. Then the exponents of growth, the memory of 60 words, what limits of arity cost,
and the processor time that the kernels take to compile.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import crossarc as ca
from crossarc.inference.factors import GRAND_SIBLING, GRANDCHILD, SIBLING, TRI_SIBLING

Floats = NDArray[np.float64]
FACTORS = {one.name: one for one in (SIBLING, GRANDCHILD, GRAND_SIBLING, TRI_SIBLING)}
MODELS = {
    "grandchild": ("grandchild",),
    "grand-sibling": ("sibling", "grandchild", "grand_sibling"),
    "tri-sibling": ("sibling", "tri_sibling"),
    "third order": tuple(FACTORS),
}
SIZES = (20, 40, 60)
HEADS = 10
QUESTIONS: dict[str, Callable[[ca.ProjectiveTrees], object]] = {
    "best tree": lambda trees: trees.argmax(),
    "log Z, marginals": lambda trees: (trees.marginals(), trees.log_partition()),
}


def arc_scores(n: int, is_pruned: bool, seed: int = 0) -> Floats:
    """Standard normal scores; if pruned, of the ten best heads of each word and its neighbour."""
    scores = np.random.default_rng([n, seed]).normal(size=(n + 1, n + 1))
    if is_pruned:
        scores[np.argsort(-scores, axis=0)[HEADS:], np.arange(n + 1)] = -np.inf
        scores[np.arange(n), np.arange(1, n + 1)] = 0.0  # so that there is a tree
    return scores


def factor_scores(scores: Floats, names: tuple[str, ...], is_pruned: bool) -> dict[str, Any]:
    """Standard normal scores of all parts: arrays, or `Parts` of what pruned trees can have."""
    rng = np.random.default_rng(len(names))
    found: dict[str, Any] = {}
    for name in names:
        if is_pruned:
            index = ca.list_parts(scores, cast(Any, name))
            found[name] = ca.Parts(index, rng.normal(size=len(index)))
        else:
            found[name] = rng.normal(size=FACTORS[name].shape(len(scores)))
    return found


def processor_time(job: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds + 1):
        gc.collect()
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds[1:])


def exponent(seconds: Mapping[int, float]) -> float:
    """The slope of a line through the logarithms of words and seconds."""
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])


def measured(
    n: int, names: tuple[str, ...], is_pruned: bool, **options: Any
) -> tuple[dict[str, float], int]:
    """Seconds for each question, and the rule instances of the forest."""
    scores = arc_scores(n, is_pruned)
    factors = factor_scores(scores, names, is_pruned)

    def make() -> ca.ProjectiveTrees:
        return ca.ProjectiveTrees(scores, threads=1, **factors, **options)

    rounds = 15 if n <= 25 or is_pruned else 3
    seconds = {
        question: processor_time(lambda ask=ask: ask(make()), rounds)  # type: ignore[misc]
        for question, ask in QUESTIONS.items()
    }
    return seconds, len(make()._forest(0).left)


def growth(is_pruned: bool) -> None:
    print("\nten heads a word" if is_pruned else "\nall arcs allowed", "(ms)")
    sizes = (25, *SIZES) if is_pruned else SIZES
    for model, names in MODELS.items():
        table: dict[str, dict[int, float]] = {question: {} for question in QUESTIONS}
        instances = []
        for n in sizes:
            seconds, count = measured(n, names, is_pruned)
            instances.append(f"{count:,}")
            for question in QUESTIONS:
                table[question][n] = seconds[question]
        for question, row in table.items():
            shown = "  ".join(f"n={n} {value * 1e3:8.2f}" for n, value in row.items())
            fitted = exponent({n: row[n] for n in SIZES})
            print(f"  {model:14} {question:17} {shown}   n^{fitted:.2f}", flush=True)
        print(f"  {'':14} rule instances    {', '.join(instances)}")


def limited() -> None:
    print("\nat most three modifiers a node, ten heads a word, n=25 (ms)")
    for model, names in {"arcs": (), **MODELS}.items():
        seconds, count = measured(25, names, True, max_modifiers=3)
        shown = "  ".join(f"{question} {value * 1e3:.2f}" for question, value in seconds.items())
        print(f"  {model:14} {shown}   {count:,} instances", flush=True)


def peak() -> float:
    """The most memory that this process has had, MB; `ru_maxrss` would count its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory_of(is_pruned: bool) -> None:
    """In a process of its own: third order, 60 words; factors given as float64 count, too."""
    small = arc_scores(5, is_pruned)
    for ask in QUESTIONS.values():
        ask(ca.ProjectiveTrees(small, **factor_scores(small, tuple(FACTORS), is_pruned)))
    before = peak()
    scores = arc_scores(60, is_pruned)
    factors = factor_scores(scores, tuple(FACTORS), is_pruned)
    given = peak()
    trees = ca.ProjectiveTrees(scores, threads=1, **factors)
    for ask in QUESTIONS.values():
        ask(trees)
    after = peak()
    print(f"{after - before:,.0f} MB, {given - before:,.0f} of them the given factors; ", end="")
    print(f"the process {after:,.0f} MB")


def compile_all() -> None:
    """In a process of its own, with an empty cache."""
    from crossarc.inference.projective.automata import layout, rules, system
    from crossarc.kernels import kernels_of

    begin = time.process_time()
    kernels = [one for module in (layout, system, rules) for one in kernels_of(module.__name__)]
    seconds = []
    for one in kernels:
        start = time.process_time()
        one.compile()
        seconds.append(f"{one.__qualname__} {time.process_time() - start:.1f} s")
    print(f"{time.process_time() - begin:.1f} s, {', '.join(seconds)}")


def in_process(task: str, **variables: str) -> str:
    command = [sys.executable, __file__, task]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


TASKS: dict[str, Callable[[], None]] = {
    "compile": compile_all,
    "dense": lambda: memory_of(False),
    "pruned": lambda: memory_of(True),
}


def main() -> None:
    if len(sys.argv) > 1:
        TASKS[sys.argv[1]]()
        return
    growth(is_pruned=True)
    growth(is_pruned=False)
    limited()
    print("\nmemory, third order, n=60")
    print("  all arcs allowed:", in_process("dense"))
    print("  ten heads a word:", in_process("pruned"))
    with tempfile.TemporaryDirectory() as folder:
        shown = in_process("compile", NUMBA_CACHE_DIR=folder)
    print("\ncompilation of all models beyond sibling and of limits:", shown)


if __name__ == "__main__":
    main()

"""Spanning trees: crossarc beside ufal.chu_liu_edmonds, torch-struct, SuPar and LAPACK.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/spanning.py

Best trees and log Z with marginals, batch 64, random and peaked scores, in turn, medians of five,
one thread; then two threads against one, growth in words, labels and k, memory, and start-up.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from support.harness import medians, repeat, start_up

import crossarc as ca
from crossarc.treebank.synthetic.random_trees import uniform_heads

Floats = NDArray[np.float64]
BATCH = 64
SIZES = (20, 50, 100, 200)
HAS_UFAL = importlib.util.find_spec("ufal") is not None
HAS_TORCH_STRUCT = importlib.util.find_spec("torch_struct") is not None
HAS_SUPAR = importlib.util.find_spec("supar") is not None


def random_scores(n: int, seed: int = 0) -> list[Floats]:
    return list(np.random.default_rng(seed).normal(size=(BATCH, n + 1, n + 1)))


def peaked_scores(n: int) -> list[Floats]:
    """Like a trained parser's: the arcs of one tree score 8 more than the others."""
    chance = np.random.default_rng(1)
    batch = random_scores(n)
    for scores in batch:
        tree = uniform_heads(chance, np.array([n]), single=True)
        scores[tree[1:], np.arange(1, n + 1)] += 8.0
    return batch


def argmax_jobs(batch: list[Floats]) -> dict[str, Callable[[], object]]:
    jobs: dict[str, Callable[[], object]] = {
        "crossarc single": lambda: ca.SpanningTrees(batch, threads=1).argmax(),
        "crossarc multi": lambda: ca.SpanningTrees(batch, root="multi", threads=1).argmax(),
    }
    if HAS_UFAL:
        from ufal.chu_liu_edmonds import chu_liu_edmonds

        turned = [np.ascontiguousarray(scores.T) for scores in batch]
        jobs["ufal multi"] = lambda: [chu_liu_edmonds(scores) for scores in turned]
    return jobs


def sum_jobs(batch: list[Floats]) -> dict[str, Callable[[], object]]:
    def ours() -> object:
        trees = ca.SpanningTrees(batch, root="multi", threads=1)
        return trees.marginals(), trees.log_partition()

    n = batch[0].shape[0] - 1
    matrices = np.stack([np.exp(scores[1:, 1:]) + 2 * n * np.eye(n) for scores in batch])
    jobs: dict[str, Callable[[], object]] = {
        "crossarc": ours,
        "LAPACK inverse": lambda: np.linalg.inv(matrices),
    }
    if HAS_TORCH_STRUCT:
        import torch
        from torch_struct import NonProjectiveDependencyCRF

        potentials = torch.tensor(np.stack([scores[1:, 1:] for scores in batch]))

        def torch_struct() -> object:
            trees = NonProjectiveDependencyCRF(potentials, multiroot=True)
            return trees.marginals, trees.partition

        jobs["torch-struct"] = torch_struct
    if HAS_SUPAR:
        import torch
        from supar.structs import MatrixTree

        tensor = torch.tensor(np.stack([scores.T for scores in batch]))

        def supar() -> object:
            trees = MatrixTree(tensor, multiroot=True)
            return trees.marginals, trees.log_partition

        jobs["SuPar"] = supar
    return jobs


def compare(title: str, jobs_of: Callable[[list[Floats]], dict[str, Callable[[], object]]]) -> None:
    print(f"\n{title}, sentences per second")
    for kind, make in (("random", random_scores), ("peaked", peaked_scores)):
        for n in SIZES:
            jobs = jobs_of(make(n))
            repeats = max(1, 1000 // n)
            seconds = medians({name: partial(repeat, job, repeats) for name, job in jobs.items()})
            seconds = {name: value / repeats for name, value in seconds.items()}
            ours = seconds[next(iter(seconds))]
            shown = "  ".join(f"{name} {BATCH / value:,.0f}" for name, value in seconds.items())
            ratios = "  ".join(
                f"{value / ours:.2f}x {name}" for name, value in list(seconds.items())[1:]
            )
            print(f"  {kind} n={n}: {shown}\n      crossarc is {ratios}", flush=True)


def best_of(job: Callable[[], object], rounds: int = 5) -> float:
    return float(medians({"": job}, rounds)[""])


def marginals(scores: Floats | list[Floats], threads: int = 1) -> object:
    return ca.SpanningTrees(scores, threads=threads).marginals()


def ask_all(ask: Callable[[Floats], object], batch: list[Floats]) -> None:
    for scores in batch:
        ask(scores)


def at_once(jobs: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def two_threads() -> None:
    """Beside it what the machine allows: two runs that have nothing to do with each other."""
    print("\ntwo threads against one, log Z + marginals")
    for n in (50, 100, 200):
        batch, times = random_scores(n), max(1, 10_000 // n)
        alone = partial(repeat, partial(marginals, batch, 1), times)
        seconds = medians(
            {
                "one": alone,
                "two": partial(repeat, partial(marginals, batch, 2), times),
                "apart": partial(at_once, [alone, alone]),
            }
        )
        gain, most = seconds["one"] / seconds["two"], 2 * seconds["one"] / seconds["apart"]
        print(f"  n={n}: {gain:.2f}x; two independent runs at once: {most:.2f}x")


def growth() -> None:
    print("\ngrowth")
    sizes = (50, 100, 200, 400)
    questions: dict[str, Callable[[Floats], object]] = {
        "argmax": lambda s: ca.SpanningTrees(s, threads=1).argmax(),
        "log Z": lambda s: ca.SpanningTrees(s, threads=1).log_partition(),
        "log Z + marginals": marginals,
        "log Z + marginals, sd 300": lambda s: marginals(300 * s),
    }
    for name, ask in questions.items():
        seconds = [best_of(partial(ask_all, ask, random_scores(n)[:8])) for n in sizes]
        slope = np.polyfit(np.log(sizes[1:]), np.log(seconds[1:]), 1)[0]
        shown = ", ".join(f"n={n} {1e3 * s / 8:.2f}" for n, s in zip(sizes, seconds, strict=True))
        print(f"  {name}: exponent {slope:.2f} from n=100 up; ms: {shown}")
    chance = np.random.default_rng(0)
    labelled = {k: chance.normal(size=(51, 51, k)) for k in (1, 8, 32, 128)}
    times = {k: best_of(partial(marginals, scores)) for k, scores in labelled.items()}
    print("  labels, n=50, ms:", ", ".join(f"{k}: {1e3 * s:.2f}" for k, s in times.items()))
    scores = random_scores(50)[0]
    for k in (10, 100, 1000, 10_000):
        start = time.perf_counter()
        found = sum(1 for _ in ca.SpanningTrees(scores).kbest(k))
        print(f"  {found:,} best trees, n=50: {time.perf_counter() - start:.3f} s")


def peak_memory(setup: str, question: str) -> float:
    """MiB that a question adds to the peak of a fresh process, kernels loaded; Linux only."""
    code = (
        "import re, numpy as np, crossarc as ca\n"
        "status = lambda: open('/proc/self/status').read()\n"
        "peak = lambda: int(re.search(r'VmHWM:\\s*(\\d+)', status())[1])\n"
        "def ask(scores, k):\n"
        f"    return ca.SpanningTrees(scores, threads=1).{question}\n"
        "def both(scores, k):\n"
        "    answer = ask(scores, k)\n"
        "    return list(answer) if hasattr(answer, '__next__') else answer\n"
        "both(np.random.default_rng(0).normal(size=(9, 9)), 3)\n"
        f"{setup}\n"
        "before = peak(); kept = both(scores, k); print((peak() - before) / 1024)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(shown.stdout)


def memory() -> None:
    print("\nmemory beyond the scores, MiB")
    sizes = (200, 400, 800, 1600)
    for question in ("argmax()", "marginals()"):
        used = []
        for n in sizes:
            setup = f"k = 0; scores = np.random.default_rng(0).normal(size=({n + 1}, {n + 1}))"
            used.append(peak_memory(setup, question))
        rows = zip(sizes, used, strict=True)
        shown = ", ".join(f"n={n} {mib:.1f} ({mib * 2**20 / n**2:.0f})" for n, mib in rows)
        print(f"  {question} (bytes over n^2): {shown}")
    setup = "scores = np.random.default_rng(0).normal(size=(51, 51)); k = "
    kept = {k: peak_memory(f"{setup}{k}", "kbest(k)") for k in (100, 1000, 10_000)}
    print("  k best trees, n=50, kept:", ", ".join(f"k={k} {mib:.1f}" for k, mib in kept.items()))


def main() -> None:
    if not os.environ.get("OPENBLAS_NUM_THREADS") == os.environ.get("OMP_NUM_THREADS") == "1":
        raise SystemExit("one core for everybody: set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1")
    warnings.simplefilter("ignore")
    print("peers:", {"ufal": HAS_UFAL, "torch-struct": HAS_TORCH_STRUCT, "SuPar": HAS_SUPAR})
    compare("best tree", argmax_jobs)
    compare("log Z + marginals (multi-root)", sum_jobs)
    two_threads()
    growth()
    memory()
    one, many = "numpy.zeros((9, 9))", "[numpy.zeros((9, 9))] * 8"
    start_up(
        {
            f"{scores}, {question}": f"import numpy, crossarc as ca; "
            f"ca.SpanningTrees({scores}).{question}()"
            for question, scores in (("argmax", one), ("marginals", one), ("marginals", many))
        }
    )


if __name__ == "__main__":
    main()

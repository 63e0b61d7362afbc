"""Projective trees: crossarc's kernels beside SuPar and torch-struct.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/projective.py

Best trees and log Z with marginals, first order (batch 64) and sibling, single root, one thread, in
turn, medians of five; then multiplications per second beside BLAS, growth in words, what wide
scores cost, two threads against one, memory and start-up.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from support.forests import ask_forests
from support.harness import medians, repeat, shortest, start_up
from support.projective_peers import Peer, first_order_peers, sibling_peers

import crossarc as ca

Floats = NDArray[np.float64]
Jobs = dict[str, Callable[[], object]]
BATCH = 64
SIZES = (20, 50, 100)
#: How many times faster than the faster peer crossarc should be.
ASKED, ASKED_SIBLING = 30.0, 50.0


def random_batch(n: int, batch: int = BATCH, sd: float = 1.0) -> Floats:
    return np.random.default_rng(n).normal(0, sd, (batch, n + 1, n + 1))


def random_factors(n: int, batch: int) -> Floats:
    """0 where there is no sibling, as SuPar does not score these parts."""
    factors = np.random.default_rng(n).normal(size=(batch, n + 1, n + 1, n + 1))
    factors[:, np.arange(n + 1), np.arange(n + 1)] = 0.0
    return factors


def best(batch: Floats, factors: Floats | None = None, threads: int = 1) -> object:
    sibling = None if factors is None else list(factors)
    return ca.ProjectiveTrees(list(batch), sibling=sibling, threads=threads).argmax()


def sums(batch: Floats, factors: Floats | None = None, threads: int = 1) -> object:
    sibling = None if factors is None else list(factors)
    trees = ca.ProjectiveTrees(list(batch), sibling=sibling, threads=threads)
    return trees.marginals(), trees.log_partition()


def check(peers: dict[str, Peer], batch: Floats, factors: Floats | None) -> None:
    """That everybody sums over the same trees; peers may answer in single precision."""
    sibling = None if factors is None else list(factors)
    ours = ca.ProjectiveTrees(list(batch), sibling=sibling).log_partition()
    for name, peer in peers.items():
        worst = np.abs(np.array(peer.log_z()) / ours - 1.0).max()
        if not worst < 1e-5:
            print(f"  {name} differs: log Z by {worst:.1e}")


def forest_against_kernel() -> None:
    """What the hand-written kernels gain over the forests that they are tested against."""
    print("log Z and marginals: kernel against forest")
    for n in SIZES:
        batch = random_batch(n, 8)
        factors = random_factors(n, 8)
        for title, factor in (("first order", None), ("sibling", factors)):
            sibling = None if factor is None else list(factor)
            trees = partial(ca.ProjectiveTrees, list(batch), sibling=sibling, threads=1)
            jobs: Jobs = {
                "kernel": partial(sums, batch, factor),
                "forest": lambda trees=trees: ask_forests(trees(), 8),  # type: ignore[misc]
            }
            for job in jobs.values():
                job()
            seconds = medians(jobs)
            rates = "  ".join(f"{name} {8 / value:,.0f}" for name, value in seconds.items())
            ratio = seconds["forest"] / seconds["kernel"]
            print(f"  {title} n={n}: {rates} sentences/s: {ratio:.1f}x", flush=True)


def compare(title: str, ours: Callable[[], object], peers: Jobs, batch: int, asked: float) -> None:
    # As long as a peer, so that caches are warm as in the middle of a corpus.
    times = max(1, int(0.3 / shortest(ours, 3)))
    seconds = medians({"crossarc": partial(repeat, ours, times), **peers})
    seconds["crossarc"] /= times
    rates = "  ".join(f"{name} {batch / value:,.1f}" for name, value in seconds.items())
    line = f"  {title}: {rates} sentences/s"
    if peers:
        ratio = min(seconds[name] for name in peers) / seconds["crossarc"]
        verdict = "" if ratio >= asked else "  LESS THAN ASKED"
        line += f"; {ratio:.0f}x the faster peer (asked {asked:.0f}x){verdict}"
    print(line, flush=True)


def against_peers() -> None:
    print("first order, random scores, batch 64")
    for n in SIZES:
        batch = random_batch(n)
        peers = first_order_peers(batch)
        check(peers, batch, None)
        jobs: Jobs = {name: peer.best for name, peer in peers.items()}
        compare(f"best tree n={n}", partial(best, batch), jobs, BATCH, ASKED)
        jobs = {name: peer.sums for name, peer in peers.items()}
        compare(f"log Z + marginals n={n}", partial(sums, batch), jobs, BATCH, ASKED)
    print("\nsibling, random scores, batch 64")
    for n in (20, 40):
        batch, factors = random_batch(n), random_factors(n, BATCH)
        peers = sibling_peers(batch, factors)
        check(peers, batch, factors)
        jobs = {name: peer.best for name, peer in peers.items()}
        compare(f"best tree n={n}", partial(best, batch, factors), jobs, BATCH, ASKED_SIBLING)
        jobs = {name: peer.sums for name, peer in peers.items()}
        title = f"log Z + marginals n={n}"
        compare(title, partial(sums, batch, factors), jobs, BATCH, ASKED_SIBLING)


def beside_blas() -> None:
    """Multiplications and additions per second; a best tree's are maxima and additions."""
    square = np.random.default_rng(0).normal(size=(800, 800))
    blas = 800**3 / shortest(lambda: square @ square)
    print(f"\nmultiplications, 10^9 a second: BLAS {blas / 1e9:.1f}")
    for n in (20, 50, 100, 200, 400):
        batch = random_batch(n, max(1, 6400 // n**2))
        inner = len(batch) * n**3 / 2 / shortest(partial(best, batch))
        both = len(batch) * n**3 * 1.5 / shortest(partial(sums, batch))
        print(f"  n={n}: best trees {inner / 1e9:.1f}, log Z + marginals {both / 1e9:.1f}")


def growth() -> None:
    print("\ngrowth, exponent over the last three lengths, and ms a sentence")
    first: dict[str, Callable[[int], Callable[[], object]]] = {
        "best tree": lambda n: partial(best, random_batch(n, 1)),
        "log Z + marginals": lambda n: partial(sums, random_batch(n, 1)),
        "log Z + marginals, sd 30": lambda n: partial(sums, random_batch(n, 1, 30.0)),
        "log Z + marginals, sd 300": lambda n: partial(sums, random_batch(n, 1, 300.0)),
    }
    second: dict[str, Callable[[int], Callable[[], object]]] = {
        "sibling best tree": lambda n: partial(best, random_batch(n, 1), random_factors(n, 1)),
        "sibling log Z + marginals": lambda n: partial(
            sums, random_batch(n, 1), random_factors(n, 1)
        ),
    }
    for questions, lengths in ((first, (50, 100, 200, 400)), (second, (20, 40, 80, 160))):
        for name, make in questions.items():
            seconds = [shortest(make(n), 5) for n in lengths]
            slope = np.polyfit(np.log(lengths[1:]), np.log(seconds[1:]), 1)[0]
            shown = ", ".join(f"n={n} {1e3 * s:.2f}" for n, s in zip(lengths, seconds, strict=True))
            print(f"  {name}: {slope:.2f}; {shown}", flush=True)


def two_threads() -> None:
    print("\ntwo threads against one")
    for n in (50, 100):
        batch = random_batch(n, 4 * BATCH)
        seconds = medians({str(k): partial(sums, batch, None, k) for k in (1, 2)})
        print(f"  log Z + marginals n={n}: {seconds['1'] / seconds['2']:.2f}x")


MEMORY = """
import re, numpy as np, crossarc as ca
def peak(): return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
factor = {factor}
ca.ProjectiveTrees(np.zeros((9, 9)), sibling=None if factor is None else np.zeros((9,) * 3)).{ask}()
scores = np.random.default_rng(0).normal(size=({n} + 1, {n} + 1))
open("/proc/self/clear_refs", "w").write("5")  # forget the peak of compilation
before = peak()
ca.ProjectiveTrees(scores, sibling=factor, threads=1).{ask}()
print(peak() - before)
"""


def memory() -> None:
    if not os.path.exists("/proc/self/clear_refs"):
        return
    print("\npeak memory for one sentence, MiB beyond scores and factors")
    for n, factor in ((100, "None"), (400, "None"), (100, "np.zeros((101,) * 3)")):
        for ask in ("argmax", "marginals"):
            code = MEMORY.format(n=n, factor=factor, ask=ask)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
            model = "first order" if factor == "None" else "sibling"
            print(f"  {model} n={n} {ask}: {float(done.stdout):.1f}")


def main() -> None:
    if not os.environ.get("OPENBLAS_NUM_THREADS") == os.environ.get("OMP_NUM_THREADS") == "1":
        raise SystemExit("one core for everybody: set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1")
    warnings.simplefilter("ignore")
    against_peers()
    forest_against_kernel()
    beside_blas()
    growth()
    two_threads()
    memory()
    code = "import numpy, crossarc as ca; ca.ProjectiveTrees(numpy.zeros((9, 9)))"
    start_up({question: f"{code}.{question}()" for question in ("argmax", "marginals")})


if __name__ == "__main__":
    main()

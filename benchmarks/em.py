"""One E-step of EM over all sentences up to 40 words: sentences a second, and what it consists of.

    .venv-bench/bin/python benchmarks/em.py [FOLDER]

Tags are the units. "20 words": sentences of that length, the words of longer ones cut. kernels: the
sums over trees only, on the same scores. CPU: sentences a second of processor time, which other
work on the machine changes less; the other columns are by the clock, and the load average is
printed to judge them by. Medians of five rounds, in which the jobs take turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.harness import ROUNDS, treebank_folder

import crossarc as ca
from crossarc.models.generative import BigramModel, DMVModel
from crossarc.models.generative.bigram_em import BigramProblem
from crossarc.models.generative.corpus import Corpus
from crossarc.models.generative.dmv_em import DMVProblem

LONGEST, LENGTH = 40, 20
PRIOR = 0.1
THREADS = (1, 2)
TITLES = (
    "non-projective",
    "projective",
    "valence",
    "non-projective kernels",
    "projective kernels",
)


def main() -> None:
    folder = treebank_folder(__doc__)
    tagged = [tags for tags in read_tags(folder) if len(tags) <= LONGEST]
    cut = [tags[:LENGTH] for tags in tagged if len(tags) >= LENGTH]
    columns = ["sentences", "words", "1, CPU", *(f"{t}, clock" for t in THREADS)]
    widths = [11, 10, *[11] * (len(columns) - 2)]
    print(f"{'':24}" + "".join(f"{one:>{w}}" for one, w in zip(columns, widths, strict=True)))
    for name, sentences in (("all up to 40 words", tagged), (f"{LENGTH} words", cut)):
        report(name, sentences)
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")


def read_tags(folder: Path) -> list[list[str]]:
    """Of all sentences that are tagged."""
    found = []
    for path in sorted(folder.glob("*/*.conllu.gz")):
        found += [list(one.upos) for one in ca.read_conllu(path) if "_" not in one.upos]
    return found


def report(name: str, sentences: Sequence[Sequence[str]]) -> None:
    """A row for each model."""
    jobs: dict[str, Callable[[], object]] = {}
    for threads in THREADS:
        for kind in (False, True):
            model = BigramModel(projective=kind)
            corpus = Corpus.encode(model._learn_vocabulary(sentences), model.vocabularies)
            problem = BigramProblem(model, corpus, PRIOR, threads)
            parameters = problem.maximise(problem.harmonic_start())
            title = "projective" if kind else "non-projective"
            jobs[f"{title} {threads}"] = partial(problem.expect, parameters, 1.0)
            if threads == 1:
                jobs[f"{title} kernels 1"] = sums_only(problem, parameters)
        valence = DMVModel()
        corpus = Corpus.encode(valence._learn_vocabulary(sentences), valence.vocabularies)
        other = DMVProblem(valence, corpus, PRIOR, threads)
        jobs[f"valence {threads}"] = partial(
            other.expect, other.maximise(other.harmonic_start()), 1.0
        )
    by_clock, by_cpu = timed(jobs)
    print(f"{name:24}{len(sentences):11,}{sum(map(len, sentences)):10,}")
    for title in TITLES:
        seconds = [by_cpu[f"{title} 1"], *(by_clock.get(f"{title} {t}") for t in THREADS)]
        cells = "".join(f"{len(sentences) / x:11,.0f}" if x else f"{'-':>11}" for x in seconds)
        print(f"  {title:43}{cells}", flush=True)


def timed(jobs: Mapping[str, Callable[[], object]]) -> tuple[dict[str, float], dict[str, float]]:
    """Median seconds of each job, by the clock and of processor time."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            begin = time.perf_counter(), time.process_time()
            job()
            found[name].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    middle = {name: np.median(seconds, axis=0).tolist() for name, seconds in found.items()}
    return {name: one[0] for name, one in middle.items()}, {n: one[1] for n, one in middle.items()}


def sums_only(problem: BigramProblem, parameters: NDArray[np.float64]) -> Callable[[], object]:
    """The sums over trees of an E-step, by one thread, their scores being there already."""
    arcs = problem.arcs
    scores = [(arcs.gather(parameters, chunk), chunk) for chunk in arcs.chunks]
    return lambda: [arcs.solve(own, chunk) for own, chunk in scores]


if __name__ == "__main__":
    main()

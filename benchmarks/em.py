"""One E-step of EM over all sentences up to 40 words: sentences a second, and what it consists of.

    .venv-bench/bin/python benchmarks/em.py [FOLDER]

Tags are the units. "20 words": sentences of that length, the words of the others cut. kernels: the
sums over trees only, on the same scores. Medians of five; the machine's load shows in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from support.harness import medians, treebank_folder

import crossarc as ca
from crossarc.models.generative import BigramModel, DMVModel
from crossarc.models.generative.bigram_em import BigramProblem
from crossarc.models.generative.corpus import Corpus
from crossarc.models.generative.dmv_em import DMVProblem

LONGEST, LENGTH = 40, 20
PRIOR = 0.1
THREADS = (1, 2)


def main() -> None:
    folder = treebank_folder(__doc__)
    tagged = [tags for tags in read_tags(folder) if len(tags) <= LONGEST]
    cut = [tags[:LENGTH] for tags in tagged if len(tags) >= LENGTH]
    print(
        f"{'':24}{'sentences':>11}{'words':>10}" + "".join(f"{f'{t} thread':>11}" for t in THREADS)
    )
    for name, sentences in (("all up to 40 words", tagged), (f"{LENGTH} words", cut)):
        report(name, sentences)


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
    seconds = medians(jobs)
    print(f"{name:24}{len(sentences):11,}{sum(map(len, sentences)):10,}")
    for title in (
        "non-projective",
        "projective",
        "valence",
        "non-projective kernels",
        "projective kernels",
    ):
        rates = [seconds.get(f"{title} {threads}") for threads in THREADS]
        cells = "".join(f"{len(sentences) / one:11,.0f}" if one else f"{'-':>11}" for one in rates)
        print(f"  {title:43}{cells}", flush=True)


def sums_only(problem: BigramProblem, parameters: NDArray[np.float64]) -> Callable[[], object]:
    """The sums over trees of an E-step, by one thread, their scores being there already."""
    arcs = problem.arcs
    scores = [(arcs.gather(parameters, chunk), chunk) for chunk in arcs.chunks]
    return lambda: [arcs.solve(own, chunk) for own, chunk in scores]


if __name__ == "__main__":
    main()

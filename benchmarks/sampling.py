"""Random spanning trees: samples per second, by insertion and by walks.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/sampling.py

1,000 trees of one sentence, trees with heads and score as `sample` returns them, one thread;
medians of five, taken in turn. Beside crossarc: Wilson's algorithm written plainly in NumPy;
networkx, whose random trees are uniform, on 20 words with flat scores; SynJax where it is installed
(neither torch-struct nor SuPar samples non-projective trees). Then the two kernels against each
other, on easy scores and on scores where walks are long, with the expected number of steps; and for
one sentence the first tree, draws without replacement, pairs of arcs, mutual information and
max-marginals.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from support.harness import medians

import crossarc as ca
from crossarc.inference.spanning.sampling.insertion import draw_by_insertion
from crossarc.inference.spanning.sampling.wilson import draw_by_walks, expected_steps
from crossarc.treebank.synthetic.random_trees import uniform_heads

Floats = NDArray[np.float64]
Jobs = dict[str, Callable[[], object]]
DRAWS = 1000
SIZES = (20, 50, 100)
NO_LABELS = np.empty((0, 0))
HAS_SYNJAX = importlib.util.find_spec("synjax") is not None
# Longer walks than this are not run.
LONGEST = 1e6


def flat(n: int) -> Floats:
    return np.zeros((n + 1, n + 1))


def random(n: int) -> Floats:
    return np.random.default_rng(n).normal(size=(n + 1, n + 1))


def peaked(n: int) -> Floats:
    """Like a trained parser's: the arcs of one tree score 8 more than the others."""
    scores = random(n)
    tree = uniform_heads(np.random.default_rng(1), np.array([n]), single=True)
    scores[tree[1:], np.arange(1, n + 1)] += 8.0
    return scores


def pairs(n: int) -> Floats:
    """Every two neighbours prefer each other by 12: walks go to and fro."""
    scores = random(n)
    words = np.arange(1, n, 2)
    scores[words, words + 1] = scores[words + 1, words] = 12.0
    return scores


def chain(n: int) -> Floats:
    """Neighbours only, each step to the right better by 1: walks drift away from most roots."""
    scores = np.full((n + 1, n + 1), -np.inf)
    words = np.arange(1, n)
    scores[words, words + 1], scores[words + 1, words] = 1.0, 0.0
    scores[0, 1:] = np.arange(n)
    return scores


def wide(n: int) -> Floats:
    return np.random.default_rng(n).normal(scale=1000.0, size=(n + 1, n + 1))


KINDS = {f.__name__: f for f in (flat, random, peaked, pairs, chain, wide)}


def plain_walks(scores: Floats, draws: int, seed: int) -> list[list[int]]:
    """Wilson (1996) in NumPy and Python, several roots."""
    n = len(scores) - 1
    weights = np.exp(scores - scores.max())
    np.fill_diagonal(weights, 0.0)
    sums = np.cumsum(weights, axis=0).T
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        heads, reached = [0] * (n + 1), [True] + [False] * n
        for start in range(1, n + 1):
            x = start
            while not reached[x]:
                heads[x] = int(np.searchsorted(sums[x], chance.random() * sums[x, -1], "right"))
                x = heads[x]
            x = start
            while not reached[x]:
                reached[x] = True
                x = heads[x]
        found.append(heads[1:])
    return found


def peers(scores: Floats, is_flat: bool) -> Jobs:
    jobs: Jobs = {"plain NumPy walks": lambda: plain_walks(scores, DRAWS // 20, 0)}
    if is_flat and len(scores) <= 21:
        networkx = importlib.import_module("networkx")
        graph = networkx.complete_graph(len(scores))
        jobs["networkx"] = lambda: networkx.random_spanning_tree(graph, seed=0)
    if HAS_SYNJAX:
        jax, synjax = importlib.import_module("jax"), importlib.import_module("synjax")
        crf = synjax.SpanningTreeCRF(
            jax.numpy.array(scores), directed=True, projective=False, single_root_edge=False
        )
        key = jax.random.PRNGKey(0)
        jobs["SynJax"] = lambda: crf.sample(key, (DRAWS,)).block_until_ready()
    return jobs


# How many trees one call of each peer draws.
PORTIONS = {"plain NumPy walks": DRAWS // 20, "networkx": 1}


def against_peers() -> None:
    print("\nTrees per second, several roots")
    for name in ("flat", "random", "peaked"):
        for n in SIZES:
            scores = KINDS[name](n)
            trees = ca.SpanningTrees(scores, root="multi", threads=1)
            jobs: Jobs = {"crossarc": partial(trees.sample, DRAWS, seed=0)}
            seconds = medians(jobs | peers(scores, name == "flat"))
            rates = {job: PORTIONS.get(job, DRAWS) / value for job, value in seconds.items()}
            ours = rates["crossarc"]
            shown = "  ".join(
                f"{job} {rate:,.0f} ({ours / rate:,.1f}x)" for job, rate in rates.items()
            )
            print(f"  {name} n={n}: {shown}", flush=True)


def kernels() -> None:
    print("\nThe two kernels, microseconds a tree; expected steps a tree (one root: a bound)")
    for name, make in KINDS.items():
        for n, single in ((20, False), (50, False), (50, True), (100, False)):
            arcs = ca.SpanningTrees(make(n))._batch.square(0)
            roots, state = np.zeros(n), np.zeros(1, np.uint64)
            steps = expected_steps(arcs, NO_LABELS, single, roots)
            out = np.empty((DRAWS, n), np.int64)
            jobs: Jobs = {
                "insertion": partial(draw_by_insertion, arcs, NO_LABELS, single, state, out)
            }
            if steps * DRAWS <= LONGEST:
                jobs["walks"] = partial(draw_by_walks, arcs, NO_LABELS, single, roots, state, out)
            jobs["plan"] = partial(expected_steps, arcs, NO_LABELS, single, roots)
            seconds = medians(jobs)
            walks = f"{seconds['walks'] / DRAWS * 1e6:.1f}" if "walks" in seconds else "-"
            print(
                f"  {name} n={n} {'one root' if single else 'several roots'}: "
                f"insertion {seconds['insertion'] / DRAWS * 1e6:.1f}, walks {walks}; "
                f"steps {steps:,.3g} ({steps / n:,.3g} a word), "
                f"found in {seconds['plan'] * 1e6:,.0f} us",
                flush=True,
            )


def questions(scores: Floats) -> Jobs:
    arcs = np.array([(h, m) for h in range(3) for m in range(3, 8)])

    def trees() -> ca.SpanningTrees:
        return ca.SpanningTrees(scores, threads=1)

    return {
        "one tree": lambda: trees().sample(1, seed=0),
        "100 different": lambda: trees().sample(100, seed=0, replace=False),
        "marginals": lambda: trees().marginals(),
        "225 pairs": lambda: trees().joint(arcs[:, None], arcs),
        "mutual information": lambda: trees().mutual_information(),
        "max-marginals": lambda: trees().max_marginals(),
    }


def other_questions() -> None:
    print("\nMilliseconds for one sentence, one root")
    for name in ("random", "peaked"):
        for n in SIZES:
            seconds = medians(questions(KINDS[name](n)))
            shown = "  ".join(f"{job} {value * 1e3:.2f}" for job, value in seconds.items())
            print(f"  {name} n={n}: {shown}", flush=True)


if __name__ == "__main__":
    against_peers()
    kernels()
    other_questions()

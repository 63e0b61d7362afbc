"""Covington under the ten constraints: words per second, growth with length, all treebanks.

    .venv-bench/bin/python benchmarks/constraints.py [TREEBANKS]

No peer runs this algorithm under constraints, so the compiled code is compared with the same
bookkeeping in plain Python: a head and a component for each word, pieces counted afresh.
"""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path

import numpy as np
from support.harness import medians, treebank_folder

from crossarc import Tree, read_conllu
from crossarc.analysis import study_constraints
from crossarc.inference.transition import CONSTRAINTS, Order, covington, degree_bound
from crossarc.kernels.warmup import warmup
from crossarc.treebank.synthetic.random_trees import mixed_heads, offsets, uniform_heads

LENGTHS = (25, 50, 100, 200, 400, 800)
ORDERS: tuple[Order, ...] = ("incremental", "shortest-first")
BOUNDS = [degree_bound(name) for name in CONSTRAINTS if name not in ("none", "single-head")]


def plain_covington(gold: list[int], bound: int | None) -> tuple[int, int]:
    """Arcs found and active pairs under acyclicity and a bound."""
    n = len(gold)
    head, top = [0] * (n + 1), list(range(n + 1))
    active = 0
    for i in range(1, n + 1):
        for j in range(i - 1, 0, -1):
            if top[i] == top[j] or (head[i] and head[j]):
                continue
            if bound is not None and pieces(head, j, i) > bound:
                continue
            active += 1
            if gold[i - 1] != j and gold[j - 1] != i:
                continue
            m, h = (i, j) if gold[i - 1] == j else (j, i)
            head[m] = h
            top = [top[h] if root == m else root for root in top]
    return sum(map(int.__eq__, head[1:], gold)), active


def pieces(head: list[int], j: int, i: int) -> int:
    count = 0
    for root in range(j + 1, i):
        u = head[root]
        if not j < u < i:
            while u and u != i and u != j:
                u = head[u]
            count += u == 0
    return count


def compare(folder: Path) -> None:
    trees = [s.tree for s in islice(read_conllu(folder / "Danish-DDT" / "dev.conllu.gz"), 300)]
    words = sum(map(len, trees))
    lists = [tree.heads.tolist() for tree in trees]
    found = covington(trees, threads=1)
    for name in ("projectivity", "d<=2", "acyclicity"):
        expected = [plain_covington(gold, degree_bound(name)) for gold in lists]
        assert expected == list(zip(found[name].correct, found[name].active, strict=True))
    seconds = medians(
        {
            "crossarc": lambda: covington(trees, threads=1),
            "plain": lambda: [plain_covington(gold, b) for b in BOUNDS for gold in lists],
        }
    )
    print(f"Danish-DDT dev, the first {words:,} words, all ten constraints, one thread")
    for name, value in seconds.items():
        print(f"  {name:<10}{words / value:>12,.0f} words/s")
    print(f"  ratio {seconds['plain'] / seconds['crossarc']:.0f}")


def growth() -> None:
    """Seconds for a sentence, and the exponent e of a fit seconds ~ words^e."""
    rng = np.random.default_rng(1)
    print("\nmicroseconds a sentence, all ten constraints, one thread")
    print(f"  {'words':<48}" + "".join(f"{n:>9,}" for n in LENGTHS) + f"{'exponent':>10}")
    for shape in ("all but one subtree projective", "any tree"):
        for order in ORDERS:
            seconds = [_best(forest(rng, shape, n), order) for n in LENGTHS]
            exponent = np.polyfit(np.log(LENGTHS), np.log(seconds), 1)[0]
            row = "".join(f"{1e6 * value:>9,.0f}" for value in seconds)
            print(f"  {shape + ', ' + order:<48}{row}{exponent:>10.2f}")


def forest(rng: np.random.Generator, shape: str, n: int) -> list[Tree]:
    lengths = np.full(max(4, 1600 // n), n)
    if shape.startswith("any"):
        heads = uniform_heads(rng, lengths, single=True)
    else:
        heads = mixed_heads(rng, lengths, np.ones(len(lengths), np.bool_), single=True)
    # The generator numbers the words of all sentences in one row.
    sentences = ((k, heads[k + 1 : k + 1 + n]) for k in offsets(lengths))
    return [Tree(np.where(row > 0, row - k, 0)) for k, row in sentences]


def _best(trees: list[Tree], order: Order) -> float:
    """Seconds for one tree, in the best of five rounds."""
    rounds = []
    for _ in range(5):
        start = time.perf_counter()
        covington(trees, order=order, threads=1)
        rounds.append(time.perf_counter() - start)
    return min(rounds) / len(trees)


def everything(folder: Path) -> None:
    paths = sorted(folder.glob("*/*.conllu.gz"))
    start = time.perf_counter()
    words = sum(study_constraints(read_conllu(path)).arcs for path in paths)
    seconds = time.perf_counter() - start
    print(f"\n{len(paths)} files, {words:,} words, read, profiled and studied in {seconds:.1f} s")


def main() -> None:
    folder = treebank_folder(__doc__)
    warmup()
    compare(folder)
    growth()
    everything(folder)


if __name__ == "__main__":
    main()

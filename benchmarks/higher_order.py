"""Higher-order trees that may cross: certificates, time of each method, AD3, and a long search for
a wrong certificate.

    .venv-bench/bin/python benchmarks/higher_order.py [certificates methods long beliefs peer wrong]
        [--instances N] [--plot FILE]

Scores are synthetic but like those of a trained model: a random tree whose arcs are mostly short
is the gold tree; an arc scores N(0, 1) - 0.3 log(distance + 1), a gold arc N(5, 2.5) more, so that
the best first-order tree has 85 to 92% of the gold arcs; the ten best heads of each word are kept,
and the gold one. A part scores N(0, 0.5), 0.6 more if it is gold, which brings this to 88 to 98%,
less in longer sentences. Times are those of one thread; processor time where they say so.

`ad3` 2.2.1 is built from its source distribution with two repairs: for Python 3.11 and later its
C++ files must be made anew by Cython (`cython --cplus python/ad3/*.pyx`), and `FactorTree::RunCLE`
in examples/cpp/parsing/FactorTree.cpp lacks its `return 0;`, without which it crashes.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import crossarc as ca
from crossarc.inference.higher.branching import Solution, solve_dual
from crossarc.inference.higher.problem import FACTORS, PART_CELLS
from crossarc.inference.projective.automata.factor import layout_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NAMES = tuple(factor.name for factor in FACTORS)
MODELS = {"sibling": NAMES[:1], "grand-sibling": NAMES[:3], "all factors": NAMES}


class Sentence(NamedTuple):
    """Scores with the tree that they were made from."""

    scores: Floats
    factors: dict[str, Any]
    gold: Ints


def gold_tree(rng: np.random.Generator, n: int) -> Ints:
    """Words join in random order, mostly below a near one."""
    order = rng.permutation(n) + 1
    heads = np.zeros(n + 1, np.int64)
    for i in range(1, n):
        near = 1.0 / np.abs(order[i] - order[:i]) ** 1.5
        heads[order[i]] = rng.choice(order[:i], p=near / near.sum())
    return heads[1:]


def sentence(
    rng: np.random.Generator, n: int, names: Sequence[str], candidates: int = 10, root: int = 1
) -> Sentence:
    """See the module; `root`: the most modifiers of the root."""
    width, gold, words = n + 1, gold_tree(rng, n), np.arange(1, n + 1)
    distance = np.abs(np.subtract.outer(np.arange(width), np.arange(width)))
    scores = rng.normal(size=(width, width)) - 0.3 * np.log(distance + 1)
    scores[gold, words] += 5.0 + rng.normal(0, 2.5, n)
    np.fill_diagonal(scores, -np.inf)
    ranks = np.argsort(np.argsort(-scores, axis=0), axis=0)
    kept = ranks < candidates
    kept[gold, words] = True
    scores[~kept] = -np.inf
    limits = np.full(width, n)
    limits[0] = root
    layout = layout_of(np.where(np.arange(width) > 0, scores, -np.inf), limits)
    factors: dict[str, Any] = {}
    for factor in FACTORS:
        if factor.name in names:
            cells = PART_CELLS[factor.name](layout)
            cells, shape = cells[cells >= 0], factor.shape(width)
            parts = factor.parts_of(gold)
            own = np.ravel_multi_index(tuple(parts.T), shape) if len(parts) else np.empty(0)
            values = rng.normal(0, 0.5, len(cells)) + 0.6 * np.isin(cells, own)
            factors[factor.name] = ca.Parts(np.stack(np.unravel_index(cells, shape), 1), values)
    return Sentence(scores, factors, gold)


def is_certified(found: Solution) -> bool:
    return found.bound - found.score <= 1e-9 * max(1.0, abs(found.score))


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = job()
    return found, time.process_time() - start


def best_tree(one: Sentence) -> Any:
    return ca.HigherOrderTrees(one.scores, threads=1, **one.factors).argmax()


def certificates() -> None:
    print("certificates, processor time; 200 sentences a row, 50 of 80 words and more")
    print("                words  first  tree  plain  it.    tight  <100ms  sub.   ms mean  max")
    for title, names in MODELS.items():
        for n in (10, 20, 40, 80, 100):
            rng, rows = np.random.default_rng(n), []
            for _ in range(200 if n < 80 else 50):
                one = sentence(rng, n, names)
                trees = ca.HigherOrderTrees(one.scores, threads=1, **one.factors)
                problem = trees._problems[0]
                allowed = np.ones(len(problem.score), np.int64)
                plain = solve_dual(problem, allowed, tighten=False)
                tight, seconds = timed(partial(solve_dual, problem, allowed))
                first = (ca.SpanningTrees(one.scores).argmax().heads == one.gold).mean()
                right = (tight.heads == one.gold).mean()
                rows.append(
                    (
                        first,
                        right,
                        is_certified(plain),
                        plain.iterations,
                        is_certified(tight),
                        is_certified(tight) and seconds < 0.1,
                        tight.subproblems,
                        1e3 * seconds,
                    )
                )
            table = np.array(rows, float)
            mean = table.mean(axis=0)
            print(
                f"{title:15} {n:5}  {mean[0]:5.3f} {mean[1]:5.3f}  {mean[2]:5.3f} {mean[3]:5.1f}  "
                f"{mean[4]:6.3f}  {mean[5]:6.3f} {mean[6]:5.2f}  {mean[7]:8.1f} "
                f"{table[:, 7].max():5.0f}",
                flush=True,
            )


def methods(plot: str | None) -> None:
    print("four methods, ms a sentence (processor time), all factors; trees equal to the ILP's")
    sizes: tuple[int, ...] = (10, 20, 30, 40, 60)
    methods: tuple[Any, ...] = ("dual", "substitution", "bp", "ilp")
    table: dict[str, list[float]] = {method: [] for method in methods}
    for n in sizes:
        rng, same, count = np.random.default_rng(n), dict.fromkeys(methods, 0), 20 if n < 40 else 5
        seconds = dict.fromkeys(methods, 0.0)
        for _ in range(count):
            one = sentence(rng, n, NAMES)
            scores = {}
            for method in methods:
                trees = ca.HigherOrderTrees(one.scores, threads=1, **one.factors)
                tree, spent = timed(partial(trees.argmax, method))
                seconds[method] += spent
                scores[method] = tree.score
            for method in methods:
                same[method] += abs(scores[method] - scores["ilp"]) < 1e-6
        for method in methods:
            table[method].append(1e3 * seconds[method] / count)
        shown = "  ".join(f"{m} {table[m][-1]:8.1f} ({same[m] / count:4.0%})" for m in methods)
        print(f"{n:4} words  {shown}", flush=True)
    if plot:
        import matplotlib.pyplot as plt

        for method, row in table.items():
            plt.loglog(sizes, row, marker="o", label=method)
        plt.xlabel("words")
        plt.ylabel("ms a sentence")
        plt.legend()
        plt.savefig(plot)


def long_sentence() -> None:
    for names in MODELS.values():
        one = sentence(np.random.default_rng(3), 100, names)
        ca.HigherOrderTrees(one.scores[:9, :9]).argmax()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tree, seconds = timed(partial(best_tree, one))
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            f"100 words, {len(names)} factors: {1e3 * seconds:.0f} ms with checks and packing, "
            f"optimal {tree.is_optimal}, peak memory {after / 1024:.0f} MB, "
            f"{(after - before) / 1024:.0f} MB more than before"
        )


def beliefs() -> None:
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


def peer() -> None:
    try:
        from ad3.extensions import PFactorHeadAutomaton, PFactorTree
        from ad3.factor_graph import PFactorGraph
    except ImportError:
        print("ad3 is not installed")
        return
    print("sibling factors, several roots: ms of solving (processor time), crossarc and AD3")
    for n in (10, 20, 40, 60):
        rng, rows = np.random.default_rng(n), []
        for _ in range(10):
            one = sentence(rng, n, NAMES[:1], root=n)
            trees = ca.HigherOrderTrees(one.scores, root="multi", threads=1, **one.factors)
            problem = trees._problems[0]
            graph, variables = PFactorGraph(), []
            for score in problem.score.tolist():
                variables.append(graph.create_binary_variable())
                variables[-1].set_log_potential(score)
            tree = PFactorTree()
            graph.declare_factor(tree, variables)
            arcs = list(zip(problem.head.tolist(), problem.modifier.tolist(), strict=True))
            tree.initialize(n + 1, arcs)
            kept = [tree]
            for node_list in range(2 * (n + 1)):
                begin, end = int(problem.first[node_list]), int(problem.first[node_list + 1])
                size = end - begin
                if size == 0:
                    continue
                automaton = PFactorHeadAutomaton()
                graph.declare_factor(automaton, variables[begin:end])
                pairs = [(0, s, m) for m in range(1, size + 2) for s in range(m)]
                automaton.initialize(size + 1, pairs)
                offset = int(problem.pair_offset[node_list // 2])
                if node_list % 2:
                    left = begin - int(problem.first[node_list - 1])
                    offset += left * (left + 1) // 2
                scores = problem.pair[offset : offset + size * (size + 1) // 2].tolist()
                automaton.set_additional_log_potentials(scores + [0.0] * (size + 1))
                kept.append(automaton)
            allowed = np.ones(len(problem.score), np.int64)
            own, ours = timed(partial(solve_dual, problem, allowed))
            solve = partial(graph.solve, max_iter=1000, branch_and_bound=False)
            (value, _, _, status), theirs = timed(solve)
            agrees = abs(value - own.score) < 1e-3 * abs(own.score)
            rows.append((ours, theirs, status == "integral", agrees))
        table = np.array(rows, float)
        ours, theirs, integral, agrees = table.mean(axis=0).tolist()
        print(
            f"  {n:3} words  crossarc {1e3 * ours:7.2f}  AD3 {1e3 * theirs:8.2f}  "
            f"{theirs / ours:6.1f} times; AD3 integral {integral:.0%}, same value {agrees:.0%}",
            flush=True,
        )


def wrong(instances: int, seconds: float) -> None:
    """Random problems of up to 5 words against all trees, half of them with limits."""

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
        problem = trees._problems[0]
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
        "certificates": certificates,
        "methods": lambda: methods(options.plot),
        "long": long_sentence,
        "beliefs": beliefs,
        "peer": peer,
        "wrong": lambda: wrong(options.instances, options.seconds),
    }
    parser.add_argument("jobs", nargs="*", choices=[*jobs, []], default=[])
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=600.0, help="for the search, at most")
    parser.add_argument("--plot", metavar="FILE")
    options = parser.parse_args()
    for name in options.jobs or jobs:
        jobs[name]()


if __name__ == "__main__":
    main()

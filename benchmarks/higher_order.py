"""Higher-order trees that may cross: certificates, rules of steps, time of each method, AD3.

    .venv-bench/bin/python benchmarks/higher_order.py
        [certificates steps remainder methods long peer] [--model MODEL --treebank FILE]

Scores are synthetic (`support/higher_order_scores.py` says how), or those of a trained model of
second or third order for the sentences of a treebank. Times are processor time of one thread.

`ad3` 2.2.1 is built from its source distribution with two repairs: for Python 3.11 and later its
C++ files must be made anew by Cython before 3 (`cython --cplus python/ad3/*.pyx`), and
`FactorTree::RunCLE` in examples/cpp/parsing/FactorTree.cpp lacks its `return 0;`, without which it
crashes.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.higher_order_scores import (
    MODELS,
    NAMES,
    Group,
    Sentence,
    is_certified,
    sentence,
    synthetic,
    timed,
    trained,
)

import crossarc as ca
from crossarc.inference.higher.ascent import StepRule
from crossarc.inference.higher.branching import TOLERANCE, Solution, polyak, solve_dual
from crossarc.inference.higher.ilp import solve_ilp
from crossarc.inference.higher.problem import Problem, joined
from crossarc.inference.higher.rounds import begin_search, run_rounds

Ints = NDArray[np.int64]
# Sentences that are solved in one call.
_BATCH = 64


def problem_of(one: Sentence) -> tuple[Problem, Ints]:
    """And all of its arcs."""
    problem = ca.HigherOrderTrees(one.scores, threads=1, **one.factors)._problem(0)
    return problem, np.ones(len(problem.score), np.int64)


def best_tree(one: Sentence) -> Any:
    return ca.HigherOrderTrees(one.scores, threads=1, **one.factors).argmax()


def groups(given: list[Group] | None, sizes: Sequence[int], count: int) -> list[Group]:
    """Those of a trained model, or synthetic ones."""
    if given is not None:
        return given
    made = (synthetic(sizes, names, count, title) for title, names in MODELS.items())
    return [group for some in made for group in some]


def certificates(given: list[Group] | None) -> None:
    print("certificates; plain: no arc excluded, no branching, 300 iterations at most")
    print(
        "                words  sent.  first  tree  plain  it.    tight  <100ms  sub.  ms mean  max"
    )
    for group in groups(given, (10, 20, 40, 80, 100), 200):
        rows = []
        for one in group.sentences:
            problem, allowed = problem_of(one)
            plain = solve_dual(problem, allowed, tighten=False, rounds=12)
            tight, seconds = timed(partial(solve_dual, problem, allowed))
            assert tight.heads is not None
            first = (ca.SpanningTrees(one.scores).argmax().heads == one.gold).mean()
            right, sure = (tight.heads == one.gold).mean(), is_certified(tight)
            own = is_certified(plain), plain.iterations, sure, sure and seconds < 0.1
            rows.append((first, right, *own, tight.subproblems, 1e3 * seconds))
        table = np.array(rows, float)
        mean = table.mean(axis=0)
        print(
            f"{group.title:15} {group.words:>6} {len(rows):5}  {mean[0]:5.3f} {mean[1]:5.3f}  "
            f"{mean[2]:6.4f} {mean[3]:5.1f}  {mean[4]:6.4f}  {mean[5]:6.4f} {mean[6]:5.2f}  "
            f"{mean[7]:7.2f} {table[:, 7].max():5.1f}",
            flush=True,
        )


def _all(run: Callable[..., Solution], problems: list[tuple[Problem, Ints]]) -> list[Solution]:
    return [run(*one) for one in problems]


def steps(given: list[Group] | None) -> None:
    """Polyak's rule beside the decaying rate of Koo et al. (2010), with several first rates."""
    print("certified, mean iterations, ms a sentence; 300 iterations at most, then 5,000")
    rules: dict[str, Any] = {"Polyak": polyak}
    for rate in (0.1, 0.25, 0.5, 1.0, 2.0):
        rules[f"Koo {rate}"] = lambda is_whole, rate=rate: StepRule.decaying(rate)
    for group in groups(given, (20, 40), 100):
        problems = [problem_of(one) for one in group.sentences]
        for name, rule in rules.items():
            cells = []
            for rounds, tighten in ((12, False), (200, False), (12, True)):
                if tighten and rule is not polyak and name != "Koo 0.5":
                    continue
                run = partial(solve_dual, rules=rule, rounds=rounds, tighten=tighten)
                found, seconds = timed(partial(_all, run, problems))
                sure = np.mean([is_certified(one) for one in found])
                count = np.mean([one.iterations for one in found])
                cells.append(f"{sure:7.2%} {count:6.1f} {1e3 * seconds / len(found):7.2f}")
            print(f"{group.title:15} {group.words:>6} {name:9} {'   '.join(cells)}", flush=True)


def remainder(given: list[Group] | None) -> None:
    """What steps and exclusion leave open: branching on, or the integer programme for the rest."""
    print("left open after 300 steps: arcs left; ms and certified in 100 ms by branching, by ILP")
    hard = [
        Group(title, str(n), [harder(rng, n, names) for _ in range(60)])
        for title, names in MODELS.items()
        for n in (20, 40)
        for rng in [np.random.default_rng(n)]
    ]
    for group in hard if given is None else given:
        rows = []
        for one in group.sentences:
            problem, allowed = problem_of(one)
            problems, rule = joined(problem), polyak(True)
            whole = begin_search(problems, rule)
            options: Any = {"first_rate": rule.first_rate, "rounds": 12, "excludes": True}
            run_rounds(problems, whole, 0, 1, TOLERANCE / 2, **options)
            if not whole.is_open[0]:
                continue
            run = partial(solve_dual, problem, allowed, deadline=time.monotonic() + 10.0)
            branched, ours = timed(run)
            score = np.where(whole.allowed == 1, problem.score, -np.inf)
            rest = partial(solve_ilp, problem._replace(score=score), whole.heads[1:])
            _, theirs = timed(rest)
            left = int(whole.allowed.sum()), len(problem.score)
            sure = is_certified(branched) and ours < 0.1
            rows.append((*left, 1e3 * ours, sure, 1e3 * theirs, theirs < 0.1))
        if rows:
            left, arcs, ours, sure, theirs, quick = np.mean(rows, axis=0).tolist()
            print(
                f"{group.title:15} {group.words:>6}  {len(rows)} of {len(group.sentences)} open, "
                f"{left:.0f} of {arcs:.0f} arcs; {ours:.1f} ms {sure:.0%}; {theirs:.1f} ms "
                f"{quick:.0%}",
                flush=True,
            )
        else:
            print(f"{group.title:15} {group.words:>6}  none open", flush=True)


def harder(rng: np.random.Generator, n: int, names: Sequence[str]) -> Sentence:
    """With parts of three times the size."""
    one = sentence(rng, n, names)
    factors = {k: ca.Parts(f.index, 3.0 * f.score) for k, f in one.factors.items()}
    return one._replace(factors=factors)


def methods(given: list[Group] | None) -> None:
    print("four methods, ms a sentence, all factors; certified; trees equal to the ILP's")
    names: tuple[Any, ...] = ("dual", "substitution", "bp", "ilp")
    small = sentence(np.random.default_rng(0), 4, NAMES)
    for name in names:  # what kernels and imports take once
        ca.HigherOrderTrees(small.scores, threads=1, **small.factors).argmax(name)
    made = given or [
        *synthetic((10, 20, 30), NAMES, 20, "synthetic"),
        *synthetic((40, 60), NAMES, 5, "synthetic"),
    ]
    for group in made:
        table = {name: np.zeros(3) for name in names}
        for one in group.sentences:
            found = {}
            for name in names:
                trees = ca.HigherOrderTrees(one.scores, threads=1, **one.factors)
                limit = 60.0 if name == "ilp" else None
                tree, seconds = timed(partial(trees.argmax, name, limit))
                found[name] = tree.score
                table[name] += 1e3 * seconds, tree.is_optimal, 0.0
            for name in names:
                table[name][2] += abs(found[name] - found["ilp"]) < 1e-6
        count = len(group.sentences)
        cells = (table[name] / count for name in names)
        shown = "  ".join(
            f"{name} {ms:8.1f} {sure:6.1%} {same:6.1%}"
            for name, (ms, sure, same) in zip(names, cells, strict=True)
        )
        print(f"{group.title:10} {group.words:>6} ({count})  {shown}", flush=True)


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


def fastest_of(*jobs: Callable[[], Any]) -> tuple[list[Any], list[float]]:
    """What jobs return, and their least times of five runs in turn: the machine may be busy."""
    runs = [[timed(job) for job in jobs] for _ in range(5)]
    seconds = [min(one[i][1] for one in runs) for i in range(len(jobs))]
    return [found for found, _ in runs[0]], seconds


def peer() -> None:
    if importlib.util.find_spec("ad3") is None:
        print("ad3 is not installed")
        return
    print(f"sibling factors, several roots, batches of {_BATCH}: ms a sentence (processor time)")
    print("  words    one by one   batch      AD3, times of both; AD3 integral, same value")
    for n in (10, 20, 40, 60):
        rng = np.random.default_rng(n)
        batch = [sentence(rng, n, NAMES[:1], root=n) for _ in range(_BATCH)]
        options: Any = {"root": "multi", "threads": 1}
        ones = [ca.HigherOrderTrees(one.scores, **one.factors, **options) for one in batch]
        factors: Any = {name: [one.factors[name] for one in batch] for name in NAMES[:1]}
        trees = ca.HigherOrderTrees([one.scores for one in batch], **factors, **options)
        graphs = [ad3_graph(one._problem(0)) for one in ones]
        # What is packed once, as AD3's graphs are.
        assert len(trees._problems.score) == sum(len(one._problems.score) for one in ones)

        def theirs(graphs: list[Any] = graphs) -> list[Any]:
            return [one.solve(max_iter=1000, branch_and_bound=False) for one, _ in graphs]

        def lone(ones: list[Any] = ones) -> list[ca.Tree]:
            return [one.argmax() for one in ones]

        own, seconds = fastest_of(lone, trees.argmax, theirs)
        assert own[0] == own[1]
        agrees = [
            abs(value - tree.score) < 1e-3 * abs(tree.score)
            for (value, *_), tree in zip(own[2], own[0], strict=True)
        ]
        integral = [status == "integral" for *_, status in own[2]]
        one, many, peers = (1e3 * x / _BATCH for x in seconds)
        print(
            f"  {n:3}        {one:8.3f} {many:8.3f} {peers:8.2f}   {peers / one:5.1f} "
            f"{peers / many:5.1f}     {np.mean(integral):.0%} {np.mean(agrees):.0%}",
            flush=True,
        )


def ad3_graph(problem: Problem) -> Any:
    """AD3's graph of a tree and the automata of all sides, and what must live as long."""
    from ad3.extensions import PFactorHeadAutomaton, PFactorTree
    from ad3.factor_graph import PFactorGraph

    graph, variables, width = PFactorGraph(), [], len(problem.limits)
    for score in problem.score.tolist():
        variables.append(graph.create_binary_variable())
        variables[-1].set_log_potential(score)
    tree = PFactorTree()
    graph.declare_factor(tree, variables)
    arcs = list(zip(problem.head.tolist(), problem.modifier.tolist(), strict=True))
    tree.initialize(width, arcs)
    kept = [tree]
    for side in range(2 * width):
        begin, end = int(problem.first[side]), int(problem.first[side + 1])
        size = end - begin
        if size == 0:
            continue
        automaton = PFactorHeadAutomaton()
        graph.declare_factor(automaton, variables[begin:end])
        pairs = [(0, s, m) for m in range(1, size + 2) for s in range(m)]
        automaton.initialize(size + 1, pairs)
        offset = int(problem.pair_offset[side // 2])
        if side % 2:
            left = begin - int(problem.first[side - 1])
            offset += left * (left + 1) // 2
        scores = problem.pair[offset : offset + size * (size + 1) // 2].tolist()
        automaton.set_additional_log_potentials(scores + [0.0] * (size + 1))
        kept.append(automaton)
    return graph, kept


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    jobs: dict[str, Callable[[], None]] = {
        "certificates": lambda: certificates(given),
        "steps": lambda: steps(given),
        "remainder": lambda: remainder(given),
        "methods": lambda: methods(given),
        "long": long_sentence,
        "peer": peer,
    }
    parser.add_argument("jobs", nargs="*", choices=[*jobs, []], default=[])
    parser.add_argument("--model", type=Path, help="of second or third order")
    parser.add_argument("--treebank", type=Path, help="whose sentences it scores")
    options = parser.parse_args()
    if (options.model is None) != (options.treebank is None):
        parser.error("--model and --treebank go together")
    given = None if options.model is None else trained(options.model, options.treebank)
    for name in options.jobs or jobs:
        jobs[name]()


if __name__ == "__main__":
    main()

"""Sums over the computations of Attardi's system, against a list of all of them."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.attardi_reference import (
    all_trees,
    computations,
    original_system,
    summed,
    table_index,
)

from crossarc import InfeasibleError, LimitError, ScoreError, Tree
from crossarc.inference.forest.arrays import Forest
from crossarc.inference.forest.inside import log_total, marginals
from crossarc.inference.forest.kbest import ranked
from crossarc.inference.transition.attardi import (
    Computations,
    TransitionScores,
    best_heads,
    computation_count,
    deduce,
    initial,
    oracle,
    replay,
    transition_code,
    transition_name,
)
from crossarc.inference.transition.attardi.sharing import fill_rows
from crossarc.inference.transition.attardi.vectors import LOG


def drawn(words: int, seed: int, scale: float = 1.0) -> TransitionScores:
    rng = np.random.default_rng(seed)
    shapes = [(words + 1,) * rank for rank in (2, 2, 2, 3, 3)]
    return TransitionScores(*(scale * rng.normal(size=shape) for shape in shapes))


def with_forbidden(scores: TransitionScores, seed: int, share: float) -> TransitionScores:
    rng = np.random.default_rng(seed)
    return TransitionScores(
        *(np.where(rng.random(table.shape) < share, -np.inf, table) for table in scores)
    )


@pytest.mark.parametrize("words", range(1, 7))
@pytest.mark.parametrize("single_root", [False, True])
def test_sums_and_best_computation(words: int, single_root: bool) -> None:
    scores = drawn(words, words)
    expected = summed(scores, single_root=single_root)
    found = Computations(scores, single_root=single_root, threads=1)
    assert_allclose(found.log_total(), expected.log_total, rtol=1e-13)
    for own, theirs in zip(found.expectations(), expected.expectations, strict=True):
        assert_allclose(own, theirs, atol=1e-13)
    best = found.best()
    assert best.score == pytest.approx(expected.best_score, rel=1e-13)
    assert [transition_name(code) for code in best.transitions] == [
        step.name for step in expected.best.steps
    ]
    assert tuple(best.heads) == expected.best.heads


@pytest.mark.parametrize("seed", range(4))
def test_forbidden_transitions(seed: int) -> None:
    scores = with_forbidden(drawn(5, seed), seed, 0.3)
    allowed = [
        run
        for run in computations(5)
        if all(scores[t][e] > -np.inf for t, e in map(table_index, run.steps[1:]))
    ]
    found = Computations(scores, threads=1)
    if not allowed:
        assert found.log_total() == -math.inf
        for ask in (
            found.expectations,
            found.best,
            lambda: found.sample(1, np.random.default_rng()),
        ):
            with pytest.raises(InfeasibleError):
                ask()
        return
    weights = [sum(scores[t][e] for t, e in map(table_index, r.steps[1:])) for r in allowed]
    assert_allclose(found.log_total(), np.logaddexp.reduce(weights), rtol=1e-13)
    assert_allclose(found.best().score, max(weights), rtol=1e-13)


def test_expectations_are_derivatives_of_log_total() -> None:
    """By central differences, at eight words, where computations are too many to list."""
    scores, step = drawn(8, 0), 1e-5
    expected = Computations(scores, threads=1).expectations()
    rng = np.random.default_rng(1)
    for table in range(5):
        entries = np.argwhere(expected[table] > 1e-3)
        for entry in map(tuple, rng.permutation(entries)[:12]):
            changed = []
            for sign in (1.0, -1.0):
                moved = [np.array(one) for one in scores]
                moved[table][entry] += sign * step
                changed.append(Computations(TransitionScores(*moved), threads=1).log_total())
            slope = (changed[0] - changed[1]) / (2 * step)
            assert_allclose(slope, expected[table][entry], atol=1e-8)


def test_every_word_is_shifted_once_and_removed_once() -> None:
    expected = Computations(drawn(30, 2), threads=1).expectations()
    assert_allclose(expected.sh.sum(axis=0)[1:], 1.0, rtol=1e-12)
    removed = expected.la1.sum(axis=1) + expected.ra1.sum(axis=0)
    removed += expected.la2.sum(axis=(1, 2)) + expected.ra2.sum(axis=(0, 1))
    assert_allclose(removed[1:], 1.0, rtol=1e-12)
    assert removed[0] == 0.0


def test_threads_change_nothing() -> None:
    scores = drawn(30, 3)
    one = Computations(scores, threads=1)
    for threads in (2, 3):
        other = Computations(scores, threads=threads)
        assert one.log_total() == other.log_total()
        for own, theirs in zip(one.expectations(), other.expectations(), strict=True):
            assert (own == theirs).all()
        assert one.best()[:1] == other.best()[:1]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_are_filled_after_those_that_they_need(threads: int) -> None:
    """Rows that the next ones need take longer than these, so that threads have to wait."""
    nodes, last = 40, 30
    done: set[tuple[int, int]] = set()

    def fill(i: int, begin: int, end: int) -> None:
        needed = {(h1, k) for k in range(i, last + 1) for h1 in range(i, k)}
        assert needed <= done
        if end == i:
            time.sleep(0.001)
        rows = {(h1, i) for h1 in range(begin, end)}
        assert not rows & done
        done.update(rows)

    fill_rows(fill, nodes, last, threads)
    assert done == {(h1, i) for i in range(1, last + 1) for h1 in range(i)}


def test_a_row_that_fails_ends_all_threads() -> None:
    """Also those that wait for the row: all others go on until they need it."""
    raised: list[bool] = []

    def fill(i: int, begin: int, end: int) -> None:
        if (i, end) == (20, 20):
            time.sleep(0.05)
            raise MemoryError

    def run() -> None:
        with pytest.raises(MemoryError):
            fill_rows(fill, 40, 30, 2)
        raised.append(True)

    caller = threading.Thread(target=run, daemon=True)
    caller.start()
    caller.join(20)
    assert raised


@pytest.mark.parametrize("scale", [300.0, 1e5])
def test_large_scores_are_summed_in_logarithms(scale: float) -> None:
    """float64 holds none of these sums: the listed computations are added up in logarithms."""
    scores = drawn(5, 4, scale)
    expected = summed(scores)
    found = Computations(scores, threads=1)
    assert_allclose(found.log_total(), expected.log_total, rtol=1e-13)
    for own, theirs in zip(found.expectations(), expected.expectations, strict=True):
        assert_allclose(own, theirs, atol=1e-9)


def test_logarithms_take_over_where_products_underflow() -> None:
    """Words are best shifted onto `$`, to which removing them costs as much as another shift.

    So every computation is e^-1000 or less of each word's best shift and best removal.
    """
    tables = [np.random.default_rng(0).normal(size=(5,) * rank) for rank in (2, 2, 2, 3, 3)]
    tables[0][1:] -= 250.0
    tables[2][0] -= 250.0
    tables[4][0] -= 250.0
    scores = TransitionScores(*tables)
    expected, found = summed(scores), Computations(scores, threads=1)
    assert expected.log_total < -950
    assert_allclose(found.log_total(), expected.log_total, rtol=1e-13)
    assert found._charts.semiring == LOG
    for own, theirs in zip(found.expectations(), expected.expectations, strict=True):
        assert_allclose(own, theirs, atol=1e-11)


def test_samples_follow_the_probabilities() -> None:
    scores, count = drawn(4, 5), 60_000
    expected = summed(scores).runs
    found = Computations(scores, threads=1).sample(count, np.random.default_rng(0))
    times = Counter(tuple(map(transition_name, one.transitions)) for one in found)
    assert set(times) <= set(expected)
    statistic = sum((times[run] - count * p) ** 2 / (count * p) for run, p in expected.items())
    # Chi-squared with 255 degrees of freedom: 345 is exceeded with probability 1.5e-4.
    assert len(expected) == 256
    assert statistic < 345
    for one in found[:50]:
        *_, (last, _) = replay(one.transitions, 4)
        assert last.is_terminal
        assert {m: h for h, m in last.arcs} == dict(enumerate(one.heads.tolist(), 1))


def test_samples_in_logarithms() -> None:
    scores = drawn(3, 6, 300.0)
    expected = summed(scores)
    found = Computations(scores, threads=1).sample(20, np.random.default_rng(0))
    best = tuple(step.name for step in expected.best.steps)
    assert expected.runs[best] > 1 - 1e-9
    assert {tuple(map(transition_name, one.transitions)) for one in found} == {best}


def test_arrays_that_are_refused() -> None:
    scores = drawn(3, 0)
    with pytest.raises(ScoreError, match=r"la1 must have shape \(4, 4\): got \(3, 3\)"):
        Computations(scores._replace(la1=np.zeros((3, 3))))
    for wrong in (np.nan, np.inf, 1e13, -1e13):
        table = np.zeros((4, 4, 4))
        table[0, 1, 2] = wrong
        with pytest.raises(ScoreError, match=r"scores of ra2 must be numbers of up to 1e\+12"):
            Computations(scores._replace(ra2=table))
    with pytest.raises(LimitError, match="101 words are too many"):
        Computations(drawn(101, 0))


# The literal deduction.


def parts_of(scores: TransitionScores) -> tuple[object, list[float], dict[object, int]]:
    values: list[float] = []
    numbers: dict[object, int] = {}

    def parts(code: int, stack: tuple[int, ...], node: int) -> list[int]:
        name = transition_name(code)
        if name == "sh":
            table, entry = 0, (stack[-1], node)
        else:
            d = int(name[2])
            table, entry = ("la1", "ra1", "la2", "ra2").index(name) + 1, stack[-1 - d :]
        if (table, entry) not in numbers:
            numbers[table, entry] = len(values)
            values.append(float(scores[table][entry]))
        return [numbers[table, entry]]

    return parts, values, numbers


def forest_of(arrays: tuple[np.ndarray, ...], values: list[float]) -> Forest:
    scores = np.array(values)
    scores.flags.writeable = False
    return Forest(*arrays, scores)


@pytest.mark.parametrize("single_root", [False, True])
def test_kernel_and_literal_deduction_agree(single_root: bool) -> None:
    """Nine words: the O(n^7) kernels beside the forest of all O(n^8) rule instances."""
    scores = drawn(9, 7)
    parts, values, numbers = parts_of(scores)
    forest = forest_of(deduce(9, parts, single_root=single_root), values)  # type: ignore[arg-type]
    found = Computations(scores, single_root=single_root, threads=1)
    assert_allclose(found.log_total(), sum(log_total(forest)), rtol=1e-13)
    table = np.empty(len(values))
    marginals(forest, False, table)
    for (kind, entry), part in numbers.items():  # type: ignore[misc]
        assert_allclose(found.expectations()[kind][entry], table[part], atol=1e-13)
    best = next(iter(ranked(forest)))
    assert found.best().score == pytest.approx(math.fsum(forest.score[best]))


@pytest.mark.parametrize(("degree", "words"), [(1, 5), (2, 5), (3, 4), (3, 5)])
def test_number_of_computations_of_each_degree(degree: int, words: int) -> None:
    arrays = deduce(words, lambda *_: [-1], degree=degree, context=degree - 1)
    total = math.exp(sum(log_total(forest_of(arrays, [0.0]))))
    assert total == pytest.approx(len(computations(words, degree)))


def test_degree_one_derives_the_projective_trees() -> None:
    """As arc-standard parsing does."""
    derived = {run.heads for run in computations(5, 1)}
    assert derived == {heads for heads in all_trees(5) if Tree(heads).is_projective}


@pytest.mark.parametrize("words", [2, 4, 5])
def test_first_parametrisation(words: int) -> None:
    """Every transition sees three symbols: items with three symbols below the two on top."""
    rng = np.random.default_rng(words)
    values: list[float] = []
    numbers: dict[object, int] = {}

    def parts(code: int, stack: tuple[int, ...], node: int) -> list[int]:
        key = code, stack[-3:], node if code == 0 else None
        if key not in numbers:
            numbers[key] = len(values)
            values.append(float(rng.normal()))
        return [numbers[key]]

    forest = forest_of(deduce(words, parts, context=3), values)
    weights = []
    for run in computations(words):
        entries = [
            (
                transition_code(step.name),
                (-1, -1, *step.stack)[-3:],
                step.shifted if step.name == "sh" else None,
            )
            for step in run.steps[1:]
        ]
        weights.append(math.fsum(values[numbers[entry]] for entry in entries))
    assert_allclose(sum(log_total(forest)), np.logaddexp.reduce(weights), rtol=1e-12)


# The machine.


@pytest.mark.parametrize(("words", "none"), [(3, 0), (4, 2), (5, 66)])
def test_trees_that_no_degree_derives(words: int, none: int) -> None:
    """2 of the 125 trees of four words, 66 of the 1,296 of five."""
    trees = list(all_trees(words))
    assert len(trees) == (words + 1) ** (words - 1)
    assert sum(oracle(heads) is None for heads in trees) == none


@pytest.mark.parametrize(("degree", "words"), [(1, 4), (2, 4), (3, 4), (1, 5), (2, 5), (3, 5)])
def test_oracle_finds_a_computation_if_there_is_one(degree: int, words: int) -> None:
    derived = {run.heads for run in computations(words, degree)}
    for heads in all_trees(words):
        found = oracle(heads, degree)
        assert (found is not None) == (heads in derived)
        if found is not None:
            codes, degrees = found
            *steps, (last, _) = replay(codes.tolist(), words)
            assert last.is_terminal
            assert sorted(last.arcs) == sorted((h, m) for m, h in enumerate(heads, 1))
            made = {
                (set(after.arcs) - set(before.arcs)).pop()[1]: int(transition_name(code)[2:])
                for (before, code), (after, _) in zip(steps, [*steps[1:], (last, -1)], strict=True)
                if code
            }
            assert made == dict(enumerate(degrees.tolist(), 1))


def test_oracle_takes_the_lowest_degree_first() -> None:
    """3 -> 2 before 3 -> 1: after it, 1 is next to 3."""
    codes, degrees = oracle([3, 3, 0])  # type: ignore[misc]
    assert [transition_name(code) for code in codes] == [
        "sh",
        "sh",
        "sh",
        "sh",
        "la1",
        "la1",
        "ra1",
    ]
    assert degrees.tolist() == [1, 1, 1]
    codes, degrees = oracle([3, 0, 2])  # type: ignore[misc]
    assert [transition_name(code) for code in codes] == [
        "sh",
        "sh",
        "sh",
        "sh",
        "la2",
        "ra1",
        "ra1",
    ]
    assert degrees.tolist() == [2, 1, 1]


def test_configurations_offer_what_the_definition_offers() -> None:
    for run in computations(4):
        configuration = initial(4)
        for step in run.steps:
            assert configuration.stack == step.stack
            assert transition_code(step.name) in set(configuration.transitions())
            configuration = configuration.apply(transition_code(step.name))
        assert configuration.is_terminal
    with pytest.raises(ValueError, match="la1 is not defined on stack"):
        initial(3).apply(transition_code("la1"))


@pytest.mark.parametrize("words", [2, 3, 4])
def test_computations_of_the_original_system(words: int) -> None:
    """Attardi's own system has the first buffer node where ours has the top of the stack."""
    ours = set()
    for run in computations(words):
        *_, (last, _) = replay([transition_code(step.name) for step in run.steps], words)
        ours.add(last.arcs)
    assert ours == original_system(words)


@pytest.mark.parametrize("half", [2, 5, 15])
def test_figure_1_has_unbounded_gap_degree(half: int) -> None:
    """2n words, of which m hangs from m - 2: 2n shifts, 2n - 2 ra2 and one ra1 make it."""
    words = 2 * half
    heads = [0, 1, *range(1, words - 1)]
    assert Tree(heads).gap_degree == half - 1
    codes = ["sh"] * (words + 1) + ["ra2"] * (words - 2) + ["ra1", "ra1"]
    *_, (last, _) = replay(map(transition_code, codes), words)
    assert last.is_terminal
    assert [h for _, h in sorted((m, h) for h, m in last.arcs)] == heads
    assert oracle(heads, 2) is not None
    assert computation_count(heads) >= 1
    arcs = np.zeros((words + 1, words + 1))
    arcs[heads, np.arange(1, words + 1)] = 1.0
    assert best_heads(arcs, single_root=True, threads=1).tolist() == heads

"""Kernels of projective trees: against forests, against each other, whatever stands beside them.

`test_enumeration` and the laws compare what ProjectiveTrees answers, which is what kernels find,
with all trees of a few words. Here sentences are longer, and the arithmetics are told apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.drawn_scores import drawn
from support.forest_trees import ProjectiveForests
from support.input_laws import DRAWS, QUESTIONS
from support.law_base import assert_accurate, assert_marginals
from support.projective_reference import highest, over_trees

from crossarc import InfeasibleError, ProjectiveTrees
from crossarc.inference.projective.first_order import sums as first_order_sums
from crossarc.inference.projective.sibling import sums as sibling_sums
from crossarc.inference.projective.sibling.factor import SiblingFactor
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import LOG_MARGINALS, LOG_PARTITION, MARGINALS

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]
#: Lengths around the kernels' blocks of eight columns, the root among them.
LENGTHS = st.sampled_from([1, 2, 6, 7, 8, 9, 14, 15, 16, 23, 24, 31])
SCALES = st.sampled_from([0.0, 1.0, 10.0, 40.0, 100.0, 1000.0])
SEEDS = st.integers(0, 2**32 - 1)


def assert_logs(found: Floats, expected: Floats) -> None:
    """Logarithms of probabilities, -inf in the same entries."""
    np.testing.assert_array_equal(found == -np.inf, expected == -np.inf)
    possible = expected > -np.inf
    np.testing.assert_allclose(found[possible], expected[possible], rtol=1e-12, atol=1e-12)


def assert_same(ours: ProjectiveTrees, oracle: ProjectiveForests, parts: tuple[str, ...]) -> None:
    """log Z, marginals and their logarithms as accurate as promised, and a tree as good."""
    assert_accurate(ours.log_partition(), oracle.log_partition())
    for part in parts:
        assert_marginals(ours.marginals(part), oracle.marginals(part))
        assert_logs(ours.log_marginals(part), oracle.log_marginals(part))
    score = oracle.argmax().score
    assert ours.argmax().score == pytest.approx(score, rel=1e-13, abs=1e-13)


#: What sends sentences to one kernel or another: their number, lengths, and the scale of scores.
#: By themselves, in lockstep, by blocks (beyond 50 words), with better potentials, in wide numbers.
COMPANIES = {
    "one": ([17], 1.0),
    "lockstep": ([13, 20, 17, 20, 19, 20, 20, 18, 20], 1.0),
    "one of 60 words": ([60], 1.0),
    "two of more than 50 words": ([52, 60], 1.0),
    "potentials": ([30, 52, 29], 30.0),
    "wide": ([13, 40, 55], 1000.0),
}


def company(
    lengths: list[int], scale: float, with_factor: bool, labels: int = 0
) -> tuple[list[Floats], list[Floats] | None]:
    """Scores, some arcs forbidden in every other sentence, and factors."""
    scores = [drawn(n, scale, n, 0.3 * (i % 2), labels) for i, n in enumerate(lengths)]
    factors = [np.random.default_rng(n).normal(0, scale, (n + 1,) * 3) for n in lengths]
    return scores, factors if with_factor else None


def assert_company(
    scores: list[Floats], factors: list[Floats] | None, root: str, ours: ProjectiveTrees
) -> None:
    """Every answer of kernels about a batch, against the forest of each sentence."""
    parts = ("arc",) if factors is None else ("arc", "sibling")
    found = {(part, logs): _tables(ours, part, logs) for part in parts for logs in (False, True)}
    for index, one in enumerate(scores):
        factor = None if factors is None else factors[index]
        oracle = ProjectiveForests(one, root=root, sibling=factor)
        assert_accurate(ours.log_partition()[index], oracle.log_partition())
        for part in parts:
            assert_marginals(found[part, False][index], oracle.marginals(part))
            assert_logs(found[part, True][index], oracle.log_marginals(part))
        best = ours.argmax()[index]
        assert best.score == pytest.approx(oracle.argmax().score, rel=1e-13, abs=1e-13)
        # The heads have that score, too.
        assert oracle.log_prob(best) == pytest.approx(
            best.score - oracle.log_partition(), rel=1e-12, abs=1e-12 * abs(best.score) + 1e-12
        )


def _tables(trees: ProjectiveTrees, part: str, logs: bool) -> list[Floats]:
    return list(trees.log_marginals(part) if logs else trees.marginals(part))


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", COMPANIES)
def test_every_kernel_against_forests(name: str, root: str, with_factor: bool) -> None:
    scores, factors = company(*COMPANIES[name], with_factor)
    ours = ProjectiveTrees(scores, root=root, sibling=factors)
    assert_company(scores, factors, root, ours)


def break_kernels(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Let one number that the kernels give be a little wrong, or have them refuse."""

    def spoiled(kernel: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if what == "refuse":
                raise AssertionError("a kernel was called")
            answer = kernel(*arguments)
            if what == "total" and isinstance(answer, np.ndarray):
                answer[0] += 1e-10 * np.maximum(1.0, np.abs(answer[0]))
            if what in ("arcs", "parts") and isinstance(answer, np.ndarray):
                tables = [one for one in arguments if isinstance(one, np.ndarray) and one.size]
                for table in tables[:1] if what == "arcs" else tables[1:]:
                    table *= 1.0 + 1e-10
            if what == "best" and isinstance(answer, tuple):
                answer[-1][:] += 1e-10 * np.maximum(1.0, np.abs(answer[-1]))
            return answer

        return call

    for module, name in (
        (first_order_sums, "sum_over_trees"),
        (first_order_sums, "best_trees"),
        (sibling_sums, "sum_over_trees"),
        (sibling_sums, "best_trees"),
    ):
        monkeypatch.setattr(module, name, spoiled(getattr(module, name)))


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("what", ["total", "arcs", "parts", "best"])
def test_a_wrong_number_is_noticed(
    what: str, with_factor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above is with something else than the kernels."""
    if what == "parts" and not with_factor:
        return
    scores, factors = company([13, 14], 1.0, with_factor)
    assert_company(scores, factors, "single", ProjectiveTrees(scores, sibling=factors))
    break_kernels(monkeypatch, what)
    with pytest.raises(AssertionError):
        assert_company(scores, factors, "single", ProjectiveTrees(scores, sibling=factors))


@pytest.mark.parametrize("with_factor", [False, True])
def test_the_oracle_calls_no_kernel(with_factor: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it need to: every question is answered."""
    scores, factors = company([6, 5], 1.0, with_factor, labels=2)
    break_kernels(monkeypatch, "refuse")
    for ask in (lambda trees: trees.log_partition(), lambda trees: trees.argmax()):
        with pytest.raises(AssertionError, match="a kernel was called"):
            ask(ProjectiveTrees(scores, sibling=factors))
    oracle = ProjectiveForests(scores, sibling=factors)
    assert len(oracle.log_partition()) == 2
    best = oracle.argmax()
    for ask in (*QUESTIONS.values(), *DRAWS.values()):
        assert len(ask(oracle)) == 2
    assert max(oracle.log_prob(best)) < 0.0
    assert oracle.kl(oracle) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert len(oracle.hessian_product(scores)) == 2
    assert len(oracle.joint([(0, 1)] * 2, [(1, 2)] * 2)) == 2


@settings(max_examples=80)
@given(LENGTHS, SCALES, st.sampled_from([0.0, 0.3, 0.8]), st.sampled_from([0, 2]), SEEDS)
def test_first_order(n: int, scale: float, forbidden: float, labels: int, seed: int) -> None:
    scores = drawn(n, scale, seed, forbidden, labels)
    for root in ROOTS:
        assert_same(
            ProjectiveTrees(scores, root=root), ProjectiveForests(scores, root=root), ("arc",)
        )


@settings(max_examples=40)
@given(LENGTHS, SCALES, st.sampled_from([0.0, 0.3, 0.8]), st.booleans(), SEEDS)
def test_short_and_long(n: int, scale: float, forbidden: float, single: bool, seed: int) -> None:
    """The kernels for short and long sentences are two implementations of the same algorithm."""
    scores = drawn(n, scale, seed, forbidden)
    for quantity in (LOG_PARTITION, MARGINALS, LOG_MARGINALS):
        (total, table), (other, expected) = (
            infer(scores, single, quantity, False) for infer in (lockstep, blocks)
        )
        assert (total == math.inf) == (other == math.inf)
        if math.isfinite(total):
            assert_accurate(total, other)
        if math.isfinite(total) and quantity != LOG_PARTITION:
            np.testing.assert_array_equal(np.isneginf(table), np.isneginf(expected))
            possible = np.isfinite(expected)
            np.testing.assert_allclose(table[possible], expected[possible], 1e-12, 1e-14)


@settings(max_examples=50)
@given(LENGTHS, SCALES, st.sampled_from([0.0, 0.3, 0.8]), st.sampled_from([0, 2]), SEEDS)
def test_sibling(n: int, scale: float, forbidden: float, labels: int, seed: int) -> None:
    scores = drawn(n, scale, seed, forbidden, labels)
    factor = np.random.default_rng(seed).normal(0, scale, (n + 1,) * 3)
    for root in ROOTS:
        ours = ProjectiveTrees(scores, root=root, sibling=factor)
        assert_same(ours, ProjectiveForests(scores, root=root, sibling=factor), ("arc", "sibling"))


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("root", ROOTS)
def test_against_the_recursive_definition(root: str, with_factor: bool) -> None:
    """Nine words, so that a sentence has two blocks; the definition in plain Python."""
    scores = drawn(9, 3.0, 4, forbidden=0.2)
    factor = np.random.default_rng(5).normal(0, 3.0, (10, 10, 10)) if with_factor else None
    trees = ProjectiveTrees(scores, root=root, sibling=factor)
    assert_accurate(trees.log_partition(), over_trees(scores, root, factor))
    best = over_trees(scores, root, factor, highest)
    assert trees.argmax().score == pytest.approx(best, rel=1e-14)


def blocks(scores: Floats, single: bool, quantity: int, wide: bool) -> tuple[float, Floats]:
    """By the kernel for long sentences; log Z is infinite where float64 is refused."""
    return first_order(scores, single, quantity, wide, in_blocks=not wide)


def lockstep(scores: Floats, single: bool, quantity: int, wide: bool) -> tuple[float, Floats]:
    """By the kernel for short sentences."""
    return first_order(scores, single, quantity, wide, in_blocks=False)


def first_order(
    scores: Floats, single: bool, quantity: int, wide: bool, *, in_blocks: bool
) -> tuple[float, Floats]:
    batch, totals = Batch([scores]), np.empty((2, 1))
    out, members = np.zeros(len(batch.arcs)), np.zeros(1, np.int64)
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets)
    arguments = (*arrays, single, quantity, out, totals)
    if in_blocks:
        first_order_sums._in_blocks(batch, members, arguments, np.empty(0), 1)
    else:
        first_order_sums._in_lockstep(batch, members, arguments, wide, 1)
    return float(totals.sum()), batch.square(0, out)


def second_order(scores: Floats, single: bool, quantity: int, wide: bool) -> tuple[float, Floats]:
    """With a sibling factor that belongs to the scores."""
    batch, totals = Batch([scores]), np.empty((2, 1))
    width = len(scores)
    cube = np.random.default_rng(width).normal(0, max(1.0, np.std(scores)), (width,) * 3)
    factor = SiblingFactor([cube], batch, single)
    out, parts = np.zeros(len(batch.arcs)), np.zeros_like(factor.rows)
    members, results = np.zeros(1, np.int64), (out, parts, totals)
    sibling_sums._sum(batch, factor, single, quantity, members, results, 1, wide=wide)
    return float(totals.sum()), np.concatenate([out, factor.unpacked(0, parts, 0.0).reshape(-1)])


@pytest.mark.parametrize("infer", [blocks, lockstep, second_order])
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(("n", "scale"), [(1, 1.0), (5, 10.0), (12, 1.0), (20, 3.0)])
def test_two_arithmetics(infer: Any, single: bool, n: int, scale: float) -> None:
    scores = drawn(n, scale, 1)
    for quantity in (LOG_PARTITION, MARGINALS, LOG_MARGINALS):
        float64, wide = (infer(scores, single, quantity, way) for way in (False, True))
        assert math.isfinite(float64[0])
        assert float64[0] == pytest.approx(wide[0], rel=1e-14, abs=1e-14)
        np.testing.assert_allclose(float64[1], wide[1], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("infer", [blocks, lockstep, second_order])
@pytest.mark.parametrize("single", [True, False])
def test_float64_refuses_what_it_cannot_hold(infer: Any, single: bool) -> None:
    """Standard deviation 1000, and one arc that is 2,000 below all others."""
    rare = np.zeros((7, 7))
    rare[2, 5] = -2000.0
    for scores in (drawn(20, 1000.0, 1), rare):
        assert infer(scores, single, MARGINALS, False)[0] == math.inf


@pytest.mark.parametrize("with_factor", [False, True])
def test_results_do_not_depend_on_neighbours_or_threads(with_factor: bool) -> None:
    """To the last bit, also beside sentences that overflow float64, and in any order."""
    kinds = [(5, 1.0, 0.0), (30, 1000.0, 0.0), (5, 1.0, 0.5), (17, 40.0, 0.0), (1, 1.0, 0.0)]
    kinds += [(6, 2.0, 0.0), (60, 1.0, 0.0), (50, 1.0, 0.2), (4, 1.0, 0.8), (51, 40.0, 0.0)]
    batch = [drawn(n, scale, place, lost) for place, (n, scale, lost) in enumerate(kinds)]
    factors = [np.random.default_rng(len(one)).normal(size=(len(one),) * 3) for one in batch]

    def ask(places: list[int], threads: int) -> dict[int, Any]:
        sibling: Any = [factors[place] for place in places] if with_factor else None
        trees = ProjectiveTrees(
            [batch[place] for place in places], sibling=sibling, threads=threads
        )
        answers = zip(
            trees.log_partition(),
            trees.marginals(),
            trees.log_marginals(),
            trees.argmax(),
            strict=True,
        )
        return dict(zip(places, answers, strict=True))

    everywhere = [ask(list(range(10)), threads) for threads in (1, 3)]
    everywhere.append(ask(list(range(9, -1, -1)), 1))
    for place in range(10):
        alone = ask([place], 1)[place]
        for found in everywhere:
            assert found[place][0] == alone[0]
            np.testing.assert_array_equal(found[place][1], alone[1])
            np.testing.assert_array_equal(found[place][2], alone[2])
            assert found[place][3] == alone[3]


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize("root", ROOTS)
def test_sentences_in_lockstep(root: str, labels: int) -> None:
    """Eight lanes of like lengths, and a ninth sentence: each as it is alone, to the last bit.

    Standard deviation 30 needs the potentials of the envelope, 300 the wide exponents; the last
    sentence but one has no tree.
    """
    lengths, scales = [19, 22, 22, 21, 22, 18, 22, 20, 22], [1.0, 30.0, 1.0, 300.0, 3.0] * 2
    batch = [
        drawn(n, scale, place, 0.2 * (place % 2), labels)
        for place, (n, scale) in enumerate(zip(lengths, scales, strict=False))
    ]
    batch[7][:, 3] = -np.inf
    together = ProjectiveTrees(batch, root=root)
    with pytest.raises(InfeasibleError, match="sentence 7"):
        together.marginals()
    for place, scores in enumerate(batch):
        alone = ProjectiveTrees(scores, root=root)
        assert together.log_partition()[place] == alone.log_partition()
        if place != 7:
            for logs in (False, True):
                ours, theirs = together._marginals(place, logs), alone._marginals(0, logs)
                np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize("root", ROOTS)
def test_sibling_sentences_in_lockstep(root: str, labels: int) -> None:
    """Eight lanes of like lengths, and a ninth sentence: each as it is alone, to the last bit.

    Standard deviation 15 needs the potentials of the best tree, 200 the wide exponents.
    """
    lengths, scales = [9, 12, 12, 11, 12, 8, 12, 10, 12], [1.0, 15.0, 1.0, 200.0, 3.0] * 2
    batch = [
        drawn(n, scale, place, 0.2 * (place % 2), labels)
        for place, (n, scale) in enumerate(zip(lengths, scales, strict=False))
    ]
    factors = [
        np.random.default_rng(place).normal(0, scales[place], (len(one),) * 3)
        for place, one in enumerate(batch)
    ]
    together = ProjectiveTrees(batch, root=root, sibling=factors)
    for place, (scores, factor) in enumerate(zip(batch, factors, strict=True)):
        alone = ProjectiveTrees(scores, root=root, sibling=factor)
        assert together.log_partition()[place] == alone.log_partition()
        for part in ("arc", "sibling"):
            np.testing.assert_array_equal(together.marginals(part)[place], alone.marginals(part))
            ours, theirs = together.log_marginals(part)[place], alone.log_marginals(part)
            np.testing.assert_array_equal(ours, theirs)
        assert together.argmax()[place] == alone.argmax()
        assert together.argmax()[place].score == alone.argmax().score


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("n", [1, 7, 8, 9, 20, 55])
def test_ties(n: int, root: str, with_factor: bool) -> None:
    """Where trees tie, the first derivation wins, as in forests; in any company, for any threads.

    Scores are 0 or 1, so that nearly every choice is a tie.
    """
    rng = np.random.default_rng(n)
    lengths = [n, n + 1, n + 2, max(1, n - 1), n]
    batch = [rng.integers(0, 2, (m + 1,) * 2).astype(float) for m in lengths]
    cubes = [rng.integers(0, 2, (m + 1,) * 3).astype(float) for m in lengths]
    batch[0][:] = cubes[0][:] = 0.0
    factors = cubes if with_factor else [None] * len(batch)
    expected = [
        ProjectiveForests(one, root=root, sibling=factor).argmax()
        for one, factor in zip(batch, factors, strict=True)
    ]
    assert expected[0].heads.tolist() == list(range(n))
    for one, factor, tree in zip(batch, factors, expected, strict=True):
        assert ProjectiveTrees(one, root=root, sibling=factor).argmax() == tree
    for threads in (1, 2):
        sibling = cubes if with_factor else None
        trees = ProjectiveTrees(batch, root=root, sibling=sibling, threads=threads)
        assert trees.argmax() == expected


def test_scores_that_overflow_have_a_best_tree() -> None:
    scores = np.full((10, 10), -1.7e308)
    scores[np.arange(9), np.arange(1, 10)] = 1.7e308
    assert ProjectiveTrees(scores).argmax().heads.tolist() == list(range(9))
    factor = np.zeros((10, 10, 10))
    assert ProjectiveTrees(scores, sibling=factor).argmax().heads.tolist() == list(range(9))

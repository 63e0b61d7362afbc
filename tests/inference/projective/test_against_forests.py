"""Every kernel against forests, on sentences of 13 to 60 words; and that this comparison bites."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.drawn_scores import drawn
from support.forest_trees import ProjectiveForests
from support.guarded_cells import GuardedCells
from support.input_laws import DRAWS, QUESTIONS
from support.law_base import assert_accurate, assert_log_marginals, assert_marginals

from crossarc import ProjectiveTrees
from crossarc.inference.projective.first_order import sums as first_order_sums
from crossarc.inference.projective.sibling import sums as sibling_sums

Floats = NDArray[np.float64]
ROOTS = ["single", "multi"]
#: What sends sentences to one kernel or another: their number, lengths, and the scale of scores.
#: By themselves, in lockstep, by blocks (beyond 50 words), with better potentials, in wide numbers.
COMPANIES = {
    "one": ([17], 1.0),
    "lockstep": ([13, 20, 17, 20, 19, 20, 20, 18, 20], 1.0),
    "one of 60 words": ([60], 1.0),
    "two of more than 50 words": ([52, 60], 1.0),
    "potentials": ([30, 52, 29], 30.0),
    "wide": ([13, 40, 55], 1000.0),
    "wide in lockstep": ([15, 15, 14, 15, 13, 15, 15, 15], 1000.0),
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
            assert_log_marginals(found[part, True][index], oracle.log_marginals(part))
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


@pytest.mark.parametrize("with_factor", [False, True])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", COMPANIES)
def test_kernels_stay_in_their_workspaces(
    name: str, root: str, with_factor: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what these held before is not read."""
    scores, factors = company(*COMPANIES[name], with_factor)

    def answers() -> list[Floats]:
        ours = ProjectiveTrees(scores, root=root, sibling=factors)
        tables = [*_tables(ours, "arc", False), *_tables(ours, "arc", True)]
        totals = np.array(ours.log_partition())
        return [totals, *tables, *(tree.heads for tree in ours.argmax())]

    guards = GuardedCells(monkeypatch)
    guarded = answers()
    guards.assert_intact()
    monkeypatch.undo()
    for found, expected in zip(guarded, answers(), strict=True):
        np.testing.assert_array_equal(found, expected)


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
                    with np.errstate(all="ignore"):  # of some numbers nothing is known
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

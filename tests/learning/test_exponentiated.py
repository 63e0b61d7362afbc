"""Exponentiated gradient: its dual objective rises and meets the primal one at the optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from crossarc import ProjectiveTrees, SpanningTrees
from crossarc.learning import DualSentences, log_linear, max_margin

KINDS = [
    (trees, root) for trees in (SpanningTrees, ProjectiveTrees) for root in ("single", "multi")
]
GOLD = [np.array([2, 0, 2, 3]), np.array([0, 1, 1]), np.array([2, 0])]


class Linear:
    """Sentences with dense features of arcs, and weights that follow the dual variables."""

    def __init__(self, trees, root, *, margin: bool, c: float, **options) -> None:  # type: ignore[no-untyped-def]
        rng = np.random.default_rng(1)
        self.trees, self.root, self.margin, self.c = trees, root, margin, c
        self.features = [rng.normal(size=(len(g) + 1, len(g) + 1, 6)) for g in GOLD]
        self.dual = DualSentences(trees, GOLD, margin=margin, c=c, root=root, **options)
        self.w = np.zeros(6)
        for index, gradient in enumerate(self.dual.initial_gradients()):
            self.add(index, gradient)

    def add(self, index: int, gradient: np.ndarray) -> None:
        self.w += self.c * np.tensordot(gradient, self.features[index], axes=2)

    def run_pass(self) -> float:
        for index, table in enumerate(self.features):
            self.add(index, self.dual.step(index, table @ self.w))
        return self.dual.end_pass(float(self.w @ self.w))

    def primal(self) -> float:
        objective = max_margin if self.margin else log_linear
        scores = [table @ self.w for table in self.features]
        loss = objective(self.trees, scores, GOLD, self.root)[0]
        return self.c * loss + float(self.w @ self.w) / 2.0


@pytest.mark.parametrize("margin", [True, False])
@pytest.mark.parametrize(("trees", "root"), KINDS)
def test_dual_meets_primal(margin: bool, trees, root) -> None:  # type: ignore[no-untyped-def]
    own = Linear(trees, root, margin=margin, c=0.5)
    objectives = [own.run_pass() for _ in range(400)]
    primal = own.primal()
    # Weak duality at each pass, and next to no gap at the end.
    assert max(objectives) <= primal + 1e-9
    assert_allclose(objectives[-1], primal, rtol=2e-3)
    assert np.mean(np.diff(objectives) >= -1e-9) > 0.9


def test_the_steps_of_figure_2() -> None:
    """One sentence of one word pair, by hand: theta' = theta + eta C (l + w.f)."""
    gold = [np.array([0, 1])]
    dual = DualSentences(SpanningTrees, gold, margin=True, c=2.0, start=9.0)
    assert dual.rate == 0.5
    # Two trees under a single root: 0 -> 1 -> 2 (gold, theta 18) and 0 -> 2 -> 1 (theta 0).
    wrong = 1.0 / (1.0 + math.exp(18.0))
    [first] = dual.initial_gradients()
    assert_allclose(first[0, 1], wrong, rtol=1e-6)
    assert_allclose(first[0, 2], -wrong, rtol=1e-6)
    scores = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 4.0, 0.0]])
    change = dual.step(0, scores)
    # eta C = 1: gold 18 + 1 + 3, wrong 2 (l) + 2 + 4.
    after = 1.0 / (1.0 + math.exp(22.0 - 8.0))
    assert_allclose(change[0, 2], wrong - after, rtol=1e-6)
    # C sum l mu' - |w|^2 / 2: two wrong arcs in the wrong tree.
    assert_allclose(dual.dual(0.5), 2.0 * 2.0 * after - 0.25, rtol=1e-6)


def test_a_step_of_log_linear_models() -> None:
    """theta' = theta + eta C (w.f - theta); with eta = 1 / C that is w.f."""
    dual = DualSentences(SpanningTrees, [np.array([0, 1])], margin=False, c=4.0)
    scores = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 4.0, 0.0]])
    dual.step(0, scores)
    p = 1.0 / (1.0 + math.exp(4.0 - 6.0))
    entropy = -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)
    assert_allclose(dual.dual(0.0), 4.0 * entropy)


def test_the_rate_is_halved_when_the_objective_does_not_rise() -> None:
    dual = DualSentences(SpanningTrees, [np.array([0, 1])], margin=True, c=2.0)
    dual.end_pass(1.0)
    assert dual.rate == 0.5
    dual.end_pass(0.5)
    assert dual.rate == 0.5
    dual.end_pass(0.5)
    assert dual.rate == 0.25
    dual.end_pass(0.6)
    assert dual.rate == 0.125


def test_marginals_that_wait_leave_the_weights_consistent() -> None:
    """The weights are those of the marginals that were handed out, whatever waits."""
    own = Linear(SpanningTrees, "single", margin=True, c=0.5, least=0.05)
    exact = Linear(SpanningTrees, "single", margin=True, c=0.5)
    for _ in range(30):
        own.run_pass()
        exact.run_pass()
    handed_out = np.zeros(6)
    for gradient, table in zip(own.dual.initial_gradients(), own.features, strict=True):
        handed_out += own.c * np.tensordot(gradient, table, axes=2)
    assert_allclose(own.w, handed_out, atol=1e-12)
    assert_allclose(own.w, exact.w, atol=0.5)
    assert not np.allclose(own.w, exact.w, atol=1e-6)


def test_resuming() -> None:
    whole, first = (Linear(SpanningTrees, "single", margin=True, c=0.5) for _ in range(2))
    for _ in range(6):
        whole.run_pass()
    for _ in range(3):
        first.run_pass()
    second = Linear(SpanningTrees, "single", margin=True, c=0.5)
    second.dual.load_state({name: array.copy() for name, array in first.dual.state().items()})
    second.w = first.w.copy()
    for _ in range(3):
        second.run_pass()
    assert second.w.tolist() == whole.w.tolist()
    assert second.dual.rate == whole.dual.rate

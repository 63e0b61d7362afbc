"""Rules against their formulas, in plain Python."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from crossarc.learning import GROUPS, AdaGrad, Perceptron, Rule, WeightTable

GRADIENTS = st.lists(
    st.dictionaries(st.integers(0, 7), st.integers(-128, 128).map(lambda k: k / 64), max_size=5),
    max_size=12,
)


def make_steps(rule: Rule, gradients: list[dict[int, float]]) -> list[np.ndarray]:
    """The weights after each step; slots 0 to 7, two in each part."""

    def gather(now, group, gradient, touched):  # type: ignore[no-untyped-def]
        mine = [slot for slot, g in now.items() if slot // 2 == group and g]
        for k, slot in enumerate(mine):
            gradient[slot] = now[slot]
            touched[k] = slot
        return len(mine)

    weights = []
    for now in gradients:
        rule.table.update(partial(gather, now), rule.step, threads=1)
        rule.advance()
        weights.append(rule.table.weights.copy())
        assert not rule.table.gradient.any()
    return weights


def new_table() -> WeightTable:
    assert GROUPS == 4
    return WeightTable(np.zeros(8, np.float32))


@given(GRADIENTS)
def test_adagrad_of_duchi_et_al(gradients: list[dict[int, float]]) -> None:
    """Without penalties and next to no inertia: w -= rate * g / sqrt(sum of g^2)."""
    found = make_steps(AdaGrad(new_table(), rate=0.5, inertia=1e-9, l1=0.0, l2=0.0), gradients)
    weights, squares = np.zeros(8), np.zeros(8)
    for now, after in zip(gradients, found, strict=True):
        for slot, g in now.items():
            squares[slot] += g * g
            weights[slot] -= 0.5 * g / math.sqrt(squares[slot]) if g else 0.0
        assert_allclose(after, weights, atol=1e-4)


@given(GRADIENTS, st.floats(0.1, 1), st.floats(0, 1), st.floats(0, 1))
def test_weights_minimise_what_was_seen_and_the_penalties(
    gradients: list[dict[int, float]], inertia: float, l1: float, l2: float
) -> None:
    """McMahan et al. (2013), section 3.1: w_(t+1) is the least w of

    sum g_s w + sum sigma_s (w - w_s)^2 / 2 + inertia / rate w^2 / 2 + l1 |w| + l2 w^2 / 2
    """
    rate = 0.5
    found = make_steps(AdaGrad(new_table(), rate=rate, inertia=inertia, l1=l1, l2=l2), gradients)
    for slot in range(8):
        before, gradient, square, linear = 0.0, 0.0, 0.0, 0.0
        for now, after in zip(gradients, found, strict=True):
            if g := now.get(slot, 0.0):
                sigma = (math.sqrt(square + g * g) - math.sqrt(square)) / rate
                square += g * g
                gradient += g
                linear += sigma * before
            before = float(after[slot])
            curvature = (inertia + math.sqrt(square)) / rate + l2
            # The derivative on either side of the minimum has the sign that it should have.
            derivative = gradient - linear + curvature * before
            if before:
                assert derivative + l1 * math.copysign(1, before) == pytest.approx(0, abs=1e-4)
            else:
                assert abs(derivative) <= l1 + 1e-4


@given(GRADIENTS)
def test_perceptron_and_means(gradients: list[dict[int, float]]) -> None:
    rules = [Perceptron(new_table()), AdaGrad(new_table(), rate=0.3, inertia=1.0, l1=0.1, l2=0.1)]
    for rule in rules:
        found = make_steps(rule, gradients)
        mean = np.mean(found, axis=0) if found else np.zeros(8)
        assert_allclose(rule.mean(), mean, atol=1e-4)
    total = np.zeros(8)
    for now in gradients:
        for slot, g in now.items():
            total[slot] -= g
    assert_allclose(rules[0].table.weights, total, atol=1e-4)


def test_mean_from_a_later_step_on() -> None:
    rule = Perceptron(new_table())
    make_steps(rule, [{0: 1.0}])
    rule.restart_mean()
    assert rule.mean()[0] == -1.0
    found = make_steps(rule, [{0: 1.0}, {0: -4.0, 5: 1.0}])
    assert_allclose(rule.mean(), np.mean(found, axis=0))


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"inertia": 0.0}, {"l1": -1.0}, {"l2": -1.0}])
def test_options_out_of_range(wrong: dict[str, float]) -> None:
    options = {"rate": 0.1, "inertia": 1.0, "l1": 0.0, "l2": 0.0} | wrong
    with pytest.raises(ValueError, match=r"rate and inertia must be above 0"):
        AdaGrad(new_table(), **options)


@pytest.mark.parametrize("seed", range(3))
def test_a_penalty_that_grows_with_the_steps(seed: int) -> None:
    """After t steps the penalty is (l2 + t decay) w^2 / 2, for weights of any age."""
    rng = np.random.default_rng(seed)
    gradients = [{int(rng.integers(8)): float(rng.normal())} for _ in range(9)]
    growing = AdaGrad(new_table(), rate=0.5, inertia=1.0, l1=0.0, l2=0.25, decay=0.5)
    make_steps(growing, gradients)
    growing.refresh()
    sums, squares = growing.state()["sums"], growing.state()["squares"]
    expected = -sums / ((1.0 + np.sqrt(squares)) / 0.5 + 0.25 + 9 * 0.5)
    assert_allclose(growing.table.weights, expected, rtol=1e-5)


def test_resuming_a_rule() -> None:
    gradients = [{k % 8: 0.5 - k % 3} for k in range(12)]
    whole = AdaGrad(new_table(), rate=0.5, inertia=1.0, l1=0.1, l2=0.25, decay=0.5)
    make_steps(whole, gradients)
    first = AdaGrad(new_table(), rate=0.5, inertia=1.0, l1=0.1, l2=0.25, decay=0.5)
    make_steps(first, gradients[:5])
    second = AdaGrad(new_table(), rate=0.5, inertia=1.0, l1=0.1, l2=0.25, decay=0.5)
    second.load_state(first.state())
    make_steps(second, gradients[5:])
    assert second.mean().tolist() == whole.mean().tolist()
    assert second.table.weights.tolist() == whole.table.weights.tolist()

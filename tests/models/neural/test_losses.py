"""Losses of arcs against lists of all trees, and their gradients against differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.brute_force import any_tree, projective_tree
from support.trees import all_trees

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.models.neural.losses import (  # noqa: E402
    LOSS_FUNCTIONS,
    Family,
    local_loss,
    margin_loss,
    risk_loss,
    tree_loss,
)

FAMILIES = [Family(p, root) for p in (False, True) for root in ("single", "multi")]
SIZES = torch.tensor([4, 2, 3])
#: Column 0 is the root's; the second sentence lacks a head, the third has none at all.
HEADS = torch.tensor([[-1, 2, 0, 2, 3], [-1, -1, 1, -1, -1], [-1, -1, -1, -1, -1]])


def scores() -> Any:
    values = np.random.default_rng(3).normal(0.0, 1.5, (3, 5, 5))
    for one, n in zip(values, SIZES.tolist(), strict=True):
        one[n + 1 :] = one[:, n + 1 :] = 50.0
    return torch.tensor(values)


def tree_scores(values: Any, n: int, family: Family) -> dict[tuple[int, ...], float]:
    support = projective_tree if family.projective else any_tree
    return {
        heads: sum(float(values[h, m]) for m, h in enumerate(heads, 1))
        for heads in all_trees(n)
        if support(heads) and (family.root == "multi" or heads.count(0) == 1)
    }


def agreeing(heads: tuple[int, ...], known: list[int]) -> bool:
    return all(k < 0 or h == k for h, k in zip(heads, known, strict=True))


def wrong(heads: tuple[int, ...], known: list[int]) -> int:
    return sum(k >= 0 and h != k for h, k in zip(heads, known, strict=True))


def sentences() -> list[tuple[Any, int, list[int]]]:
    sizes = SIZES.tolist()
    return [(scores()[i], n, HEADS[i, 1 : n + 1].tolist()) for i, n in enumerate(sizes)]


@pytest.mark.parametrize("family", FAMILIES)
def test_tree_loss_is_minus_the_log_probability_of_agreeing_trees(family: Family) -> None:
    expected = 0.0
    for values, n, known in sentences():
        weights = {h: math.exp(s) for h, s in tree_scores(values, n, family).items()}
        some = sum(weight for heads, weight in weights.items() if agreeing(heads, known))
        expected -= math.log(some / sum(weights.values()))
    found = tree_loss(scores(), HEADS, SIZES, family)
    assert float(found) == pytest.approx(expected / 9, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_margin_loss_is_the_worst_violation(family: Family) -> None:
    expected = 0.0
    for values, n, known in sentences():
        trees = tree_scores(values, n, family)
        best = max(score for heads, score in trees.items() if agreeing(heads, known))
        expected += max(0.0, max(s + wrong(h, known) for h, s in trees.items()) - best)
    found = margin_loss(scores(), HEADS, SIZES, family)
    assert float(found) == pytest.approx(expected / 9, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_risk_is_the_expected_share_of_wrong_heads(family: Family) -> None:
    expected = 0.0
    for values, n, known in sentences():
        weights = {h: math.exp(s) for h, s in tree_scores(values, n, family).items()}
        expected += sum(w * wrong(h, known) for h, w in weights.items()) / sum(weights.values())
    found = risk_loss(scores(), HEADS, SIZES, family)
    assert float(found) == pytest.approx(expected / 5, rel=1e-9)  # five heads are known


def test_local_loss_is_a_softmax_over_the_other_words() -> None:
    logs = []
    for values, n, known in sentences():
        for m, h in enumerate(known, 1):
            if h >= 0:
                others = [float(values[k, m]) for k in range(n + 1) if k != m]
                logs.append(float(values[h, m]) - math.log(sum(map(math.exp, others))))
    assert len(logs) == 5
    found = local_loss(scores(), HEADS, SIZES, FAMILIES[0])
    assert float(found) == pytest.approx(-np.mean(logs), rel=1e-9)


@pytest.mark.parametrize("name", LOSS_FUNCTIONS)
def test_gradients_are_derivatives_and_padding_has_none(name: str) -> None:
    def loss(values: Any) -> Any:
        return LOSS_FUNCTIONS[name](values, HEADS, SIZES, FAMILIES[0])

    values = scores().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(values), values)
    step = 1e-5
    for index in [(0, 2, 1), (0, 1, 3), (1, 0, 1), (1, 1, 2), (2, 0, 3)]:
        moved = torch.zeros_like(values)
        moved[index] = step
        difference = float(loss(scores() + moved) - loss(scores() - moved)) / (2 * step)
        assert float(gradient[index]) == pytest.approx(difference, abs=1e-6)
    for i, n in enumerate(SIZES.tolist()):
        assert not gradient[i, n + 1 :].any()
        assert not gradient[i, :, n + 1 :].any()
        assert not gradient[i, :, 0].any()


def test_heads_that_no_tree_has_count_nothing() -> None:
    """1 -> 2 and 2 -> 1 are a cycle; the third head is unknown."""
    heads = torch.tensor([[-1, 2, 1, -1]])
    values = torch.zeros(1, 4, 4, requires_grad=True)
    for loss in (tree_loss, margin_loss):
        found = loss(values, heads, torch.tensor([3]), FAMILIES[0])
        assert found.item() == 0.0
        assert not torch.autograd.grad(found, values)[0].any()

"""Beliefs interpolated with a distribution of first order, against the list of all trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.crossing import EnumeratedTrees, drawn_case

import crossarc as ca
from crossarc.errors import InfeasibleError, ScoreError
from crossarc.inference.higher import FirstOrder

ROOTS = ["single", "multi"]
NAMES = ("sibling", "grandchild")
SHARE = 0.3


def drawn(n: int, seed: int, forbidden: float = 0.3) -> tuple[Any, dict[str, Any], FirstOrder]:
    rng = np.random.default_rng(seed)
    scores, factors = drawn_case(rng, n, NAMES, 2.0, forbidden=forbidden)
    scores[np.arange(n), np.arange(1, n + 1)] = rng.normal(size=n)
    return scores, factors, FirstOrder(SHARE, rng.normal(0, 2, scores.shape))


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("share", [0.0, SHARE, 1.0])
def test_marginals_are_a_mixture(root: Any, share: float) -> None:
    """Exact ones over the same arcs; sums of 1 per word, and of the root if it has one word."""
    for n in (2, 3, 5):
        scores, factors, (_, offset) = drawn(n, n)
        beliefs = ca.HigherOrderTrees(scores, root=root, **factors).marginals()
        own = FirstOrder(share, offset)
        found = ca.HigherOrderTrees(scores, root=root, first_order=own, **factors).marginals()
        with np.errstate(invalid="ignore"):
            exact = EnumeratedTrees(scores + offset, root, {}).marginals()
        np.testing.assert_allclose(found, (1 - share) * beliefs + share * exact, atol=1e-12)
        np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1.0, atol=1e-9)
        assert not found[scores == -np.inf].any()
        if root == "single":
            assert found[0].sum() == pytest.approx(1.0, abs=1e-9)
        assert n == 2 or np.abs(beliefs - exact).max() > 0.05


@pytest.mark.parametrize("root", ROOTS)
def test_what_does_not_depend_on_it(root: Any) -> None:
    scores, factors, own = drawn(5, 1)
    plain = ca.HigherOrderTrees(scores, root=root, **factors)
    mixed = ca.HigherOrderTrees(scores, root=root, first_order=own, **factors)
    assert mixed.log_partition() == plain.log_partition()
    best, expected = mixed.argmax(), plain.argmax()
    assert (best, best.score) == (expected, expected.score)
    assert mixed.log_prob(best) == plain.log_prob(best)
    for name in NAMES:
        np.testing.assert_array_equal(mixed.marginals(name), plain.marginals(name))


def test_constraints_hold_for_both_parts() -> None:
    """The exact part is conditioned: arcs that given heads leave no tree have probability 0."""
    scores, factors, own = drawn(5, 2, forbidden=0.0)
    fixed = ca.constrain(scores, heads={2: 4}, forbidden=[(0, 4)])
    found = ca.HigherOrderTrees(fixed, first_order=own, **factors).marginals()
    assert found[4, 2] == pytest.approx(1.0, abs=1e-12)
    assert found[0, 4] == 0.0
    assert found[2, 4] < 1e-200  # a cycle; messages are finite
    exact = EnumeratedTrees(fixed + own.offset, "single", {}).marginals()
    plain = ca.HigherOrderTrees(fixed, **factors).marginals()
    np.testing.assert_allclose(found, (1 - SHARE) * plain + SHARE * exact, atol=1e-12)


def test_labels_share_the_marginals_of_arcs() -> None:
    """Also if a label is fixed, which makes its arcs more or less probable under both parts."""
    scores, factors, own = drawn(4, 3, forbidden=0.0)
    rng = np.random.default_rng(5)
    labelled = scores[:, :, None] + rng.normal(size=(5, 5, 3))
    for fixed in (labelled, ca.constrain(labelled, labels={3: 1})):
        trees = ca.HigherOrderTrees(fixed, first_order=own, **factors)
        with np.errstate(divide="ignore"):
            summed = np.logaddexp.reduce(fixed, axis=2)
        arcs = ca.HigherOrderTrees(summed, first_order=own, **factors)
        found = trees.marginals()
        np.testing.assert_allclose(found.sum(axis=2), arcs.marginals(), atol=1e-9)
        given = found[:, 1:] / found[:, 1:].sum(axis=2, keepdims=True).clip(1e-300)
        possible = found[:, 1:].sum(axis=2) > 0
        expected = np.exp(fixed[:, 1:] - np.where(possible, summed[:, 1:], 0.0)[:, :, None])
        np.testing.assert_allclose(given[possible], expected[possible], atol=1e-9)
        # H(labelled trees) = H(trees) + sum of p(h -> m) H(l | h, m), as the parser adds them.
        logs = np.log(np.where(given > 0, given, 1.0))
        labels = -(arcs.marginals()[:, 1:, None] * given * logs).sum()
        assert trees.entropy() == pytest.approx(arcs.entropy() + labels, abs=1e-8)


def test_entropy_is_the_mean_of_both() -> None:
    scores, factors, own = drawn(5, 4)
    bethe = ca.HigherOrderTrees(scores, **factors).entropy()
    truth = EnumeratedTrees(scores + own.offset, "single", {})
    p = np.exp(truth.values - truth.log_partition())
    exact = -float(p @ np.log(p))
    assert abs(bethe - exact) > 0.1
    found = ca.HigherOrderTrees(scores, first_order=own, **factors).entropy()
    assert found == pytest.approx((1 - SHARE) * bethe + SHARE * exact, abs=1e-9)


def test_min_risk_follows_the_mixture() -> None:
    differ = 0
    for seed in range(20):
        scores, factors, own = drawn(5, seed)
        own = own._replace(share=0.7)
        trees = ca.HigherOrderTrees(scores, first_order=own, **factors)
        gains, words = trees.marginals(), np.arange(1, 6)
        listed = EnumeratedTrees(scores, "single", {}).heads
        expected = max(gains[heads, words].sum() for heads in listed)
        found = trees.min_risk()
        assert gains[found.heads, words].sum() == pytest.approx(expected, abs=1e-9)
        differ += found != ca.HigherOrderTrees(scores, **factors).min_risk()
    assert differ > 2


def test_a_batch_has_the_answers_of_its_sentences() -> None:
    cases = [drawn(n, n) for n in (4, 1, 7, 3)]
    scores, factors, own = (list(column) for column in zip(*cases, strict=True))
    given = {name: [one[name] for one in factors] for name in NAMES}
    for threads in (1, 3):
        batch = ca.HigherOrderTrees(scores, first_order=own, threads=threads, **given)
        found = zip(batch.marginals(), batch.entropy(), batch.min_risk(), strict=True)
        for (arcs, factor, first), (marginals, entropy, risk) in zip(cases, found, strict=True):
            alone = ca.HigherOrderTrees(arcs, first_order=first, **factor)
            np.testing.assert_array_equal(alone.marginals(), marginals)
            assert (alone.entropy(), alone.min_risk()) == (entropy, risk)
            assert not marginals.flags.writeable


def test_where_no_tree_is_possible() -> None:
    scores, factors, own = drawn(3, 1)
    scores[:, 2] = -np.inf
    trees = ca.HigherOrderTrees(scores, first_order=own, **factors)
    assert trees.log_partition() == -np.inf
    for question in (trees.marginals, trees.entropy, trees.min_risk):
        with pytest.raises(InfeasibleError, match="no tree is possible"):
            question()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (FirstOrder(1.5, np.zeros((4, 4))), r"a share from 0 to 1"),
        (FirstOrder(float("nan"), np.zeros((4, 4))), r"a share from 0 to 1"),
        (FirstOrder(0.5, np.zeros((3, 3))), r"finite numbers \(4, 4\): got \(3, 3\)"),
        (FirstOrder(0.5, np.full((4, 4), -np.inf)), r"finite numbers"),
        ([FirstOrder(0.5, np.zeros((4, 4)))], r"must be a FirstOrder"),
        (0.5, r"must be a FirstOrder"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        ca.HigherOrderTrees(np.zeros((4, 4)), sibling=np.zeros((4, 4, 4)), first_order=given)
    with pytest.raises(ScoreError, match="a list of 2 FirstOrder"):
        ca.HigherOrderTrees([np.zeros((4, 4))] * 2, first_order=given)

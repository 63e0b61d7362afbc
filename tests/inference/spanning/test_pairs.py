"""Pairs of arcs in longer sentences: the determinant against sums over constrained trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from crossarc import SpanningTrees
from crossarc.inference.spanning.matrix_tree.pairs import joint_arcs

ROOTS = ["single", "multi"]


def nested_cycles(levels: int, gap: float) -> np.ndarray:
    """Words prefer their neighbour, pairs the next pair, and so on; the root comes last."""
    words = np.arange(2**levels)
    scores = np.zeros((len(words) + 1, len(words) + 1))
    scores[1:, 1:] = -gap * np.ceil(np.log2((words[:, None] ^ words) + 1.0))
    scores[0, 1:] = -gap * (levels + 1)
    return scores + np.random.default_rng(levels).normal(size=scores.shape)


def cases() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    normal = rng.normal(size=(13, 13))
    sparse = rng.normal(scale=5.0, size=(13, 13))
    sparse[rng.random((13, 13)) < 0.5] = -np.inf
    sparse[np.arange(12), np.arange(1, 13)] = 0.0
    labelled = rng.normal(scale=2.0, size=(9, 9, 3))
    return {
        "sd 1": normal,
        "sd 20": 20.0 * normal,
        "sd 1000": 1000.0 * normal,
        "forbidden": sparse,
        "labelled": labelled,
        "nested cycles": nested_cycles(4, 30.0),
    }


CASES = cases()


def random_arcs(n: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    modifiers = rng.integers(1, n + 1, count)
    heads = (modifiers + rng.integers(1, n + 1, count)) % (n + 1)
    return np.stack([heads, modifiers], axis=1)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", CASES)
def test_joint_is_the_probability_of_two_heads(name: str, root: Any) -> None:
    trees = SpanningTrees(CASES[name], root=root)
    arcs = random_arcs(len(CASES[name]) - 1, 40)
    found = trees.joint(arcs[:20], arcs[20:])
    for (h, m), (k, j), probability in zip(arcs[:20], arcs[20:], found, strict=True):
        if m == j:
            expected = math.exp(trees.log_prob(heads={m: h})) if h == k else 0.0
        else:
            expected = math.exp(trees.log_prob(heads={m: h, j: k}))
        assert probability == pytest.approx(expected, rel=0.0, abs=1e-12)


def information(scores: np.ndarray, root: Any) -> np.ndarray:
    """Sums of P(e, f) log P(e, f) / P(e) P(f) over the arcs e and f into two words.

    P(f | e) is a marginal without the other arcs into the word of e.
    """

    def arc_marginals(batch: list[np.ndarray]) -> list[np.ndarray]:
        found = SpanningTrees(batch, root=root).marginals()
        return [one.sum(axis=2) if one.ndim == 3 else one for one in found]

    nodes, [p] = np.arange(len(scores)), arc_marginals([scores])
    table = np.zeros((len(nodes) - 1, len(nodes) - 1))
    for m in nodes[1:]:
        heads = np.flatnonzero(p[:, m])
        batch = [scores.copy() for _ in heads]
        for one, h in zip(batch, heads, strict=True):
            one[nodes != h, m] = -np.inf
        for given, h in zip(arc_marginals(batch), heads, strict=True):
            used = (given > 0.0) & (p > 0.0)
            logs = np.log(given, out=np.zeros_like(p), where=used)
            logs -= np.log(p, out=np.zeros_like(p), where=used)
            table[m - 1] += p[h, m] * (given * logs).sum(axis=0)[1:]
    return table


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", CASES)
def test_mutual_information_is_that_of_two_heads(name: str, root: Any) -> None:
    found = SpanningTrees(CASES[name], root=root).mutual_information()
    np.testing.assert_allclose(found, information(CASES[name], root), rtol=0.0, atol=1e-10)


def test_where_the_determinant_loses_all_digits() -> None:
    """The error that is reckoned with says so, and `joint` is right nevertheless (see above)."""
    trees = SpanningTrees(CASES["nested cycles"])
    arcs = random_arcs(16, 400)
    apart = arcs[:200, 1] != arcs[200:, 1]
    first, second = arcs[:200][apart], arcs[200:][apart]
    found, errors = np.empty(len(first)), np.empty(len(first))
    joint_arcs(*trees._weight_gradients(0), first, second, found, errors)
    exact = np.exp(
        [
            trees.log_prob(heads={m: h, j: k})
            for (h, m), (k, j) in zip(first.tolist(), second.tolist(), strict=True)
        ]
    )
    assert np.abs(found - exact).max() > 1.0
    assert (np.abs(found - exact) <= errors + 1e-300).all()
    np.testing.assert_allclose(trees.joint(first, second), exact, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("root", ROOTS)
def test_negligible_heads(root: Any) -> None:
    scores = 5.0 * CASES["sd 1"]
    trees = SpanningTrees(scores, root=root)
    full, short = trees.mutual_information(), trees.mutual_information(negligible=1e-4)
    loss = 2 * len(scores) * 1e-4 * math.log(1e4)
    assert 0.0 < np.abs(full - short).max() <= loss
    with pytest.raises(ValueError, match=r"negligible must be from 0 to below 1: got 1\.0"):
        trees.mutual_information(negligible=1.0)


def test_labels_are_independent_given_their_arcs() -> None:
    """P(h, m, l; k, j, l') = P(h, m; k, j) P(l | h, m) P(l' | k, j)."""
    trees = SpanningTrees(CASES["labelled"])
    marginals = trees.marginals()
    both = trees.joint((2, 1), (3, 4))
    for first in range(3):
        for second in range(3):
            expected = (
                both
                * marginals[2, 1, first]
                / marginals[2, 1].sum()
                * marginals[3, 4, second]
                / marginals[3, 4].sum()
            )
            found = trees.joint((2, 1, first), (3, 4, second))
            assert found == pytest.approx(expected, rel=1e-10)
    assert trees.joint((2, 1, 0), (2, 1, 1)) == 0.0
    assert trees.joint((2, 1), (2, 1, 1)) == pytest.approx(marginals[2, 1, 1], rel=1e-12)
    assert trees.conditional((3, 4, 1), given=(3, 4)) == pytest.approx(
        marginals[3, 4, 1] / marginals[3, 4].sum(), rel=1e-12
    )

"""Limits of the number of modifiers, against the list of all projective trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.higher_order import (
    ORDERS,
    PARTS,
    SUBSETS,
    enumerated,
    factor_log_marginals,
)
from support.law_base import assert_accurate, assert_log_marginals, assert_marginals, key_of
from support.sibling_cases import as_parts

from crossarc import InfeasibleError, ProjectiveTrees, ScoreError, Tree

ROOTS = ["single", "multi"]


def drawn(n: int, names: Any, forbidden: float, seed: int) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng([seed, n])
    scores = rng.normal(size=(n + 1, n + 1))
    lost = rng.random(scores.shape) < forbidden
    lost[np.arange(n), np.arange(1, n + 1)] = False
    scores[lost] = -np.inf
    return scores, {name: rng.normal(size=(n + 1,) * ORDERS[name]) for name in names}


# No tree has the last ones: they leave four words without a head.
LIMITS = [1, 2, [2, 0, 1, 3, 2, 1], [1, 2, 1, 0, 3, 2], [1, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("names", SUBSETS, ids=lambda names: "+".join(names) or "arcs")
@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
def test_all_trees(root: str, names: tuple[str, ...], limits: Any, forbidden: float) -> None:
    scores, factors = drawn(5, names, forbidden, 0)
    truth = enumerated(scores, root, factors, np.broadcast_to(limits, 6))
    trees = ProjectiveTrees(scores, root=root, max_modifiers=limits, **factors)
    assert truth.feasible == (limits != LIMITS[-1])
    if not truth.feasible:
        assert trees.log_partition() == -math.inf
        return
    assert_accurate(trees.log_partition(), truth.log_partition())
    assert_marginals(trees.marginals(), truth.marginals)
    for name, logs in factor_log_marginals(truth, factors).items():
        assert_log_marginals(trees.log_marginals(name), logs)
    ranked = [key_of(tree) for tree in trees.kbest(500)]
    assert ranked == [tree.key for tree in truth.trees]
    assert_accurate(trees.entropy(), truth.entropy())


def test_words_that_are_not_counted_beside_words_that_are() -> None:
    """A limit that cannot be exceeded, of a word or of the root, changes nothing."""
    scores, factors = drawn(6, tuple(PARTS), 0.4, 4)
    for limits in ([6, 6, 6, 1, 6, 6, 6], [2, 6, 6, 6, 6, 6, 6], [6] * 7):
        truth = enumerated(scores, "multi", factors, np.array(limits))
        trees = ProjectiveTrees(scores, root="multi", max_modifiers=limits, **factors)
        assert_accurate(trees.log_partition(), truth.log_partition())
        assert_marginals(trees.marginals(), truth.marginals)


def test_chains_of_long_sentences() -> None:
    """With one modifier a node, projective trees are chains: 2^(n - 1) of them.

    From the inside out: each word but the last two of a chain leaves the rest on one side of it.
    """
    for n in range(1, 6):
        truth = enumerated(np.zeros((n + 1, n + 1)), "single", {}, np.ones(n + 1))
        assert len(truth.trees) == 2 ** (n - 1)
    trees = ProjectiveTrees(np.zeros((31, 31)), max_modifiers=1)
    assert trees.log_partition() == pytest.approx(29 * math.log(2), rel=1e-14)


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_parts_that_limits_exclude_are_never_read(limit: int) -> None:
    """Two siblings need a limit of 2, three one of 3; listed parts are those of the array."""
    scores, factors = drawn(6, tuple(PARTS), 0.0, 3)
    nodes = np.arange(7)
    later = np.ones((7, 7, 7), bool)
    later[nodes, nodes] = False
    if limit < 3:
        factors["tri_sibling"][:] = np.nan
    if limit < 2:
        factors["sibling"][later] = factors["grand_sibling"][:, later] = np.nan
    full = ProjectiveTrees(scores, max_modifiers=limit, **factors)
    listed = {name: as_parts(factor) for name, factor in factors.items()}
    sparse = ProjectiveTrees(scores, max_modifiers=limit, **listed)
    clean = {name: np.nan_to_num(factor) for name, factor in factors.items()}
    truth = enumerated(scores, "single", clean, np.full(7, limit))
    logs = factor_log_marginals(truth, clean)
    for trees in (full, sparse):
        assert_accurate(trees.log_partition(), truth.log_partition())
    for name, parts in listed.items():
        assert_log_marginals(full.log_marginals(name), logs[name])
        assert_log_marginals(sparse.log_marginals(name), logs[name][tuple(parts.index.T)])


@pytest.mark.parametrize("root", ROOTS)
def test_probabilities_of_trees(root: str) -> None:
    scores, factors = drawn(4, ("grandchild",), 0.0, 1)
    truth = enumerated(scores, root, factors, np.full(5, 2))
    trees = ProjectiveTrees(scores, root=root, max_modifiers=2, **factors)
    for tree in truth.trees:
        assert_accurate(trees.log_prob(Tree(tree.heads)), truth.log_prob(tree.heads))
    assert trees.log_prob(Tree([4, 4, 4, 0])) == -math.inf
    assert trees.log_prob(heads={1: 4, 2: 4, 3: 4}) == -math.inf
    assert trees.log_prob(heads={1: 4, 2: 4}) == pytest.approx(truth.log_joint({1: 4, 2: 4}))
    known = trees.given({2: 1})
    assert_marginals(known.marginals(), truth.given({2: 1}, {}).marginals)
    assert known.log_prob(Tree([0, 1, 1, 1])) == -math.inf


def test_divergence_of_limits() -> None:
    scores, factors = drawn(5, ("sibling",), 0.0, 2)
    limits = [5, 2, 1]
    trees = [ProjectiveTrees(scores, max_modifiers=k, **factors) for k in limits]
    trees.append(ProjectiveTrees(scores, **factors))
    for wide, narrow in ((0, 1), (1, 2), (0, 2), (3, 1)):
        share = trees[wide].log_partition() - trees[narrow].log_partition()
        assert trees[narrow].kl(trees[wide]) == pytest.approx(share, rel=1e-11)
        assert trees[wide].kl(trees[narrow]) == math.inf
    assert trees[0].kl(trees[3]) == pytest.approx(0.0, abs=1e-12)
    # Where no tree exceeds the limit, it does not tell distributions apart.
    chain = np.full((4, 4), -np.inf)
    chain[[0, 1, 2], [1, 2, 3]] = 0.0
    free, limited = ProjectiveTrees(chain), ProjectiveTrees(chain, max_modifiers=1)
    assert free.kl(limited) == 0.0
    assert free.cross_entropy(limited) == 0.0


def test_batches() -> None:
    scores = [np.zeros((n + 1, n + 1)) for n in (2, 4, 3)]
    limits = [1, [1, 2, 0, 2, 2], 3]
    batch = ProjectiveTrees(scores, max_modifiers=limits)
    for index, (one, limit) in enumerate(zip(scores, limits, strict=True)):
        trees = ProjectiveTrees(one, max_modifiers=limit)
        assert batch.log_partition()[index] == trees.log_partition()
        assert batch.argmax()[index] == trees.argmax()
    assert ProjectiveTrees(scores, max_modifiers=1).log_partition() == pytest.approx(
        [math.log(2), math.log(8), math.log(4)]
    )


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (-1, r"sentence 0: max_modifiers must be one whole number from 0 on, or 4 of them"),
        (1.5, r"got 1\.5"),
        ([[1, 1, 1], 2], r"sentence 0: .* or 4 of them, the root's first: got \[1, 1, 1\]"),
        ([1, [1, 2]], "sentence 1: max_modifiers"),
        ([1, 2, 3], "max_modifiers must be one number, or a list of 2, as there are sentences"),
    ],
)
def test_wrong_limits(limits: Any, message: str) -> None:
    with pytest.raises(ScoreError, match=message):
        ProjectiveTrees([np.zeros((4, 4)), np.zeros((3, 3))], max_modifiers=limits)


def test_no_tree_within_the_limits() -> None:
    trees = ProjectiveTrees(np.zeros((4, 4)), max_modifiers=[1, 0, 0, 0])
    assert trees.log_partition() == -math.inf
    with pytest.raises(InfeasibleError):
        trees.argmax()

"""Projective trees measured by a distribution over all trees, against sums over every tree."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

import crossarc as ca
from crossarc.errors import TreebankError


def trees(n: int, root: str) -> list[ca.Tree]:
    found = []
    for heads in product(range(n + 1), repeat=n):
        try:
            tree = ca.Tree(list(heads))
        except TreebankError:
            continue
        if root == "multi" or tree.is_single_root:
            found.append(tree)
    return found


@pytest.mark.parametrize("root", ["single", "multi"])
@pytest.mark.parametrize("n", [1, 3, 4])
@pytest.mark.parametrize("sibling", [False, True])
def test_divergence_of_projective_trees_from_all_trees(n: int, root: str, sibling: bool) -> None:
    rng = np.random.default_rng(n)
    own, others = rng.normal(size=(2, n + 1, n + 1))
    factor = rng.normal(size=(n + 1,) * 3) if sibling else None
    p = ca.ProjectiveTrees(own, root=root, sibling=factor)
    q = ca.SpanningTrees(others, root=root)
    logs = [(p.log_prob(tree), q.log_prob(tree)) for tree in trees(n, root) if tree.is_projective]
    cross = -sum(math.exp(a) * b for a, b in logs)
    divergence = sum(math.exp(a) * (a - b) for a, b in logs)
    assert p.cross_entropy(q) == pytest.approx(cross, abs=1e-12)
    assert p.kl(q) == pytest.approx(divergence, abs=1e-12)


def test_what_the_other_forbids_is_infinitely_far() -> None:
    forbidding = np.zeros((4, 4))
    forbidding[3, 2] = -np.inf
    p = ca.ProjectiveTrees(np.zeros((4, 4)))
    assert p.kl(ca.SpanningTrees(forbidding)) == math.inf
    # What no projective tree uses may be forbidden.
    assert ca.ProjectiveTrees(forbidding).kl(ca.SpanningTrees(forbidding)) < math.inf


def test_batches_and_labels() -> None:
    rng = np.random.default_rng(0)
    scores = [rng.normal(size=(n + 1, n + 1, 2)) for n in (2, 4)]
    p, q = ca.ProjectiveTrees(scores), ca.SpanningTrees(scores)
    # Over the same scores p is q under the condition that no arcs cross.
    expected = [a - b for a, b in zip(q.log_partition(), p.log_partition(), strict=True)]
    np.testing.assert_allclose(p.kl(q), expected, atol=1e-12)


def test_the_other_way_is_refused() -> None:
    p, q = ca.ProjectiveTrees(np.zeros((4, 4))), ca.SpanningTrees(np.zeros((4, 4)))
    with pytest.raises(ca.ScoreError, match=r"got SpanningTrees and ProjectiveTrees\. Of two"):
        q.kl(p)

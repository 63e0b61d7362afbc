"""DependencyTrees in the manner of torch.distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.brute_force import BruteForce, projective_tree

from crossarc import ScoreError

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.inference.torch import DependencyTrees, Trees, log_partition  # noqa: E402
from crossarc.inference.torch.trees import indicators  # noqa: E402

LENGTHS = [3, 2]


def scores(labels: int = 0) -> Any:
    shape = (2, 4, 4, labels) if labels else (2, 4, 4)
    return torch.tensor(np.random.default_rng(4).normal(size=shape))


def truth(given: Any, index: int) -> BruteForce:
    n = LENGTHS[index] + 1
    return BruteForce(given[index, :n, :n].numpy(), "single", projective_tree)


def as_trees(tree: Any, is_labelled: bool) -> Trees:
    """The same tree for sentence 0, with the tree 0, 1 for sentence 1."""
    heads = torch.tensor([tree.heads, (0, 1, -1)])
    return Trees(heads, torch.tensor([tree.labels, (0, 0, -1)]) if is_labelled else None)


@pytest.mark.parametrize("labels", [0, 2])
def test_shapes_and_probabilities(labels: int) -> None:
    given = scores(labels)
    trees = DependencyTrees(given, LENGTHS, projective=True)
    assert trees.batch_shape == (2,)
    assert trees.event_shape == given.shape[1:]
    total = 0.0
    for tree in truth(given, 0).trees:
        value = indicators(as_trees(tree, labels > 0), given)
        log_prob = trees.log_prob(value)
        expected = truth(given, 0).log_prob(tree.heads, tree.labels)
        assert log_prob[0].item() == pytest.approx(expected, abs=1e-12)
        total += log_prob[0].exp().item()
    assert total == pytest.approx(1.0)
    for index in range(2):
        n, exact = LENGTHS[index] + 1, truth(given, index)
        np.testing.assert_allclose(trees.mean[index, :n, :n], exact.marginals, rtol=1e-12)
        assert trees.entropy()[index].item() == pytest.approx(exact.entropy())
        best = exact.trees[0]
        assert {tuple(cell) for cell in trees.mode[index].nonzero().tolist()} == set(best.cells())
    mean = trees.mean
    assert torch.equal(trees.variance, mean * (1 - mean))


def test_samples() -> None:
    given = scores(2)
    trees = DependencyTrees(given, torch.tensor(LENGTHS), projective=True)
    torch.manual_seed(0)
    drawn = trees.sample((50, 40))
    assert drawn.shape == (50, 40, 2, 4, 4, 2)
    assert trees.support.check(drawn).all()
    assert trees.log_prob(drawn).shape == (50, 40, 2)
    # 2,000 draws: five standard deviations of an arc's share are at most 0.056.
    assert (drawn.mean((0, 1)) - trees.mean).abs().max() < 0.056
    assert trees.sample().shape == (2, 4, 4, 2)


def test_log_prob_has_the_gradient_of_its_parts() -> None:
    given = scores().requires_grad_()
    trees = DependencyTrees(given, LENGTHS)
    value = trees.mode
    (ours,) = torch.autograd.grad(trees.log_prob(value).sum(), given)
    (theirs,) = torch.autograd.grad(log_partition(given, LENGTHS).sum(), given)
    torch.testing.assert_close(ours, value - theirs)


def test_what_is_no_tree_is_refused() -> None:
    trees = DependencyTrees(scores(), LENGTHS, projective=True)
    good = indicators(Trees(torch.tensor([[0, 1, 2], [0, 1, -1]]), None), trees.scores)
    assert trees.log_prob(good).shape == (2,)
    for heads in ([2, 1, 0], [0, 0, 1], [0, 1, -1]):
        bad = indicators(Trees(torch.tensor([heads, [0, 1, -1]]), None), trees.scores)
        with pytest.raises(ValueError, match="to be within the support"):
            trees.log_prob(bad)
    flat = DependencyTrees(torch.zeros(1, 5, 5), projective=True)
    crossing = indicators(Trees(torch.tensor([[3, 0, 2, 1]]), None), flat.scores)
    with pytest.raises(ValueError, match="to be within the support"):
        flat.log_prob(crossing)
    with pytest.raises(ValueError, match="to be within the support"):
        trees.log_prob(good * 0.5)
    with pytest.raises(ScoreError, match=r"scores\[0, 1\] is nan"):
        DependencyTrees(torch.full((1, 3, 3), math.nan)).entropy()


def test_forbidden_arcs_are_impossible() -> None:
    given = scores()
    given[0, 2, 3] = -math.inf
    trees = DependencyTrees(given, LENGTHS)
    value = indicators(Trees(torch.tensor([[0, 1, 2], [0, 1, -1]]), None), given)
    assert trees.log_prob(value)[0] == -math.inf
    assert trees.log_prob(value)[1] > -math.inf

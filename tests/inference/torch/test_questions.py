"""Tensors in and out: the same numbers as for arrays, gradients, padding, dtypes, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.brute_force import BruteForce, any_tree, projective_tree

from crossarc import InfeasibleError, ProjectiveTrees, ScoreError, SpanningTrees

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.inference import torch as ct  # noqa: E402

KINDS = [(root, projective) for root in ("single", "multi") for projective in (False, True)]
LENGTHS = [4, 2, 3, 1]


def padded(labels: int = 0, seed: int = 0, sd: float = 1.0) -> Any:
    """Scores of four sentences, some arcs forbidden, with padding that must not be read."""
    chance = np.random.default_rng(seed)
    shape = (4, 5, 5, labels) if labels else (4, 5, 5)
    scores = chance.normal(0.0, sd, shape)
    scores[0, 1, 2] = scores[2, 0, 3] = -np.inf
    for one, n in zip(scores, LENGTHS, strict=True):
        one[n + 1 :] = one[:, n + 1 :] = np.nan
        one[:, 0] = np.inf
    return torch.tensor(scores)


def truths(scores: Any, root: str, projective: bool) -> list[BruteForce]:
    support = projective_tree if projective else any_tree
    return [
        BruteForce(one[: n + 1, : n + 1].detach().numpy(), root, support)
        for one, n in zip(scores, LENGTHS, strict=True)
    ]


def clean(scores: Any) -> Any:
    """The same with nothing to trip over: gradcheck adds to every entry."""
    return torch.nan_to_num(scores, nan=0.0, posinf=0.0, neginf=-math.inf)


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize(("root", "projective"), KINDS)
@pytest.mark.parametrize("sd", [1.0, 150.0])
def test_values_are_those_of_enumeration(
    root: Any, projective: bool, labels: int, sd: float
) -> None:
    scores = padded(labels, sd=sd)
    kind = {"root": root, "projective": projective}
    log_z, entropy = ct.log_partition(scores, LENGTHS, **kind), ct.entropy(scores, LENGTHS, **kind)
    marginals = ct.marginals(scores, torch.tensor(LENGTHS), **kind)
    assert marginals.shape == scores.shape
    for index, truth in enumerate(truths(scores, root, projective)):
        n = LENGTHS[index]
        assert log_z[index].item() == pytest.approx(truth.log_partition(), rel=1e-13)
        assert entropy[index].item() == pytest.approx(truth.entropy(), rel=1e-11, abs=1e-13)
        own = marginals[index].numpy()
        np.testing.assert_allclose(own[: n + 1, : n + 1], truth.marginals, rtol=1e-12, atol=1e-290)
        assert not own[n + 1 :].any()
        assert not own[:, n + 1 :].any()


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize(("root", "projective"), KINDS)
def test_gradients_against_differences(root: Any, projective: bool, labels: int) -> None:
    scores = clean(padded(labels)).requires_grad_()

    def bound(question: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda x: question(x, LENGTHS, root=root, projective=projective)

    for question in (ct.log_partition, ct.marginals, ct.entropy):
        assert torch.autograd.gradcheck(bound(question), (scores,), fast_mode=bool(labels))
    assert torch.autograd.gradgradcheck(bound(ct.log_partition), (scores,), fast_mode=bool(labels))


@pytest.mark.parametrize(("root", "projective"), KINDS)
@pytest.mark.parametrize("sd", [1.0, 150.0])
def test_second_derivatives_are_those_of_enumeration(
    root: Any, projective: bool, sd: float
) -> None:
    """The Hessian of log Z times a direction, three ways: by marginals, by double backward."""
    scores = padded(sd=sd).requires_grad_()
    direction = torch.tensor(np.random.default_rng(1).normal(size=(4, 5, 5)))
    options = {"root": root, "projective": projective}
    marginals = ct.marginals(scores, LENGTHS, **options)
    (by_marginals,) = torch.autograd.grad((marginals * direction).sum(), scores)
    total = ct.log_partition(scores, LENGTHS, **options).sum()
    (gradient,) = torch.autograd.grad(total, scores, create_graph=True)
    (twice,) = torch.autograd.grad((gradient * direction).sum(), scores)
    assert torch.equal(by_marginals, twice)
    (surprise,) = torch.autograd.grad(ct.entropy(scores, LENGTHS, **options).sum(), scores)
    for index, truth in enumerate(truths(scores, root, projective)):
        n = LENGTHS[index] + 1
        expected = truth.slopes(truth.function_values(direction[index].numpy()))
        own = twice[index].numpy()
        bound = 1e-12 * truth.rarity() + 1e-290
        assert (np.abs(own[:n, :n] - expected) <= 10 * bound).all()
        assert not own[n:].any()
        assert not own[:, n:].any()
        expected = -truth.slopes([-gap for gap in truth._gaps])
        assert (np.abs(surprise[index, :n, :n].numpy() - expected) <= 10 * sd * bound).all()
        assert (own[:n, :n][np.isneginf(truth.scores)] == 0.0).all()


@pytest.mark.parametrize(("root", "projective"), KINDS)
def test_trees(root: Any, projective: bool) -> None:
    scores = padded(2)
    kind = ProjectiveTrees if projective else SpanningTrees
    arrays = kind(scores.numpy(), root=root, lengths=LENGTHS)
    options = {"root": root, "projective": projective}
    for ours, theirs in (
        (ct.argmax(scores, LENGTHS, **options), arrays.argmax()),
        (ct.min_risk(scores, LENGTHS, **options), arrays.min_risk()),
    ):
        assert ours.heads.shape == ours.labels.shape == (4, 4)
        for index, tree in enumerate(theirs):
            n = len(tree)
            assert ours.heads[index].tolist() == tree.heads.tolist() + [-1] * (4 - n)
            assert ours.labels[index].tolist() == tree.labels.tolist() + [-1] * (4 - n)
    assert ct.argmax(scores[..., 0], LENGTHS, **options).labels is None


@pytest.mark.parametrize("projective", [True, False], ids=["projective", "spanning"])
def test_samples_are_those_of_arrays(projective: bool) -> None:
    scores = padded(2)
    kind = ProjectiveTrees if projective else SpanningTrees
    drawn = ct.sample(scores, 3, LENGTHS, projective=projective, seed=7)
    expected: list[Any] = kind(scores.numpy(), lengths=LENGTHS).sample(3, seed=7)
    assert drawn.heads.shape == drawn.labels.shape == (3, 4, 4)
    for index, trees in enumerate(expected):
        for rank, tree in enumerate(trees):
            assert drawn.heads[rank, index, : len(tree)].tolist() == tree.heads.tolist()
            assert drawn.labels[rank, index, : len(tree)].tolist() == tree.labels.tolist()
    torch.manual_seed(3)
    first = ct.sample(scores, 5, LENGTHS, projective=projective)
    torch.manual_seed(3)
    assert torch.equal(first.heads, ct.sample(scores, 5, LENGTHS, projective=projective).heads)


def test_single_precision() -> None:
    scores = clean(padded()).float().requires_grad_()
    log_z = ct.log_partition(scores, LENGTHS)
    assert log_z.dtype == torch.float32
    exact = ct.log_partition(scores.detach().double(), LENGTHS)
    torch.testing.assert_close(log_z, exact.float(), rtol=0, atol=0)
    (gradient,) = torch.autograd.grad(log_z.sum(), scores)
    assert gradient.dtype == torch.float32
    assert torch.equal(gradient, ct.marginals(scores.detach().double(), LENGTHS).float())


def test_without_lengths_all_words_count() -> None:
    scores = torch.zeros(2, 4, 4, dtype=torch.float64)
    assert ct.log_partition(scores).exp().tolist() == pytest.approx([9.0, 9.0])
    assert ct.log_partition(scores, root="multi").exp().tolist() == pytest.approx([16.0, 16.0])


def test_no_tree() -> None:
    scores = torch.zeros(2, 3, 3, dtype=torch.float64)
    scores[1, 0] = -math.inf
    scores.requires_grad_()
    log_z = ct.log_partition(scores)
    assert log_z[1] == -math.inf
    (gradient,) = torch.autograd.grad(log_z[0], scores)
    assert not gradient[1].any()
    for question in (ct.marginals, ct.entropy, ct.argmax):
        with pytest.raises(InfeasibleError, match="sentence 1: no tree is possible"):
            question(scores)


def test_scores_that_are_not_served() -> None:
    with pytest.raises(ScoreError, match=r"scores are on meta: move them to the CPU first"):
        ct.log_partition(torch.zeros(1, 3, 3, device="meta"))
    with pytest.raises(ScoreError, match=r"float32 or float64: got torch.bfloat16"):
        ct.log_partition(torch.zeros(1, 3, 3, dtype=torch.bfloat16))
    with pytest.raises(ScoreError, match=r"got \(3, 3\)\. Row 0 is the root"):
        ct.log_partition(torch.zeros(3, 3))
    with pytest.raises(ScoreError, match=r"sentence 0: length 3 is not in 1\.\.2"):
        ct.log_partition(torch.zeros(1, 3, 3), [3])
    with pytest.raises(ScoreError, match=r"sentence 1: scores\[0, 1\] is nan"):
        ct.marginals(torch.full((2, 3, 3), math.nan).index_fill(0, torch.tensor([0]), 0.0))


def test_scores_changed_in_place_are_noticed() -> None:
    scores = torch.zeros(1, 3, 3, dtype=torch.float64, requires_grad=True)
    copy = scores * 1.0
    log_z = ct.log_partition(copy)
    copy[0, 0, 1] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        log_z.sum().backward()


@pytest.mark.parametrize("name", ["marginals", "entropy"])
def test_third_derivatives_are_not_defined(name: str) -> None:
    """And never taken for 0 in silence."""
    scores = torch.zeros(1, 3, 3, dtype=torch.float64, requires_grad=True)
    answer = getattr(ct, name)(scores).flatten()[:2].sum()
    (slope,) = torch.autograd.grad(answer, scores, create_graph=True)
    with pytest.raises(NotImplementedError, match=f"gradient of {name} has no gradient itself"):
        torch.autograd.grad(slope.sum() + scores.sum(), scores)


def test_many_threads_at_once() -> None:
    """Batches from several threads, each with helpers of its own and a backward pass."""
    from concurrent.futures import ThreadPoolExecutor

    chance = np.random.default_rng(2)
    batches = [torch.tensor(chance.normal(size=(16, 12, 12))) for _ in range(12)]

    def both_ways(scores: Any) -> Any:
        leaf = scores.clone().requires_grad_()
        ct.log_partition(leaf, projective=len(leaf) % 2 == 0).sum().backward()
        return leaf.grad

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(both_ways, batches))
    for ours, alone in zip(together, map(both_ways, batches), strict=True):
        assert torch.equal(ours, alone)

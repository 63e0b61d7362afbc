"""Tensors on a GPU: the numbers of tensors on the CPU, on the device of the scores."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="extra [torch] is not installed")

from crossarc.inference import torch as ct  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

LENGTHS = [5, 3]
KINDS = [(root, projective) for root in ("single", "multi") for projective in (False, True)]


def scores(labels: int = 0) -> Any:
    shape = (2, 6, 6, labels) if labels else (2, 6, 6)
    return torch.randn(shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


@pytest.mark.parametrize(("root", "projective"), KINDS)
@pytest.mark.parametrize("labels", [0, 3])
def test_sums_and_their_gradients(labels: int, root: str, projective: bool) -> None:
    options = {"root": root, "projective": projective}
    for question in (ct.log_partition, ct.marginals, ct.entropy):
        on_cpu = scores(labels).requires_grad_()
        on_gpu = scores(labels).cuda().requires_grad_()
        expected, found = (question(one, LENGTHS, **options) for one in (on_cpu, on_gpu))
        assert found.device == on_gpu.device
        assert torch.equal(found.cpu(), expected)
        weights = torch.linspace(0.5, 1.5, expected.numel(), dtype=torch.float64)
        (expected * weights.reshape(expected.shape)).sum().backward()
        (found * weights.cuda().reshape(found.shape)).sum().backward()
        torch.testing.assert_close(on_gpu.grad.cpu(), on_cpu.grad, rtol=1e-12, atol=1e-12)


def test_trees() -> None:
    for question in (ct.argmax, ct.min_risk):
        expected, found = question(scores(3), LENGTHS), question(scores(3).cuda(), LENGTHS)
        assert found.heads.is_cuda
        assert torch.equal(found.heads.cpu(), expected.heads)
        assert torch.equal(found.labels.cpu(), expected.labels)
    drawn = ct.sample(scores().cuda(), 4, LENGTHS, seed=1)
    assert torch.equal(drawn.heads.cpu(), ct.sample(scores(), 4, LENGTHS, seed=1).heads)


def test_a_distribution() -> None:
    trees = ct.DependencyTrees(scores().cuda(), LENGTHS, validate_args=True)
    drawn = trees.sample((3,))
    expected = ct.DependencyTrees(scores(), LENGTHS).log_prob(drawn.cpu())
    torch.testing.assert_close(trees.log_prob(drawn).cpu(), expected)
    assert trees.mode.is_cuda


@pytest.mark.parametrize("is_listed", [False, True])
def test_factors(is_listed: bool) -> None:
    dense = torch.randn(2, 6, 6, 6, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    listed = torch.tensor([[0, 1, 1, 3], [0, 4, 3, 1], [1, 2, 2, 3]])
    results = []
    for device in ("cpu", "cuda"):
        arcs = scores().to(device).requires_grad_()
        values = dense[tuple(listed.T)] if is_listed else dense.clone()
        values = values.to(device).requires_grad_()
        sibling = ct.Parts(listed.to(device), values) if is_listed else values
        log_z = ct.log_partition(arcs, LENGTHS, projective=True, sibling=sibling)
        parts = ct.marginals(arcs, LENGTHS, part="sibling", projective=True, sibling=sibling)
        (log_z * torch.tensor([0.5, 2.0], device=device, dtype=log_z.dtype)).sum().backward()
        assert {one.device for one in (log_z, parts, values.grad)} == {arcs.device}
        results.append([one.cpu() for one in (log_z, parts, arcs.grad, values.grad)])
    for expected, found in zip(*results, strict=True):
        assert torch.equal(found, expected)

"""Tensors on a GPU: log Z with its gradient, and best trees, through page-locked host memory.

    python benchmarks/torch_gpu.py

Batches of 64 and 256 sentences of 20 to 120 words, single root, medians of ten after two calls that
do not count. Beside them the same on CPU tensors, and for non-projective trees a batched float64
log-determinant on the GPU (Koo et al. 2007), which is what one would write without crossarc. Scores
are standard normal.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

torch: Any = importlib.import_module("torch")
trees: Any = importlib.import_module("crossarc.inference.torch")

BATCHES = (64, 256)
SIZES = (20, 40, 80, 120)
ROUNDS = 10


def with_gradient(log_z: Callable[[Any], Any], scores: Any) -> Any:
    leaf = scores.detach().requires_grad_()
    total = log_z(leaf)
    return total, torch.autograd.grad(total.sum(), leaf)[0]


def log_determinant(scores: Any) -> Any:
    """log Z of single-root spanning trees by LU decomposition in float64."""
    weights = scores.double().exp()
    n = scores.shape[1] - 1
    inner = weights[:, 1:, 1:] * (1.0 - torch.eye(n, device=scores.device, dtype=torch.float64))
    laplacian = torch.diag_embed(inner.sum(1)) - inner
    # The row of the first word is replaced by the weights of root arcs.
    matrix = torch.cat([weights[:, :1, 1:], laplacian[:, 1:]], 1)
    return torch.linalg.slogdet(matrix)[1].to(scores.dtype)


def milliseconds(job: Callable[[], object]) -> float:
    times = []
    for round_ in range(ROUNDS + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        job()
        torch.cuda.synchronize()
        if round_ >= 2:
            times.append(1e3 * (time.perf_counter() - start))
    return median(times)


def row(batch: int, n: int) -> list[float]:
    scores = torch.randn(batch, n + 1, n + 1, generator=torch.Generator().manual_seed(n))
    on_gpu = scores.cuda()
    figures = []
    for projective in (False, True):
        log_z = partial(trees.log_partition, projective=projective)
        best = partial(trees.argmax, on_gpu, projective=projective)
        expected, gradient = with_gradient(log_z, scores)
        found, found_gradient = with_gradient(log_z, on_gpu)
        assert torch.equal(found.cpu(), expected)
        assert torch.equal(found_gradient.cpu(), gradient)
        figures.append(milliseconds(partial(with_gradient, log_z, on_gpu)))
        figures.append(milliseconds(partial(with_gradient, log_z, scores)))
        figures.append(milliseconds(best))
    found = log_determinant(on_gpu).cpu()
    assert torch.allclose(found, trees.log_partition(scores), rtol=1e-4)
    figures.append(milliseconds(lambda: with_gradient(log_determinant, on_gpu)))
    return figures


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; milliseconds")
    print("batch    n | spanning: GPU   CPU  argmax | projective: GPU   CPU  argmax | LU on GPU")
    for batch in BATCHES:
        for n in SIZES:
            a, b, c, d, e, f, g = row(batch, n)
            print(
                f"{batch:5} {n:4} | {a:13.2f} {b:5.2f} {c:7.2f} "
                f"| {d:15.2f} {e:5.2f} {f:7.2f} | {g:9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

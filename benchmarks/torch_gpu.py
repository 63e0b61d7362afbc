"""Tensors on a GPU: log Z with its gradient, and best trees, beside SuPar and torch-struct.

    python benchmarks/torch_gpu.py

Batches of 64 and 256 sentences of 20 to 120 words, float32, single root, medians of ten calls, or
of as many as two seconds hold, after one that does not count. crossarc computes on the CPU, through
page-locked host memory; SuPar and torch-struct, where they are installed, and a batched float64
log-determinant (Koo et al. 2007), which is what one would write without any of them, on the GPU.
Scores are standard normal, sibling factors dense.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

torch: Any = importlib.import_module("torch")
trees: Any = importlib.import_module("crossarc.inference.torch")

BATCHES = (64, 256)
SIZES = (20, 40, 80, 120)
ROUNDS = 10
LONGEST = 2.0  # seconds
Job = Callable[[], Any]
Jobs = dict[str, Job]


def with_gradient(log_z: Callable[..., Any], *leaves: Any) -> Any:
    """log Z of each sentence, and the gradient of their sum."""
    total = log_z(*leaves)
    return total, torch.autograd.grad(total.sum(), leaves)


def log_determinant(scores: Any) -> Any:
    """log Z of single-root spanning trees by LU decomposition in float64."""
    weights = scores.double().exp()
    n = scores.shape[1] - 1
    inner = weights[:, 1:, 1:] * (1.0 - torch.eye(n, device=scores.device, dtype=torch.float64))
    laplacian = torch.diag_embed(inner.sum(1)) - inner
    # The row of the first word is replaced by the weights of root arcs.
    matrix = torch.cat([weights[:, :1, 1:], laplacian[:, 1:]], 1)
    return torch.linalg.slogdet(matrix)[1].to(scores.dtype)


def leaf(tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_()


def on_diagonal(scores: Any) -> Any:
    """The layout of torch-struct: root arcs stand on the diagonal."""
    inner = scores[:, 1:, 1:].clone()
    diagonal = torch.arange(inner.shape[1], device=scores.device)
    inner[:, diagonal, diagonal] = scores[:, 0, 1:]
    return inner


def sums(scores: Any, projective: bool) -> Jobs:
    """log Z and its gradient, of first order."""
    own = partial(trees.log_partition, projective=projective)
    transposed = leaf(scores.transpose(1, 2).contiguous())  # [modifier, head]
    diagonal = leaf(on_diagonal(scores))
    jobs: Jobs = {"crossarc": partial(with_gradient, own, leaf(scores))}
    structs, library = peer("supar.structs"), peer("torch_struct")
    if structs is not None:
        crf = structs.DependencyCRF if projective else structs.MatrixTree
        options = {} if projective else {"multiroot": False}
        jobs["SuPar"] = lambda: with_gradient(lambda x: crf(x, **options).log_partition, transposed)
    if library is not None:
        kind = library.DependencyCRF if projective else library.NonProjectiveDependencyCRF
        # It writes into its input, which PyTorch allows if that is a result itself.
        jobs["torch-struct"] = lambda: with_gradient(
            lambda x: kind(x.clone(), multiroot=False).partition, diagonal
        )
    if not projective:
        jobs["LU"] = partial(with_gradient, log_determinant, leaf(scores))
    return jobs


def sibling_sums(scores: Any) -> Jobs:
    """log Z and its gradient in the scores of arcs and of siblings [h, s, m]."""
    factor = torch.randn(*scores.shape, scores.shape[1], device=scores.device)
    # SuPar has no part for the first modifier of a head.
    nodes = torch.arange(scores.shape[1], device=scores.device)
    factor[:, nodes, nodes] = 0.0
    jobs: Jobs = {
        "crossarc": partial(
            with_gradient,
            lambda arcs, parts: trees.log_partition(arcs, projective=True, sibling=parts),
            leaf(scores),
            leaf(factor),
        )
    }
    structs = peer("supar.structs")
    if structs is not None:
        arcs = leaf(scores.transpose(1, 2).contiguous())
        parts = leaf(factor.permute(0, 3, 1, 2).contiguous())  # [modifier, head, sibling]
        jobs["SuPar"] = lambda: with_gradient(
            lambda x, y: structs.Dependency2oCRF((x, y)).log_partition, arcs, parts
        )
    return jobs


def best(scores: Any, projective: bool) -> Jobs:
    """Best trees of first order."""
    jobs: Jobs = {"crossarc": lambda: trees.argmax(scores, projective=projective)}
    structs = peer("supar.structs")
    if structs is not None:
        transposed = scores.transpose(1, 2).contiguous()
        crf = structs.DependencyCRF if projective else structs.MatrixTree
        options = {} if projective else {"multiroot": False}
        jobs["SuPar"] = lambda: crf(transposed, **options).argmax
    return jobs


TABLES: dict[str, Callable[[Any], Jobs]] = {
    "log Z and gradient, non-projective": partial(sums, projective=False),
    "log Z and gradient, projective": partial(sums, projective=True),
    "log Z and gradient, sibling": sibling_sums,
    "best trees, non-projective": partial(best, projective=False),
    "best trees, projective": partial(best, projective=True),
}


def peer(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def milliseconds(job: Job) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        job()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
        if sum(times) > 1e3 * LONGEST:
            break
    return median(times)


def measured(jobs: Jobs, expected: Any) -> list[str]:
    """Milliseconds of each system; a mark where its log Z differs from crossarc's."""
    cells = []
    for name, job in jobs.items():
        try:
            found = job()  # the call that does not count
            figure = f"{milliseconds(job):.1f}"
        except Exception as error:  # of any kind: peers break in many ways under newer libraries
            cells.append(f"{name} - ({type(error).__name__})")
            continue
        if expected is not None and not torch.allclose(found[0].double(), expected, rtol=1e-4):
            figure += " (another log Z)"
        cells.append(f"{name} {figure}")
    return cells


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}; milliseconds")
    for title, make in TABLES.items():
        print(f"\n{title}", flush=True)
        for batch in BATCHES:
            for n in SIZES:
                torch.manual_seed(n)
                scores = torch.randn(batch, n + 1, n + 1, device="cuda")
                jobs = make(scores)
                is_sum = title.startswith("log Z")
                expected = jobs["crossarc"]()[0].double() if is_sum else None
                print(f"{batch:5} {n:4}  {'   '.join(measured(jobs, expected))}", flush=True)


if __name__ == "__main__":
    main()

"""PyTorch tensors on the CPU: crossarc beside SuPar and torch-struct.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv-bench/bin/python benchmarks/torch_cpu.py

log Z forward and backward, batch 64, spanning trees (multi-root) and projective ones (single root),
one thread and all cores, in turn, medians of five; then what the parts of crossarc's time are, and
what gradients of marginals and entropy cost.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from support.harness import medians, repeat, shortest

BATCH = 64
SIZES = (20, 50)
#: How many times faster than the faster peer crossarc should be.
ASKED = {"spanning": 5.0, "projective": 30.0}

torch: Any = importlib.import_module("torch")
trees: Any = importlib.import_module("crossarc.inference.torch")
backend_for: Any = importlib.import_module("crossarc.inference.torch.backends").backend_for


class Contender:
    """One system: log Z of a batch as a function of a leaf tensor in its own layout."""

    def __init__(self, leaf: Any, log_z: Callable[[Any], Any]) -> None:
        self.leaf, self.log_z = leaf.requires_grad_(), log_z

    def both_ways(self) -> Any:
        """Forward and backward."""
        return torch.autograd.grad(self.log_z(self.leaf).sum(), self.leaf)


def ours(batch: Any, kind: str) -> Contender:
    is_projective = kind == "projective"
    root = "single" if is_projective else "multi"
    return Contender(
        batch.clone(), partial(trees.log_partition, root=root, projective=is_projective)
    )


def supar(batch: Any, kind: str) -> Contender:
    structs = importlib.import_module("supar.structs")
    leaf = batch.transpose(1, 2).contiguous()  # [modifier, head]
    if kind == "projective":
        return Contender(leaf, lambda x: structs.DependencyCRF(x).log_partition)
    return Contender(leaf, lambda x: structs.MatrixTree(x, multiroot=True).log_partition)


def torch_struct(batch: Any, kind: str) -> Contender:
    library = importlib.import_module("torch_struct")
    leaf = batch[:, 1:, 1:].clone()
    diagonal = torch.arange(leaf.shape[1])
    leaf[:, diagonal, diagonal] = batch[:, 0, 1:]  # root arcs stand on the diagonal
    if kind == "projective":
        # It writes into its input, which PyTorch allows if that is a result itself.
        return Contender(
            leaf, lambda x: library.DependencyCRF(x.clone(), multiroot=False).partition
        )
    crf = library.NonProjectiveDependencyCRF
    return Contender(leaf, lambda x: crf(x.clone(), multiroot=True).partition)


def contenders(batch: Any, kind: str) -> dict[str, Contender]:
    found = {"crossarc": ours(batch, kind)}
    expected = found["crossarc"].log_z(batch).double()
    for name, make in (("SuPar", supar), ("torch-struct", torch_struct)):
        try:
            peer = make(batch, kind)
            peer.both_ways()
            worst = float((peer.log_z(peer.leaf).double() / expected - 1.0).abs().max())
        except Exception as error:  # of any kind: peers break in many ways under newer libraries
            print(f"  {name} does not run here ({type(error).__name__}: {error})")
            continue
        if not worst < 1e-4:
            print(f"  {name} differs: log Z by {worst:.1e}")
        found[name] = peer
    return found


def set_threads(count: int) -> None:
    torch.set_num_threads(count)
    os.environ["CROSSARC_THREADS"] = str(count)


def random_batch(n: int, dtype: Any) -> Any:
    return torch.tensor(np.random.default_rng(n).normal(size=(BATCH, n + 1, n + 1)), dtype=dtype)


def compare(kind: str, dtype: Any, n: int) -> None:
    systems = contenders(random_batch(n, dtype), kind)
    jobs: dict[str, Callable[[], object]] = {}
    times = {}
    for name, system in systems.items():
        times[name] = max(1, int(0.05 / shortest(system.both_ways, 3)))
        jobs[name] = partial(repeat, system.both_ways, times[name])
    seconds = {name: value / times[name] for name, value in medians(jobs).items()}
    shown = "  ".join(f"{name} {1e3 * value:.2f}" for name, value in seconds.items())
    line = f"  {kind} n={n} {str(dtype).removeprefix('torch.')}: ms {shown}"
    peers = [value for name, value in seconds.items() if name != "crossarc"]
    if peers:
        ratio, asked = min(peers) / seconds["crossarc"], ASKED[kind]
        verdict = "" if ratio >= asked else "  LESS THAN ASKED"
        line += f"; {ratio:.1f}x the faster peer (asked {asked:.0f}x){verdict}"
    print(line, flush=True)


def both_ways(question: Callable[[Any], Any], leaf: Any) -> Any:
    return torch.autograd.grad(question(leaf).sum(), leaf)


def parts(kind: str, n: int) -> None:
    """How much of crossarc's own time is spent in kernels, and how much around them."""
    options = {"projective": kind == "projective"}
    root = "single" if kind == "projective" else "multi"
    batch = random_batch(n, torch.float64)
    leaf = batch.clone().requires_grad_()
    make = partial(backend_for, batch, None, root, kind == "projective", {})
    ready = make()
    packing = shortest(make)
    reading = shortest(lambda: (ready.log_partition(True), ready.marginals("arc")))
    whole = shortest(ours(batch, kind).both_ways)
    first = partial(trees.marginals, root=root, **options)
    second = shortest(partial(both_ways, lambda x: first(x)[:, 0, 1], leaf), 5)
    surprise = shortest(partial(both_ways, partial(trees.entropy, root=root, **options), leaf), 5)
    print(
        f"  {kind} n={n}: log Z both ways {1e3 * whole:.2f} (checks and packing "
        f"{1e3 * packing:.2f}, reading results {1e3 * reading:.2f}); marginals both ways "
        f"{1e3 * second:.1f}; entropy both ways {1e3 * surprise:.1f}",
        flush=True,
    )


def main() -> None:
    warnings.simplefilter("ignore")
    cores = len(os.sched_getaffinity(0))
    for count in dict.fromkeys((1, cores)):
        set_threads(count)
        print(f"log Z forward and backward, batch {BATCH}, {count} thread(s)")
        for kind in ASKED:
            for n in SIZES:
                for dtype in (torch.float64, torch.float32):
                    compare(kind, dtype, n)
    set_threads(1)
    print("\ncrossarc alone, one thread, ms a batch")
    for kind in ASKED:
        for n in SIZES:
            parts(kind, n)


if __name__ == "__main__":
    main()

"""Best trees, log Z and marginals of the peers' projective trees, from crossarc's layout."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Peer", "first_order_peers", "sibling_peers"]

Floats = NDArray[np.float64]


class Peer:
    """One system and one batch: what is timed is from tensors to answers, single root."""

    def __init__(self, make: Callable[[], Any], log_z: str, names: tuple[str, str]) -> None:
        self._make, self._log_z, self._names = make, log_z, names

    def best(self) -> Any:
        """Best trees, in the peer's own form."""
        return getattr(self._make(), self._names[0])

    def sums(self) -> Any:
        """log Z and marginals."""
        trees = self._make()
        return getattr(trees, self._names[1]), getattr(trees, self._log_z)

    def log_z(self) -> list[float]:
        """log Z of each sentence."""
        return [float(value) for value in getattr(self._make(), self._log_z)]


def first_order_peers(batch: Floats) -> dict[str, Peer]:
    """Those that are installed and answer; `batch` is (sentences, n + 1, n + 1)."""

    def supar() -> Peer:
        torch, structs = importlib.import_module("torch"), importlib.import_module("supar.structs")
        tensor = torch.tensor(batch.transpose(0, 2, 1).copy())  # [modifier, head]
        return Peer(lambda: structs.DependencyCRF(tensor), "log_partition", ("argmax", "marginals"))

    def torch_struct() -> Peer:
        torch, library = importlib.import_module("torch"), importlib.import_module("torch_struct")
        potentials = batch[:, 1:, 1:].copy()
        for own, scores in zip(potentials, batch, strict=True):
            np.fill_diagonal(own, scores[0, 1:])  # root arcs stand on the diagonal
        # It writes into its input, which PyTorch allows if that is a result itself.
        tensor = torch.tensor(potentials).requires_grad_()
        return Peer(
            lambda: library.DependencyCRF(tensor.clone(), multiroot=False),
            "partition",
            ("argmax", "marginals"),
        )

    return _running({"SuPar": supar, "torch-struct": torch_struct})


def sibling_peers(batch: Floats, factors: Floats) -> dict[str, Peer]:
    """SuPar alone has a sibling model; `factors` are [h, s, m]."""

    def supar() -> Peer:
        torch, structs = importlib.import_module("torch"), importlib.import_module("supar.structs")
        arcs = torch.tensor(batch.transpose(0, 2, 1).copy())
        parts = torch.tensor(factors.transpose(0, 3, 1, 2).copy())  # [modifier, head, sibling]
        return Peer(
            lambda: structs.Dependency2oCRF((arcs, parts)),
            "log_partition",
            ("argmax", "marginals"),
        )

    return _running({"SuPar": supar})


def _running(makers: dict[str, Callable[[], Peer]]) -> dict[str, Peer]:
    running = {}
    for name, make in makers.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                running[name] = make()
                running[name].log_z()
        except Exception as error:  # of any kind: peers break in many ways under newer libraries
            running.pop(name, None)
            print(f"  {name} does not run here ({type(error).__name__}: {error})")
    return running

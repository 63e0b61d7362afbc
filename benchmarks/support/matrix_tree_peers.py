"""log Z and marginals of the peers that are installed, from crossarc's score layout."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["running_peers"]

Floats = NDArray[np.float64]
Answer = tuple[float, Floats]  # log Z, marginals
System = Callable[[Floats, str], Answer]

_TWO_WORDS = np.array([[-np.inf, 0.0, 0.0], [-np.inf, -np.inf, 0.0], [-np.inf, 0.0, -np.inf]])


def supar(scores: Floats, root: str) -> Answer:
    torch, structs = importlib.import_module("torch"), importlib.import_module("supar.structs")
    tensor = torch.tensor(scores.T.copy())[None]  # [modifier, head]
    trees = structs.MatrixTree(tensor, multiroot=root == "multi")
    return float(trees.log_partition[0]), trees.marginals[0].detach().numpy().T


def torch_struct(scores: Floats, root: str) -> Answer:
    torch, library = importlib.import_module("torch"), importlib.import_module("torch_struct")
    potentials = scores[1:, 1:].copy()
    np.fill_diagonal(potentials, scores[0, 1:])  # root arcs stand on the diagonal
    trees = library.NonProjectiveDependencyCRF(
        torch.tensor(potentials)[None], multiroot=root == "multi"
    )
    found = trees.marginals[0].numpy().copy()
    marginals = np.zeros(scores.shape)
    marginals[0, 1:] = np.diag(found)
    np.fill_diagonal(found, 0.0)
    marginals[1:, 1:] = found
    return float(trees.partition[0]), marginals


def synjax(scores: Floats, root: str) -> Answer:
    jax, library = importlib.import_module("jax"), importlib.import_module("synjax")
    jax.config.update("jax_enable_x64", True)
    trees = library.SpanningTreeCRF(
        jax.numpy.asarray(scores),
        directed=True,
        projective=False,
        single_root_edge=root == "single",
    )
    return float(trees.log_partition()), np.asarray(trees.marginals(), dtype=np.float64)


PEERS: dict[str, tuple[System, str]] = {
    "SuPar": (supar, "supar.structs"),
    "torch-struct": (torch_struct, "torch_struct"),
    "SynJax": (synjax, "synjax"),
}


def running_peers() -> tuple[dict[str, System], list[str]]:
    """The peers that answer for two words, by name; and a line about each that does not."""
    running, remarks = {}, []
    for name, (system, module) in PEERS.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(module)
                system(_TWO_WORDS.copy(), "single")
        except ImportError:
            remarks.append(f"{name}: not installed")
        except Exception as error:  # of any kind: peers break in many ways under newer libraries
            remarks.append(f"{name}: does not run here ({type(error).__name__}: {error})")
        else:
            running[name] = system
    return running, remarks

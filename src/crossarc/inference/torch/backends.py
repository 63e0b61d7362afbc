"""What computes: here is decided which device is served, and by what.

A backend answers questions about one batch of padded scores with tensors, and knows nothing of
gradients; those are in `gradients`. There is one, the compiled kernels, which run on the CPU.
Scores on a GPU are copied to page-locked host memory and results are copied back; both copies are
queued on the current stream, and only the one to the host is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from crossarc.errors import ScoreError
from crossarc.inference.distribution import Root, TreeDistribution
from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.spanning import SpanningTrees
from crossarc.trees import Tree

__all__ = ["Kernels", "Lengths", "backend_for"]

Floats = NDArray[np.float64]
Lengths: TypeAlias = "Tensor | Sequence[int] | None"


def backend_for(scores: Tensor, lengths: Lengths, root: Root, projective: bool) -> Kernels:
    """What answers for the scores on their device.

    Raises:
        ScoreError: a device or a dtype that is not served, a wrong shape, NaN or plus infinity.
    """
    if scores.device.type not in ("cpu", "cuda"):
        raise ScoreError(
            f"scores are on {scores.device}: move them to the CPU first, with scores.cpu()"
        )
    if scores.dtype not in (torch.float32, torch.float64):
        raise ScoreError(f"scores must be float32 or float64: got {scores.dtype}")
    return Kernels(scores.detach(), lengths, root, projective)


def _on_host(tensor: Tensor) -> Tensor:
    """The tensor if it is on the CPU, else a copy of it in page-locked memory."""
    if tensor.device.type == "cpu":
        return tensor
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host.copy_(tensor, non_blocking=True)
    torch.cuda.current_stream(tensor.device).synchronize()
    return host


class Kernels:
    """A batch of padded scores, and what the compiled kernels say about it.

    Attributes:
        trees: the distribution that the kernels serve, in float64.
    """

    def __init__(self, scores: Tensor, lengths: Lengths, root: Root, projective: bool) -> None:
        if scores.ndim not in (3, 4) or scores.shape[1] != scores.shape[2]:
            raise ScoreError(
                "scores must be (batch, n+1, n+1) or (batch, n+1, n+1, labels): got "
                f"{tuple(scores.shape)}. Row 0 is the root"
            )
        if lengths is None:
            words = [scores.shape[1] - 1] * len(scores)
        else:
            words = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
        kind = ProjectiveTrees if projective else SpanningTrees
        self.trees: TreeDistribution = kind(_on_host(scores).numpy(), root=root, lengths=words)
        self._shape, self._dtype, self._words = tuple(scores.shape), scores.dtype, words
        self._device = scores.device

    def log_partition(self, with_marginals: bool) -> Tensor:
        """(batch,); -inf where there is no tree. Marginals come at little cost if asked for now."""
        if with_marginals:
            self.trees._flat_marginals(False)  # kept there, and the sums with them
        totals = self.trees._totals
        return self._tensor(totals[0] + totals[1])

    def require_trees(self) -> None:
        """Raise InfeasibleError for the first sentence without a tree."""
        for index in np.flatnonzero(np.isneginf(self.trees._totals[0])).tolist():
            self.trees._feasible_total(index)

    def marginals(self, times: Tensor | None = None) -> Tensor:
        """In the shape of the scores; 0 where there is no tree, and in the padding.

        Args:
            times: (batch,), what each sentence's are multiplied with.
        """
        if len(self._shape) == 3:
            flat = self.trees._flat_marginals(False)
            tables = self.trees._batch.padded(flat, self._shape[1])
        else:
            tables = self._padded([self.trees._marginals(i, False) for i in range(self._shape[0])])
        if times is None:
            return self._tensor(tables)
        factors = _on_host(times).numpy().reshape(-1, *[1] * (len(self._shape) - 1))
        return self._tensor(np.multiply(tables, factors))

    def hessian_product(self, direction: Tensor) -> Tensor:
        """The derivative of the marginals along a direction, in the shape of the scores."""
        given = _on_host(direction).numpy()
        own = [given[index, : n + 1, : n + 1] for index, n in enumerate(self._words)]
        return self._tensor(self._padded(self.trees.hessian_product(own)))

    def entropy(self) -> Tensor:
        """(batch,), in nats."""
        return self._tensor(np.array(self.trees.entropy()))

    def entropy_gradient(self) -> Tensor:
        """In the shape of the scores."""
        return self._tensor(self._padded(self.trees.entropy_gradient()))

    def argmax(self) -> list[Tree]:
        """The best tree of each sentence."""
        return list(self.trees.argmax())

    def min_risk(self) -> list[Tree]:
        """Of each sentence the tree with the highest expected number of right arcs."""
        return list(self.trees.min_risk())

    def sample(self, k: int, seed: int | None) -> list[list[Tree]]:
        """k trees of each sentence."""
        return list(self.trees.sample(k, seed=seed))

    def _padded(self, tables: Sequence[Floats]) -> Floats:
        out = np.zeros(self._shape)
        for index, (table, n) in enumerate(zip(tables, self._words, strict=True)):
            out[index, : n + 1, : n + 1] = table
        return out

    def _tensor(self, array: Floats) -> Tensor:
        """In the dtype and on the device of the scores, and private."""
        dtype = np.float64 if self._dtype == torch.float64 else np.float32
        host = torch.from_numpy(array.astype(dtype, copy=not array.flags.writeable))
        if self._device.type == "cpu":
            return host
        return host.pin_memory().to(self._device, non_blocking=True)

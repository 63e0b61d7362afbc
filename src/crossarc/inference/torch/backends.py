"""What computes: here is decided which device is served, and by what.

A backend answers questions about one batch of padded scores with tensors, and knows nothing of
gradients; those are in `gradients`. There is one, the compiled kernels, which run on the CPU.
Scores on a GPU are copied to page-locked host memory and results are copied back; both copies are
queued on the current stream, and only the one to the host is waited for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from crossarc.errors import ScoreError
from crossarc.inference.distribution import Root, TreeDistribution
from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.spanning import SpanningTrees
from crossarc.inference.torch.factors import (
    FactorTensor,
    Layout,
    Listed,
    Padded,
    Parts,
    score_tensor,
)
from crossarc.inference.typed import Many
from crossarc.once import once
from crossarc.parallel import over_ranges
from crossarc.trees import Tree

__all__ = ["Kernels", "Lengths", "backend_for", "word_counts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Lengths: TypeAlias = "Tensor | Sequence[int] | None"


def backend_for(
    scores: Tensor,
    lengths: Lengths,
    root: Root,
    projective: bool,
    factors: Mapping[str, FactorTensor],
) -> Kernels:
    """What answers for scores and factors, as `checked_factors` has them, on their device.

    Raises:
        ScoreError: a device or a dtype that is not served, a wrong shape, NaN or plus infinity.
    """
    tensors = {"scores": scores} | {name: score_tensor(one) for name, one in factors.items()}
    for name, tensor in tensors.items():
        if tensor.device.type not in ("cpu", "cuda"):
            raise ScoreError(
                f"{name} are on {tensor.device}: move them to the CPU first, with {name}.cpu()"
            )
        if tensor.device != scores.device:
            raise ScoreError(f"{name} are on {tensor.device}, scores on {scores.device}: move them")
        if tensor.dtype not in (torch.float32, torch.float64):
            raise ScoreError(f"{name} must be float32 or float64: got {tensor.dtype}")
    return Kernels(scores, lengths, root, projective, factors)


def word_counts(scores: Tensor, lengths: Lengths) -> list[int]:
    """The words of each sentence; without lengths all have n."""
    if lengths is None:
        return [scores.shape[1] - 1] * len(scores)
    return lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)


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
        layouts: of "arc" and of each factor, in the order of the tensors that gradients are for.
    """

    def __init__(
        self,
        scores: Tensor,
        lengths: Lengths,
        root: Root,
        projective: bool,
        factors: Mapping[str, FactorTensor],
    ) -> None:
        if scores.ndim not in (3, 4) or scores.shape[1] != scores.shape[2]:
            raise ScoreError(
                "scores must be (batch, n+1, n+1) or (batch, n+1, n+1, labels): got "
                f"{tuple(scores.shape)}. Row 0 is the root"
            )
        words = word_counts(scores, lengths)
        self.layouts: dict[str, Layout] = {"arc": Padded(scores.shape, words, 2)}
        self._dtypes = {"arc": scores.dtype}
        self._shape, self._device = tuple(scores.shape), scores.device
        given: dict[str, Any] = {}
        for name, factor in factors.items():
            layout, scored = _laid_out(name, factor, words)
            self.layouts[name], self._dtypes[name] = layout, scored.dtype
            given[name] = layout.factor(layout.split(_array(scored)))
        kind = ProjectiveTrees if projective else SpanningTrees
        self.trees: TreeDistribution[Many] = kind(_array(scores), root=root, lengths=words, **given)

    # Sums over trees.

    def log_partition(self, with_marginals: bool) -> Tensor:
        """(batch,); -inf where there is no tree. Marginals come at little cost if asked for now."""
        if with_marginals:
            for part in [*self.layouts][1:] if self._shape[0] else []:
                self._factor_marginals(0, part)  # one pass for the whole batch, arcs included
            self.trees._flat_marginals(False)  # kept there, and the sums with them
        totals = self.trees._totals
        return self._tensor(totals[0] + totals[1])

    def require_trees(self) -> None:
        """Raise InfeasibleError for the first sentence without a tree."""
        for index in np.flatnonzero(np.isneginf(self.trees._totals[0])).tolist():
            self.trees._feasible_total(index)

    def marginals(self, part: str, times: Tensor | None = None) -> Tensor:
        """Of one kind of parts, in its layout; 0 where there is no tree, and in the padding.

        Args:
            times: (batch,), what each sentence's are multiplied with.
        """
        layout = self.layouts[part]
        if part == "arc" and len(self._shape) == 3:
            flat = self.trees._flat_marginals(False)
            tables = self.trees._batch.padded(flat, self._shape[1])
        elif isinstance(layout, Padded):
            return self._dense_marginals(layout, part, times)
        else:
            tables = layout.join([self._own_marginals(i, part) for i in range(self._shape[0])])
        if times is None:
            return self._tensor(tables, part)
        return self._tensor(np.multiply(tables, _array(layout.by_sentence(times))), part)

    def _dense_marginals(self, layout: Padded, part: str, times: Tensor | None) -> Tensor:
        """The same, sentences in threads: dense factors are large, and most of the time is spent
        on memory.
        """
        host = torch.empty(
            layout.shape, dtype=self._dtypes[part], pin_memory=self._device.type == "cuda"
        )
        out = host.numpy()
        weights = np.ones(len(out)) if times is None else _array(times).astype(np.float64)

        def fill(begin: int, end: int) -> None:
            for index in range(begin, end):
                own = layout.own(index)
                if own[0].stop < layout.shape[1]:
                    out[index] = 0.0
                marginals = self._own_marginals(index, part)
                np.multiply(marginals, weights[index], out=out[index][own], casting="same_kind")

        if len(out):
            # One pass for the whole batch, before the threads need it.
            if part != "arc":
                self._factor_marginals(0, part)
            self.trees._flat_marginals(False)
            over_ranges(fill, (self.trees._batch.sizes + 1.0) ** len(layout.own(0)))
        return host.to(self._device, non_blocking=True)

    def _own_marginals(self, index: int, part: str) -> Floats:
        if part == "arc":
            return self.trees._marginals(index, False)
        if self.trees._totals[0, index] == -np.inf:
            return np.zeros(self.layouts[part].shapes[index])
        return self._factor_marginals(index, part)

    def _factor_marginals(self, index: int, part: str) -> Floats:
        assert isinstance(self.trees, ProjectiveTrees)
        return self.trees._solver.marginals(index, part, False)

    def entropy(self) -> Tensor:
        """(batch,), in nats."""
        return self._tensor(np.array(self.trees.entropy()))

    def cross_entropy(self, other: Kernels) -> Tensor:
        """(batch,), -E log p_other."""
        return self._tensor(np.array(self.trees.cross_entropy(other.trees)))

    def kl(self, other: Kernels) -> Tensor:
        """(batch,), KL(self || other)."""
        return self._tensor(np.array(self.trees.kl(other.trees)))

    # Second derivatives of log Z.

    def hessian_product(self, directions: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The derivative of all marginals along a direction.

        Args:
            directions: of some kinds of parts, each in its layout; 0 for the others.
        """
        own = {name: self.layouts[name].split(_array(one)) for name, one in directions.items()}
        if list(self.layouts) == ["arc"]:
            products = {"arc": self.trees.hessian_product(own["arc"])}
        else:
            products = self._forest_products(own)
        return {
            name: self._tensor(self.layouts[name].join(tables), name)
            for name, tables in products.items()
        }

    def entropy_gradient(self) -> dict[str, Tensor]:
        """The derivative of the entropy in each score: minus the Hessian times the scores."""
        if list(self.layouts) == ["arc"]:
            tables = {"arc": self.trees.entropy_gradient()}
        else:
            tables = self._forest_products(None)
        return {
            name: self._tensor(self.layouts[name].join(own), name) for name, own in tables.items()
        }

    def _forest_products(
        self, directions: Mapping[str, Sequence[Floats]] | None
    ) -> dict[str, list[Floats]]:
        """As `hessian_product`, by forests; None for minus the scores as the direction."""
        from crossarc.inference.forest.expectation import hessian_product

        trees, positions = self.trees, self._part_positions
        assert isinstance(trees, ProjectiveTrees)

        def products(index: int) -> dict[str, Floats]:
            shapes = {name: layout.shapes[index] for name, layout in self.layouts.items()}
            out = {name: np.zeros(shape) for name, shape in shapes.items()}
            if trees._totals[0, index] == -np.inf:
                return out
            forest, ranges = trees._forest(index), trees._part_ranges(index)
            values = np.zeros(len(forest.score)) if directions is not None else -forest.score
            for name, own in (directions or {}).items():
                where = positions[name][index]
                values[ranges[name]][where >= 0] = own[index].reshape(-1)[where[where >= 0]]
            table = np.empty(len(values))
            hessian_product(forest, values, table)
            for name, whole in out.items():
                where = positions[name][index]
                whole.reshape(-1)[where[where >= 0]] = table[ranges[name]][where >= 0]
            return out

        found = trees._answers.all(products)
        return {name: [own[name] for own in found] for name in self.layouts}

    @once
    def _part_positions(self) -> dict[str, list[Ints]]:
        """For each number that a forest gives a part, its position in the flat array of a layout.

        -1 for parts that are not there. How a model numbers parts is its own affair: scores that
        are positions, counted from 1, show it.
        """
        trees = self.trees
        sentences = range(self._shape[0])
        positions = {"arc": [np.arange(trees._batch.scores(i).size) for i in sentences]}
        numbers = {
            name: [np.arange(1.0, np.prod(shape) + 1).reshape(shape) for shape in layout.shapes]
            for name, layout in self.layouts.items()
            if name != "arc"
        }
        factors: dict[str, Any] = {
            name: self.layouts[name].factor(own) for name, own in numbers.items()
        }
        scores = [trees._batch.scores(index) for index in sentences]
        numbered = ProjectiveTrees(scores, root=trees.root, **factors)
        for name in factors:
            held = numbered._factors[name]
            positions[name] = [held.scores(index).astype(np.int64) - 1 for index in sentences]
        return positions

    # Trees.

    def argmax(self) -> list[Tree]:
        """The best tree of each sentence."""
        return list(self.trees.argmax())

    def kbest(self, k: int) -> list[list[Tree]]:
        """The k best trees of each sentence, or fewer."""
        return list(self.trees.kbest(k))

    def min_risk(self) -> list[Tree]:
        """Of each sentence the tree with the highest expected number of right arcs."""
        return list(self.trees.min_risk())

    def sample(self, k: int, seed: int | None) -> list[list[Tree]]:
        """k trees of each sentence."""
        return list(self.trees.sample(k, seed=seed))

    def _tensor(self, array: Floats, part: str = "arc") -> Tensor:
        """In the dtype of the scores of such parts, on their device, and private."""
        dtype = np.float64 if self._dtypes[part] == torch.float64 else np.float32
        host = torch.from_numpy(array.astype(dtype, copy=not array.flags.writeable))
        if self._device.type == "cpu":
            return host
        return host.pin_memory().to(self._device, non_blocking=True)


def _laid_out(name: str, factor: Any, words: Sequence[int]) -> tuple[Layout, Tensor]:
    """The layout of a factor, and the tensor of its scores."""
    if isinstance(factor, Parts):
        return Listed(name, factor.index, len(words)), factor.score
    if len(factor) != len(words):
        raise ScoreError(f"{name} of {len(factor)} sentences for scores of {len(words)}")
    return Padded(factor.shape, words, factor.ndim - 1), factor


def _array(tensor: Tensor) -> NDArray[Any]:
    """The one way from tensors to arrays."""
    array: NDArray[Any] = _on_host(tensor.detach()).numpy()
    return array

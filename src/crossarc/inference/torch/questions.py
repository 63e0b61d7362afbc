"""Questions about the trees of a batch of padded scores.

All take `scores`, (batch, n+1, n+1) or (batch, n+1, n+1, labels), and

    lengths     the words of each sentence, the root not counted; without them all have n
    root        "single" for trees with exactly one word at the root, "multi" for one or more
    projective  whether only projective trees count
    factors     with `projective=True`, those of `ProjectiveTrees` by name, as `sibling=`: a tensor
                (batch, n+1, n+1, n+1), or `Parts`
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from crossarc.inference.distribution import Root
from crossarc.inference.torch.backends import Kernels, Lengths, backend_for
from crossarc.inference.torch.factors import FactorTensor, checked_factors, score_tensor
from crossarc.inference.torch.gradients import Entropy, LogPartition, Marginals
from crossarc.inference.torch.trees import Trees, ranked, stacked

__all__ = [
    "argmax",
    "entropy",
    "kbest",
    "log_partition",
    "marginals",
    "min_risk",
    "prepared",
    "sample",
]


def log_partition(
    scores: Tensor,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    **factors: FactorTensor,
) -> Tensor:
    """log Z of each sentence, (batch,); -inf, with gradient 0, where there is no tree."""
    kernels, tensors = prepared(scores, lengths, root, projective, factors)
    return LogPartition.apply(kernels, *tensors)


def marginals(
    scores: Tensor,
    lengths: Lengths = None,
    *,
    part: str = "arc",
    root: Root = "single",
    projective: bool = False,
    **factors: FactorTensor,
) -> Tensor:
    """The probability of each arc, in the shape of the scores.

    Args:
        part: the name of a factor, for the probabilities of its parts, in its shape.

    Raises:
        InfeasibleError: a sentence without a tree.
    """
    kernels, tensors = prepared(scores, lengths, root, projective, factors)
    if part not in kernels.layouts:
        raise ValueError(f"part must be one of {list(kernels.layouts)}: got {part!r}")
    result = Marginals.apply(kernels, part, *tensors)
    kernels.require_trees()
    return result


def entropy(
    scores: Tensor,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    **factors: FactorTensor,
) -> Tensor:
    """The entropy of each sentence's trees in nats, (batch,).

    Raises:
        InfeasibleError: a sentence without a tree.
    """
    kernels, tensors = prepared(scores, lengths, root, projective, factors)
    return Entropy.apply(kernels, *tensors)


def argmax(
    scores: Tensor,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    **factors: FactorTensor,
) -> Trees:
    """The best tree of each sentence."""
    kernels, _ = prepared(scores, lengths, root, projective, factors)
    return stacked(kernels.argmax(), scores.shape[1] - 1, scores.device)


def min_risk(
    scores: Tensor,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    **factors: FactorTensor,
) -> Trees:
    """Of each sentence the tree with the highest expected number of right arcs (and labels)."""
    kernels, _ = prepared(scores, lengths, root, projective, factors)
    return stacked(kernels.min_risk(), scores.shape[1] - 1, scores.device)


def kbest(
    scores: Tensor,
    k: int,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    **factors: FactorTensor,
) -> Trees:
    """The k best trees of each sentence, best first: heads are (k, batch, n).

    A sentence with fewer trees has -1 for all heads of those that are missing.
    """
    kernels, _ = prepared(scores, lengths, root, projective, factors)
    return ranked(
        kernels.kbest(k), k, scores.shape[1] - 1, scores.device, is_labelled=scores.ndim == 4
    )


def sample(
    scores: Tensor,
    k: int = 1,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    seed: int | None = None,
    **factors: FactorTensor,
) -> Trees:
    """k trees of each sentence, drawn at random with replacement: heads are (k, batch, n).

    Args:
        seed: the same seed gives the same trees; None takes one from PyTorch's generator.
    """
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    kernels, _ = prepared(scores, lengths, root, projective, factors)
    drawn = kernels.sample(k, seed)
    return ranked(drawn, k, scores.shape[1] - 1, scores.device, is_labelled=scores.ndim == 4)


def prepared(
    scores: Tensor,
    lengths: Lengths,
    root: Root,
    projective: bool,
    factors: Mapping[str, FactorTensor],
) -> tuple[Kernels, list[Tensor]]:
    """What answers, and the tensors that gradients are for."""
    some = checked_factors(factors, projective)
    kernels = backend_for(scores, lengths, root, projective, some)
    return kernels, [scores, *map(score_tensor, some.values())]

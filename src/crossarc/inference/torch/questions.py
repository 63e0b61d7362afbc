"""Questions about the trees of a batch of padded scores.

All take `scores`, (batch, n+1, n+1) or (batch, n+1, n+1, labels), and

    lengths     the words of each sentence, the root not counted; without them all have n
    root        "single" for trees with exactly one word at the root, "multi" for one or more
    projective  whether only projective trees count
"""

from __future__ import annotations

import torch
from torch import Tensor

from crossarc.inference.distribution import Root
from crossarc.inference.torch.backends import Lengths, backend_for
from crossarc.inference.torch.gradients import Entropy, LogPartition, Marginals
from crossarc.inference.torch.trees import Trees, stacked

__all__ = ["argmax", "entropy", "log_partition", "marginals", "min_risk", "sample"]


def log_partition(
    scores: Tensor, lengths: Lengths = None, *, root: Root = "single", projective: bool = False
) -> Tensor:
    """log Z of each sentence, (batch,); -inf, with gradient 0, where there is no tree."""
    kernels = backend_for(scores, lengths, root, projective)
    return LogPartition.apply(scores, kernels)


def marginals(
    scores: Tensor, lengths: Lengths = None, *, root: Root = "single", projective: bool = False
) -> Tensor:
    """The probability of each arc, in the shape of the scores.

    Raises:
        InfeasibleError: a sentence without a tree.
    """
    kernels = backend_for(scores, lengths, root, projective)
    result = Marginals.apply(scores, kernels)
    kernels.require_trees()
    return result


def entropy(
    scores: Tensor, lengths: Lengths = None, *, root: Root = "single", projective: bool = False
) -> Tensor:
    """The entropy of each sentence's trees in nats, (batch,).

    Raises:
        InfeasibleError: a sentence without a tree.
    """
    return Entropy.apply(scores, backend_for(scores, lengths, root, projective))


def argmax(
    scores: Tensor, lengths: Lengths = None, *, root: Root = "single", projective: bool = False
) -> Trees:
    """The best tree of each sentence."""
    best = backend_for(scores, lengths, root, projective).argmax()
    return stacked(best, scores.shape[1] - 1, scores.device)


def min_risk(
    scores: Tensor, lengths: Lengths = None, *, root: Root = "single", projective: bool = False
) -> Trees:
    """Of each sentence the tree with the highest expected number of right arcs (and labels)."""
    safest = backend_for(scores, lengths, root, projective).min_risk()
    return stacked(safest, scores.shape[1] - 1, scores.device)


def sample(
    scores: Tensor,
    k: int = 1,
    lengths: Lengths = None,
    *,
    root: Root = "single",
    projective: bool = False,
    seed: int | None = None,
) -> Trees:
    """k trees of each sentence, drawn at random with replacement: heads are (k, batch, n).

    Args:
        seed: the same seed gives the same trees; None takes one from PyTorch's generator.
    """
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    drawn = backend_for(scores, lengths, root, projective).sample(k, seed)
    ranks = [
        stacked(trees, scores.shape[1] - 1, scores.device) for trees in zip(*drawn, strict=True)
    ]
    labels = [trees.labels for trees in ranks if trees.labels is not None]
    heads = torch.stack([trees.heads for trees in ranks])
    return Trees(heads, torch.stack(labels) if labels else None)

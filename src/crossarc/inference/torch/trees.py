"""Trees as tensors: heads and labels, or indicators in the shape of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from crossarc.trees import Tree

__all__ = ["Trees", "indicators", "stacked"]


class Trees(NamedTuple):
    """Trees of a batch."""

    #: (batch, n), the head of word 1 first, 0 the root, -1 beyond the sentence; of several trees
    #: for each sentence (trees, batch, n).
    heads: Tensor
    #: The same for labels, or None.
    labels: Tensor | None


def stacked(trees: Sequence[Tree], words: int, device: torch.device | None = None) -> Trees:
    """One tree of each sentence, padded to so many words, on a device."""
    heads = np.full((len(trees), words), -1)
    labels = np.full((len(trees), words), -1)
    for index, tree in enumerate(trees):
        heads[index, : len(tree)] = tree.heads
        if tree.labels is not None:
            labels[index, : len(tree)] = tree.labels
    is_labelled = any(tree.labels is not None for tree in trees)
    tensors = [torch.from_numpy(one).to(device or "cpu") for one in (heads, labels)]
    return Trees(tensors[0], tensors[1] if is_labelled else None)


def indicators(trees: Trees, like: Tensor) -> Tensor:
    """1 for the arcs of each tree and 0 elsewhere, in the shape of the scores `like`."""
    heads, labels = trees
    out = like.new_zeros((*heads.shape[:-2], *like.shape))
    words = torch.arange(1, heads.shape[-1] + 1, device=heads.device).expand_as(heads)
    real = heads >= 0
    numbers = [torch.arange(size, device=heads.device) for size in heads.shape[:-1]]
    batch = torch.meshgrid(*numbers, indexing="ij")
    indices = [one.unsqueeze(-1).expand_as(heads)[real] for one in batch]
    indices += [heads[real], words[real]]
    if labels is not None:
        indices.append(labels[real])
    out[tuple(indices)] = 1.0
    return out

"""Trees as tensors: heads and labels, or indicators in the shape of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from crossarc.trees import Tree

__all__ = ["Trees", "indicators", "ranked", "stacked", "tree_heads"]


class Trees(NamedTuple):
    """Trees of a batch."""

    #: (batch, n), the head of word 1 first, 0 the root, -1 beyond the sentence; of several trees
    #: for each sentence (trees, batch, n). All -1 for a tree that is missing.
    heads: Tensor
    #: The same for labels, or None.
    labels: Tensor | None


def stacked(trees: Sequence[Tree], words: int, device: torch.device) -> Trees:
    """One tree of each sentence, padded to so many words."""
    is_labelled = any(tree.labels is not None for tree in trees)
    ranks = [[tree] for tree in trees]
    heads, labels = ranked(ranks, 1, words, device, is_labelled=is_labelled)
    return Trees(heads[0], None if labels is None else labels[0])


def ranked(
    trees: Sequence[Sequence[Tree]],
    k: int,
    words: int,
    device: torch.device,
    *,
    is_labelled: bool,
) -> Trees:
    """k trees of each sentence, or as many as there are, padded to so many words."""
    heads = np.full((k, len(trees), words), -1)
    labels = np.full_like(heads, -1)
    for index, own in enumerate(trees):
        for rank, tree in enumerate(own):
            heads[rank, index, : len(tree)] = tree.heads
            if tree.labels is not None:
                labels[rank, index, : len(tree)] = tree.labels
    chosen = torch.from_numpy(labels).to(device) if is_labelled else None
    return Trees(torch.from_numpy(heads).to(device), chosen)


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


def tree_heads(value: Tensor, is_labelled: bool) -> Tensor:
    """The heads (..., n) of trees that are given as indicators; -1 where a word has none."""
    arcs = (value.sum(-1) if is_labelled else value)[..., 1:]
    heads = arcs.argmax(-2)
    return torch.where((arcs > 0).any(-2), heads, torch.full_like(heads, -1))

"""Losses of trees: functions of scores (batch, n+1, n+1) and heads, mean over words.

Heads are (batch, n+1), -1 where unknown: at the root, in the padding, and where a treebank has
none. Losses of trees are computed by `crossarc.inference.torch`. Where heads of a sentence are
unknown, they sum over (or search) the trees with the others. In second order the scores of factors,
(batch, n+1, n+1, n+1), are given by name: `sibling`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # as everywhere
from torch import Tensor

import crossarc.inference.torch as trees
from crossarc.inference.torch.factors import factor_scores
from crossarc.models.kinds import RootRule, TrainOptions

__all__ = [
    "LOSS_FUNCTIONS",
    "Family",
    "LossFunction",
    "local_loss",
    "margin_loss",
    "risk_loss",
    "tree_loss",
]


@dataclass(frozen=True, slots=True)
class Family:
    """The trees that are summed over."""

    projective: bool
    root: RootRule

    @classmethod
    def of(cls, options: TrainOptions) -> Family:
        """Those that resolved options name."""
        return cls(bool(options.projective), options.root or "single")


#: (scores, heads, sizes, family, **factors); the local loss has no factors.
LossFunction = Callable[..., Tensor]


def local_loss(scores: Tensor, heads: Tensor, sizes: Tensor, family: Family) -> Tensor:
    """Minus the log-probability of each head among all words, one word at a time."""
    count = scores.shape[1]
    nodes = torch.arange(count, device=scores.device)
    impossible = nodes[:, None] == nodes
    outside = nodes > sizes.to(scores.device)[:, None]
    masked = scores.masked_fill(impossible | outside[:, :, None], -torch.inf)
    logits = masked.transpose(1, 2)[heads >= 0]
    return F.cross_entropy(logits, heads[heads >= 0])


def tree_loss(
    scores: Tensor, heads: Tensor, sizes: Tensor, family: Family, **factors: Tensor
) -> Tensor:
    """Minus the log-probability of the gold trees: log Z less the score of the gold tree.

    Where heads are unknown, log Z less log Z of the trees with the known ones. Sentences whose
    known heads no tree has count nothing.
    """
    options = _options(family, factors)
    total = trees.log_partition(scores, sizes, **options)
    whole = _are_whole(heads, sizes)
    gold = _tree_scores(scores, heads[:, 1:], sizes, factors)
    if not whole.all():
        agreeing = trees.log_partition(_with_known(scores, heads), sizes, **options)
        gold = torch.where(whole, gold, agreeing)
    difference = torch.where(gold.isneginf(), 0.0, total - gold)
    return difference.sum() / _words(sizes)


def margin_loss(
    scores: Tensor, heads: Tensor, sizes: Tensor, family: Family, **factors: Tensor
) -> Tensor:
    """The structured hinge loss, with a cost of 1 for each wrong head (Taskar et al. 2004).

    max over trees (score + wrong heads) - score of the gold tree.
    """
    known = (heads >= 0).unsqueeze(1)
    cost = known.to(scores.dtype) - _indicators(scores, heads)
    detached = scores.detach()
    options = _options(family, {name: one.detach() for name, one in factors.items()})
    worst = trees.argmax(detached + cost, sizes, **options).heads
    whole = _are_whole(heads, sizes)
    gold = heads[:, 1:]
    if not whole.all():
        agreeing = _with_known(detached, heads)
        feasible = ~trees.log_partition(agreeing, sizes, **options).isneginf()
        usable = torch.where(feasible[:, None, None], agreeing, detached)
        best = trees.argmax(usable, sizes, **options).heads
        gold = torch.where(whole[:, None], gold, torch.where(feasible[:, None], best, worst))
    augmented = scores + cost
    violation = _tree_scores(augmented, worst, sizes, factors)
    violation = violation - _tree_scores(augmented, gold, sizes, factors)
    return violation.clamp(min=0.0).sum() / _words(sizes)


def risk_loss(
    scores: Tensor, heads: Tensor, sizes: Tensor, family: Family, **factors: Tensor
) -> Tensor:
    """The expected number of wrong heads (Smith & Eisner 2006), a word."""
    marginals = trees.marginals(scores, sizes, **_options(family, factors))
    known = (heads >= 0).sum()
    return (known - (marginals * _indicators(scores, heads)).sum()) / known.clamp(min=1)


LOSS_FUNCTIONS: dict[str, LossFunction] = {
    "local": local_loss,
    "tree": tree_loss,
    "margin": margin_loss,
    "risk": risk_loss,
}


def _words(sizes: Tensor) -> int:
    return max(1, int(sizes.sum()))


def _options(family: Family, factors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Those of the functions of `crossarc.inference.torch`."""
    return {"root": family.root, "projective": family.projective, **factors}


def _are_whole(heads: Tensor, sizes: Tensor) -> Tensor:
    """Whether all heads of each sentence are known, (batch,)."""
    return (heads >= 0).sum(1) == sizes.to(heads.device)


def _tree_scores(
    scores: Tensor, heads: Tensor, sizes: Tensor, factors: Mapping[str, Tensor]
) -> Tensor:
    """(batch,), of heads (batch, n); where heads are unknown, some number."""
    known = heads.clamp(min=0)
    picked = scores[:, :, 1:].gather(1, known.unsqueeze(1)).squeeze(1)
    total = torch.where(heads >= 0, picked, 0.0).sum(1)
    return total + factor_scores(factors, known, sizes.tolist()) if factors else total


def _indicators(scores: Tensor, heads: Tensor) -> Tensor:
    """1 for arcs to known heads."""
    return torch.zeros_like(scores).scatter_(
        1, heads.clamp(min=0).unsqueeze(1), (heads >= 0).to(scores.dtype).unsqueeze(1)
    )


def _with_known(scores: Tensor, heads: Tensor) -> Tensor:
    """Scores under which only trees with the known heads are possible."""
    other = (heads >= 0).unsqueeze(1) & (_indicators(scores, heads) == 0)
    return scores.masked_fill(other, -torch.inf)

"""Objectives: the loss of a batch of sentences and its gradient in the scores of arcs.

An objective is a function of scores and gold heads, whatever the scores are computed from. Heads
may be missing (-1): the sum over all trees that agree with the others then replaces the one tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import TreeDistribution
from crossarc.inference.distribution import Root
from crossarc.learning.expectations import allowed_arcs, hidden_trees
from crossarc.trees import Tree

__all__ = ["Objective", "learnable_heads", "log_linear", "perceptron"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Objective(Protocol):
    """A loss summed over sentences, and its gradients in the shape of the scores."""

    def __call__(
        self,
        trees: type[TreeDistribution[Any]],
        scores: Sequence[Floats],
        heads: Sequence[Ints],
        root: Root = "single",
        threads: int | None = None,
    ) -> tuple[float, list[Floats]]:
        """Loss and gradients of a batch."""


def log_linear(
    trees: type[TreeDistribution[Any]],
    scores: Sequence[Floats],
    heads: Sequence[Ints],
    root: Root = "single",
    threads: int | None = None,
) -> tuple[float, list[Floats]]:
    """Minus the log-probability of the gold trees (Koo et al. 2007, section 4.1).

    The derivative in an arc's score is its probability, minus 1 if the arc is gold. Where heads are
    missing the loss is log Z minus log Z of the trees with the given heads, and its derivative the
    difference of the two probabilities. A sentence whose given heads no tree has counts nothing.
    """
    gradients = [np.zeros(one.shape) for one in scores]
    partial = [index for index, gold in enumerate(heads) if (gold < 0).any()]
    loss, shares = hidden_trees(
        trees,
        [scores[index] for index in partial],
        [_agreeing_arcs(heads[index]) for index in partial],
        root,
        threads,
    )
    for index, share in zip(partial, shares, strict=True):
        gradients[index] = share
    full = [index for index, gold in enumerate(heads) if (gold >= 0).all()]
    known = trees([scores[index] for index in full], root=root, threads=threads)
    tables = zip(full, known.marginals(), known.log_partition(), strict=True)
    for index, marginals, total in tables:
        gold, words = heads[index], np.arange(1, len(heads[index]) + 1)
        loss += total - float(scores[index][gold, words].sum())
        gradients[index] = np.array(marginals)
        gradients[index][gold, words] -= 1.0
    return loss, gradients


def perceptron(
    trees: type[TreeDistribution[Any]],
    scores: Sequence[Floats],
    heads: Sequence[Ints],
    root: Root = "single",
    threads: int | None = None,
) -> tuple[float, list[Floats]]:
    """The number of wrong heads in the best trees, with the perceptron's gradient (Collins 2002).

    The derivative is 1 for an arc of the best tree that is not gold, and -1 for a gold arc that is
    not in it. Where heads are missing, the best tree with the given ones is gold.
    """
    best = trees(list(scores), root=root, threads=threads).argmax()
    loss = 0.0
    gradients = []
    for one, guess, gold in zip(scores, best, heads, strict=True):
        if (gold < 0).any():
            allowed = np.where(_agreeing_arcs(gold), one, -np.inf)
            fixed = trees(allowed, root=root, threads=1)
            gold = fixed.argmax().heads if fixed.log_partition() > -np.inf else guess.heads
        words = np.arange(1, len(gold) + 1)
        gradient = np.zeros(one.shape)
        gradient[guess.heads, words] += 1.0
        gradient[gold, words] -= 1.0
        gradients.append(gradient)
        loss += float(np.count_nonzero(guess.heads != gold))
    return loss, gradients


def _agreeing_arcs(heads: Ints) -> NDArray[np.bool_]:
    """Which arcs trees with the given heads may have."""
    given = {m: [int(h)] for m, h in enumerate(heads, 1) if h >= 0}
    return allowed_arcs((len(heads) + 1, len(heads) + 1), given)


def learnable_heads(heads: Ints, *, projective: bool, root: Root) -> Ints:
    """The heads of a gold tree, -1 for those that no tree of the kind learnt could have.

    Under projective trees these are the heads of arcs that are not projective: the others do not
    cross each other, so that some projective tree has them. Under a single root these are the
    words at the root, where there are several.
    """
    kept = heads.copy()
    if projective and (heads >= 0).all():
        kept[Tree(heads).arc_degrees > 0] = -1
    at_root = kept == 0
    if root == "single" and at_root.sum() > 1:
        kept[at_root] = -1
    return kept

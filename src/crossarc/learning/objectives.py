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
from crossarc.learning.expectations import allowed_arcs, hidden_trees, wrong_arcs
from crossarc.trees import Tree

__all__ = [
    "Objective",
    "completed_heads",
    "learnable_heads",
    "log_linear",
    "max_margin",
    "nearest_heads",
    "perceptron",
    "tree_differences",
]

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
    best = [tree.heads for tree in trees(list(scores), root=root, threads=threads).argmax()]
    golds = completed_heads(trees, scores, heads, best, root)
    wrong = sum(np.count_nonzero(g != y) for g, y in zip(best, golds, strict=True))
    return float(wrong), tree_differences(best, golds)


def max_margin(
    trees: type[TreeDistribution[Any]],
    scores: Sequence[Floats],
    heads: Sequence[Ints],
    root: Root = "single",
    threads: int | None = None,
) -> tuple[float, list[Floats]]:
    """The structured hinge loss: max over trees of wrong heads less margin (Koo et al. 2007, 4.2).

    The margin is the score of the gold tree less that of the other. The sub-gradient is that of the
    perceptron, with the tree that attains the maximum. Words without a head cost nothing, and the
    best tree with the given heads is gold.
    """
    costs = [wrong_arcs(gold) for gold in heads]
    augmented = [one + cost for one, cost in zip(scores, costs, strict=True)]
    worst = [tree.heads for tree in trees(augmented, root=root, threads=threads).argmax()]
    golds = completed_heads(trees, scores, heads, worst, root)
    loss = 0.0
    for raised, guess, gold in zip(augmented, worst, golds, strict=True):
        words = np.arange(1, len(gold) + 1)
        loss += float(raised[guess, words].sum() - raised[gold, words].sum())
    return loss, tree_differences(worst, golds)


def completed_heads(
    trees: type[TreeDistribution[Any]],
    scores: Sequence[Floats],
    heads: Sequence[Ints],
    guesses: Sequence[Ints],
    root: Root = "single",
) -> list[Ints]:
    """Gold trees: where heads are missing, the best tree with the given ones.

    Where there is no such tree, the guess, so that nothing is learnt.
    """
    return [
        _completed(trees, one, gold, guess, root) if (gold < 0).any() else gold
        for one, gold, guess in zip(scores, heads, guesses, strict=True)
    ]


def _completed(
    trees: type[TreeDistribution[Any]], scores: Floats, heads: Ints, guess: Ints, root: Root
) -> Ints:
    fixed = trees(np.where(_agreeing_arcs(heads), scores, -np.inf), root=root, threads=1)
    return fixed.argmax().heads if fixed.log_partition() > -np.inf else guess


def nearest_heads(trees: type[TreeDistribution[Any]], heads: Ints, root: Root = "single") -> Ints:
    """The tree of this kind with the most of the given heads (Koo et al. 2007, footnote 4)."""
    score = np.where(wrong_arcs(heads) > 0.0, -1.0, 1.0)
    found: Ints = trees(score, root=root, threads=1).argmax().heads
    return found


def tree_differences(guesses: Sequence[Ints], golds: Sequence[Ints]) -> list[Floats]:
    """1 for arcs of the first trees only, -1 for arcs of the second only."""
    found = []
    for guess, gold in zip(guesses, golds, strict=True):
        words = np.arange(1, len(gold) + 1)
        gradient = np.zeros((len(gold) + 1, len(gold) + 1))
        gradient[guess, words] += 1.0
        gradient[gold, words] -= 1.0
        found.append(gradient)
    return found


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

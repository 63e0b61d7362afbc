"""The weights of a combination: those that make held-out trees and labels most probable.

Both are log-linear models whose features are the log-probabilities that the members give, so that
the loss is convex, and its gradient the expected features less those of the gold tree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference import ProjectiveTrees, SpanningTrees
from crossarc.learning import learnable_heads, log_linear
from crossarc.models.attachment import attachment_scores
from crossarc.models.combined.model import CombinedModel, log_normalised, weighted_sum
from crossarc.models.kinds import RootRule
from crossarc.models.protocol import ArcIndex
from crossarc.treebank import Sentence

__all__ = ["fit_weights"]

Floats = NDArray[np.float64]
Loss = Callable[[Floats], tuple[float, Floats]]

_MOST = 20.0
# Held-out parts are small: the standard deviation of a Gaussian prior around equal weights.
_PRIOR = 0.1


def fit_weights(
    model: CombinedModel,
    held_out: Sequence[Sentence],
    *,
    projective: bool,
    root: RootRule,
    threads: int | None = None,
) -> dict[str, float]:
    """Fit the weights of arcs and of labels by maximum likelihood.

    Args:
        projective, root: the trees of the combined distribution.

    Returns:
        LAS and UAS of the combination on these sentences.

    Raises:
        ModelError: no sentence has a head.
    """
    gold = [one for one in held_out if (one.heads >= 0).any()]
    if not gold:
        raise ModelError("no held-out sentence has a head: give some with trees")
    scores = model.score(gold, threads=threads)
    family = ProjectiveTrees if projective else SpanningTrees
    heads = [learnable_heads(one.heads, projective=projective, root=root) for one in gold]
    tables = list(zip(*scores.log_marginals, strict=True))
    finite = [[np.where(np.isneginf(t), 0.0, t) for t in own] for own in tables]

    def arc_loss(weights: Floats) -> tuple[float, Floats]:
        combined = [weighted_sum(weights, own) for own in tables]
        loss, gradients = log_linear(family, combined, heads, root, threads)
        by_weight = sum(
            np.array([(gradient * table).sum() for table in own])
            for gradient, own in zip(gradients, finite, strict=True)
        )
        return loss, np.asarray(by_weight)

    model.arc_weights = _minimised(arc_loss, model.arc_weights)
    arcs, labels = _known_labels(model, gold)
    if len(labels):
        own_tables = [np.concatenate(one) for one in model.label_tables(scores.batches, arcs)]
        rows = np.arange(len(labels))

        def label_loss(weights: Floats) -> tuple[float, Floats]:
            logs = log_normalised(weighted_sum(weights, own_tables))
            gradient = np.exp(logs)
            gradient[rows, labels] -= 1.0
            by_weight = np.array([(gradient * table).sum() for table in own_tables])
            return -float(logs[rows, labels].sum()), by_weight

        model.label_weights = _minimised(label_loss, model.label_weights)
    scores.weigh()
    return attachment_scores(
        scores, gold, model.labels, projective=projective, root=root, threads=threads
    )


def _known_labels(
    model: CombinedModel, gold: Sequence[Sentence]
) -> tuple[list[ArcIndex], NDArray[np.int64]]:
    """Gold arcs with labels that the model has, and the numbers of these labels."""
    number = {name: k for k, name in enumerate(model.labels)}
    arcs: list[ArcIndex] = []
    labels: list[int] = []
    for one in gold:
        found = np.array([number.get(name, -1) for name in one.deprels], np.int64)
        known = np.flatnonzero((one.heads >= 0) & (found >= 0))
        arcs.append((one.heads[known].astype(np.int64), known + 1))
        labels += found[known].tolist()
    return arcs, np.array(labels, np.int64)


def _minimised(loss: Loss, start: Floats) -> Floats:
    """The non-negative weights at which a convex function is least."""
    from scipy.optimize import minimize

    scale = 1.0 / max(1.0, abs(loss(start)[0]))

    def scaled(weights: Floats) -> tuple[float, Floats]:
        value, gradient = loss(weights)
        away = (weights - start) / _PRIOR**2
        value += 0.5 * float(away @ (weights - start))
        return value * scale, (gradient + away) * scale

    bounds = [(0.0, _MOST)] * len(start)
    result = minimize(scaled, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(result.x, np.float64)

"""Fitting how sure a model of higher order is, on held-out sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crossarc.inference import SpanningTrees
from crossarc.learning import fit_temperature
from crossarc.models.encode import Encoded
from crossarc.models.first_order.labels import log_softmax
from crossarc.models.higher_order.model import FactoredScores, HigherOrderModel
from crossarc.models.higher_order.objectives import Trees

__all__ = ["calibrate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A temperature is fitted on about so many words, given whether trees are projective: each of its
# trials infers all probabilities, by belief propagation where arcs may cross.
_WORDS = {False: 4000, True: 8000}
_TEMPERATURES = {"lowest": 0.2, "highest": 4.0, "tolerance": 0.05}
# So exact are probabilities then: a hundredth gives the temperature that 1e-4 does.
_TOLERANCE = 1e-2
# So much flatter than alone the first-order model may be where it has a share in probabilities.
_FLATTER = (1.0, 1.25, 1.6, 2.0)
_LEAST_PROBABILITY = 1e-12


def calibrate(model: HigherOrderModel, held_out: Encoded, trees: Trees) -> None:
    """Fit temperatures, and the share of the first-order model, on sentences not trained on.

    The temperature of projective trees is where the log-loss of the heads is least. Where
    probabilities come from belief propagation, temperature, share and the first-order model's
    temperature are where the Brier score is: a few beliefs that are wrongly near 0 would decide the
    log-loss. That of labels is where the log-loss of the labels of right heads is least.
    """
    model.temperature = model.label_temperature = 1.0
    model.first_share, model.first_temperature = 0.0, 1.0
    step = -(-int(held_out.sizes.sum()) // _WORDS[trees.projective])
    some = held_out.select(np.arange(0, len(held_out.sizes), step))
    trees = replace(trees, bp_tolerance=_TOLERANCE)
    allowed = model.surviving(some, threads=trees.threads)
    scores = FactoredScores(model, some, allowed, trees.threads)
    gold = [some.gold_heads(index) for index in range(len(some))]
    if trees.projective:
        _fit_exact(model, scores, gold, trees)
    else:
        _fit_interpolated(model, scores, gold, trees)
    _calibrate_labels(model, some, scores, trees.best(scores.arcs, scores.factors))


def _fit_exact(
    model: HigherOrderModel, scores: FactoredScores, gold: Sequence[Ints], trees: Trees
) -> None:
    def loss(temperature: float) -> float:
        marginals = trees.cooled(scores.arcs, scores.factors, temperature).marginals()
        return math.fsum(
            _log_loss(table, heads) for table, heads in zip(marginals, gold, strict=True)
        )

    model.temperature = fit_temperature(loss, **_TEMPERATURES)


def _fit_interpolated(
    model: HigherOrderModel, scores: FactoredScores, gold: Sequence[Ints], trees: Trees
) -> None:
    first = {}
    for temperature in (model.first.arc_temperature * factor for factor in _FLATTER):
        offsets = scores.first_order_offsets(temperature)
        arcs = [one + offset for one, offset in zip(scores.arcs, offsets, strict=True)]
        exact = SpanningTrees(arcs, root=trees.root, threads=trees.threads).marginals()
        first[temperature] = _of_known(exact, gold)
    right = _of_known([_indicators(heads) for heads in gold], gold)

    def fitted(temperature: float) -> tuple[float, float, float]:
        """The loss, the first-order model's share and its temperature."""
        marginals = trees.cooled(scores.arcs, scores.factors, temperature).marginals()
        beliefs = _of_known(marginals, gold)
        return min((*_best_share(beliefs, own, right), below) for below, own in first.items())

    model.temperature = fit_temperature(lambda temperature: fitted(temperature)[0], **_TEMPERATURES)
    _, model.first_share, model.first_temperature = fitted(model.temperature)


def _of_known(tables: Sequence[Floats], gold: Sequence[Ints]) -> Floats:
    """The columns of the words whose heads are known, end to end."""
    columns = [
        table[:, np.flatnonzero(heads >= 0) + 1].ravel()
        for table, heads in zip(tables, gold, strict=True)
    ]
    return np.concatenate([np.empty(0), *columns])


def _indicators(heads: Ints) -> Floats:
    table = np.zeros((len(heads) + 1, len(heads) + 1))
    known = np.flatnonzero(heads >= 0) + 1
    table[heads[known - 1], known] = 1.0
    return table


def _best_share(beliefs: Floats, first: Floats, right: Floats) -> tuple[float, float]:
    """The least Brier score of mixtures of two tables of probabilities; the share of the second.

    |b + w (f - b) - r|^2 is a parabola in w.
    """
    wrong, step = beliefs - right, first - beliefs
    curvature = float(step @ step)
    share = min(max(-float(wrong @ step) / curvature, 0.0), 1.0) if curvature > 0.0 else 0.0
    rest = wrong + share * step
    return float(rest @ rest), share


def _log_loss(marginals: Floats, heads: Ints) -> float:
    """Sum over words with a head of -log p(head); pruned heads add the same at any temperature."""
    words = np.flatnonzero(heads >= 0) + 1
    found = np.maximum(marginals[heads[words - 1], words], _LEAST_PROBABILITY)
    return -float(np.log(found).sum())


def _calibrate_labels(
    model: HigherOrderModel, held_out: Encoded, scores: FactoredScores, best: Sequence[Ints]
) -> None:
    """Fit the temperature of labels, on words whose heads are right in the best trees."""
    gold, labels = held_out.gold_arcs()
    heads = np.concatenate(best)
    right = (gold == heads) & (labels >= 0)
    table = model.label_scorer.scores(model.tree_arcs(held_out, heads).only(right))
    if right.any():
        model.label_temperature = fit_temperature(
            lambda temperature: float(log_softmax(table / temperature, labels[right]))
        )

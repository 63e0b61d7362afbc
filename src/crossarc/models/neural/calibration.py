"""The temperatures of a neural model: those under which held-out trees are most probable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.learning import fit_temperature
from crossarc.learning.expectations import wrong_arcs
from crossarc.models.distributions import bounded_slices, trees_of
from crossarc.models.neural.kind import NeuralOptions
from crossarc.models.neural.losses import Family
from crossarc.models.neural.model import NeuralModel, NeuralScores
from crossarc.treebank import Sentence

__all__ = ["calibrate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def calibrate(model: NeuralModel, held_out: Sequence[Sentence], options: NeuralOptions) -> None:
    """Fit the temperatures of trees and of labels on sentences that were not trained on."""
    family = Family.of(options)
    model.arc_temperature = model.label_temperature = 1.0
    gold = model.encode(held_out, gold=True)
    gold = gold.learnable(projective=family.projective, root=family.root)
    scores = NeuralScores(model, gold, held_out)
    heads = [gold.sentence_targets(number) for number in range(len(gold))]

    arcs, labels = [], []
    for number, start in enumerate(gold.starts):
        own = slice(start + 1, start + 1 + gold.sizes[number])
        known = np.flatnonzero((gold.heads[own] >= 0) & (gold.labels[own] >= 0))
        arcs.append((gold.heads[own][known], known + 1))
        labels.append(gold.labels[own][known])
    logs = np.concatenate(scores.label_log_probs(arcs))
    right = np.concatenate(labels)
    # Labels that an arc cannot have say nothing about the temperature.
    possible = logs[np.arange(len(right)), right] > -np.inf
    logs, right = logs[possible], right[possible]

    def label_loss(temperature: float) -> float:
        cooled = logs / temperature
        totals = np.log(np.exp(cooled - cooled.max(axis=1, keepdims=True)).sum(axis=1))
        picked = cooled[np.arange(len(right)), right] - cooled.max(axis=1)
        return float((totals - picked).sum())

    model.arc_temperature = fit_temperature(
        lambda temperature: _log_loss(scores, heads, temperature, family, options.threads)
    )
    if len(right):
        model.label_temperature = fit_temperature(label_loss)


def _log_loss(
    scores: NeuralScores,
    heads: Sequence[Ints],
    temperature: float,
    family: Family,
    threads: int | None,
) -> float:
    """Minus the log-probability of the known heads, at a temperature.

    Sentences whose known heads no tree has count nothing.
    """
    loss = 0.0
    for part in bounded_slices(scores.arcs):
        factors = {
            name: [one / np.float32(temperature) for one in own[part]]
            for name, own in scores.factors.items()
        }
        arcs = [one / temperature for one in scores.arcs[part]]
        known = [
            np.where(wrong_arcs(own) > 0.0, -np.inf, one)
            for own, one in zip(heads[part], arcs, strict=True)
        ]
        options: dict[str, Any] = {"projective": family.projective, "root": family.root}
        free, bound = (
            np.array(trees_of(some, factors, threads=threads, **options).log_partition())
            for some in (arcs, known)
        )
        loss += float((free - bound)[bound > -np.inf].sum())
    return loss

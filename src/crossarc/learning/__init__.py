"""Objectives, update rules and the training loop, for anything that gives scores."""

from __future__ import annotations

from crossarc.learning.expectations import allowed_arcs, hidden_trees, minimum_risk, wrong_arcs
from crossarc.learning.objectives import Objective, learnable_heads, log_linear, perceptron
from crossarc.learning.passes import Progress, Task, run_passes
from crossarc.learning.rules import AdaGrad, Perceptron, Rule
from crossarc.learning.tables import GROUPS, WeightTable
from crossarc.learning.temperature import fit_temperature

__all__ = [
    "GROUPS",
    "AdaGrad",
    "Objective",
    "Perceptron",
    "Progress",
    "Rule",
    "Task",
    "WeightTable",
    "allowed_arcs",
    "fit_temperature",
    "hidden_trees",
    "learnable_heads",
    "log_linear",
    "minimum_risk",
    "perceptron",
    "run_passes",
    "wrong_arcs",
]

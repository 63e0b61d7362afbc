"""Learners for anything that gives scores and takes updates."""

from __future__ import annotations

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
    "fit_temperature",
    "learnable_heads",
    "log_linear",
    "perceptron",
    "run_passes",
]

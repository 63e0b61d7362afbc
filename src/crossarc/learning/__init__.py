"""Objectives, update rules and the training loop, for anything that gives scores."""

from __future__ import annotations

from crossarc.learning.descent import LBFGS, ConjugateGradient, Descent
from crossarc.learning.expectations import allowed_arcs, hidden_trees, minimum_risk, wrong_arcs
from crossarc.learning.exponentiated import DualSentences
from crossarc.learning.margins import margin_step
from crossarc.learning.objectives import (
    Objective,
    completed_heads,
    learnable_heads,
    log_linear,
    max_margin,
    nearest_heads,
    perceptron,
    tree_differences,
)
from crossarc.learning.passes import PassState, Progress, Task, run_passes
from crossarc.learning.rules import AdaGrad, Perceptron, Rule
from crossarc.learning.tables import GROUPS, WeightTable
from crossarc.learning.temperature import fit_temperature

__all__ = [
    "GROUPS",
    "LBFGS",
    "AdaGrad",
    "ConjugateGradient",
    "Descent",
    "DualSentences",
    "Objective",
    "PassState",
    "Perceptron",
    "Progress",
    "Rule",
    "Task",
    "WeightTable",
    "allowed_arcs",
    "completed_heads",
    "fit_temperature",
    "hidden_trees",
    "learnable_heads",
    "log_linear",
    "margin_step",
    "max_margin",
    "minimum_risk",
    "nearest_heads",
    "perceptron",
    "run_passes",
    "tree_differences",
    "wrong_arcs",
]

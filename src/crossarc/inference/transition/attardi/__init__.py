"""Attardi's transition system: exact sums over its computations (Cohen et al. 2011).

machine         configurations, transitions of any degree, the oracle
deduction       the tabular algorithm, rule by rule, as a packed forest: any degree
charts          where items of degree 2 lie in memory, for the kernels of
inside, outside, derivations
computations    `Computations`: log Z, expectations, the best and random computations
trees           `AttardiTrees` under scores of arcs; the computations of one tree
"""

from __future__ import annotations

from crossarc.inference.transition.attardi.computations import (
    MAX_WORDS,
    Computation,
    Computations,
    TransitionScores,
)
from crossarc.inference.transition.attardi.deduction import deduce
from crossarc.inference.transition.attardi.machine import (
    Configuration,
    initial,
    oracle,
    replay,
    transition_code,
    transition_name,
)
from crossarc.inference.transition.attardi.trees import (
    AttardiTrees,
    arc_expectations,
    arc_transitions,
    best_heads,
    computation_count,
    tree_computations,
)

__all__ = [
    "MAX_WORDS",
    "AttardiTrees",
    "Computation",
    "Computations",
    "Configuration",
    "TransitionScores",
    "arc_expectations",
    "arc_transitions",
    "best_heads",
    "computation_count",
    "deduce",
    "initial",
    "oracle",
    "replay",
    "transition_code",
    "transition_name",
    "tree_computations",
]

"""Trees that may cross, under higher-order factors: approximate methods with certificates.

problem        a sentence's arcs and parts as flat arrays
substitution   scores of trees; local search
automata       head automata: best readings, max-marginals, marginals
ascent         dual decomposition
branching      its tightening by branch and bound
ranking        k best trees
ilp            integer linear programmes
beliefs        belief propagation
trees          `HigherOrderTrees`
"""

from __future__ import annotations

from crossarc.inference.higher.trees import HigherOrderTrees

__all__ = ["HigherOrderTrees"]

"""Trees that may cross, under higher-order factors: approximate methods with certificates.

problem        arcs and parts of sentences as flat arrays
packing        the problems of a batch
tables         factors as tables of parts
substitution   scores of trees; local search
lists          the modifiers of a head on one side
automata       head automata: best readings, max-marginals, marginals
ascent         dual decomposition
rounds         its rounds for all sentences of a batch, with the exclusion of arcs
branching      branch and bound for what they leave open
ranking        k best trees
ilp            integer linear programmes
beliefs        belief propagation
interpolation  its probabilities interpolated with exact ones of arcs only
sums           sums over trees
trees          `HigherOrderTrees`
"""

from __future__ import annotations

from crossarc.inference.higher.interpolation import FirstOrder
from crossarc.inference.higher.trees import HigherOrderTrees

__all__ = ["FirstOrder", "HigherOrderTrees"]

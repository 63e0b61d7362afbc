"""Score arrays in; trees, probabilities and numbers out."""

from __future__ import annotations

from crossarc.inference.constraints import constrain
from crossarc.inference.distribution import TreeDistribution
from crossarc.inference.factors import Parts
from crossarc.inference.higher import HigherOrderTrees
from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.projectivity import projective_log_prob
from crossarc.inference.spanning import SpanningTrees

__all__ = [
    "HigherOrderTrees",
    "Parts",
    "ProjectiveTrees",
    "SpanningTrees",
    "TreeDistribution",
    "constrain",
    "projective_log_prob",
]

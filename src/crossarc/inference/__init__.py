"""Score arrays in; trees, probabilities and numbers out."""

from __future__ import annotations

from crossarc.inference.constraints import constrain
from crossarc.inference.distribution import TreeDistribution
from crossarc.inference.factors import Parts
from crossarc.inference.higher import HigherOrderTrees
from crossarc.inference.projective import ProjectiveTrees
from crossarc.inference.projectivity import projective_log_prob
from crossarc.inference.pruning import list_parts, prune
from crossarc.inference.spanning import SpanningTrees
from crossarc.inference.typed import Many, One

__all__ = [
    "HigherOrderTrees",
    "Many",
    "One",
    "Parts",
    "ProjectiveTrees",
    "SpanningTrees",
    "TreeDistribution",
    "constrain",
    "list_parts",
    "projective_log_prob",
    "prune",
]

"""The laws that every tree distribution keeps.

A test class inherits `DistributionLaws` and overrides `distribution`; a distribution over fewer
trees also overrides `in_support`, and says by `permutable`, `takes_labels` and `max_words` what
else is different:

    class TestProjectiveTrees(DistributionLaws):
        permutable = False

        def distribution(self, scores, root="single", **options):
            return ProjectiveTrees(scores, root=root, **options)

        def in_support(self, heads):
            return projective_tree(heads)

Each law lets hypothesis look for scores that break it; the oracle is enumeration (`brute_force`).
"""

from __future__ import annotations

from support.dependence_laws import DependenceLaws
from support.information_laws import InformationLaws
from support.input_laws import InputLaws
from support.moment_laws import MomentLaws
from support.sum_laws import SumLaws
from support.tree_laws import TreeLaws

__all__ = ["DistributionLaws"]


class DistributionLaws(SumLaws, TreeLaws, InformationLaws, DependenceLaws, MomentLaws, InputLaws):
    """Sums, searches, information, dependence, second moments, inputs."""

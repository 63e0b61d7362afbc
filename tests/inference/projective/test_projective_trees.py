"""ProjectiveTrees: the laws, first order, with sibling factors, third order, with limits."""

from __future__ import annotations

from typing import Any

from support.brute_force import Heads, projective_tree
from support.higher_order_laws import HigherOrder, HigherOrderLaws
from support.information_laws import InformationLaws
from support.laws import DistributionLaws
from support.sibling_laws import Sibling, SiblingLaws
from support.sum_laws import SumLaws
from support.tree_laws import TreeLaws

from crossarc import ProjectiveTrees


class TestFirstOrder(DistributionLaws):
    permutable = False

    def distribution(self, scores: Any, root: str = "single", **options: Any) -> ProjectiveTrees:
        return ProjectiveTrees(scores, root=root, **options)

    def in_support(self, heads: Heads) -> bool:
        return projective_tree(heads)


class TestSibling(SiblingLaws):
    pass


class TestLargeSiblingFactors(Sibling, SumLaws, TreeLaws, InformationLaws):
    """Factors a thousand times as large: what is not in the best tree nearly vanishes."""

    scale = 1000.0
    # From log Z and marginals, which are rounded at the size of the scores (docs/numerics.md).
    entropy_error = 1e-11
    test_entropy_is_largest_when_all_trees_are_alike = None
    test_divergence_between_root_rules = None


class TestThirdOrder(HigherOrderLaws):
    """All factors: automata know a grandparent and two modifiers."""


class TestLimits(HigherOrder, SumLaws):
    """Two modifiers of a node at most, which are counted."""

    names = ("tri_sibling", "sibling")
    limit = 2

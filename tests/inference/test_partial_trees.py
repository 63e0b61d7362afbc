"""Trees with words whose heads are not known, where whole trees are expected."""

from __future__ import annotations

import numpy as np
import pytest

from crossarc import ProjectiveTrees, SpanningTrees, Tree, deprojectivize
from crossarc.inference.transition import covington

PARTIAL = Tree([2, -1, 0], ("a", "b|c", "root"))


@pytest.mark.parametrize("kind", [SpanningTrees, ProjectiveTrees])
@pytest.mark.parametrize("ask", ["log_prob", "expected_attachment"])
def test_distributions_name_the_word(kind: type, ask: str) -> None:
    trees = kind(np.zeros((4, 4)), root="multi")
    with pytest.raises(ValueError, match=r"word 2 .*has no head"):
        getattr(trees, ask)(Tree([2, -1, 0]))


def test_covington_names_the_tree() -> None:
    with pytest.raises(ValueError, match="tree 1 has words without a head"):
        covington([Tree([0]), PARTIAL])


def test_deprojectivize_leaves_them_alone() -> None:
    assert deprojectivize(PARTIAL) is PARTIAL

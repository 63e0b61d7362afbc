"""The projective tree with the fewest changed heads (Koo et al. 2007, footnote 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.trees import Tree

__all__ = ["closest_projective_heads"]


def closest_projective_heads(tree: Tree) -> NDArray[np.int64]:
    """Heads of the projective tree that changes fewest heads, by Eisner's algorithm, O(n^3).

    Of several such trees, the result is one in which as many changed words as possible hang from an
    ancestor, and of these one whose new heads are nearest to the old ones: the number of arcs on
    the way from the old head to the new one, in the tree given, is summed over the words. If
    several are left, the algorithm decides, the same way each time. A single root stays single.
    """
    from crossarc.inference import ProjectiveTrees

    trees = ProjectiveTrees(
        -_costs(tree.heads), root="single" if tree.is_single_root else "multi", threads=1
    )
    heads: NDArray[np.int64] = trees.argmax().heads
    return heads


def _costs(heads: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cost of each arc [h, m]: whole numbers, so that sums are exact."""
    n = len(heads)
    above = _ancestors(heads.tolist())
    # Nodes above both, themselves included; of a node and itself, its depth and one.
    common = above @ above.T
    depths = common.diagonal()
    distances = depths[:, None] + depths[None, :] - 2.0 * common

    # A head that is no ancestor outweighs all distances, one changed head all of these.
    no_ancestor = float(n * (n + 1))
    changed = float(n + 1) * no_ancestor
    costs = distances[:, [0, *heads]] + no_ancestor * (1.0 - above.T)
    costs[:, 1:] += changed
    costs[heads, np.arange(1, n + 1)] = 0.0
    return costs


def _ancestors(heads: list[int]) -> NDArray[np.float64]:
    """[m, h] is 1 where h dominates m, else 0."""
    nodes = len(heads) + 1
    above = np.eye(nodes)
    above[:, 0] = 1.0
    for m, h in enumerate(heads, 1):
        while h:
            above[m, h] = 1.0
            h = heads[h - 1]
    return above

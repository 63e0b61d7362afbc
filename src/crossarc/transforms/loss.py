"""The projective tree with the fewest changed heads (Koo et al. 2007, footnote 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crossarc.trees import Tree

__all__ = ["closest_projective_heads"]


def closest_projective_heads(tree: Tree) -> NDArray[np.int64]:
    """Heads of the projective tree that changes fewest heads, by Eisner's algorithm, O(n^3).

    Of several such trees, one is taken whose new heads are closest to the old ones: the number of
    arcs on the way from the old head to the new one, in the tree given, is summed over the words.
    So a word is rather lifted by one than by two, and rather to an ancestor than to a stranger. If
    several are left, the algorithm decides, the same way each time. A single root stays single.
    """
    from crossarc.inference import ProjectiveTrees

    distances = tree_distances(tree.heads)
    n = len(tree)
    # Whole numbers, so sums are exact: one changed head outweighs all distances together.
    one_change = float(n * (n + 1))
    costs = distances[:, np.concatenate(([0], tree.heads))]
    costs[costs > 0] += one_change
    root = "single" if tree.is_single_root else "multi"
    best = ProjectiveTrees(-costs, root=root, threads=1).argmax()
    return np.asarray(best.heads)


def tree_distances(heads: NDArray[np.int64]) -> NDArray[np.float64]:
    """Arcs on the way between any two nodes of a tree, the root included: (n+1, n+1)."""
    nodes = len(heads) + 1
    above = np.zeros((nodes, nodes))
    above[:, 0] = 1.0
    for m in range(1, nodes):
        u = m
        while u:
            above[m, u] = 1.0
            u = heads[u - 1]
    # Nodes above both, themselves included, less one: the depth of the lowest common ancestor.
    common = above @ above.T
    depths = common.diagonal()
    return depths[:, None] + depths[None, :] - 2.0 * common

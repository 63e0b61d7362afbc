"""Lifting: crossing arcs move up until none is left (Nivre & Nilsson 2005, section 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["lifted_heads"]


def lifted_heads(heads: NDArray[np.int64]) -> NDArray[np.int64]:
    """Heads of a projective tree in which each word hangs from its head or an ancestor of that.

    As long as there is a non-projective arc h -> m, the shortest, of several the leftmost, is
    replaced by g -> m, where g is the head of h. An arc of the root is projective, so h has a head,
    and the only root of a tree dominates all words, so no word is lifted to a second root.

    O(n log n) for each lift.
    """
    from crossarc.trees.measures import gap_degrees

    lifted = heads.copy()
    while len(words := np.flatnonzero(gap_degrees(lifted)[1]) + 1):
        governors = lifted[words - 1]
        lengths = np.abs(governors - words)
        first = np.lexsort((np.minimum(governors, words), lengths))[0]
        lifted[words[first] - 1] = lifted[governors[first] - 1]
    return lifted

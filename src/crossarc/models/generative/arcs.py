"""Arcs as a bigram model sees them, and the number of trees that they can make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.distribution import Root

__all__ = ["Arcs", "Factor", "log_tree_count"]

Ints = NDArray[np.int64]


@cache
def log_tree_count(n: int, *, projective: bool, root: Root) -> float:
    """Log of the number of unlabelled trees of n words.

    All trees: (n + 1)^(n - 1), with a single root n^(n - 1) (Cayley). Projective ones:
    C(3n, n) / (2n + 1), with a single root C(3n - 2, n - 1) / n.
    """
    if not projective:
        return (n - 1) * math.log(n if root == "single" else n + 1) if n else 0.0
    if root == "single":
        return math.log(math.comb(3 * n - 2, n - 1) // n) if n else 0.0
    return math.log(math.comb(3 * n, n) // (2 * n + 1))


class Arcs(NamedTuple):
    """What modifiers are generated from, as arrays that broadcast.

    Attributes:
        heads, modifiers: units of both, one array a column; the root's unit is the size of the
            vocabulary.
        direction: 0 for a modifier to the left, 1 to the right.
        code: of direction and distance, as far as the model knows them.
    """

    heads: Sequence[Ints]
    modifiers: Sequence[Ints]
    direction: Ints
    code: Ints


class Factor(NamedTuple):
    """One step in the generation of a modifier: the contexts, the finest first, and the outcome."""

    contexts: Sequence[Ints]
    observed: Ints
    outcomes: int

    @classmethod
    def broadcast(cls, contexts: Sequence[Ints], observed: Ints, outcomes: int) -> Factor:
        """With arrays of one shape."""
        *wide, seen = np.broadcast_arrays(*contexts, observed)
        return cls(wide, seen, outcomes)

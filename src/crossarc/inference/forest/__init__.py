"""Packed forests: every question about the derivations of a deduction system, answered once.

A chart algorithm emits a `Forest`; a question is one compiled loop over its arrays. Each has a
module of its own, which is loaded, and compiled once, when it is first needed:

    viterbi        the best derivation; for each part the best derivation with it
    inside         log Z, inside and outside weights, marginals of parts
    kbest          all derivations, best first, lazily
    sampling       draws with and without replacement
    expectation    expected values, entropy, divergence, Hessian products

`ForestTrees` (in `trees`) asks them: a deduction system that emits forests of dependency trees is a
`TreeDistribution` with all its methods.
"""

from __future__ import annotations

from crossarc.inference.forest.arrays import Forest
from crossarc.inference.forest.trees import ForestTrees

__all__ = ["Forest", "ForestTrees"]

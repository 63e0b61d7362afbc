"""How many words a proper model generates: sums over all strings and their computations.

Where words are summed over, an item is known by its symbols. With I[l; b; x y] the probability of
the computations that begin with b on top of the stack, generate l words and leave x y in its place,

    J[l; b; x; y z] = sum over k and e of  I[k; b; x e] I[l-k; e; y z]

    sh     I[1; b; b c]   = sh[b, c]
    la1    I[l; b; x z]  += sum over y of  J[l; b; x; y z] rd[z] la1[y, z]
    ra1    I[l; b; x y]  += sum over z of  J[l; b; x; y z] rd[z] ra1[y, z]
    la2    I[l; b; y z]  += sum over x of  J[l; b; x; y z] rd[z] rd2[y, z] la2[x, y, z]
    ra2    I[l; b; x y]  += sum over z of  J[l; b; x; y z] rd[z] rd2[y, z] ra2[x, y, z]

as in the deduction of a sentence, and p(n) = G[n] rd[$] with

    G[n] = sum over l of  G[n-l] sum over c of  I[l; $; $ c] rd[c] ra1[$, c].

O(n^2 V^5) for V symbols.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crossarc.models.transition.symbols import ROOT

__all__ = ["MAX_SYMBOLS", "length_probs"]

Floats = NDArray[np.float64]

#: More symbols would take minutes.
MAX_SYMBOLS = 64


def length_probs(parameters: Mapping[str, Floats], longest: int) -> Floats:
    """p(n) for n from 0 to `longest` under parameters that are proper."""
    # Without the marker below the stack; `$` is symbol 0.
    p = {name: table[(slice(ROOT, None),) * table.ndim] for name, table in parameters.items()}
    size = len(p["rd"])
    one_left, one_right, below = (p["rd"] * p[name] for name in ("la1", "ra1", "rd2"))
    two_left, two_right = (below * p[name] for name in ("la2", "ra2"))
    items = np.zeros((longest + 1, size, size, size))
    every = np.arange(size)
    if longest > 0:
        items[1, every, every] = p["sh"]
    for length in range(2, longest + 1):
        left = items[1:length].transpose(1, 2, 0, 3).reshape(size * size, -1)
        right = items[length - 1 : 0 : -1].reshape(-1, size * size)
        joined = (left @ right).reshape((size,) * 4)
        items[length] = np.einsum("bxyz,yz->bxz", joined, one_left)
        items[length] += np.einsum("bxyz,xyz->byz", joined, two_left)
        items[length] += np.einsum("bxyz,xyz->bxy", joined, one_right + two_right)
    steps = items[:, 0, 0] @ one_right[0]
    goal = np.zeros(longest + 1)
    goal[0] = 1.0
    for n in range(1, longest + 1):
        goal[n] = goal[:n] @ steps[n:0:-1]
    probabilities: Floats = goal * p["rd"][0]
    return probabilities

"""Why higher-order parsing without projectivity is hard (McDonald & Satta 2007, section 5).

markov        the weight of a tree under Markovization of any order, by definition
reductions    problems that are known to be hard as parsing problems, and trees back as solutions
vertical      labelled trees of which only some pairs of arcs are allowed, by integer programming
"""

from __future__ import annotations

from crossarc.inference.hardness.markov import (
    horizontal_neighbourhood,
    horizontal_weight,
    vertical_neighbourhood,
    vertical_weight,
)
from crossarc.inference.hardness.reductions import (
    HamiltonianPath,
    HorizontalMatching,
    VerticalMatching,
)

__all__ = [
    "HamiltonianPath",
    "HorizontalMatching",
    "VerticalMatching",
    "horizontal_neighbourhood",
    "horizontal_weight",
    "vertical_neighbourhood",
    "vertical_weight",
]

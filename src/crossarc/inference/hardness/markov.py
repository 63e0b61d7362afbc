"""Vertical and horizontal Markovization of trees (McDonald & Satta 2007, section 5.2).

An arc is written (h, m, l), label l being 0 without labels. Its vertical neighbourhood are the arcs
on all paths from the root to a leaf that pass through it, its horizontal neighbourhood the arcs
from the same head. Under Markovization of order d the weight of a tree is a product with one term
for each arc, which may depend on the d arcs before it: vertically those above it, nearest last;
horizontally those of the modifiers between it and its head, nearest to it last. Where fewer than d
are there, all of them are given. A weight of order d is one of order d + 1 that does not look
at the first of d + 1 arcs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

__all__ = [
    "horizontal_neighbourhood",
    "horizontal_weight",
    "vertical_neighbourhood",
    "vertical_weight",
]

Arc = tuple[int, int, int]
#: Of an arc, given the arcs before it.
Weight = Callable[[tuple[Arc, ...], Arc], float]


def _above(heads: Sequence[int], m: int) -> list[int]:
    """The words on the way from the root to m, m itself left out."""
    found: list[int] = []
    while heads[m - 1] > 0:
        m = heads[m - 1]
        found.append(m)
    return found[::-1]


def _inside(heads: Sequence[int], m: int) -> list[int]:
    """Modifiers of the head of m between the two, from the inside out."""
    h = heads[m - 1]
    between = range(h + 1, m) if h < m else range(h - 1, m, -1)
    return [s for s in between if heads[s - 1] == h]


def vertical_neighbourhood(heads: Sequence[int], m: int) -> set[tuple[int, int]]:
    """Arcs (h, m) on the paths through the arc into word m, itself included."""
    below = [w for w in range(1, len(heads) + 1) if m in _above(heads, w)]
    return {(heads[w - 1], w) for w in [*_above(heads, m), m, *below]}


def horizontal_neighbourhood(heads: Sequence[int], m: int) -> set[tuple[int, int]]:
    """Arcs (h, m) from the head of word m, the arc into m included."""
    h = heads[m - 1]
    return {(h, w) for w in range(1, len(heads) + 1) if heads[w - 1] == h}


def _product(
    heads: Sequence[int],
    labels: Sequence[int] | None,
    order: int,
    weight: Weight,
    before: Callable[[Sequence[int], int], list[int]],
) -> float:
    names = [0] * len(heads) if labels is None else list(labels)

    def arc(m: int) -> Arc:
        return heads[m - 1], m, names[m - 1]

    terms = []
    for m in range(1, len(heads) + 1):
        words = before(heads, m)
        terms.append(weight(tuple(map(arc, words[max(0, len(words) - order) :])), arc(m)))
    return math.prod(terms)


def vertical_weight(
    heads: Sequence[int], labels: Sequence[int] | None, order: int, weight: Weight
) -> float:
    """The weight of a tree under vertical Markovization."""
    return _product(heads, labels, order, weight, _above)


def horizontal_weight(
    heads: Sequence[int], labels: Sequence[int] | None, order: int, weight: Weight
) -> float:
    """The weight of a tree under horizontal Markovization."""
    return _product(heads, labels, order, weight, _inside)

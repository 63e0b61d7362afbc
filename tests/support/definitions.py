"""The measures of a tree exactly as the papers define them, without any cleverness.

Oracles for the compiled measures: Nivre (2006) for projectivity and degree, Kuhlmann & Nivre
(2006) for gap degree, well-nestedness and planarity.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Heads = Sequence[int]


def dominates(heads: Heads, u: int, v: int) -> bool:
    """u ->* v, reflexive and transitive."""
    while v != u and v != 0:
        v = heads[v - 1]
    return u == v


def between(a: int, b: int) -> range:
    return range(min(a, b) + 1, max(a, b))


def nonprojective_arcs(heads: Heads) -> list[bool]:
    """Nivre (2006), constraint 5: i -> j requires i ->* k for every k between them."""
    return [not all(dominates(heads, h, k) for k in between(h, m)) for m, h in enumerate(heads, 1)]


def arc_degree(heads: Heads, m: int) -> int:
    """Nivre (2006), Definition 3: connected components between, whose root h does not dominate."""
    h = heads[m - 1]
    inside = set(between(h, m))
    neighbours = {u: {v for v in inside if heads[v - 1] == u or heads[u - 1] == v} for u in inside}
    seen: set[int] = set()
    degree = 0
    for start in inside:
        if start in seen:
            continue
        component, agenda = {start}, [start]
        while agenda:
            for v in neighbours[agenda.pop()] - component:
                component.add(v)
                agenda.append(v)
        seen |= component
        (root,) = (u for u in component if heads[u - 1] not in component)
        degree += not dominates(heads, h, root)
    return degree


def subtree(heads: Heads, u: int) -> list[int]:
    return [v for v in range(1, len(heads) + 1) if dominates(heads, u, v)]


def gap_degree(heads: Heads, u: int) -> int:
    """Gaps: neighbouring members of the subtree's projection that are not neighbouring words."""
    words = subtree(heads, u)
    return sum(b - a > 1 for a, b in itertools.pairwise(words))


def is_well_nested(heads: Heads) -> bool:
    """No disjoint subtrees hold l1 < l2 < r1 < r2 with l1, r1 in one and l2, r2 in the other."""
    for u, v in itertools.permutations(range(1, len(heads) + 1), 2):
        if dominates(heads, u, v) or dominates(heads, v, u):
            continue
        for (l1, r1), (l2, r2) in itertools.product(
            itertools.combinations(subtree(heads, u), 2),
            itertools.combinations(subtree(heads, v), 2),
        ):
            if l1 < l2 < r1 < r2:
                return False
    return True


def crossings(heads: Heads) -> int:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1) if h > 0]
    return sum(a < b < c < d for (a, c), (b, d) in itertools.permutations(arcs, 2))

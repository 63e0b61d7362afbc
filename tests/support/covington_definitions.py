"""Covington's algorithm exactly as Nivre (2006) defines it, without any cleverness.

The oracle of the compiled version: graphs are sets of arcs, and every constraint is tested by its
definition on the whole graph, candidate arc included.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

Arc = tuple[int, int]
Graph = frozenset[Arc]


class Outcome(NamedTuple):
    """The heads that were found, 0 for none, and the number of active pairs."""

    heads: list[int]
    active: int


def closure(graph: Graph, n: int) -> list[set[int]]:
    """For each node i, all j with i ->* j."""
    reached = []
    for i in range(n + 1):
        found, agenda = {i}, [i]
        while agenda:
            u = agenda.pop()
            for h, m in graph:
                if h == u and m not in found:
                    found.add(m)
                    agenda.append(m)
        reached.append(found)
    return reached


def is_single_headed(graph: Graph) -> bool:
    """Constraint 3: if i -> j then there is no k != i with k -> j."""
    return len({m for _, m in graph}) == len(graph)


def is_acyclic(graph: Graph, n: int) -> bool:
    """Constraint 4: if i -> j then not j ->* i."""
    below = closure(graph, n)
    return all(h not in below[m] for h, m in graph)


def is_projective(graph: Graph, n: int) -> bool:
    """Constraint 5: if i -> j then i ->* k for every k between i and j."""
    below = closure(graph, n)
    return all(k in below[h] for h, m in graph for k in range(min(h, m) + 1, max(h, m)))


def degree(graph: Graph, n: int) -> int:
    """Definition 3, for a graph that is single-headed and acyclic."""
    below = closure(graph, n)
    largest = 0
    for h, m in graph:
        inside = set(range(min(h, m) + 1, max(h, m)))
        arcs = [(u, v) for u, v in graph if u in inside and v in inside]
        roots = inside - {v for _, v in arcs}
        largest = max(largest, sum(root not in below[h] for root in roots))
    return largest


@cache
def strictest(graph: Graph, n: int) -> float:
    """The constraints a graph obeys: all bounds from this degree up; inf: acyclicity at best."""
    if not is_single_headed(graph):
        return float("nan")
    if not is_acyclic(graph, n):
        return float("inf")
    found = degree(graph, n)
    assert (found == 0) == is_projective(graph, n)
    return found


def obeys(graph: Graph, n: int, constraint: str) -> bool:
    """Constraints are cumulative, in the order of section 5."""
    level = strictest(graph, n)
    if constraint == "none":
        return True
    if constraint == "single-head":
        return level == level
    if constraint == "acyclicity":
        return level < float("inf")
    bound = 0 if constraint == "projectivity" else int(constraint.removeprefix("d<="))
    return level <= bound


def pairs(n: int, order: str) -> Iterator[tuple[int, int]]:
    """All pairs i > j, as section 4 has them, or the shortest first."""
    if order == "incremental":
        for i in range(1, n + 1):
            for j in range(i - 1, 0, -1):
                yield i, j
    else:
        for length in range(1, n):
            for j in range(1, n - length + 1):
                yield j + length, j


def parse(gold: list[int] | tuple[int, ...], constraint: str, order: str) -> Outcome:
    """PARSE with LINK and PERMISSIBLE of section 4, the gold tree as the oracle."""
    n = len(gold)
    wanted = {(h, m) for m, h in enumerate(gold, 1) if h}
    graph: Graph = frozenset()
    active = 0
    for i, j in pairs(n, order):
        permitted = [arc for arc in ((i, j), (j, i)) if obeys(graph | {arc}, n, constraint)]
        active += bool(permitted)
        graph |= wanted.intersection(permitted)
    heads = [0] * n
    for h, m in graph:
        heads[m - 1] = h
    return Outcome(heads, active)

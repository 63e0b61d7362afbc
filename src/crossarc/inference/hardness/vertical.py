"""Labelled trees under vertical Markovization of order 1, by the integer programme of `higher`.

Each labelled arc is an arc of its own there: several go from a head to the same modifier, of which
a tree has one. Contexts are labelled arcs, too, so that the grandchild parts are pairs of these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.hardness.markov import Arc
from crossarc.inference.higher.ilp import solve_ilp
from crossarc.inference.higher.problem import Problem

__all__ = ["solve_vertical"]

Ints = NDArray[np.int64]


def solve_vertical(
    n: int, arcs: Iterable[Arc], parts: Collection[tuple[Arc, Arc]]
) -> tuple[list[int], list[int]] | None:
    """Heads and labels of a tree of some arcs, each pair above one another allowed; None without.

    Args:
        n: words.
        arcs: (h, m, l) that may be used.
        parts: the pairs ((g, h, k), (h, m, l)) that may stand above one another.
    """
    # By head, then those to the left, each side from the inside out.
    ordered = sorted(set(arcs), key=lambda arc: (arc[0], arc[1] > arc[0], abs(arc[1] - arc[0])))
    if {m for _, m, _ in ordered} != set(range(1, n + 1)):
        return None
    used = solve_ilp(_problem(n, ordered, set(parts)), None).arcs
    if used is None:
        return None
    heads, _, labels = zip(*[ordered[i] for i in used.tolist()], strict=True)
    return list(heads), list(labels)


def _problem(n: int, arcs: Sequence[Arc], parts: Collection[tuple[Arc, Arc]]) -> Problem:
    """Scores of 0 and -inf; what only other methods than the integer programme read is empty."""
    head, modifier, _ = np.array(arcs, np.int64).T
    lists = np.searchsorted(2 * head + (modifier > head), np.arange(2 * n + 3))
    entering = np.argsort(modifier, kind="stable")
    below = [[i for i, arc in enumerate(arcs) if arc[0] == h] for h in range(n + 1)]
    # The context of the root, then one for each arc.
    rows = [np.zeros(len(below[0]))]
    for incoming in entering.tolist():
        own = [(arcs[incoming], arcs[i]) in parts for i in below[arcs[incoming][1]]]
        rows.append(np.where(own, 0.0, -np.inf))
    offsets = np.cumsum([0, *map(len, rows)])
    counts = np.bincount(modifier, minlength=n + 1)
    first_entering = np.concatenate([[0], np.cumsum(counts)])
    first_context = first_entering + 1
    first_context[0] = 0
    contexts = np.empty(len(arcs), np.int64)
    contexts[entering] = np.arange(1, len(arcs) + 1)
    nothing = np.zeros(0, np.int64)
    return Problem(
        limits=np.full(n + 1, n),
        arc=np.zeros((0, 0), np.int64),
        first=lists,
        head=head,
        modifier=modifier,
        score=np.zeros(len(arcs)),
        first_entering=first_entering,
        entering=entering,
        first_context=first_context,
        context_arc=np.concatenate([[-1], entering]),
        context_of=contexts,
        unary_offset=offsets[:-1],
        pair_offset=nothing,
        unary=np.concatenate(rows),
        pair=np.zeros(0),
        triple_offset=nothing,
        triple=np.zeros(0),
    )

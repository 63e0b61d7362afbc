"""Covington's algorithm under constraints, with the gold tree as its oracle (Nivre 2006).

The algorithm tries to link every pair of words. A pair is *active* when at least one of its two
arcs is permissible: the graph plus that arc obeys the constraint. Of the active pairs, those that
are arcs of the gold tree are linked. The artificial root is in no pair; a word that is left
without a head hangs from it.

Constraints are cumulative, from the weakest to the strictest:

    none          every pair is active
    single-head   no word has two heads
    acyclicity    and there is no cycle
    d<=k          and no arc has a degree over k (Definition 3)
    projectivity  and every arc is projective; the same as d<=0
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.transition.incremental import scan_incrementally
from crossarc.inference.transition.shortest_first import scan_shortest_first
from crossarc.kernels import READ_INT, kernel, subkernel
from crossarc.parallel import over_ranges
from crossarc.trees import Tree

__all__ = ["CONSTRAINTS", "Order", "Recovery", "covington", "degree_bound"]

Ints = NDArray[np.int64]
Order = Literal["incremental", "shortest-first"]

#: The constraints of Table 1, the strictest first.
CONSTRAINTS = (
    "projectivity",
    *(f"d<={k}" for k in (1, 2, 3, 4, 5, 10)),
    "acyclicity",
    "single-head",
    "none",
)
_UNBOUNDED = ("acyclicity", "single-head", "none")


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was found under one constraint.

    Attributes:
        heads: head of each word, sentence after sentence; 0 for a word without one. Read-only.
        correct: for each sentence, how many words have their gold head.
        active: for each sentence, the number of active pairs.
    """

    heads: Ints
    correct: Ints
    active: Ints


def degree_bound(constraint: str) -> int | None:
    """The largest degree that a constraint allows; None for the three that allow any.

    Raises:
        ValueError: not the name of a constraint.
    """
    if constraint in _UNBOUNDED:
        return None
    if constraint == "projectivity":
        return 0
    if re.fullmatch(r"d<=[0-9]{1,9}", constraint):
        return int(constraint[3:])
    raise ValueError(
        f"no constraint {constraint!r}: use projectivity, d<=1, d<=2 and so on, "
        "acyclicity, single-head or none"
    )


def covington(
    trees: Sequence[Tree],
    constraints: Sequence[str] = CONSTRAINTS,
    *,
    order: Order = "incremental",
    threads: int | None = None,
) -> dict[str, Recovery]:
    """Parse trees with themselves as the oracle; what is lost is lost to the constraint.

    One scan of a tree without a bound gives the pieces of every pair, and with them the active
    pairs under every bound that no arc exceeds; only the other bounds need a scan of their own.
    A scan takes O(n^2).

    Args:
        trees: any number.
        constraints: names, see `degree_bound`.
        order: "shortest-first" tries the pairs by increasing length instead.
        threads: `CROSSARC_THREADS`, else all cores, by default.

    Raises:
        ValueError: an unknown constraint or order, or a partial tree.
    """
    if order not in ("incremental", "shortest-first"):
        raise ValueError(f'order must be "incremental" or "shortest-first": got {order!r}')
    limits = {name: degree_bound(name) for name in constraints}
    for index, tree in enumerate(trees):
        if not tree.is_complete:
            raise ValueError(f"tree {index} has words without a head: leave it out")
    lengths = np.array([len(tree) for tree in trees], np.int64)
    gold = np.concatenate([tree.heads for tree in trees]) if len(trees) else lengths
    starts = np.concatenate([[0], np.cumsum(lengths)])
    longest = int(lengths.max(initial=0))
    bounds = np.array(
        sorted({min(bound, longest) for bound in limits.values() if bound is not None}), np.int64
    )
    found = np.empty((len(bounds), len(gold)), np.int64)
    active = np.empty((len(bounds) + 2, len(trees)), np.int64)
    over_ranges(
        lambda begin, end: _parse(
            gold, starts, begin, end, bounds, order != "incremental", found, active
        ),
        (lengths**2).tolist(),
        threads,
    )
    gold.flags.writeable = found.flags.writeable = active.flags.writeable = False
    recoveries = {}
    for name, bound in limits.items():
        if bound is not None:
            row = int(np.searchsorted(bounds, min(bound, longest)))
            heads, pairs = found[row], active[row]
        else:
            heads = gold
            pairs = {
                "acyclicity": active[-2],
                "single-head": active[-1],
                "none": lengths * (lengths - 1) // 2,
            }[name]
        right = np.concatenate([[0], np.cumsum(heads == gold)])
        recoveries[name] = Recovery(heads, np.diff(right[starts]), pairs)
    return recoveries


_TABLE = types.int64[:, ::1]


@subkernel()
def _scan(
    tree: Ints, bound: int, shortest_first: bool, found: Ints, histogram: Ints
) -> tuple[int, int]:
    if shortest_first:
        return scan_shortest_first(tree, bound, found, histogram)
    return scan_incrementally(tree, bound, found, histogram)


@kernel(
    types.void(
        READ_INT, READ_INT, types.int64, types.int64, READ_INT, types.boolean, _TABLE, _TABLE
    )
)
def _parse(
    gold: Ints,
    starts: Ints,
    begin: int,
    end: int,
    bounds: Ints,
    shortest_first: bool,
    found: Ints,
    active: Ints,
) -> None:
    """Fill heads and active pairs of the sentences begin..end-1: a row a bound, then acyclicity
    and single-headedness for active pairs."""
    rows = bounds.shape[0]
    largest = bounds[rows - 1] if rows else 0
    for s in range(begin, end):
        tree = gold[starts[s] : starts[s + 1]]
        free = np.empty(tree.shape[0], np.int64)
        histogram = np.zeros(largest + 2, np.int64)
        bounded = np.empty(largest + 2, np.int64)
        # More than any bound: no arc is refused.
        single_headed, most = _scan(tree, tree.shape[0], shortest_first, free, histogram)
        active[rows, s] = histogram.sum()
        active[rows + 1, s] = single_headed
        for row in range(rows):
            counts = histogram
            target = found[row, starts[s] : starts[s + 1]]
            if most <= bounds[row]:
                target[:] = tree
            else:
                counts = bounded
                counts[:] = 0
                _scan(tree, bounds[row], shortest_first, target, counts)
            active[row, s] = counts[: bounds[row] + 1].sum()

"""log Z, arc and sibling marginals of projective trees under sibling factors, for a batch.

The sibling model of Eisner (1996) and McDonald & Pereira (2006) as inside and outside pass,
O(n^3), in float64 where that is certain to be enough and in numbers with a wide exponent
elsewhere, by the rule of `eisner_sums`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.extended import normalised, power_of_two
from crossarc.inference.projective.panels import longest_of
from crossarc.inference.projective.semirings import SUM
from crossarc.inference.projective.sibling_charts import (
    INSIDE_CHARTS,
    cells,
    part_place,
    sibling_room,
)
from crossarc.inference.projective.sibling_inside import sibling_inside
from crossarc.inference.projective.sibling_outside import sibling_outside
from crossarc.inference.projective.sibling_weights import (
    fill_parts,
    part_range,
    sibling_root_shift,
    tree_parts,
)
from crossarc.inference.projective.weights import assemble, best_scores
from crossarc.inference.spanning.wanted import MARGINALS, TOTAL
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["infer_sibling"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_INT, _BOOL = types.int64, types.boolean

# The rule of docs/numerics.md, as in `eisner_sums`.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-350, 2.0**450, 2.0**930
_HEADROOM = 900
_LN2 = 0.6931471805599453

_inside = sibling_inside(SUM)


@subkernel()
def _read(product: float, headroom: int, wanted: int) -> float:
    """A marginal or its logarithm, from mu 2^headroom."""
    share = product * power_of_two(-headroom)
    if wanted == MARGINALS:
        return min(1.0, share)
    if product == 0.0:
        return -np.inf
    return min(0.0, math.log(share)) if share > 2.0**-1000 else math.log(product) - headroom * _LN2


@subkernel()
def _read_parts(
    w: Floats,
    scores: Floats,
    nodes: int,
    single: bool,
    headroom: int,
    wanted: int,
    arcs: Floats,
    parts: Floats,
) -> float:
    """Marginals of arcs and, where there is room for them, of parts; the smallest of products."""
    least = np.inf
    for h in range(nodes):
        for m in range(1, nodes):
            if h != m:
                product = arcs[h * nodes + m]
                least = min(least, product if scores[h * nodes + m] > -np.inf else np.inf)
                arcs[h * nodes + m] = _read(product, headroom, wanted)
        for s in range(1 if h > 0 else 0, 1 if h == 0 and single else nodes):
            first, last = part_range(nodes, h, s)
            possible = s == h or scores[h * nodes + s] > -np.inf
            for m in range(first, last if parts.shape[0] > 0 and possible else first):
                if scores[h * nodes + m] > -np.inf:
                    product = w[part_place(nodes, h, s, m)]
                    least = min(least, product)
                    at = (h * nodes + s) * nodes + m
                    parts[at] = _read(product, headroom, wanted)
    return least


@subkernel()
def _solve_plain(
    x: Floats,
    o: Floats,
    w: Floats,
    scores: Floats,
    nodes: int,
    single: bool,
    heaviest: float,
    forbidden: bool,
    wanted: int,
    arcs: Floats,
    parts: Floats,
) -> tuple[bool, float]:
    """Whether float64 is certainly enough, and Z over the potentials; fills the marginals."""
    total, least, most = _inside(x, w, nodes, single, forbidden)
    least = min(1.0, least, total if total > 0.0 else 1.0)
    lowest = _LOWEST_PRODUCT if forbidden else _LOWEST
    spread = heaviest * most * (heaviest * most / least)
    if not (least >= lowest and most <= _HIGHEST and spread <= _RANGE):
        return False, total
    if total == 0.0 or wanted == TOTAL:
        return total > 0.0 or forbidden, total
    headroom = _HEADROOM + normalised(least / heaviest, 0)[1]
    for at in range(INSIDE_CHARTS * nodes * nodes):
        o[at] = 0.0
    goal = power_of_two(headroom) / total
    sibling_outside(x, o, w, nodes, single, goal, arcs)
    smallest = _read_parts(w, scores, nodes, single, headroom, wanted, arcs, parts)
    return wanted == MARGINALS or smallest >= heaviest * most * most * _LOWEST, total


@subkernel()
def _infer_one(
    scores: Floats,
    masses: Floats,
    sibling: Floats,
    nodes: int,
    single: bool,
    wanted: int,
    heads: Ints,
    siblings: Ints,
    arcs: Floats,
    parts: Floats,
    x: Floats,
    o: Floats,
    w: Floats,
    buffer: Floats,
) -> tuple[float, float]:
    """log Z as the sum of two floats; infinite where float64 is not certain to be enough."""
    potentials, rest = buffer[:nodes], buffer[nodes:]
    if not best_scores(scores, nodes, single, potentials):
        return np.nan, np.nan
    for m in range(1, nodes):
        if potentials[m] == -np.inf:
            return -np.inf, 0.0
    if heads.shape[0] > 0:
        if heads[0] < 0:
            return -np.inf, 0.0
        tree_parts(scores, sibling, nodes, single, heads, siblings, potentials)
    shift = sibling_root_shift(scores, sibling, nodes, single, potentials)
    if shift == -np.inf:
        return -np.inf, 0.0
    fits, heaviest, forbidden = fill_parts(
        w, scores, sibling, nodes, masses, single, potentials, shift, rest
    )
    if fits:
        certain, total = _solve_plain(
            x, o, w, scores, nodes, single, heaviest, forbidden, wanted, arcs, parts
        )
        if certain:
            if total == 0.0:
                return -np.inf, 0.0
            mantissa, exponent = normalised(total, 0)
            return assemble(potentials, nodes, shift, mantissa, exponent)
    return np.inf, 0.0


@kernel(
    types.void(
        READ_FLOAT,
        READ_FLOAT,
        READ_INT,
        READ_INT,
        READ_FLOAT,
        READ_INT,
        _BOOL,
        _INT,
        READ_INT,
        READ_INT,
        _F1,
        _F1,
        _F2,
        _F1,
        _INT,
        _INT,
    )
)
def _infer_plain(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    siblings: Floats,
    cubes: Ints,
    single: bool,
    wanted: int,
    tree_heads: Ints,
    tree_siblings: Ints,
    out: Floats,
    out_parts: Floats,
    totals: Floats,
    space: Floats,
    begin: int,
    end: int,
) -> None:
    """`infer_sibling` in float64; the total is infinite where that may not be enough.

    Args:
        tree_heads, tree_siblings: of the sentences' best trees, whose scores are taken as
            potentials; or empty, and the best scores into the words are.
    """
    _, place = longest_of(sizes, begin, end)
    for index in range(begin, end):
        nodes, at, cube = sizes[index] + 1, offsets[index], cubes[index]
        whole = slice(at, at + nodes * nodes)
        all_parts = slice(cube, cube + nodes * nodes * nodes)
        words = slice(place, place + nodes - 1)
        charts = INSIDE_CHARTS * nodes * nodes
        weights = 2 * charts + 2 * cells(nodes)
        totals[0, index], totals[1, index] = _infer_one(
            scores[whole],
            masses[whole],
            siblings[all_parts],
            nodes,
            single,
            wanted,
            tree_heads[words],
            tree_siblings[words],
            out[whole],
            out_parts[all_parts],
            space[:charts],
            space[charts : 2 * charts],
            space[2 * charts : weights],
            space[weights:],
        )
        place += nodes - 1


def infer_sibling(
    scores: Floats,
    masses: Floats,
    sizes: Ints,
    offsets: Ints,
    siblings: Floats,
    cubes: Ints,
    single: bool,
    wanted: int,
    out: Floats,
    out_parts: Floats,
    totals: Floats,
    begin: int,
    end: int,
    space: Floats | None = None,
) -> None:
    """Sentences begin..end-1 of a batch that lies flat in memory.

    Args:
        scores, masses, sizes, offsets, wanted, totals: as for `eisner_sums.infer`.
        siblings: (n + 1)^3 numbers a sentence, [h, s, m], finite wherever a tree has the part.
        cubes: where those of each sentence begin.
        out: marginals of arcs or their logarithms; where there is no arc it is left alone.
        out_parts: the same for parts; or empty if they are not wanted.
        space: `sibling_room` numbers for the longest sentence, to work in.
    """
    if space is None:
        space = np.empty(sibling_room(int(sizes[begin:end].max(initial=0))))
    none = np.empty(0, np.int64)
    batch = (scores, masses, sizes, offsets, siblings, cubes, single, wanted)
    _infer_plain(*batch, none, none, out, out_parts, totals, space, begin, end)
    left = begin + np.flatnonzero(np.isposinf(totals[0, begin:end]))
    for is_last in (False, True):
        if len(left) == 0:
            return
        own = (sizes[left], offsets[left], siblings, cubes[left], single)
        found = np.empty((2, len(left)))
        if is_last:
            from crossarc.inference.projective.sibling_wide import infer_sibling_wide

            infer_sibling_wide(scores, masses, *own, wanted, out, out_parts, found)
        else:
            from crossarc.inference.projective.sibling_best import best_sibling_batch

            heads, nearest = np.empty((2, int(sizes[left].sum())), np.int64)
            best_sibling_batch(scores, *own, heads, nearest, space, 0, len(left))
            batch = (scores, masses, *own, wanted)
            _infer_plain(*batch, heads, nearest, out, out_parts, found, space, 0, len(left))
        totals[:, left] = found
        left = left[np.isposinf(found[0])]

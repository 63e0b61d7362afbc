"""A sentence's arcs and parts as flat arrays: what every method of this room reads.

Arcs are numbered as in `projective.automata.layout`: those that leave node h are first[2 h], ...,
first[2 h + 2] - 1, on the left and then on the right, each side from the inside out. The rank of a
modifier in its side counts from 1; rank 0 stands for h, where there is no modifier before.

A *context* is what a head knows of the tree above it: nothing, or, where a factor has a
grandparent, the arc g -> h. The score of a node h with its modifiers in context c is

    sum over modifiers m of   score[h -> m] + unary[c, m] + pair[c, m, s] + triple[h, m, s, t]

with s the modifier before m on its side, t the one before s. `unary` is the grandchild factor,
`pair` the sum of the sibling and grand-sibling factors, `triple` the tri-sibling factor. Contexts
share a table where it does not depend on g. A tree's score is the sum over all nodes. Parts that
score -inf are forbidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.factors import (
    GRAND_SIBLING,
    GRANDCHILD,
    SIBLING,
    TRI_SIBLING,
    Factor,
    FactorScores,
    Given,
    Parts,
)
from crossarc.inference.projective.automata.layout import (
    GRAND_SIBLING_PARTS,
    GRANDCHILD_PARTS,
    LAYOUT,
    SIBLING_PARTS,
    TRI_SIBLING_PARTS,
    Layout,
    locate,
    pair,
    part_cells,
    part_count,
)
from crossarc.inference.runtime.batch import Batch
from crossarc.kernels import READ_INT, kernel

__all__ = ["FACTORS", "PART_CELLS", "PROBLEM", "FactorTable", "Problem", "problem_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: All factors, in the order of the constructors' arguments.
FACTORS = (SIBLING, GRANDCHILD, GRAND_SIBLING, TRI_SIBLING)


class Problem(NamedTuple):
    """See the module; sizes: w nodes, A arcs, C contexts."""

    #: (w,): the most modifiers of each node; 1 for a single root.
    limits: Ints
    #: (w, w): the number of arc h -> m, -1 for one that is not allowed.
    arc: Ints
    #: (2 w + 1,): the first arc of list 2 h + side.
    first: Ints
    #: (A,): of each arc.
    head: Ints
    modifier: Ints
    score: Floats
    #: The arcs into word m are entering[first_entering[m]], ...
    first_entering: Ints
    entering: Ints
    #: (w + 1,): the contexts of node h are first_context[h], ...
    first_context: Ints
    #: (C,): the arc g -> h of a context; -1 where it knows nothing.
    context_arc: Ints
    #: (A,): the context of the modifier of each arc.
    context_of: Ints
    #: (C,): where the tables of each context begin.
    unary_offset: Ints
    pair_offset: Ints
    unary: Floats
    pair: Floats
    #: (2 w,): where the triples of each list begin; no triples where `triple` is empty.
    triple_offset: Ints
    triple: Floats


_INTS, _FLOATS = types.int64[::1], types.float64[::1]
#: The type of a problem as an argument of kernels.
PROBLEM = types.NamedTuple(
    (
        _INTS,
        types.int64[:, ::1],
        *[_INTS] * 3,
        _FLOATS,
        *[_INTS] * 7,
        _FLOATS,
        _FLOATS,
        _INTS,
        _FLOATS,
    ),
    Problem,
)


class FactorTable(FactorScores):
    """A factor of a batch, packed: the parts that trees over the allowed arcs have.

    Args:
        layouts: of each sentence.
    """

    def __init__(
        self,
        factor: Factor,
        given: Given | Sequence[Given],
        batch: Batch,
        layouts: Sequence[Layout],
    ) -> None:
        self._layouts = layouts
        # The number of each listed part, -1 where no tree has it; None for an array.
        self._numbers: list[Ints | None] = []
        self._tables: list[Floats] = []
        super().__init__(factor, given, batch, single=False)

    def _accept_parts(self, index: int, given: Parts) -> None:
        cells = self._flat_indices(index, given)
        numbers, count = locate_parts(self._layouts[index], self.factor.name, cells)
        usable, table = numbers >= 0, np.zeros(count)
        table[numbers[usable]] = 1.0
        if np.count_nonzero(table) < np.count_nonzero(usable) or not usable.all():
            self._check_distinct(index, cells)
        scores = self._read_scores(index, given, usable)
        table[numbers[usable]] = scores[usable]
        self.listed[index] = scores, cells
        self._numbers.append(numbers)
        self._tables.append(table)

    def _keep_array(self, index: int, given: NDArray[Any]) -> None:
        cells = self._cells(index)
        table = np.where(cells >= 0, given.reshape(-1)[cells], 0.0).astype(np.float64)
        if not np.isfinite(table).all():
            shape = given.shape
            self._note_forbidden(index, table, lambda i: np.unravel_index(cells[i], shape))
        self._numbers.append(None)
        self._tables.append(table)

    def _cells(self, index: int) -> Ints:
        """The index of each part in the flat dense array, -1 for one that no tree has."""
        return PART_CELLS[self.factor.name](self._layouts[index])

    def table(self, index: int) -> Floats:
        """The scores of all parts, as the tables of contexts order them."""
        return self._tables[index]

    def as_parts(self, index: int) -> Parts:
        """The parts that do not score 0."""
        used = np.flatnonzero(self._tables[index])
        shape = self.factor.shape(self._batch.width(index))
        cells = np.stack(np.unravel_index(self._cells(index)[used], shape), axis=1)
        return Parts(cells, self._tables[index][used])

    def of_tree(self, index: int, heads: Ints) -> list[float]:
        """The scores of the parts of a tree over allowed arcs."""
        parts = self.factor.parts_of(heads)
        if not len(parts):
            return []
        cells = np.ravel_multi_index(tuple(parts.T), self.factor.shape(len(heads) + 1))
        numbers, _ = locate_parts(self._layouts[index], self.factor.name, cells)
        scores: list[float] = self._tables[index][numbers].tolist()
        return scores

    def in_given_shape(self, index: int, values: Floats) -> Floats:
        """A value for each entry of `table`, 0 elsewhere, in the shape of the factor."""
        numbers = self._numbers[index]
        if numbers is not None:
            usable = numbers >= 0
            shaped = np.zeros(len(numbers))
            shaped[usable] = values[numbers[usable]]
            return shaped
        cells, out = self._cells(index), np.zeros(self.factor.shape(self._batch.width(index)))
        out.reshape(-1)[cells[cells >= 0]] = values[cells >= 0]
        return out


def _ranges(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """starts[i], ..., starts[i] + sizes[i] - 1 for each i, end to end, and the i of each."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    before = np.cumsum(sizes) - sizes
    return starts[owner] + np.arange(len(owner)) - before[owner], owner


def _entering_arcs(layout: Layout) -> tuple[Ints, Ints]:
    """g and h of each arc, in the order of contexts."""
    arcs = layout.entering
    return layout.head[arcs].astype(np.int64), layout.modifier[arcs].astype(np.int64)


def _grandchild_cells(layout: Layout) -> Ints:
    """(g, h, m) for each arc g -> h and each arc that leaves h; -1 for m = g."""
    width, first = len(layout.limits), layout.first.astype(np.int64)
    g, h = _entering_arcs(layout)
    arcs, owner = _ranges(first[2 * h], first[2 * h + 2] - first[2 * h])
    m = layout.modifier[arcs]
    return np.where(m == g[owner], -1, (g[owner] * width + h[owner]) * width + m)


def _grand_sibling_cells(layout: Layout) -> Ints:
    """(g, h, s, m) for each arc g -> h and each pair of h; -1 for m = g or s = g."""
    width = len(layout.limits)
    g, h = _entering_arcs(layout)
    pairs, owner = _ranges(layout.pairs[2 * h], layout.pairs[2 * h + 2] - layout.pairs[2 * h])
    siblings = _sibling_cells(layout)[pairs]
    s, m, g = siblings // width % width, siblings % width, g[owner]
    return np.where((siblings < 0) | (m == g) | (s == g), -1, g * width**3 + siblings)


def _sibling_cells(layout: Layout) -> Ints:
    return part_cells(layout, SIBLING_PARTS, part_count(layout, SIBLING_PARTS))


def _tri_sibling_cells(layout: Layout) -> Ints:
    return part_cells(layout, TRI_SIBLING_PARTS, part_count(layout, TRI_SIBLING_PARTS))


#: Given a layout: the index of each part in the flat dense array, -1 for one that no tree has.
PART_CELLS = {
    SIBLING.name: _sibling_cells,
    GRANDCHILD.name: _grandchild_cells,
    GRAND_SIBLING.name: _grand_sibling_cells,
    TRI_SIBLING.name: _tri_sibling_cells,
}


_KINDS = {
    SIBLING.name: SIBLING_PARTS,
    GRANDCHILD.name: GRANDCHILD_PARTS,
    GRAND_SIBLING.name: GRAND_SIBLING_PARTS,
    TRI_SIBLING.name: TRI_SIBLING_PARTS,
}


def locate_parts(layout: Layout, factor: str, cells: Ints) -> tuple[Ints, int]:
    """The numbers of parts by their indices in the flat dense array, and how many there are.

    The inverse of `PART_CELLS`: -1 for what is no part of a tree over the allowed arcs.
    """
    kind = _KINDS[factor]
    if kind in (SIBLING_PARTS, TRI_SIBLING_PARTS):
        return locate(layout, kind, cells), part_count(layout, kind)
    of_node = (layout.first if kind == GRANDCHILD_PARTS else layout.pairs)[::2].astype(np.int64)
    _, h = _entering_arcs(layout)
    starts = np.concatenate([[0], np.cumsum(of_node[h + 1] - of_node[h])])
    return _locate_below(layout, kind == GRAND_SIBLING_PARTS, starts, cells), int(starts[-1])


@kernel(_INTS(LAYOUT, types.boolean, READ_INT, READ_INT))
def _locate_below(layout: Layout, has_pair: bool, starts: Ints, cells: Ints) -> Ints:
    """Numbers of grandchild or grand-sibling parts.

    Args:
        starts: where the parts below each arc begin, in the order of contexts.
    """
    rank, first, width = layout.rank, layout.first, layout.rank.shape[0]
    context = np.empty(layout.head.shape[0], np.int64)
    for i in range(context.shape[0]):
        context[layout.entering[i]] = i
    out = np.full(cells.shape[0], -1, np.int64)
    for x in range(cells.shape[0]):
        # Axes from the last one: m, then s where there is one, then h, then g.
        m, rest = cells[x] % width, cells[x] // width
        s = rest % width
        if has_pair:
            rest //= width
        h, g = rest % width, rest // width
        side = 1 if m > h else 0
        if cells[x] < 0 or rank[h, m] == 0 or rank[g, h] == 0 or g == m:
            continue
        own = starts[context[first[2 * g + (h > g)] + rank[g, h] - 1]]
        if not has_pair:
            out[x] = own + first[2 * h + side] - first[2 * h] + rank[h, m] - 1
            continue
        before = 0
        if s != h:
            before = rank[h, s] if (s > h) == (m > h) and s != g else 0
            if not 0 < before < rank[h, m] or layout.limits[h] < 2:
                continue
        begin = layout.pairs[2 * h + side] - layout.pairs[2 * h]
        out[x] = own + begin + pair(rank[h, m], before)
    return out


def problem_of(layout: Layout, scores: Floats, tables: Mapping[str, Floats]) -> Problem:
    """The arrays of a sentence.

    Args:
        scores: (w, w), of arcs.
        tables: of `FactorTable.table`, for each factor that is scored.
    """
    width, first = len(layout.limits), layout.first.astype(np.int64)
    head, modifier = layout.head.astype(np.int64), layout.modifier.astype(np.int64)
    arc = np.full((width, width), -1)
    arc[head, modifier] = np.arange(len(head))
    entering = layout.entering.astype(np.int64)
    first_entering = layout.first_entering.astype(np.int64)
    if GRANDCHILD.name in tables or GRAND_SIBLING.name in tables:
        first_context = first_entering + 1
        first_context[0] = 0
        context_arc = np.concatenate([[-1], entering])
        context_of = np.empty(len(head), np.int64)
        context_of[entering] = np.arange(1, len(entering) + 1)
        node = np.concatenate([[0], modifier[entering]])
    else:
        first_context, node = np.arange(width + 1), np.arange(width)
        context_arc, context_of = np.full(width, -1), modifier
    return Problem(
        layout.limits,
        arc,
        first,
        head,
        modifier,
        np.ascontiguousarray(scores[head, modifier]),
        first_entering,
        entering,
        first_context,
        context_arc,
        context_of,
        *_tables(layout, node, tables),
        layout.triples[:-1].copy(),
        tables.get(TRI_SIBLING.name, np.empty(0)),
    )


def _tables(
    layout: Layout, node: Ints, tables: Mapping[str, Floats]
) -> tuple[Ints, Ints, Floats, Floats]:
    """Offsets and entries of `unary` and `pair`, given the node of each context."""
    first, pairs = layout.first.astype(np.int64), layout.pairs
    modifiers, node_pairs = np.diff(first[::2]), np.diff(pairs[::2])
    unary = tables.get(GRANDCHILD.name)
    if unary is None:
        unary, unary_offset = np.zeros(modifiers.max(initial=0)), np.zeros(len(node), np.int64)
    else:
        # The root knows no grandparent; its entries, all 0, stand at the end.
        sizes = modifiers[node[1:]]
        unary_offset = np.concatenate([[len(unary)], np.cumsum(sizes) - sizes])
        unary = np.concatenate([unary, np.zeros(modifiers[0])])
    sibling = tables.get(SIBLING.name)
    grand = tables.get(GRAND_SIBLING.name)
    if grand is not None:
        own, owner = _ranges(pairs[2 * node], node_pairs[node])
        offset = np.cumsum(node_pairs[node]) - node_pairs[node]
        pair = np.zeros(len(owner)) if sibling is None else sibling[own]
        pair[node_pairs[0] :] += grand
        return unary_offset, offset, unary, pair
    if sibling is None:
        zeros = np.zeros(node_pairs.max(initial=0))
        return unary_offset, np.zeros(len(node), np.int64), unary, zeros
    return unary_offset, pairs[2 * node], unary, sibling.copy()

"""Factors of a batch as tables: only the parts that trees over the allowed arcs have.

Parts are numbered by the ranks of modifiers (see `problem`), list after list or, where there is a
grandparent, arc after arc in the order of contexts:

    sibling (h, s, m)            pair (m, s) of the list of h
    tri-sibling (h, t, s, m)     triple (m, s, t) of the list of h
    grandchild (g, h, m)         m among all modifiers of h, below the arc g -> h
    grand-sibling (g, h, s, m)   pair (m, s) of the lists of h, below the arc g -> h
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.factors import Factor, FactorScores, Given, Parts
from crossarc.inference.higher.packing import arcs_at, node_pairs
from crossarc.inference.higher.problem import ARCS, FACTORS, SQUARE_STARTS, Arcs
from crossarc.inference.projective.automata.layout import pair, triple
from crossarc.inference.runtime.batch import Batch
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel
from crossarc.kernels.borrowing import borrowing

__all__ = ["FactorTable", "locate_parts", "part_cells", "tree_scores"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

# Kinds of parts, as arguments of kernels: their places in `FACTORS`.
_KINDS = {factor.name: kind for kind, factor in enumerate(FACTORS)}
_SIBLING, _GRANDCHILD, _GRAND_SIBLING, _TRI_SIBLING, _ARC = range(5)
_INT, _INTS, _FLOATS = types.int64, types.int64[::1], types.float64[::1]
_TABLE = types.float64[:, ::1]
_READ_PARTS = types.Array(types.int32, 2, "C", readonly=True)


@borrowing()
def _begin_parts(own: Arcs, kind: int, begin: Ints) -> int:
    """Where the parts of each list, or below each arc, begin; returns how many there are."""
    total = 0
    if kind in (_SIBLING, _TRI_SIBLING):
        for one in range(own.first.shape[0] - 1):
            begin[one] = total
            size = own.first[one + 1] - own.first[one]
            total += pair(size + 1, 0) if kind == _SIBLING else triple(size + 1, 1, 1)
        return total
    for i in range(own.entering.shape[0]):
        begin[own.entering[i]] = total
        h = own.modifier[own.entering[i]]
        if kind == _GRANDCHILD:
            total += own.first[2 * h + 2] - own.first[2 * h]
        else:
            total += node_pairs(own, h)
    return total


@subkernel()
def _most_begins(arcs: Arcs) -> int:
    """The longest array that `_begin_parts` needs."""
    return int(max(arcs.first.shape[0], arcs.head.shape[0]))


@borrowing(inline=True)
def _rank(own: Arcs, h: int, m: int) -> int:
    """Of a modifier in its list, 0 where the arc is not allowed."""
    a = own.arc[h * own.limits.shape[0] + m]
    rank: int = a - own.first[2 * h + int(m > h)] + 1 if a >= 0 else 0
    return rank


@borrowing()
def _number_of(own: Arcs, kind: int, begin: Ints, parts: Shorts, x: int) -> int:
    """The number of part x by its indices; -1 where no tree has it."""
    width, last = own.limits.shape[0], parts.shape[1] - 1
    m = parts[x, last]
    h = parts[x, 0] if kind in (_SIBLING, _TRI_SIBLING) else parts[x, 1]
    s = h if kind == _GRANDCHILD else parts[x, last - 1]
    for i in range(last + 1):
        if parts[x, i] >= width:
            return -1
    outer, inner = _rank(own, h, m), 0
    if outer == 0:
        return -1
    if s != h:
        inner = _rank(own, h, s) if (s > h) == (m > h) else 0
        if not 0 < inner < outer or own.limits[h] < 2:
            return -1
    side = int(m > h)
    if kind == _SIBLING:
        return int(begin[2 * h + side] + pair(outer, inner))
    if kind == _TRI_SIBLING:
        t = parts[x, 1]
        innermost = _rank(own, h, t) if (t > h) == (m > h) else 0
        if not 0 < innermost < inner or own.limits[h] < 3:
            return -1
        return int(begin[2 * h + side] + triple(outer, inner, innermost))
    g = parts[x, 0]
    above = own.arc[g * width + h]
    if above < 0 or g in (m, s):
        return -1
    left = own.first[2 * h + 1] - own.first[2 * h]
    if kind == _GRANDCHILD:
        return int(begin[above] + side * left + outer - 1)
    return int(begin[above] + side * pair(left + 1, 0) + pair(outer, inner))


@kernel(_INTS(ARCS, _INT))
def _count_parts(arcs: Arcs, kind: int) -> Ints:
    """Where the parts of each sentence begin, and where the last ones end."""
    begin, count = np.empty(_most_begins(arcs), np.int64), arcs.starts.shape[0] - 1
    offsets = np.zeros(count + 1, np.int64)
    for i in range(count):
        offsets[i + 1] = offsets[i] + _begin_parts(arcs_at(arcs, i), kind, begin)
    return offsets


@kernel(types.void(ARCS, _INT, _READ_PARTS, READ_FLOAT, READ_INT, READ_INT, *[_INTS] * 2, _FLOATS))
def _read_lists(
    arcs: Arcs,
    kind: int,
    index: Shorts,
    scores: Floats,
    ends: Ints,
    offsets: Ints,
    is_odd: Ints,
    numbers: Ints,
    table: Floats,
) -> None:
    """See `locate_parts`; the parts of sentence i end before ends[i]."""
    begin, x = np.empty(_most_begins(arcs), np.int64), 0
    for i in range(ends.shape[0]):
        own, values = arcs_at(arcs, i), table[offsets[i] : offsets[i + 1]]
        _begin_parts(own, kind, begin)
        values[:] = np.nan
        while x < ends[i]:
            number = _number_of(own, kind, begin, index, x)
            numbers[x] = number
            if number >= 0 and np.isnan(values[number]) and np.isfinite(scores[x]):
                values[number] = scores[x]
            else:
                is_odd[i] = 1
            x += 1
        for number in range(values.shape[0]):
            if np.isnan(values[number]):
                values[number] = 0.0


@borrowing(inline=True)
def _cell(part: Shorts, width: int) -> int:
    found = 0
    for i in range(part.shape[0]):
        found = found * width + part[i]
    return found


@borrowing()
def _list_cells(own: Arcs, kind: int, h: int, part: Shorts, out: Ints) -> None:
    """The cells of the parts of a node, -1 where no tree has one.

    Args:
        part: of grandparents its first entry is given.
    """
    width, last = own.limits.shape[0], part.shape[0] - 1
    g, x = part[0] if kind in (_GRANDCHILD, _GRAND_SIBLING) else -1, 0
    if g >= 0:
        part[1] = h
    else:
        part[0] = h
    for side in range(2):
        begin = own.first[2 * h + side]
        for outer in range(1, own.first[2 * h + side + 1] - begin + 1):
            part[last] = own.modifier[begin + outer - 1]
            if kind == _GRANDCHILD:
                out[x] = _cell(part, width) if part[last] != g else -1
                x += 1
                continue
            for inner in range(2 if kind == _TRI_SIBLING else 0, outer):
                s = own.modifier[begin + inner - 1] if inner > 0 else h
                part[last - 1] = s
                possible = part[last] != g and s != g and (s == h or own.limits[h] >= 2)
                for innermost in range(1, inner if kind == _TRI_SIBLING else 2):
                    if kind == _TRI_SIBLING:
                        part[1] = own.modifier[begin + innermost - 1]
                        possible = own.limits[h] >= 3
                    out[x] = _cell(part, width) if possible else -1
                    x += 1


@kernel(_INTS(ARCS, _INT, _INT))
def _part_cells(arcs: Arcs, index: int, kind: int) -> Ints:
    own = arcs_at(arcs, index)
    begin = np.empty(_most_begins(arcs), np.int64)
    out = np.full(_begin_parts(own, kind, begin), -1, np.int64)
    part = np.zeros(3 if kind in (_SIBLING, _GRANDCHILD) else 4, np.int32)
    if kind in (_SIBLING, _TRI_SIBLING):
        for h in range(own.limits.shape[0]):
            _list_cells(own, kind, h, part, out[begin[2 * h] :])
    else:
        for i in range(own.entering.shape[0]):
            a = own.entering[i]
            part[0] = own.head[a]
            _list_cells(own, kind, own.modifier[a], part, out[begin[a] :])
    return out


def part_cells(arcs: Arcs, index: int, factor: str) -> Ints:
    """The index of each part of a sentence in the flat dense array, -1 where no tree has it."""
    cells: Ints = _part_cells(arcs, index, _KINDS[factor])
    return cells


def locate_parts(
    arcs: Arcs, factor: str, parts: Sequence[Parts], offsets: Ints
) -> tuple[Ints, Ints, Floats]:
    """Listed parts of all sentences: their numbers, -1 where no tree has one, and tables.

    Args:
        offsets: where the table of each sentence begins, and the last one ends.

    Returns:
        1 for a sentence with a part that is outside of it, in no tree, listed twice, or without a
        finite score, whose table is not complete, else 0; numbers; tables.
    """
    order = len(FACTORS[_KINDS[factor]].axes)
    index = np.concatenate([np.empty((0, order), np.int32), *(one.index for one in parts)])
    scores = np.concatenate([np.empty(0), *(one.score for one in parts)])
    ends = np.cumsum([len(one) for one in parts])
    is_odd, numbers = np.zeros(len(parts), np.int64), np.empty(len(index), np.int64)
    table = np.empty(offsets[-1])
    _read_lists(arcs, _KINDS[factor], index, scores, ends, offsets, is_odd, numbers, table)
    return is_odd, numbers, table


class FactorTable(FactorScores):
    """A factor of a batch, packed: the parts that trees over the allowed arcs have.

    Attributes:
        values: the scores of the parts of all sentences, in the order of their numbers.
        offsets: where those of each sentence begin, and the last ones end.
    """

    def __init__(
        self, factor: Factor, given: Given | Sequence[Given], batch: Batch, arcs: Arcs
    ) -> None:
        self._arcs = arcs
        self.offsets: Ints = _count_parts(arcs, _KINDS[factor.name])
        self.values = np.empty(self.offsets[-1])
        self._lists: list[Parts | None] = []
        # The numbers of all listed parts, and where those of each sentence begin.
        self._numbers, self._list_ends = np.empty(0, np.int64), np.empty(0, np.int64)
        super().__init__(factor, given, batch, single=False)
        if any(one is not None for one in self._lists):
            self._read_lists()

    def _accept_parts(self, index: int, given: Parts) -> None:
        if given.index.shape[1] != len(self.factor.axes):
            self._flat_indices(index, given)
        self._lists.append(given)

    def _keep_array(self, index: int, given: NDArray[Any]) -> None:
        cells = self._cells(index)
        table = np.where(cells >= 0, given.reshape(-1)[cells], 0.0).astype(np.float64)
        if not np.isfinite(table).all():
            shape = given.shape
            self._note_forbidden(index, table, lambda i: np.unravel_index(cells[i], shape))
        self.table(index)[:] = table
        self._lists.append(None)

    def _read_lists(self) -> None:
        """Read all lists at once; those of odd sentences one by one."""
        none = Parts(np.empty((0, len(self.factor.axes)), np.int32), [])
        lists = [none if one is None else one for one in self._lists]
        is_odd, self._numbers, values = locate_parts(
            self._arcs, self.factor.name, lists, self.offsets
        )
        self._list_ends = np.cumsum([len(one) for one in lists])
        if None not in self._lists:
            self.values = values
        for index, given in enumerate(self._lists):
            if given is None:
                continue
            own = slice(self.offsets[index], self.offsets[index + 1])
            if is_odd[index]:
                self._check_distinct(index, self._flat_indices(index, given))
                numbers = self._numbers_of(index)
                usable = numbers >= 0
                values[own] = 0.0
                values[own][numbers[usable]] = self._read_scores(index, given, usable)[usable]
            self.values[own] = values[own]

    def _numbers_of(self, index: int) -> Ints:
        """The numbers of the listed parts of a sentence."""
        given, end = self._lists[index], int(self._list_ends[index])
        return self._numbers[end - (0 if given is None else len(given)) : end]

    def _cells(self, index: int) -> Ints:
        return part_cells(self._arcs, index, self.factor.name)

    def table(self, index: int) -> Floats:
        """The scores of all parts of a sentence."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def as_parts(self, index: int) -> Parts:
        """The parts that do not score 0."""
        table = self.table(index)
        used = np.flatnonzero(table)
        shape = self.factor.shape(self._batch.width(index))
        cells = np.stack(np.unravel_index(self._cells(index)[used], shape), axis=1)
        return Parts(cells, table[used])

    def in_given_shape(self, index: int, values: Floats) -> Floats:
        """A value for each entry of `table`, 0 elsewhere, in the shape of the factor."""
        if self._lists[index] is not None:
            numbers = self._numbers_of(index)
            usable = numbers >= 0
            shaped = np.zeros(len(numbers))
            shaped[usable] = values[numbers[usable]]
            return shaped
        cells, out = self._cells(index), np.zeros(self.factor.shape(self._batch.width(index)))
        out.reshape(-1)[cells[cells >= 0]] = values[cells >= 0]
        return out


@borrowing()
def _tree_parts(own: Arcs, kind: int, begin: Ints, heads: Ints, table: Floats, out: Floats) -> None:
    """out[m - 1]: the score of the part whose modifier is word m of a tree, 0 where it has none."""
    _begin_parts(own, kind, begin)
    for h in range(own.limits.shape[0]):
        above, place = -1, 0
        if kind in (_GRANDCHILD, _GRAND_SIBLING):
            if h == 0:
                continue
            above = own.arc[heads[h - 1] * own.limits.shape[0] + h]
            place = begin[above]
        for side in range(2):
            first, inner, innermost = own.first[2 * h + side], 0, 0
            if above < 0:
                place = begin[2 * h + side]
            size = own.first[2 * h + side + 1] - first
            for outer in range(1, size + 1):
                m = own.modifier[first + outer - 1]
                if heads[m - 1] != h:
                    continue
                if kind == _GRANDCHILD:
                    out[m - 1] = table[place + outer - 1]
                elif kind != _TRI_SIBLING:
                    out[m - 1] = table[place + pair(outer, inner)]
                elif innermost > 0:
                    out[m - 1] = table[place + triple(outer, inner, innermost)]
                inner, innermost = outer, inner
            place += size if kind == _GRANDCHILD else pair(size + 1, 0)


@kernel(types.void(ARCS, _INT, READ_FLOAT, READ_INT, READ_INT, _INT, _INT, _INT, _TABLE))
def _score_trees(
    arcs: Arcs,
    kind: int,
    values: Floats,
    offsets: Ints,
    heads: Ints,
    begin: int,
    end: int,
    column: int,
    out: Floats,
) -> None:
    starts, place = np.empty(_most_begins(arcs), np.int64), 0
    for i in range(begin, end):
        own, table = arcs_at(arcs, i), values[offsets[i] : offsets[i + 1]]
        width = own.limits.shape[0]
        tree, scores = heads[place : place + width - 1], out[place : place + width - 1, column]
        scores[:] = 0.0
        if kind == _ARC:
            for m in range(1, width):
                scores[m - 1] = table[tree[m - 1] * width + m]
        else:
            _tree_parts(own, kind, starts, tree, table, scores)
        place += width - 1


def tree_scores(
    arcs: Arcs, scores: Floats, tables: Mapping[str, FactorTable], heads: Ints, begin: int, end: int
) -> Floats:
    """[word, i]: of trees, the scores of the arc and the parts that have a word as modifier, or 0.

    Args:
        scores: flat squares [h, m], one sentence after the other.
        heads: of the words of sentences begin, ..., end - 1; all arcs are allowed.
    """
    found, squares = np.empty((len(heads), 1 + len(tables))), arcs.starts[:, SQUARE_STARTS].copy()
    _score_trees(arcs, _ARC, scores, squares, heads, begin, end, 0, found)
    for column, (name, one) in enumerate(tables.items(), 1):
        kind = _KINDS[name]
        _score_trees(arcs, kind, one.values, one.offsets, heads, begin, end, column, found)
    return found

"""The problems of a batch from its scores, in time linear in pairs of words and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.higher.problem import (
    ARC_STARTS,
    ARCS,
    CONTEXT_STARTS,
    FACTORS,
    NODE_STARTS,
    PAIR_STARTS,
    PROBLEMS,
    SQUARE_STARTS,
    STARTS,
    TRIPLE_STARTS,
    UNARY_STARTS,
    Arcs,
    Problems,
)
from crossarc.inference.projective.automata.layout import pair, triple
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel
from crossarc.kernels.borrowing import borrowing

__all__ = ["arcs_at", "arcs_of", "node_pairs", "only_arcs", "problems_of"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TABLE_OFFSETS = types.int64[:, ::1]


@subkernel()
def arcs_at(arcs: Arcs, index: int) -> Arcs:
    """One sentence, without a copy."""
    node, last = arcs.starts[index, NODE_STARTS], arcs.starts[index + 1, NODE_STARTS]
    square, last_square = arcs.starts[index, SQUARE_STARTS], arcs.starts[index + 1, SQUARE_STARTS]
    arc, last_arc = arcs.starts[index, ARC_STARTS], arcs.starts[index + 1, ARC_STARTS]
    return Arcs(
        arcs.limits[node:last],
        arcs.arc[square:last_square],
        arcs.first[2 * node + index : 2 * last + index + 1],
        arcs.head[arc:last_arc],
        arcs.modifier[arc:last_arc],
        arcs.first_entering[node + index : last + index + 1],
        arcs.entering[arc:last_arc],
        arcs.starts[index : index + 2],
    )


def only_arcs(arcs: Arcs, index: int) -> Arcs:
    """A batch of one sentence of a batch."""
    begin, end = arcs.starts[index], arcs.starts[index + 1]
    nodes, own = slice(begin[0], end[0]), slice(begin[2], end[2])
    lists = slice(2 * begin[0] + index, 2 * end[0] + index + 1)
    return Arcs(
        arcs.limits[nodes],
        arcs.arc[begin[1] : end[1]],
        arcs.first[lists],
        arcs.head[own],
        arcs.modifier[own],
        arcs.first_entering[begin[0] + index : end[0] + index + 1],
        arcs.entering[own],
        arcs.starts[index : index + 2] - begin,
    )


@borrowing()
def _number_arcs(scores: Floats, own: Arcs, head: Ints, modifier: Ints) -> int:
    """Number the arcs of a sentence; returns how many there are."""
    width, count = own.limits.shape[0], 0
    for h in range(width):
        for side in range(2):
            own.first[2 * h + side] = count
            if own.limits[h] == 0:
                continue
            for k in range(width - h - 1 if side == 1 else h - 1):
                m = h + k + 1 if side == 1 else h - k - 1
                if scores[h * width + m] > -np.inf:
                    head[count], modifier[count] = h, m
                    own.arc[h * width + m] = count
                    count += 1
    own.first[2 * width] = count
    return count


@kernel(ARCS(READ_FLOAT, READ_INT, READ_INT))
def _arcs_of(scores: Floats, sizes: Ints, limits: Ints) -> Arcs:
    count = sizes.shape[0]
    starts = np.zeros((count + 1, 3), np.int64)
    possible = 0
    for i in range(count):
        width = sizes[i] + 1
        starts[i + 1, NODE_STARTS] = starts[i, NODE_STARTS] + width
        starts[i + 1, SQUARE_STARTS] = starts[i, SQUARE_STARTS] + width * width
    for x in range(scores.shape[0]):
        possible += scores[x] > -np.inf
    nodes = starts[count, NODE_STARTS]
    arcs = Arcs(
        limits.copy(),
        np.full(scores.shape[0], -1, np.int64),
        np.empty(2 * nodes + count, np.int64),
        np.empty(possible, np.int64),
        np.empty(possible, np.int64),
        np.empty(nodes + count, np.int64),
        np.empty(possible, np.int64),
        starts,
    )
    total = 0
    for i in range(count):
        own = arcs_at(arcs, i)
        width = own.limits.shape[0]
        square = scores[starts[i, SQUARE_STARTS] : starts[i + 1, SQUARE_STARTS]]
        total += _number_arcs(square, own, arcs.head[total:], arcs.modifier[total:])
        starts[i + 1, ARC_STARTS] = total
        entering, filled = arcs.entering[starts[i, ARC_STARTS] :], 0
        for m in range(width):
            own.first_entering[m] = filled
            for h in range(width):
                if own.arc[h * width + m] >= 0:
                    entering[filled] = own.arc[h * width + m]
                    filled += 1
        own.first_entering[width] = filled
    return Arcs(
        arcs.limits,
        arcs.arc,
        arcs.first,
        arcs.head[:total],
        arcs.modifier[:total],
        arcs.first_entering,
        arcs.entering[:total],
        starts,
    )


def arcs_of(scores: Floats, sizes: Ints, limits: Sequence[Ints]) -> Arcs:
    """The arcs of a batch.

    Args:
        scores: flat squares [h, m], one sentence after the other; -inf where an arc is forbidden,
            in column 0 and on the diagonal.
        sizes: words of each sentence.
        limits: of each sentence: the most modifiers of each node.
    """
    return _arcs_of(scores, sizes, np.concatenate([np.empty(0, np.int64), *limits]))


@borrowing(inline=True)
def node_pairs(own: Arcs, h: int) -> int:
    """How many pairs the two lists of a node have."""
    left = own.first[2 * h + 1] - own.first[2 * h]
    right = own.first[2 * h + 2] - own.first[2 * h + 1]
    return pair(left + 1, 0) + pair(right + 1, 0)


@borrowing()
def _sizes(own: Arcs, has: Bools, sizes: Ints) -> None:
    """How many contexts and entries of `unary` and `pair` there are besides those given.

    The root knows no grandparent, so that its entries of grandchild and grand-sibling tables stand
    by themselves.
    """
    width = own.limits.shape[0]
    sizes[0] = own.head.shape[0] + 1 if has[1] or has[2] else width
    most, most_pairs = 0, 0
    for h in range(width):
        most = max(most, own.first[2 * h + 2] - own.first[2 * h])
        most_pairs = max(most_pairs, node_pairs(own, h))
    sizes[1] = own.first[2] - own.first[0] if has[1] else most
    sizes[2] = node_pairs(own, 0) if has[2] else 0 if has[0] else most_pairs


@borrowing()
def _write_contexts(
    own: Arcs, is_grand: bool, first_context: Ints, context_arc: Ints, context_of: Ints
) -> None:
    width = own.limits.shape[0]
    first_context[0] = 0
    if is_grand:
        context_arc[0] = -1
        for h in range(1, width + 1):
            first_context[h] = own.first_entering[h] + 1
        for i in range(own.entering.shape[0]):
            context_arc[i + 1] = own.entering[i]
            context_of[own.entering[i]] = i + 1
    else:
        for h in range(width):
            first_context[h + 1], context_arc[h] = h + 1, -1
        for a in range(context_of.shape[0]):
            context_of[a] = own.modifier[a]


@subkernel()
def _write_tables(
    own: Arcs,
    has: Bools,
    given: tuple[Floats, Floats, Floats],
    context_arc: Ints,
    unary_offset: Ints,
    pair_offset: Ints,
    unary: Floats,
    pairs: Floats,
) -> None:
    """`unary` and `pair` with their offsets.

    Args:
        given: the sibling, grandchild and grand-sibling tables of the sentence.
    """
    sibling, grandchild, grand = given
    unary[:], pairs[:] = 0.0, 0.0
    unary_offset[:], pair_offset[:] = 0, 0
    width = own.limits.shape[0]
    of_node = np.zeros(width + 1, np.int64)
    for h in range(width):
        of_node[h + 1] = of_node[h] + node_pairs(own, h)
    if has[1]:
        unary[: grandchild.shape[0]] = grandchild
    if has[0] and not has[2]:
        pairs[:] = sibling
    entry, place = 0, 0
    for c in range(context_arc.shape[0]):
        h = own.modifier[context_arc[c]] if context_arc[c] >= 0 else 0
        if not (has[1] or has[2]):
            h = c
        if has[1]:
            unary_offset[c] = grandchild.shape[0] if c == 0 else entry
            entry += own.first[2 * h + 2] - own.first[2 * h] if c > 0 else 0
        if has[2]:
            count = of_node[h + 1] - of_node[h]
            pair_offset[c] = place
            if has[0]:
                pairs[place : place + count] = sibling[of_node[h] : of_node[h] + count]
            if c > 0:
                begin = place - of_node[1]
                for i in range(count):
                    pairs[place + i] += grand[begin + i]
            place += count
        elif has[0]:
            pair_offset[c] = of_node[h]


@kernel(PROBLEMS(ARCS, READ_FLOAT, types.boolean[::1], *[READ_FLOAT] * 4, _TABLE_OFFSETS))
def _problems_of(
    arcs: Arcs,
    scores: Floats,
    has: Bools,
    sibling: Floats,
    grandchild: Floats,
    grand_sibling: Floats,
    tri_sibling: Floats,
    offsets: Ints,
) -> Problems:
    count, sizes = arcs.starts.shape[0] - 1, np.empty(3, np.int64)
    starts = np.zeros((count + 1, STARTS), np.int64)
    starts[:, :3] = arcs.starts
    for i in range(count):
        _sizes(arcs_at(arcs, i), has, sizes)
        parts = offsets[:, i + 1] - offsets[:, i]
        starts[i + 1, CONTEXT_STARTS] = starts[i, CONTEXT_STARTS] + sizes[0]
        starts[i + 1, UNARY_STARTS] = starts[i, UNARY_STARTS] + sizes[1] + parts[1]
        shared = parts[2] if has[2] else parts[0]
        starts[i + 1, PAIR_STARTS] = starts[i, PAIR_STARTS] + sizes[2] + shared
        starts[i + 1, TRIPLE_STARTS] = starts[i, TRIPLE_STARTS] + parts[3]
    nodes, total = starts[count, NODE_STARTS], starts[count, ARC_STARTS]
    contexts = starts[count, CONTEXT_STARTS]
    score, context_of = np.empty(total), np.empty(total, np.int64)
    first_context, context_arc = np.empty(nodes + count, np.int64), np.empty(contexts, np.int64)
    unary_offset, pair_offset = np.empty(contexts, np.int64), np.empty(contexts, np.int64)
    unary = np.empty(starts[count, UNARY_STARTS])
    pairs = np.empty(starts[count, PAIR_STARTS])
    triple_offset = np.empty(2 * nodes, np.int64)
    for i in range(count):
        own = arcs_at(arcs, i)
        begin, end = starts[i], starts[i + 1]
        width = own.limits.shape[0]
        for a in range(own.head.shape[0]):
            place = begin[SQUARE_STARTS] + own.head[a] * width + own.modifier[a]
            score[begin[ARC_STARTS] + a] = scores[place]
        context_arcs = context_arc[begin[CONTEXT_STARTS] : end[CONTEXT_STARTS]]
        _write_contexts(
            own,
            has[1] or has[2],
            first_context[begin[NODE_STARTS] + i : end[NODE_STARTS] + i + 1],
            context_arcs,
            context_of[begin[ARC_STARTS] : end[ARC_STARTS]],
        )
        given = (
            sibling[offsets[0, i] : offsets[0, i + 1]],
            grandchild[offsets[1, i] : offsets[1, i + 1]],
            grand_sibling[offsets[2, i] : offsets[2, i + 1]],
        )
        _write_tables(
            own,
            has,
            given,
            context_arcs,
            unary_offset[begin[CONTEXT_STARTS] : end[CONTEXT_STARTS]],
            pair_offset[begin[CONTEXT_STARTS] : end[CONTEXT_STARTS]],
            unary[begin[UNARY_STARTS] : end[UNARY_STARTS]],
            pairs[begin[PAIR_STARTS] : end[PAIR_STARTS]],
        )
        entry = 0
        for one in range(2 * width):
            triple_offset[2 * begin[NODE_STARTS] + one] = entry
            entry += triple(own.first[one + 1] - own.first[one] + 1, 1, 1)
    return Problems(
        arcs.limits,
        arcs.arc,
        arcs.first,
        arcs.head,
        arcs.modifier,
        arcs.first_entering,
        arcs.entering,
        score,
        first_context,
        context_arc,
        context_of,
        unary_offset,
        pair_offset,
        unary,
        pairs,
        triple_offset,
        tri_sibling.copy(),
        starts,
    )


def problems_of(arcs: Arcs, scores: Floats, tables: Mapping[str, tuple[Floats, Ints]]) -> Problems:
    """The problems of a batch.

    Args:
        scores: flat squares [h, m], one sentence after the other.
        tables: of each factor that is scored: the scores of all parts of all sentences, and where
            those of each sentence begin.
    """
    none = np.empty(0), np.zeros(len(arcs.starts), np.int64)
    given = [tables.get(factor.name, none) for factor in FACTORS]
    has = np.array([factor.name in tables for factor in FACTORS])
    offsets = np.array([one for _, one in given])
    sibling, grandchild, grand_sibling, tri_sibling = (one for one, _ in given)
    return _problems_of(arcs, scores, has, sibling, grandchild, grand_sibling, tri_sibling, offsets)

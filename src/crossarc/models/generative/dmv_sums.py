"""Inside and outside sums of the dependency model with valence (Klein & Manning 2004).

Each word h generates modifiers on each side d, from the inside out: before each it decides whether
to stop, with another probability if it has none there yet (adjacent), then whom to take. Items span
words i..j and have their head at one end, as in Eisner's algorithm:

    CR(i, j), CL(i, j)   head i, or j; this side of it has stopped              (closed)
    OR(i, j), OL(i, j)   the same with a modifier at least, and not stopped     (open)
    IR(i, j), IL(i, j)   arc i -> j, or j -> i, has just been made              (incomplete)

    CR(i, i) = stop(i, R, adjacent)              CR(i, j) = OR(i, j) stop(i, R, not adjacent)
    OR(i, j) = sum_k IR(i, k) CR(k, j)           i < k <= j
    IR(i, j) = p(j | i, R) (go(i, R, adjacent) CL(i + 1, j)
               + go(i, R, not adjacent) sum_k OR(i, k) CL(k + 1, j))      i < k < j
    Z = sum_m p(m | root) CL(1, m) CR(m, n)

and their mirror images, O(n^3), eight sentences of one length in lockstep. All numbers are relative
to the largest probability of each word, so that no item is over the number of trees, which is below
1e83 up to 100 words. If Z is at least 1e-100, float64 is enough: what underflows changes no
marginal by 1e-40.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Cells,
    Lanes,
    broadcast,
    data_pointer,
    fma,
    load,
    offset,
    read_lane,
    store,
    write_lane,
)
from crossarc.kernels import READ_INT, kernel, subkernel

__all__ = ["ADJACENT", "GO", "LEFT", "LONGEST", "RIGHT", "STOP", "sum_sentences", "workspace_size"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEFT, RIGHT = 0, 1
#: Indices of stops[unit, direction, adjacent, decision].
ADJACENT = 1
STOP, GO = 0, 1
#: Longer sentences are left to wide numbers.
LONGEST = 100
_LEAST = 1e-100

# The charts of items, each n x n: [i, j] for heads to the left, [j, i] for heads to the right.
_CR, _CL, _OR, _OL, _IR, _IL, _CHARTS = range(7)

_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_READ4 = types.Array(types.float64, 4, "C", readonly=True)


def workspace_size(n: int) -> int:
    """The cells that `sum_sentences` needs for sentences of n words."""
    return (2 * _CHARTS + 2) * n * n + 9 * n


@subkernel(inline=True)
def _decision(word: int, side: int, adjacent: int, decision: int) -> int:
    """Where a word has the probability of a decision."""
    return ((word * 2 + side) * 2 + adjacent) * 2 + decision


@subkernel()
def _add(cells: Cells, index: int, x: Lanes, y: Lanes) -> None:
    """cells[index] += x y."""
    store(cells, index, fma(x, y, load(cells, index)))


@subkernel()
def _gather(
    units: Ints,
    lane: int,
    choose: Floats,
    table: Floats,
    weights: Cells,
    roots: Cells,
    stops: Cells,
) -> float:
    """The probabilities of a sentence; those of each word over the largest.

    Returns the log of the product of these, -inf if a word is impossible.
    """
    n, root = units.shape[0], choose.shape[0] - 1
    log_scale = 0.0
    for m in range(n):
        unit = units[m]
        largest = choose[root, RIGHT, unit]
        for h in range(n):
            if h != m:
                largest = max(largest, choose[units[h], LEFT if m < h else RIGHT, unit])
        scale = 1.0 / largest if largest > 0.0 else 0.0
        for h in range(n):
            if h != m:
                p = choose[units[h], LEFT if m < h else RIGHT, unit]
                write_lane(weights, h * n + m, lane, p * scale)
        write_lane(roots, m, lane, choose[root, RIGHT, unit] * scale)
        for side in range(2):
            for adjacent in range(2):
                for decision in range(2):
                    p = table[unit, side, adjacent, decision]
                    write_lane(stops, _decision(m, side, adjacent, decision), lane, p)
        log_scale += math.log(largest) if largest > 0.0 else -np.inf
    return log_scale


@subkernel()
def _inside(items: Cells, stops: Cells, weights: Cells, sums: Cells, n: int) -> None:
    """All items; `sums` are the sums over k in IR, [i, j], and in IL, [j, i]."""
    cr, cl, orr, oll = (
        offset(items, _CR * n * n),
        offset(items, _CL * n * n),
        offset(items, _OR * n * n),
        offset(items, _OL * n * n),
    )
    ir, il = offset(items, _IR * n * n), offset(items, _IL * n * n)
    for i in range(n):
        store(cr, i * n + i, load(stops, _decision(i, RIGHT, 1, STOP)))
        store(cl, i * n + i, load(stops, _decision(i, LEFT, 1, STOP)))
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ij, ji = i * n + j, j * n + i
            right = left = broadcast(items, 0.0)
            for k in range(i + 1, j):
                right = fma(load(orr, i * n + k), load(cl, j * n + k + 1), right)
                left = fma(load(cr, i * n + k - 1), load(oll, j * n + k), left)
            store(sums, ij, right)
            store(sums, ji, left)
            first = load(stops, _decision(i, RIGHT, 1, GO)) * load(cl, ji + 1)
            right = fma(load(stops, _decision(i, RIGHT, 0, GO)), right, first)
            store(ir, ij, load(weights, ij) * right)
            first = load(stops, _decision(j, LEFT, 1, GO)) * load(cr, ij - 1)
            left = fma(load(stops, _decision(j, LEFT, 0, GO)), left, first)
            store(il, ji, load(weights, ji) * left)
            right = left = broadcast(items, 0.0)
            for k in range(i + 1, j + 1):
                right = fma(load(ir, i * n + k), load(cr, k * n + j), right)
                left = fma(load(cl, (k - 1) * n + i), load(il, j * n + k - 1), left)
            store(orr, ij, right)
            store(oll, ji, left)
            store(cr, ij, right * load(stops, _decision(i, RIGHT, 0, STOP)))
            store(cl, ji, left * load(stops, _decision(j, LEFT, 0, STOP)))


@subkernel()
def _outside(items: Cells, stops: Cells, weights: Cells, outer: Cells, n: int) -> None:
    """The derivative of Z by each item, `outer` being set for the items of the goal."""
    square = n * n
    cr, cl, orr, oll = (
        offset(items, _CR * square),
        offset(items, _CL * square),
        offset(items, _OR * square),
        offset(items, _OL * square),
    )
    ir, il = offset(items, _IR * square), offset(items, _IL * square)
    d_cr, d_cl, d_or, d_ol = (
        offset(outer, _CR * square),
        offset(outer, _CL * square),
        offset(outer, _OR * square),
        offset(outer, _OL * square),
    )
    d_ir, d_il = offset(outer, _IR * square), offset(outer, _IL * square)
    for length in range(n - 1, 0, -1):
        for i in range(n - length):
            j = i + length
            ij, ji = i * n + j, j * n + i
            closing = load(stops, _decision(i, RIGHT, 0, STOP))
            right = fma(load(d_cr, ij), closing, load(d_or, ij))
            closing = load(stops, _decision(j, LEFT, 0, STOP))
            left = fma(load(d_cl, ji), closing, load(d_ol, ji))
            for k in range(i + 1, j + 1):
                _add(d_ir, i * n + k, right, load(cr, k * n + j))
                _add(d_cr, k * n + j, right, load(ir, i * n + k))
                _add(d_il, j * n + k - 1, left, load(cl, (k - 1) * n + i))
                _add(d_cl, (k - 1) * n + i, left, load(il, j * n + k - 1))
            right, left = load(d_ir, ij) * load(weights, ij), load(d_il, ji) * load(weights, ji)
            _add(d_cl, ji + 1, right, load(stops, _decision(i, RIGHT, 1, GO)))
            _add(d_cr, ij - 1, left, load(stops, _decision(j, LEFT, 1, GO)))
            right = right * load(stops, _decision(i, RIGHT, 0, GO))
            left = left * load(stops, _decision(j, LEFT, 0, GO))
            for k in range(i + 1, j):
                _add(d_or, i * n + k, right, load(cl, j * n + k + 1))
                _add(d_cl, j * n + k + 1, right, load(orr, i * n + k))
                _add(d_cr, i * n + k - 1, left, load(oll, j * n + k))
                _add(d_ol, j * n + k, left, load(cr, i * n + k - 1))


@subkernel()
def _posteriors(
    items: Cells, stops: Cells, weights: Cells, sums: Cells, outer: Cells, n: int
) -> None:
    """Put Z p(arc) in place of weights [h, m], and Z p(arc to the first modifier) of sums."""
    square = n * n
    for h in range(n):
        for m in range(n):
            if h == m:
                continue
            side = LEFT if m < h else RIGHT
            hm = h * n + m
            outside = load(outer, (_IL if side == LEFT else _IR) * square + hm)
            inner = _CR * square + m * n + h - 1 if side == LEFT else _CL * square + m * n + h + 1
            outside = outside * load(weights, hm)
            go = load(stops, _decision(h, side, 0, GO))
            first = outside * load(stops, _decision(h, side, 1, GO)) * load(items, inner)
            store(weights, hm, fma(outside * go, load(sums, hm), first))
            store(sums, hm, first)


@subkernel()
def _count(
    units: Ints,
    lane: int,
    arcs: Cells,
    firsts: Cells,
    z: float,
    choose_counts: Floats,
    stop_counts: Floats,
) -> None:
    """Add the expected counts of a sentence."""
    n = units.shape[0]
    for h in range(n):
        unit = units[h]
        for side in range(2):
            first, every = 0.0, 0.0
            begin, end = (0, h) if side == LEFT else (h + 1, n)
            for m in range(begin, end):
                p = read_lane(arcs, h * n + m, lane) / z
                choose_counts[unit, side, units[m]] += p
                every += p
                first += read_lane(firsts, h * n + m, lane) / z
            stop_counts[unit, side, 1, GO] += first
            stop_counts[unit, side, 1, STOP] += max(0.0, 1.0 - first)
            stop_counts[unit, side, 0, GO] += max(0.0, every - first)
            stop_counts[unit, side, 0, STOP] += first


@subkernel()
def _join_at_root(items: Cells, outer: Cells, roots: Cells, n: int) -> Lanes:
    """Z, from the halves of each word; what they are worth to each other goes to `outer`, else 0.

    The weights of words as roots are replaced by those of all trees that have them as the root.
    """
    square, z = n * n, broadcast(items, 0.0)
    for index in range(_CHARTS * square):
        store(outer, index, z)
    for m in range(n):
        to_start, to_end = _CL * square + m * n, _CR * square + m * n + n - 1
        left, right, own = load(items, to_start), load(items, to_end), load(roots, m)
        store(outer, to_end, own * left)
        store(outer, to_start, own * right)
        z = fma(own * left, right, z)
        store(roots, m, own * left * right)
    return z


@kernel(
    types.void(
        READ_INT,
        types.int64,
        _READ3,
        _READ4,
        types.boolean,
        types.float64[::1],
        types.float64[:, :, ::1],
        types.float64[:, :, :, ::1],
        types.float64[:, ::1],
    )
)
def sum_sentences(
    words: Ints,
    n: int,
    choose: Floats,
    stops: Floats,
    counted: bool,
    totals: Floats,
    choose_counts: Floats,
    stop_counts: Floats,
    workspace: Floats,
) -> None:
    """log Z of sentences of n words, NaN where float64 is not enough, and expected counts.

    Args:
        words: the units of all sentences, end to end.
        choose: p(modifier | head, direction); the last head is the root, whose direction is RIGHT.
        stops: [unit, direction, adjacent, decision].
        counted: whether to add expected counts to choose_counts and stop_counts.
        workspace: `workspace_size(n)` cells of eight numbers; what they hold is undefined.
    """
    if n > LONGEST:
        totals[:] = np.nan
        return
    square, root = n * n, choose.shape[0] - 1
    items = data_pointer(workspace)
    outer, weights = offset(items, _CHARTS * square), offset(items, 2 * _CHARTS * square)
    sums, roots = offset(weights, square), offset(weights, 2 * square)
    decisions = offset(roots, n)
    log_scales = np.empty(LANES)
    for begin in range(0, totals.shape[0], LANES):
        count = min(LANES, totals.shape[0] - begin)
        for lane in range(LANES):
            s = begin + min(lane, count - 1)
            units = words[s * n : (s + 1) * n]
            log_scales[lane] = _gather(units, lane, choose, stops, weights, roots, decisions)
        _inside(items, decisions, weights, sums, n)
        z = _join_at_root(items, outer, roots, n)
        if counted:
            _outside(items, decisions, weights, outer, n)
            _posteriors(items, decisions, weights, sums, outer, n)
        store(items, 0, z)
        for lane in range(count):
            s, total = begin + lane, read_lane(items, 0, lane)
            is_possible = log_scales[lane] > -np.inf
            totals[s] = np.nan if is_possible else -np.inf
            if is_possible and total >= _LEAST:
                totals[s] = log_scales[lane] + math.log(total)
                units = words[s * n : (s + 1) * n]
                if counted:
                    _count(units, lane, weights, sums, total, choose_counts, stop_counts)
                    for m in range(n):
                        p = read_lane(roots, m, lane) / total
                        choose_counts[root, RIGHT, units[m]] += p

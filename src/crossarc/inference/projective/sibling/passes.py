"""Inside and outside pass of the sibling model, on any kind of cells; inside in either semiring.

The algorithm of Nivre's notes on higher-order models, Figure 2, with its slips mended (`rules`
tells them), w(h, s, m) the weight of arc and sibling part together:

    S(i, j)  = sum over i <= k < j of  C>(i, k) C<(k+1, j)
    I>(i, j) = w(i, i, j) C<(i+1, j) + sum over i < k < j of  I>(i, k) S(k, j) w(i, k, j)
    I<(i, j) = w(j, j, i) C>(i, j-1) + sum over i < k < j of  S(i, k) I<(k, j) w(j, k, i)
    C>(i, j) = sum over i < k <= j of  I>(i, k) C>(k, j)
    C<(i, j) = sum over i <= k < j of  C<(i, k) I<(k, j)

with C>(i, i) = C<(i, i) = 1 and Z = C>(0, n). With a single root, 0 takes no second modifier. 5 n^3
/ 6 products. For best trees read max for sum and + for times; the score of an arc is then added to
the best of its parts.

The outside item O(X) is the derivative of Z by the item X. Each rule gives to both of its items
what the other one is worth,

    O(I>(i, k)) += O(I>(i, j)) w(i, k, j) S(k, j)
    O(S(k, j)) += O(I>(i, j)) w(i, k, j) I>(i, k)

and so on; mu(i, k, j) = I>(i, k) S(k, j) w(i, k, j) O(I>(i, j)) / Z and mu[i, j] = I>(i, j) O(I>(i,
j)) / Z. 5 n^3 / 3 products. Outside items lie as the inside items do. What an item is given as
(i, k) and as (k, j) is collected in its two entries and added up when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crossarc.inference.arithmetic.lanes import Cells, Lanes, broadcast, fma, load, select, store
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.inference.projective.sibling.charts import (
    BESIDE,
    CHARTS,
    INCOMPLETE,
    LEFT,
    RIGHT,
    cell_index,
)
from crossarc.kernels import subkernel

__all__ = ["inside_pass", "outside"]

_Five = tuple[Lanes, Lanes, Lanes, Lanes, Lanes]


def inside_pass(semiring: Semiring) -> Callable[[Cells, Cells, Cells, int, bool], None]:
    """The function that fills the charts x of so many nodes from the weights w of parts.

    Of sums, w has the weights of arcs in it, and `arcs` is not read; of best scores it has not.
    """
    is_sum = semiring is SUM
    nothing, one = semiring.zero, semiring.one

    join: Any = semiring.join
    times: Any = semiring.times
    plus: Any = semiring.plus

    @subkernel(inline=True)
    def sums(x: Cells, w: Cells, nodes: int, i: int, j: int, start: _Five) -> _Five:
        """Over k from i + 1 to j - 1: S, I>, I<, C> and C< of (i, j), the last two without k = j
        and k = i."""
        row, column = i * nodes, j * nodes
        at = cell_index(i, j)
        back = at + j - i
        beside, to_right, to_left, right, left = start
        for k in range(i + 1, j):
            i_right = load(x, INCOMPLETE + CHARTS * (row + k))
            i_left = load(x, INCOMPLETE + CHARTS * (column + k))
            s_right = load(x, BESIDE + CHARTS * (column + k))
            s_left = load(x, BESIDE + CHARTS * (row + k))
            c_left = load(x, LEFT + CHARTS * (column + k + 1))
            beside = join(load(x, RIGHT + CHARTS * (row + k)), c_left, beside)
            to_right = join(times(i_right, s_right), load(w, at + k - i), to_right)
            to_left = join(times(s_left, i_left), load(w, back + k - i), to_left)
            right = join(i_right, load(x, RIGHT + CHARTS * (column + k)), right)
            left = join(load(x, LEFT + CHARTS * (row + k)), i_left, left)
        return beside, to_right, to_left, right, left

    @subkernel(inline=True)
    def fill_cell(x: Cells, w: Cells, arcs: Cells, nodes: int, i: int, j: int) -> None:
        """The items (i, j), i > 0."""
        row, column = i * nodes + j, j * nodes + i
        at, zero = cell_index(i, j), broadcast(x, nothing)
        beside = load(x, LEFT + CHARTS * (column + 1))
        to_right = times(load(w, at), beside)
        to_left = times(load(w, at + j - i), load(x, RIGHT + CHARTS * (row - 1)))
        start = (beside, to_right, to_left, zero, zero)
        beside, to_right, to_left, right, left = sums(x, w, nodes, i, j, start)
        if not is_sum:
            to_right = to_right + load(arcs, row)
            to_left = to_left + load(arcs, column)
        right, left = plus(right, to_right), plus(left, to_left)
        store(x, RIGHT + CHARTS * row, right)
        store(x, RIGHT + CHARTS * column, right)
        store(x, LEFT + CHARTS * row, left)
        store(x, LEFT + CHARTS * column, left)
        store(x, BESIDE + CHARTS * row, beside)
        store(x, BESIDE + CHARTS * column, beside)
        store(x, INCOMPLETE + CHARTS * row, to_right)
        store(x, INCOMPLETE + CHARTS * column, to_left)

    @subkernel(inline=True)
    def fill_root(x: Cells, w: Cells, arcs: Cells, nodes: int, j: int, single: bool) -> None:
        """I> and C> of (0, j)."""
        column, at = j * nodes, cell_index(0, j)
        to_right = times(load(w, at), load(x, LEFT + CHARTS * (column + 1)))
        right = broadcast(x, nothing)
        for k in range(1, j):
            i_right = load(x, INCOMPLETE + CHARTS * k)
            if not single:
                s_right = load(x, BESIDE + CHARTS * (column + k))
                to_right = join(times(i_right, s_right), load(w, at + k), to_right)
            right = join(i_right, load(x, RIGHT + CHARTS * (column + k)), right)
        if not is_sum:
            to_right = to_right + load(arcs, j)
        store(x, INCOMPLETE + CHARTS * j, to_right)
        store(x, RIGHT + CHARTS * j, plus(right, to_right))

    @subkernel()
    def inside(x: Cells, w: Cells, arcs: Cells, nodes: int, single: bool) -> None:
        for j in range(1, nodes):
            for chart in (RIGHT, LEFT):
                store(x, chart + CHARTS * (j * nodes + j), broadcast(x, one))
            for i in range(j - 1, 0, -1):
                fill_cell(x, w, arcs, nodes, i, j)
            fill_root(x, w, arcs, nodes, j, single)

    return inside


@subkernel(inline=True)
def _add_product(o: Cells, entry: int, x: Lanes, y: Lanes) -> None:
    """o += x y."""
    store(o, entry, fma(x, y, load(o, entry)))


@subkernel(inline=True)
def _if_possible(x: Cells, entry: int, value: Lanes) -> Lanes:
    """An outside item; 0 if the item is impossible."""
    zero = broadcast(x, 0.0)
    return select(zero, load(x, entry), value, zero)


@subkernel(inline=True)
def _collected(x: Cells, o: Cells, entry: int, mirrored: int) -> Lanes:
    return _if_possible(x, entry, load(o, entry) + load(o, mirrored))


@subkernel(inline=True)
def _outside_parts(
    x: Cells, w: Cells, nodes: int, i: int, j: int, to_right: Lanes, to_left: Lanes
) -> None:
    """The products of the parts of (i, j), in place of their weights."""
    row, column = i * nodes, j * nodes
    at = cell_index(i, j)
    back = at + j - i
    own = to_right * load(w, at)
    store(w, at, own * load(x, LEFT + CHARTS * (column + i + 1)))
    store(w, back, to_left * load(w, back) * load(x, RIGHT + CHARTS * (row + j - 1)))
    for k in range(i + 1, j):
        pair = load(x, INCOMPLETE + CHARTS * (row + k)) * load(x, BESIDE + CHARTS * (column + k))
        store(w, at + k - i, pair * (to_right * load(w, at + k - i)))
        pair = load(x, BESIDE + CHARTS * (row + k)) * load(x, INCOMPLETE + CHARTS * (column + k))
        store(w, back + k - i, pair * (to_left * load(w, back + k - i)))


@subkernel(inline=True)
def _outside_cell(
    x: Cells, o: Cells, w: Cells, nodes: int, i: int, j: int, with_parts: bool
) -> tuple[Lanes, Lanes]:
    """What the items (i, j), i > 0, give to smaller ones; O(I>) and O(I<)."""
    row, column = i * nodes, j * nodes
    at = cell_index(i, j)
    back = at + j - i
    right = _collected(x, o, RIGHT + CHARTS * (row + j), RIGHT + CHARTS * (column + i))
    left = _collected(x, o, LEFT + CHARTS * (row + j), LEFT + CHARTS * (column + i))
    share = _collected(x, o, BESIDE + CHARTS * (row + j), BESIDE + CHARTS * (column + i))
    entry = INCOMPLETE + CHARTS * (row + j)
    to_right = _if_possible(x, entry, load(o, entry) + right)
    entry = INCOMPLETE + CHARTS * (column + i)
    to_left = _if_possible(x, entry, load(o, entry) + left)
    # S(i, j) = C<(i+1, j) + ... + C>(i, j-1);  I>(i, j) = w(i, i, j) C<(i+1, j) + ...;
    # I<(i, j) = w(j, j, i) C>(i, j-1) + ...
    entry = LEFT + CHARTS * (column + i + 1)
    store(o, entry, load(o, entry) + fma(to_right, load(w, at), share))
    _add_product(o, RIGHT + CHARTS * (row + j - 1), to_left, load(w, back))
    for k in range(i + 1, j):
        i_right = load(x, INCOMPLETE + CHARTS * (row + k))
        i_left = load(x, INCOMPLETE + CHARTS * (column + k))
        # C>(i, j) = sum of I>(i, k) C>(k, j);  I>(i, j) = ... + I>(i, k) S(k, j) w(i, k, j)
        own = to_right * load(w, at + k - i)
        entry = INCOMPLETE + CHARTS * (row + k)
        given = fma(right, load(x, RIGHT + CHARTS * (column + k)), load(o, entry))
        store(o, entry, fma(own, load(x, BESIDE + CHARTS * (column + k)), given))
        _add_product(o, RIGHT + CHARTS * (column + k), right, i_right)
        _add_product(o, BESIDE + CHARTS * (column + k), own, i_right)
        # C<(i, j) = sum of C<(i, k) I<(k, j);  I<(i, j) = ... + S(i, k) I<(k, j) w(j, k, i)
        own = to_left * load(w, back + k - i)
        entry = INCOMPLETE + CHARTS * (column + k)
        given = fma(left, load(x, LEFT + CHARTS * (row + k)), load(o, entry))
        store(o, entry, fma(own, load(x, BESIDE + CHARTS * (row + k)), given))
        _add_product(o, LEFT + CHARTS * (row + k), left, i_left)
        _add_product(o, BESIDE + CHARTS * (row + k), own, i_left)
        # S(i, j) = sum of C>(i, k) C<(k+1, j)
        _add_product(
            o, RIGHT + CHARTS * (row + k), share, load(x, LEFT + CHARTS * (column + k + 1))
        )
        _add_product(
            o, LEFT + CHARTS * (column + k + 1), share, load(x, RIGHT + CHARTS * (row + k))
        )
    if with_parts:
        _outside_parts(x, w, nodes, i, j, to_right, to_left)
    return to_right, to_left


@subkernel(inline=True)
def _outside_root(
    x: Cells, o: Cells, w: Cells, nodes: int, j: int, single: bool, with_parts: bool
) -> Lanes:
    """What the items (0, j) give to smaller ones; O(I>)."""
    column, at = j * nodes, cell_index(0, j)
    right = _if_possible(x, RIGHT + CHARTS * j, load(o, RIGHT + CHARTS * j))
    to_right = _if_possible(x, INCOMPLETE + CHARTS * j, load(o, INCOMPLETE + CHARTS * j) + right)
    _add_product(o, LEFT + CHARTS * (column + 1), to_right, load(w, at))
    for k in range(1, j):
        i_right = load(x, INCOMPLETE + CHARTS * k)
        entry = INCOMPLETE + CHARTS * k
        given = fma(right, load(x, RIGHT + CHARTS * (column + k)), load(o, entry))
        _add_product(o, RIGHT + CHARTS * (column + k), right, i_right)
        if not single:
            own = to_right * load(w, at + k)
            given = fma(own, load(x, BESIDE + CHARTS * (column + k)), given)
            _add_product(o, BESIDE + CHARTS * (column + k), own, i_right)
        store(o, entry, given)
    if with_parts:
        store(w, at, to_right * load(w, at) * load(x, LEFT + CHARTS * (column + 1)))
        for k in range(1, 1 if single else j):
            pair = load(x, INCOMPLETE + CHARTS * k) * load(x, BESIDE + CHARTS * (column + k))
            store(w, at + k, pair * (to_right * load(w, at + k)))
    return to_right


@subkernel()
def outside(
    x: Cells, o: Cells, w: Cells, nodes: int, single: bool, arcs: Cells, with_parts: bool
) -> None:
    """Put mu times Z times O(goal) into `arcs`, [h, m]; with parts, theirs in place of weights.

    Args:
        o: zeros, but for the goals O(C>(0, n)).
    """
    for j in range(nodes - 1, 0, -1):
        to_right = _outside_root(x, o, w, nodes, j, single, with_parts)
        store(arcs, j, to_right * load(x, INCOMPLETE + CHARTS * j))
        for i in range(1, j):
            row, column = i * nodes + j, j * nodes + i
            to_right, to_left = _outside_cell(x, o, w, nodes, i, j, with_parts)
            store(arcs, row, to_right * load(x, INCOMPLETE + CHARTS * row))
            store(arcs, column, to_left * load(x, INCOMPLETE + CHARTS * column))

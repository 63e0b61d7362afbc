"""The inside pass of Eisner's algorithm, for sums and for best trees.

Items as in Eisner (1996); arrows point away from the head, B stands before an arc joins its ends:

    B(i, j)  = sum over i <= k < j of  C>(i, k) C<(k+1, j)
    I>(i, j) = w[i, j] B(i, j)                    I<(i, j) = w[j, i] B(i, j)
    C>(i, j) = sum over i < k <= j of  I>(i, k) C>(k, j)
    C<(i, j) = sum over i <= k < j of  C<(i, k) I<(k, j)

with C>(i, i) = C<(i, i) = 1 and Z = C>(0, n). With a single root, C>(0, k) is left out for 0 < k <
n. n^3 / 2 multiplications. For best trees read max for sum and + for times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.arithmetic.lanes import (
    LANES,
    Lanes,
    load_scalar,
    load_vector,
    maximum,
    minimum,
    select,
    splat,
    store_scalar,
    store_vector,
)
from crossarc.inference.arithmetic.semirings import SUM, Semiring
from crossarc.inference.projective.columns import inside_columns
from crossarc.inference.projective.panels import (
    FACTORS,
    PANELS,
    RULES,
    TERMS,
    TURNED,
    arc_place,
    blocks_of,
    gathering,
    part,
    width_of,
)
from crossarc.kernels import subkernel

__all__ = ["LEAST", "MOST", "SPARE", "inside_pass"]

Floats = NDArray[np.float64]

#: Notes in cells of `space`: the least of the items that are not 0 (0 if a product of an arc
#: underflowed) and the largest, each lane for itself.
LEAST, MOST = 0, 1
#: A place where what nobody wants may be written.
SPARE = TERMS * LANES


@subkernel(inline=True)
def _note(space: Floats, arcs: Lanes, both: Lanes, to: Lanes, complete: Lanes) -> None:
    """Keep the least and the largest of the items of one direction."""
    zero, far = splat(0.0), splat(np.inf)
    made = select(zero, arcs, select(zero, both, minimum(to, both), far), far)
    least = minimum(made, select(zero, complete, complete, far))
    store_vector(space, LANES * LEAST, minimum(least, load_vector(space, LANES * LEAST)))
    most = maximum(both, load_vector(space, LANES * MOST))
    store_vector(space, LANES * MOST, maximum(complete, most))


def inside_pass(semiring: Semiring) -> Callable[[Floats, int, bool], float]:
    """The function that fills the inside items of `space` and gives Z, or the best score."""
    is_sum = semiring is SUM
    zero, one = semiring.zero, semiring.one
    gather: Any = gathering(semiring)
    columns: Any = inside_columns(semiring, turn=is_sum)

    @subkernel(inline=True)
    def add_axiom(space: Floats, width: int, i: int) -> None:
        """C>(i, i) = C<(i, i) = 1, wherever they are kept."""
        block, lane, plane = i // LANES, i % LANES, width * width
        own = part(width, PANELS) + (block * width + i) * TERMS + lane
        row = part(width, FACTORS) + i * width + i
        store_scalar(space, row, one)
        store_scalar(space, row + 2 * plane, one)
        store_scalar(space, own + LANES, one)
        turned = part(width, TURNED) + i * TERMS
        if is_sum:
            store_scalar(space, turned + block * width * TERMS + lane + LANES, one)
        if i > 0:
            store_scalar(space, own - TERMS, one)
            if is_sum:
                above = i - 1
                store_scalar(space, turned + above // LANES * width * TERMS + above % LANES, one)

    @subkernel()
    def clear_block(space: Floats, width: int, block: int) -> None:
        """No items (k, j) with j < k, where the block meets itself."""
        rows = (block * width + block * LANES) * TERMS
        for at in range(0, LANES * TERMS, LANES):
            store_vector(space, part(width, PANELS) + rows + at, splat(zero))
            if is_sum:
                store_vector(space, part(width, TURNED) + rows + at, splat(zero))

    @subkernel(inline=True)
    def fill_block(space: Floats, width: int, block: int, i: int) -> None:
        """The items (i, J) of one row and eight columns."""
        low, plane = block * LANES, width * width
        panel = part(width, PANELS) // LANES + block * width * RULES
        own = panel + RULES * i
        row = part(width, FACTORS) + i * width
        none = splat(zero)
        factors = (row, row + plane, row + 2 * plane)
        # k = i: C>(i, i) C<(i+1, J)
        sums = (load_vector(space, LANES * own), none, none)
        both_sum, right_sum, left_sum = gather(sums, space, factors, 1, panel, i + 1, low)
        arcs = arc_place(width, i, low)
        turned = part(width, TURNED) + low * TERMS
        turn = turned + i // LANES * width * TERMS + i % LANES
        turn_above = turned + (i - 1) // LANES * width * TERMS + (i - 1) % LANES
        both, right, left = columns(
            space,
            LANES * (panel + RULES * low),
            arcs,
            both_sum,
            right_sum,
            left_sum,
            turn,
            turn_above if i > 0 else SPARE,
        )
        arcs_right, arcs_left = load_vector(space, arcs), load_vector(space, arcs + LANES)
        to_right = both * arcs_right if is_sum else both + arcs_right
        to_left = both * arcs_left if is_sum else both + arcs_left
        left = left + to_left if is_sum else maximum(left, to_left)
        if i > 0:
            store_vector(space, LANES * (own - RULES), left)
        store_vector(space, LANES * (own + 1), right)
        store_vector(space, LANES * (own + 2), to_left)
        store_vector(space, row + low, right)
        store_vector(space, row + low + plane, to_right)
        store_vector(space, row + low + 2 * plane, left)
        if i >= low:
            add_axiom(space, width, i)
        if is_sum:
            _note(space, arcs_right, both, to_right, right)
            _note(space, arcs_left, both, to_left, left)

    @subkernel()
    def fill_single_root(space: Floats, nodes: int, width: int) -> float:
        """The row of a root that takes one modifier: I>(0, j) = w[0, j] C<(1, j)."""
        plane = width * width
        factors = part(width, FACTORS)
        total, least = zero, np.inf
        for j in range(1, nodes):
            before = load_scalar(
                space, part(width, PANELS) + j // LANES * width * TERMS + j % LANES
            )
            arc = load_scalar(space, arc_place(width, 0, j))
            rest = load_scalar(space, factors + j * width + nodes - 1)
            to_right = before * arc if is_sum else before + arc
            store_scalar(space, factors + j, zero)
            store_scalar(space, factors + plane + j, to_right)
            store_scalar(space, factors + 2 * plane + j, zero)
            total = total + to_right * rest if is_sum else max(total, to_right + rest)
            least = min(least, to_right if before > 0.0 and arc > 0.0 else np.inf)
        store_scalar(space, factors, one)
        store_scalar(space, factors + 2 * plane, one)
        store_scalar(space, factors + nodes - 1, total)
        if is_sum:
            store_vector(
                space, LANES * LEAST, minimum(splat(least), load_vector(space, LANES * LEAST))
            )
            store_vector(
                space, LANES * MOST, maximum(splat(total), load_vector(space, LANES * MOST))
            )
        return total

    @subkernel()
    def inside(space: Floats, nodes: int, single: bool) -> float:
        width = width_of(nodes)
        store_vector(space, LANES * LEAST, splat(np.inf))
        store_vector(space, LANES * MOST, splat(1.0))
        for block in range(blocks_of(nodes)):
            clear_block(space, width, block)
            for i in range(min((block + 1) * LANES, nodes) - 1, 0 if single else -1, -1):
                fill_block(space, width, block, i)
        if single:
            return fill_single_root(space, nodes, width)
        return load_scalar(space, part(width, FACTORS) + nodes - 1)

    return inside

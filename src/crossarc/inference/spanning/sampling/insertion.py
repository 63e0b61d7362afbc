"""Spanning trees drawn at random by undoing the elimination of nodes.

Eliminating node k (docs/numerics.md) replaces the weight of an arc by a sum,

    w'[h, m] = w[h, m] + w[h, k] w[k, m] / d_k          d_k = sum over h of w[h, k]

Take a random tree T' of the graph without k. Each of its arcs h -> m goes *via k* with the
probability of the second summand, else it is *direct*. Let S be the words whose arcs go via k.

    S is empty:  k takes head h with probability p(h) = w[h, k] / d_k.
    Otherwise:   all of S become modifiers of k. From the first word of S, climb in T' to the last
                 word of S on the way to the root; k takes the head that this word had.

*The result T has probability proportional to its weight.* Without S that is clear. Otherwise let
h0 be k's head in T, R the words and the root that are not below k, and B_m the words below m, for
each m in S. A marked tree T' that leads to T gives each m in S a head h(m) so that no cycle arises,
and weighs

    d_k  times  product over m in S of w[k, m] p(h(m))  times  the weight of T's other arcs.

We need that p(h(m)), summed over all such choices that make h0 the head of k, is p(h0): then T gets
d_k p(h0) = w[h0, k] times its other arcs, its weight. Write q_m = p(B_m) and q = p(R); with all of
them p sums to 1. The choices in which h(m) lies in a given one of these sets, for each m, are
the trees over S and R with R as root, and by Cayley's formula with weights they amount to
q (q + sum of q_m)^(|S| - 1) = q. Which word of S the climb ends at depends on these sets alone, and
its head lies in R: it is h0 in a share p(h0) / q of each. So the sum is p(h0).

*Single root.* The argument needs no root rule: with the root's weights scaled by a vanishing t
(`matrix_tree.weights`), it draws trees with one root.

*Cost.* O(n^3) once. An arc that is made when k is inserted belongs to the graph of the nodes up to
k, and its weight there is the sum of its own and of a term for each node behind k. So it is decided
in one draw by which node it goes next, in O(n), and only then looked at again. Nodes are taken in a
shuffled order. Seen backwards, from the finished tree, the arc into m changes only when its head is
eliminated; of j nodes that are left each is as likely as any other to be the next, so that has
probability 1 / j. Hence an arc is made anew H_n times at most in the mean over orders, whatever the
scores, and a tree takes O(n^2 log n) at most, with a constant far below 1.

*Accuracy.* All numbers are wide (`crossarc.inference.arithmetic.wide`): probabilities are right to
a few rounding units at any scale of the scores, and are compared with multiples of 2^-53.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.rng import State, below, uniform
from crossarc.inference.arithmetic.wide import narrowed, normalised, power_of_two
from crossarc.inference.spanning.sampling.elimination import eliminate, find_weights
from crossarc.kernels import kernel, subkernel

__all__ = ["draw_by_insertion"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_DIRECT = -1


@subkernel()
def _shuffled(n: int) -> Ints:
    """The root and the words in the order of insertion, the same for all sentences of n words."""
    order = np.arange(n + 1)
    state = np.full(1, np.uint64(n))
    for i in range(n, 1, -1):
        j = 1 + int(uniform(state) * i)
        order[i], order[j] = order[j], order[i]
    return order


@subkernel()
def _permuted(table: Floats, order: Ints) -> Floats:
    if table.shape[0] == 0:
        return table.copy()
    out = np.empty(table.shape)
    for h in range(order.shape[0]):
        for m in range(order.shape[0]):
            out[h, m] = table[order[h], order[m]]
    return out


@subkernel()
def _running_shares(shares: Floats, powers: Ints, n: int) -> Floats:
    """For each node, running sums of the probabilities of the heads before it, the root's last."""
    sums = np.zeros((n, n + 1))
    for k in range(n):
        passed = 0.0
        for h in range(k + 1):
            column = n if h == k else h
            passed += narrowed(shares[k, column], powers[k, column])
            sums[k, h] = passed
    return sums


@subkernel()
def _direct_shares(
    weights: Floats, weight_powers: Ints, block: Floats, powers: Ints, n: int
) -> Floats:
    """Which share of each arc's weight in `block` is its own."""
    direct = np.zeros((n, n + 1))
    for m in range(n):
        for h in range(n + 1):
            if weights[m, h] > 0.0:
                ratio = weights[m, h] / block[m, h]
                direct[m, h] = narrowed(ratio, weight_powers[m, h] - powers[m, h])
    return direct


@subkernel()
def _way(
    m: int,
    h: int,
    direct: Floats,
    block: Floats,
    powers: Ints,
    transposed: Floats,
    transposed_powers: Ints,
    state: State,
) -> int:
    """The node that the new arc h -> m goes via, or _DIRECT.

    Args:
        block: the weight of each arc when the later of its two nodes was eliminated.
        transposed: the shares of eliminated nodes, [h, j].
    """
    u, passed, last = uniform(state), direct[m, h], _DIRECT
    if u < passed:
        return last
    n = block.shape[0]
    scale, power = 1.0 / block[m, h], powers[m, h]
    for j in range(1 + (m if h == n else max(m, h)), n):
        exponent = powers[m, j] + transposed_powers[h, j] - power
        share = block[m, j] * transposed[h, j] * scale * power_of_two(exponent)
        if share > 0.0:
            passed += share
            last = j
            if u < passed:
                break
    return last


@subkernel()
def _insert(
    k: int, first: Ints, following: Ints, heads: Ints, ways: Ints, sums: Floats, state: State
) -> int:
    """The head of node k; words whose arcs go via k are listed from first[k]."""
    n = heads.shape[0]
    if first[k] < 0:
        head = below(sums[k], 0, k + 1, uniform(state))
        return n if head == k else head
    m = start = first[k]
    while m >= 0:
        start = min(start, m)
        m = following[m]
    x = topmost = start
    while x != n:
        if ways[x] == k:
            topmost = x
        x = heads[x]
    return int(heads[topmost])


@kernel(types.void(_READ2, _READ2, types.boolean, types.uint64[::1], types.int64[:, ::1]))
def draw_by_insertion(
    scores: Floats, label_sums: Floats, single: bool, state: State, out: Ints
) -> None:
    """Independent trees of one sentence that has trees: heads, a row of `out` each.

    Args:
        label_sums: as in `matrix_tree.sums`, empty without labels.
        state: of the random number generator; advanced.
    """
    n = scores.shape[0] - 1
    order = _shuffled(n)
    scores, label_sums = _permuted(scores, order), _permuted(label_sums, order)
    weights, weight_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    find_weights(scores, label_sums, single, weights, weight_powers)
    block, powers = weights.copy(), weight_powers.copy()
    shares, share_powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    eliminate(block, powers, shares, share_powers)
    for m in range(n):
        for h in range(n + 1):
            block[m, h], powers[m, h] = normalised(block[m, h], powers[m, h])
    shares[0, n], share_powers[0, n] = 1.0, 0
    direct = _direct_shares(weights, weight_powers, block, powers, n)
    sums = _running_shares(shares, share_powers, n)
    transposed, transposed_powers = shares.T.copy(), share_powers.T.copy()
    heads, ways = np.empty(n, np.int64), np.empty(n, np.int64)
    first, following = np.empty(n, np.int64), np.empty(n, np.int64)
    for row in range(out.shape[0]):
        first[:] = -1
        for k in range(n):
            head = _insert(k, first, following, heads, ways, sums, state)
            # The words of the list are attached to k, then k itself, in the same way.
            m = first[k]
            while True:
                after, new = (-1, head) if m < 0 else (following[m], k)
                x = k if m < 0 else m
                heads[x] = new
                way = _way(x, new, direct, block, powers, transposed, transposed_powers, state)
                ways[x] = way
                if way >= 0:
                    following[x], first[way] = first[way], x
                if m < 0:
                    break
                m = after
        for m in range(n):
            out[row, order[m + 1] - 1] = 0 if heads[m] == n else order[heads[m] + 1]

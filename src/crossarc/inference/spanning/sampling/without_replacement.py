"""Spanning trees drawn without replacement, word by word (`crossarc.inference.arithmetic.gumbel`).

A tree is the sequence of the heads of words 1, 2, ... n, then of their labels. Given the heads of
the words before j, the head of j is h with probability proportional to w[h, j] E[h, j], where
E[h, j] is the probability that the walk from h reaches the root before j (docs/numerics.md); words
whose heads are given walk there. So each given word is one node with the free word, or the root,
that it hangs below, and the words behind j are eliminated: O((n - j)^3), n^4 / 12 multiplications
and additions a tree, in wide numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.arithmetic.gumbel import Found, draw_distinct, perturb
from crossarc.inference.arithmetic.wide import ZERO, log_of, normalised, plus, power_of_two
from crossarc.inference.spanning.matrix_tree.weights import VANISHED
from crossarc.inference.spanning.sampling.elimination import eliminate, find_weights, substitute
from crossarc.kernels import READ_FLOAT, kernel, subkernel

__all__ = ["trees_without_replacement"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_F2, _S1, _S2 = types.float64[:, ::1], types.int32[::1], types.int32[:, ::1]
_READ2 = types.Array(types.float64, 2, "C", readonly=True)
_READ2_INT = types.Array(types.int64, 2, "C", readonly=True)
_READ3 = types.Array(types.float64, 3, "C", readonly=True)
_READ_SHORT = types.Array(types.int32, 1, "C", readonly=True)


@kernel(types.void(_READ2, _READ2, types.boolean, _F2, types.int64[:, ::1]))
def _weights(
    scores: Floats, label_sums: Floats, single: bool, weights: Floats, powers: Ints
) -> None:
    find_weights(scores, label_sums, single, weights, powers)


@subkernel()
def _above(heads: Shorts, j: int, n: int, nodes: Ints) -> None:
    """For each node the free word, or the root n, that it hangs below; words from j on are free."""
    for h in range(n + 1):
        x = h
        while x < j:
            x = n if heads[x] == 0 else heads[x] - 1
        nodes[h] = x


@subkernel()
def _find_escapes(
    weights: Floats, powers: Ints, j: int, nodes: Ints, escapes: Floats, escape_powers: Ints
) -> None:
    """E[x, j] for the free words x behind j and the root, at index x - j."""
    n = weights.shape[0]
    size = n - j
    block, block_powers = np.zeros((size, size + 1)), np.full((size, size + 1), ZERO)
    for m in range(1, size):
        for h in range(n + 1):
            x = nodes[h] - j
            if x != m and weights[j + m, h] > 0.0:
                block[m, x], block_powers[m, x] = plus(
                    block[m, x], block_powers[m, x], weights[j + m, h], powers[j + m, h]
                )
    shares, share_powers = np.empty((size, size + 1)), np.empty((size, size + 1), np.int64)
    eliminate(block, block_powers, shares, share_powers)
    substitute(escapes, escape_powers, shares, share_powers)
    escapes[size], escape_powers[size] = 1.0, 0


@subkernel()
def _head_logs(
    weights: Floats, powers: Ints, heads: Shorts, j: int, options: Shorts, logs: Floats
) -> int:
    """The possible heads of word j + 1, given those before, and their log-probabilities."""
    n = weights.shape[0]
    nodes = np.empty(n + 1, np.int64)
    _above(heads, j, n, nodes)
    escapes, escape_powers = np.empty(n - j + 1), np.empty(n - j + 1, np.int64)
    _find_escapes(weights, powers, j, nodes, escapes, escape_powers)
    terms, exponents, highest = np.empty(n + 1), np.empty(n + 1, np.int64), ZERO
    for h in range(n + 1):
        x = nodes[h] - j
        terms[h], exponents[h] = normalised(
            weights[j, h] * escapes[x], powers[j, h] + escape_powers[x]
        )
        highest = max(highest, exponents[h])
    total, count = 0.0, 0
    for h in range(n + 1):
        total += terms[h] * power_of_two(exponents[h] - highest)
    for h in range(n + 1):
        if terms[h] > 0.0 and exponents[h] - highest >= VANISHED:
            options[count] = 0 if h == n else h + 1
            logs[count] = log_of(terms[h] / total, exponents[h] - highest)[0]
            count += 1
    return count


@subkernel()
def _label_logs(scores: Floats, options: Shorts, logs: Floats) -> int:
    """The possible labels of an arc, and their log-probabilities."""
    top, total, count = scores.max(), 0.0, 0
    for label in range(scores.shape[0]):
        if scores[label] > -np.inf:
            options[count], logs[count] = label, scores[label] - top
            total += math.exp(logs[count])
            count += 1
    for i in range(count):
        logs[i] -= math.log(total)
    return count


@kernel(
    types.int64(
        _READ2,
        _READ2_INT,
        _READ3,
        _READ_SHORT,
        types.float64,
        types.float64,
        READ_FLOAT,
        _S1,
        _S2,
        _F2,
    )
)
def _descend(
    weights: Floats,
    powers: Ints,
    labelled: Floats,
    prefix: Shorts,
    log: float,
    top: float,
    noise: Floats,
    choices: Shorts,
    places: Shorts,
    values: Floats,
) -> int:
    """From a prefix to the tree with the largest G, noting what was passed by.

    Args:
        labelled: the scores of labels, empty without.
        prefix: the first choices; `log` its log-probability, `top` its G.
        noise: standard exponential variables, enough of them.
        choices: becomes the heads of the tree, then its labels.
        places: becomes (step, choice) of each alternative, `values` its (log p, G).

    Returns:
        The number of alternatives.
    """
    n = weights.shape[0]
    most = max(n + 1, labelled.shape[2])
    options, logs, moved = np.empty(most, np.int32), np.empty(most), np.empty(most)
    passed, drawn = 0, 0
    choices[: prefix.shape[0]] = prefix
    for step in range(prefix.shape[0], choices.shape[0]):
        if step < n:
            count = _head_logs(weights, powers, choices, step, options, logs)
        else:
            m = step - n
            count = _label_logs(labelled[choices[m], m + 1], options, logs)
        for i in range(count):
            logs[i] += log
        best = perturb(logs, noise[drawn:], count, top, moved) if count > 1 else 0
        drawn += count
        for i in range(count):
            if i != best:
                places[passed, 0], places[passed, 1] = step, options[i]
                values[passed, 0], values[passed, 1] = logs[i], moved[i]
                passed += 1
        log, choices[step] = logs[best], options[best]
    return passed


def trees_without_replacement(
    scores: Floats,
    label_sums: Floats,
    labelled: Floats | None,
    single: bool,
    rng: np.random.Generator,
) -> Iterator[Shorts]:
    """All trees of a sentence that has some, in the order of draws without replacement.

    A tree is its heads, then its labels where `labelled` has their scores.
    """
    n = scores.shape[0] - 1
    weights, powers = np.empty((n, n + 1)), np.empty((n, n + 1), np.int64)
    _weights(scores, label_sums, single, weights, powers)
    label_scores = np.empty((0, 0, 0)) if labelled is None else labelled
    steps = n if labelled is None else 2 * n
    most = n * (n + 1 + label_scores.shape[2])

    def descend(prefix: Shorts, log: float, top: float) -> Found:
        choices, places = np.empty(steps, np.int32), np.empty((most, 2), np.int32)
        values, noise = np.empty((most, 2)), rng.standard_exponential(most)
        passed = _descend(
            weights, powers, label_scores, prefix, log, top, noise, choices, places, values
        )
        return choices, places[:passed], values[:passed]

    return draw_distinct(descend, rng)

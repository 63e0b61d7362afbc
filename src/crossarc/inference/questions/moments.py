"""Second moments of tree distributions: how arcs vary together.

All come from one product: the Hessian of log Z, whose entries are the covariances of pairs of arcs,
times a direction v, in O(n^3) and without the n^4 entries themselves. Its entry for arc a is

    sum over b of Cov(a, b) v(b) = mu(a) (E[V | a] - E[V])        V: the sum of v over a tree's arcs

Each word has one head, so a number added to all of v for a word changes nothing, and the entries
of a word's arcs add up to 0. Both are used against cancellation.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.kernels import kernel

if TYPE_CHECKING:
    from crossarc.inference.hooks import TreeHooks

__all__ = ["covariance", "hessian_product", "read_functions"]

Floats = NDArray[np.float64]

_F3 = types.float64[:, :, ::1]
_READ3 = types.Array(types.float64, 3, "C", readonly=True)


def hessian_product(
    trees: TreeHooks, index: int, direction: Floats, name: str, factor_weight: float = 0.0
) -> Floats:
    """The derivative of a sentence's marginals along a direction of the scores.

    Args:
        name: of the direction, for messages.
        factor_weight: the direction of factors beyond arcs, as a multiple of their scores.
    """
    centred, scale = _centred(trees, index, direction, name)
    product = trees._hessian_product(index, centred, scale * factor_weight)
    marginals = trees._feasible_marginals(index, False)
    shape = (*product.shape[:2], -1)
    _balance(marginals.reshape(shape), scale, product.reshape(shape))
    return product


def covariance(trees: TreeHooks, index: int, f: Floats, g: Floats) -> float:
    """The covariance of two sums over a tree's arcs."""
    product = hessian_product(trees, index, f, "f")
    centred, scale = _centred(trees, index, g, "g")
    return float(np.sum(product * centred)) / scale


def read_functions(trees: TreeHooks, given: Any, name: str) -> list[Floats]:
    """Functions of arcs, checked to have the shape of the scores."""
    batch = trees._batch
    listed = list(given) if batch.is_batch else [given]
    if len(listed) != len(batch):
        raise ScoreError(f"{name}: {len(listed)} arrays for {len(batch)} sentences")
    arrays = [np.ascontiguousarray(one, np.float64) for one in listed]
    for index, array in enumerate(arrays):
        expected = batch.scores(index).shape
        if array.shape != expected:
            raise ScoreError(
                f"{batch.name(index)}{name} must have the shape of the scores, {expected}: "
                f"got {array.shape}"
            )
    return arrays


def _centred(trees: TreeHooks, index: int, function: Floats, name: str) -> tuple[Floats, float]:
    """A function of arcs, less each word's mean and scaled to at most 1; and the scale."""
    scores = trees._batch.scores(index)
    marginals = trees._feasible_marginals(index, False)
    largest = float(np.abs(function[scores > -np.inf]).max())
    scale = 2.0 ** -min(math.frexp(largest)[1], 1000) if math.isfinite(largest) else 1.0
    out = np.empty(scores.shape)
    shape = (*scores.shape[:2], -1)
    arrays = function.reshape(shape), scores.reshape(shape), marginals.reshape(shape)
    if not _centre(arrays[0], arrays[1], arrays[2], scale, out.reshape(shape)):
        raise ScoreError(
            f"{trees._batch.name(index)}{name} must be finite wherever an arc is allowed"
        )
    return out, scale


@kernel(types.boolean(_READ3, _READ3, _READ3, types.float64, _F3))
def _centre(
    direction: Floats, scores: Floats, marginals: Floats, scale: float, out: Floats
) -> bool:
    """`scale` times the direction, for each word less its mean; 0 where an arc is forbidden.

    Returns whether all that counts is finite. Differences are from the most probable arc, so that
    they keep their digits when nearly all of the probability is there.
    """
    width, labels = scores.shape[0], scores.shape[2]
    finite = True
    out[:] = 0.0
    for m in range(1, width):
        best_head, best_label = 0, 0
        for h in range(width):
            for k in range(labels):
                if marginals[h, m, k] > marginals[best_head, m, best_label]:
                    best_head, best_label = h, k
        reference = direction[best_head, m, best_label] * scale
        mean = 0.0
        for h in range(width):
            for k in range(labels):
                if scores[h, m, k] > -np.inf:
                    out[h, m, k] = direction[h, m, k] * scale - reference
                    mean += marginals[h, m, k] * out[h, m, k]
        finite &= np.isfinite(mean)
        for h in range(width):
            for k in range(labels):
                if scores[h, m, k] > -np.inf:
                    out[h, m, k] -= mean
                    finite &= np.isfinite(out[h, m, k])
    return finite


@kernel(types.void(_READ3, types.float64, _F3))
def _balance(marginals: Floats, scale: float, product: Floats) -> None:
    """Give each word's most probable arc minus the sum of the others; all divided by `scale`."""
    width, labels = product.shape[0], product.shape[2]
    for m in range(1, width):
        best_head, best_label = 0, 0
        for h in range(width):
            for k in range(labels):
                product[h, m, k] /= scale
                if marginals[h, m, k] > marginals[best_head, m, best_label]:
                    best_head, best_label = h, k
        others = 0.0
        for h in range(width):
            for k in range(labels):
                if h != best_head or k != best_label:
                    others += product[h, m, k]
        product[best_head, m, best_label] = -others

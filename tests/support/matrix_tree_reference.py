"""The papers' own algorithms, in plain NumPy, as oracles.

Each function is one equation or figure of McDonald & Satta (2007) or Koo et al. (2007), in their
notation, or follows from one. They exponentiate the scores and take determinants, so they lose
digits once scores differ by more than about 10, and overflow later: valid for moderate scores only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]


def edge_weights(scores: Scores) -> Floats:
    """w^k_ij = exp(scores[i, j, k]), always with a label axis; unusable arcs weigh 0."""
    labelled = scores[:, :, None] if scores.ndim == 2 else scores
    usable = ~np.eye(len(scores), dtype=bool)
    usable[:, 0] = False
    weights = np.zeros(labelled.shape, np.result_type(scores, np.float64))
    weights[usable] = np.exp(labelled[usable], dtype=weights.dtype)
    return weights


def _word_graph(scores: Scores) -> tuple[Floats, Floats]:
    """A and r of Koo et al. (2007), sections 3 and 3.4: weights of word and root arcs."""
    summed = edge_weights(scores).sum(axis=2)
    return summed[1:, 1:], summed[0, 1:]


def _laplacian(weights: Floats) -> Floats:
    """L of Koo et al. (2007), section 3: column sums on the diagonal, minus the weights."""
    return np.diag(weights.sum(axis=0)) - weights


def mcdonald_satta_laplacian(scores: Scores) -> Floats:
    """Q of McDonald & Satta (2007), section 3.2, over all nodes 0..n; labels are summed."""
    return _laplacian(edge_weights(scores).sum(axis=2))


def mcdonald_satta_partition(scores: Scores) -> float:
    """Z_x = |Q^0| (McDonald & Satta 2007, section 3.2): multi-root, O(n^3 + |L| n^2)."""
    return float(np.linalg.det(mcdonald_satta_laplacian(scores)[1:, 1:]))


def mcdonald_satta_expectations(scores: Scores) -> Floats:
    """<(i, j)_k>, unnormalised (McDonald & Satta 2007, Figure 3): multi-root, O(n^5 + |L| n^2).

    One departure from print: the entry that line 6 sets to -1 goes back to 0 before the next i.
    """
    weights = edge_weights(scores)
    q = mcdonald_satta_laplacian(scores)
    expectations = np.zeros(weights.shape)
    for j in range(1, len(q)):
        saved = q[:, j].copy()  # line 3
        q[:, j] = 0.0  # line 4
        q[j, j] = 1.0
        for i in range(len(q)):
            if i == j:
                continue
            q[i, j] = -1.0  # line 6
            expectations[i, j] = weights[i, j] * np.linalg.det(q[1:, 1:])  # lines 7 and 8
            q[i, j] = 0.0
        q[:, j] = saved  # line 10
    return expectations.reshape(scores.shape)


def mcdonald_satta_marginals(scores: Scores) -> Floats:
    """The expectations of Figure 3 over Z_x."""
    return mcdonald_satta_expectations(scores) / mcdonald_satta_partition(scores)


def naive_single_root_partition(scores: Scores) -> float:
    """Z = sum over m of r_m L^(m, m) (Koo et al. 2007, section 3.1): n minors, O(n^4)."""
    a, r = _word_graph(scores)
    laplacian = _laplacian(a)
    total = 0.0
    for m, weight in enumerate(r):
        kept = np.delete(np.arange(len(a)), m)
        total += weight * np.linalg.det(laplacian[np.ix_(kept, kept)])
    return float(total)


def koo_matrix(scores: Scores, root: str) -> Floats:
    """L-hat of Koo et al. (2007).

    Single root, section 3.1: L with its first row replaced by r.
    Multiple roots, section 3.3: L + diag(r).
    """
    a, r = _word_graph(scores)
    matrix = _laplacian(a)
    if root == "multi":
        return matrix + np.diag(r)
    matrix[0] = r
    return matrix


def koo_partition(scores: Scores, root: str) -> float:
    """Z = |L-hat| (Koo et al. 2007, Proposition 1 and section 3.3), O(n^3)."""
    return float(np.linalg.det(koo_matrix(scores, root)))


def koo_weight_gradients(scores: Scores, root: str) -> Floats:
    """d log Z / d w[h, m] from the inverse of L-hat (Koo et al. 2007, section 3.2), O(n^3)."""
    inverse = np.linalg.inv(koo_matrix(scores, root))
    n = len(inverse)
    down = np.tile(np.diag(inverse), (n, 1))  # [L-hat^-1]_{m, m} at (h, m)
    across = inverse.T.copy()  # [L-hat^-1]_{m, h} at (h, m)
    if root == "single":
        down[:, 0] = 0.0  # 1 - delta_{1, m}
        across[0, :] = 0.0  # 1 - delta_{h, 1}
    gradients = np.zeros((n + 1, n + 1), inverse.dtype)
    gradients[1:, 1:] = down - across
    gradients[0, 1:] = inverse[:, 0] if root == "single" else np.diag(inverse)
    return gradients


def koo_marginals(scores: Scores, root: str) -> Floats:
    """mu, the derivative of log Z by log w (Koo et al. 2007, sections 3.2 to 3.4), O(n^3).

    By the chain rule of section 3.4, a label's share of an arc is its share of the arc's weight.
    """
    gradients = koo_weight_gradients(scores, root)
    return (edge_weights(scores) * gradients[:, :, None]).reshape(scores.shape)


def koo_derivatives(scores: Scores, root: str, direction: Floats) -> Floats:
    """Of the marginals along a direction of the scores: Hessian-vector products of log Z.

    By a complex step, which subtracts nothing: f(x + i t v) = f(x) + i t f'(x) v + O(t^2).
    """
    step = 1e-30
    return koo_marginals(scores + 1j * step * direction, root).imag / step

"""What the matrix-tree kernels are asked for."""

from __future__ import annotations

__all__ = ["LOG_MARGINALS", "LOG_PARTITION", "MARGINALS", "WEIGHT_GRADIENTS"]

#: log Z alone, with marginals, with the logarithms of marginals.
LOG_PARTITION, MARGINALS, LOG_MARGINALS = 0, 1, 2
#: log Z with its derivatives by the weights of arcs, which stay in the workspace.
WEIGHT_GRADIENTS = 3

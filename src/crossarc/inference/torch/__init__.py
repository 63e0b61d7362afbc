"""Inference over trees for PyTorch tensors, with gradients.

Scores are padded tensors (batch, n+1, n+1) or (batch, n+1, n+1, labels), float32 or float64, with
`lengths` for the words of each sentence; results have their dtype, and are computed in float64 by
the kernels that serve NumPy arrays. `log_partition`, `marginals` and `entropy` have gradients,
`log_partition` second ones too, in the scores of arcs and of factors. Arcs and parts forbidden by
-inf, and padding, get a gradient of exactly 0.

PyTorch comes with the extra `crossarc[torch]`.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError:
    raise ImportError(
        'PyTorch is not installed: pip install "crossarc[torch]", or a build of your choice'
    ) from None

from crossarc.inference.torch.distribution import DependencyTrees
from crossarc.inference.torch.factors import Parts
from crossarc.inference.torch.questions import (
    argmax,
    entropy,
    kbest,
    log_partition,
    marginals,
    min_risk,
    sample,
)
from crossarc.inference.torch.trees import Trees

__all__ = [
    "DependencyTrees",
    "Parts",
    "Trees",
    "argmax",
    "entropy",
    "kbest",
    "log_partition",
    "marginals",
    "min_risk",
    "sample",
]

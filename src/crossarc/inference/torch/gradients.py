"""log Z, marginals and entropy as functions that autograd knows.

The gradient of log Z is the marginals. That of the marginals is the Hessian of log Z, whose product
with what comes from above is all that is needed, and that of the entropy minus the Hessian times
the scores. Third derivatives are not defined.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from crossarc.inference.torch.backends import Kernels

__all__ = ["Entropy", "LogPartition", "Marginals"]


class LogPartition(Function):  # type: ignore[misc]  # torch is not there for every type check
    """(batch,) from scores and what answers for them."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kernels: Kernels) -> Tensor:
        """log Z, with marginals if they will be needed."""
        ctx.save_for_backward(scores)
        ctx.kernels = kernels
        return kernels.log_partition(ctx.needs_input_grad[0])

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        """Marginals, which autograd can differentiate once more."""
        (scores,) = ctx.saved_tensors
        marginals = Marginals.apply(scores, ctx.kernels)
        return _for_each(above, scores) * marginals, None


class Marginals(Function):  # type: ignore[misc]
    """In the shape of the scores."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kernels: Kernels) -> Tensor:
        """Probabilities of arcs."""
        ctx.save_for_backward(scores)
        ctx.kernels = kernels
        return kernels.marginals()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        """The Hessian is symmetric: its product with what comes from above."""
        ctx.saved_tensors  # noqa: B018  # raises if the scores have been changed in place
        return ctx.kernels.hessian_product(above), None


class Entropy(Function):  # type: ignore[misc]
    """(batch,), in nats."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kernels: Kernels) -> Tensor:
        """The entropy of each sentence's trees."""
        ctx.save_for_backward(scores)
        ctx.kernels = kernels
        return kernels.entropy()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        """Minus the Hessian times the scores."""
        (scores,) = ctx.saved_tensors
        return _for_each(above, scores) * ctx.kernels.entropy_gradient(), None


def _for_each(values: Tensor, scores: Tensor) -> Tensor:
    """One value a sentence, to be multiplied with something in the shape of the scores."""
    return values.reshape(-1, *[1] * (scores.ndim - 1))

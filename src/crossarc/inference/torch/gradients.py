"""log Z, marginals and entropy as functions that autograd knows.

The gradient of log Z is the marginals. That of the marginals is the Hessian of log Z, whose product
with what comes from above is all that is needed, and that of the entropy minus the Hessian times
the scores. Third derivatives are not defined.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

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
        """Marginals, which autograd can differentiate once more if it is to."""
        (scores,) = ctx.saved_tensors  # notices scores that were changed in place
        if not torch.is_grad_enabled():
            return ctx.kernels.marginals(above), None
        return _for_each(above, scores) * Marginals.apply(scores, ctx.kernels), None


class Marginals(Function):  # type: ignore[misc]
    """In the shape of the scores."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kernels: Kernels) -> Tensor:
        """Probabilities of arcs."""
        ctx.save_for_backward(scores)
        ctx.kernels = kernels
        return kernels.marginals()

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        """The Hessian is symmetric: its product with what comes from above."""
        (scores,) = ctx.saved_tensors
        return _HessianProduct.apply(scores, above, ctx.kernels), None


class Entropy(Function):  # type: ignore[misc]
    """(batch,), in nats."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kernels: Kernels) -> Tensor:
        """The entropy of each sentence's trees."""
        ctx.save_for_backward(scores)
        ctx.kernels = kernels
        return kernels.entropy()

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None]:
        """Minus the Hessian times the scores."""
        (scores,) = ctx.saved_tensors
        return _for_each(above, scores) * _EntropyGradient.apply(scores, ctx.kernels), None


class _HessianProduct(Function):  # type: ignore[misc]
    """The Hessian of log Z times a direction: the end of what is defined."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, direction: Tensor, kernels: Kernels) -> Tensor:
        return kernels.hessian_product(direction)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> None:
        _refuse_third("marginals")


class _EntropyGradient(Function):  # type: ignore[misc]
    """Minus the Hessian of log Z times the scores: the end as well."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, kernels: Kernels) -> Tensor:
        return kernels.entropy_gradient()

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> None:
        _refuse_third("entropy")


def _refuse_third(name: str) -> None:
    raise NotImplementedError(
        f"the gradient of {name} has no gradient itself: third derivatives of log Z are not "
        "available; detach it"
    )


def _for_each(values: Tensor, scores: Tensor) -> Tensor:
    """One value a sentence, to be multiplied with something in the shape of the scores."""
    return values.reshape(-1, *[1] * (scores.ndim - 1))

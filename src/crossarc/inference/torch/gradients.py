"""log Z, marginals, entropy and divergences as functions that autograd knows.

All are functions of several tensors: the scores of arcs, then those of each factor, in the order of
`Kernels.layouts`. With H the Hessian of log Z, of which only products with vectors are needed:

    function        gradient
    log Z           marginals
    marginals       H
    entropy         -H times the scores
    KL(p || q)      for p: H of p times the scores of p less those of q
                    for q: marginals of q less those of p

Third derivatives are not defined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from crossarc.inference.torch.backends import Kernels

__all__ = ["Divergence", "Entropy", "LogPartition", "Marginals"]


class LogPartition(Function):  # type: ignore[misc]  # torch is not there for every type check
    """(batch,) from what answers for scores, and the scores."""

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, *scores: Tensor) -> Tensor:
        """log Z, with marginals if they will be needed."""
        ctx.save_for_backward(*scores)
        ctx.kernels = kernels
        return kernels.log_partition(any(ctx.needs_input_grad))

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """Marginals, which autograd can differentiate once more if it is to."""
        scores = ctx.saved_tensors  # notices scores that were changed in place
        found: list[Tensor | None] = []
        for part, needed in zip(ctx.kernels.layouts, ctx.needs_input_grad[1:], strict=True):
            if not needed:
                found.append(None)
            elif torch.is_grad_enabled():
                own = Marginals.apply(ctx.kernels, part, *scores)
                found.append(ctx.kernels.layouts[part].by_sentence(above) * own)
            else:
                found.append(ctx.kernels.marginals(part, above))
        return None, *found


class Marginals(Function):  # type: ignore[misc]
    """Of one kind of parts, in the shape of its scores."""

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, part: str, *scores: Tensor) -> Tensor:
        """Probabilities of parts."""
        ctx.save_for_backward(*scores)
        ctx.kernels, ctx.part = kernels, part
        return kernels.marginals(part)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """The Hessian is symmetric: its product with what comes from above."""
        directions = [above if part == ctx.part else None for part in ctx.kernels.layouts]
        return None, None, *_HessianProduct.apply(ctx.kernels, *directions, *ctx.saved_tensors)


class Entropy(Function):  # type: ignore[misc]
    """(batch,), in nats."""

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, *scores: Tensor) -> Tensor:
        """The entropy of each sentence's trees."""
        ctx.save_for_backward(*scores)
        ctx.kernels = kernels
        return kernels.entropy()

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """Minus the Hessian times the scores."""
        found = _EntropyGradient.apply(ctx.kernels, *ctx.saved_tensors)
        return None, *_times(ctx.kernels, above, found)


class Divergence(Function):  # type: ignore[misc]
    """KL(p || q) of each sentence, or the cross-entropy; both have the same kinds of parts."""

    @staticmethod
    def forward(ctx: Any, p: Kernels, q: Kernels, is_kl: bool, *scores: Tensor) -> Tensor:
        """(batch,), in nats; `scores` are those of p, then those of q."""
        ctx.save_for_backward(*scores)
        value = p.kl(q) if is_kl else p.cross_entropy(q)
        ctx.p, ctx.q, ctx.is_kl, ctx.is_finite = p, q, is_kl, torch.isfinite(value)
        return value

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """For p the Hessian times the scores of p less those of q, for q the marginals of q less
        those of p; 0 where the value is infinite.
        """
        p, q, scores = ctx.p, ctx.q, ctx.saved_tensors
        ours, theirs = scores[: len(p.layouts)], scores[len(p.layouts) :]
        finite = torch.where(ctx.is_finite, above, torch.zeros_like(above))
        needed = ctx.needs_input_grad[3:]
        products: list[Tensor | None] = [None] * len(ours)
        differences = products
        if any(needed[: len(ours)]):
            directions = [
                torch.nan_to_num(a - b if ctx.is_kl else -b, 0.0, 0.0, 0.0).detach()
                for a, b in zip(ours, theirs, strict=True)
            ]
            products = _times(p, finite, _HessianProduct.apply(p, *directions, *ours))
        if any(needed[len(ours) :]):
            found = [
                Marginals.apply(q, part, *theirs) - Marginals.apply(p, part, *ours)
                for part in p.layouts
            ]
            differences = _times(q, finite, found)
        return None, None, None, *products, *differences


class _HessianProduct(Function):  # type: ignore[misc]
    """The Hessian of log Z times a direction, for all kinds of parts: the end of what is defined.

    Arguments are a direction for each kind, None for 0, and the scores.
    """

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, *given: Tensor | None) -> tuple[Tensor, ...]:
        parts = list(kernels.layouts)
        some = zip(parts, given[: len(parts)], strict=True)
        products = kernels.hessian_product({part: one for part, one in some if one is not None})
        return tuple(products[part] for part in parts)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> None:
        _refuse_third("marginals")


class _EntropyGradient(Function):  # type: ignore[misc]
    """Minus the Hessian of log Z times the scores, for all kinds of parts: the end as well."""

    @staticmethod
    def forward(ctx: Any, kernels: Kernels, *scores: Tensor) -> tuple[Tensor, ...]:
        gradients = kernels.entropy_gradient()
        return tuple(gradients[part] for part in kernels.layouts)

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> None:
        _refuse_third("entropy")


def _refuse_third(name: str) -> None:
    raise NotImplementedError(
        f"the gradient of {name} has no gradient itself: third derivatives of log Z are not "
        "available; detach it"
    )


def _times(kernels: Kernels, above: Tensor, values: Sequence[Tensor]) -> list[Tensor | None]:
    """Tensors of all kinds of parts, times one number a sentence."""
    layouts = kernels.layouts.values()
    return [own.by_sentence(above) * one for own, one in zip(layouts, values, strict=True)]

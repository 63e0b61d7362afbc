"""Trees as a distribution in the manner of `torch.distributions`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from crossarc.inference.distribution import Root
from crossarc.inference.torch import questions
from crossarc.inference.torch.backends import Lengths
from crossarc.inference.torch.trees import Trees, indicators
from crossarc.trees import Tree

__all__ = ["DependencyTrees"]


class DependencyTrees(Distribution):  # type: ignore[misc]  # torch is not there for every check
    """Dependency trees with probability proportional to the exponential of their score.

    An event is a tree as a tensor of 0 and 1 in the shape of a sentence's scores, 1 for its
    (labelled) arcs; so `mean` is the marginals. `log_prob`, `entropy`, `mean` and `log_partition`
    have gradients.

    Args:
        scores: (batch, n+1, n+1) or (batch, n+1, n+1, labels); -inf forbids an arc.
        lengths, root, projective: as for `log_partition`.
    """

    has_rsample = False

    def __init__(
        self,
        scores: Tensor,
        lengths: Lengths = None,
        *,
        root: Root = "single",
        projective: bool = False,
        validate_args: bool | None = None,
    ) -> None:
        self.scores = scores
        words = [scores.shape[1] - 1] * len(scores) if lengths is None else lengths
        self.lengths: list[int] = words.tolist() if isinstance(words, Tensor) else list(words)
        self.root: Root = root
        self.projective = projective
        super().__init__(scores.shape[:1], scores.shape[1:], validate_args=validate_args)

    # Scores are checked where they are used: the padding may hold anything.
    arg_constraints = {"scores": constraints.dependent}  # noqa: RUF012  # as torch has it

    @constraints.dependent_property(is_discrete=True)  # type: ignore[untyped-decorator]
    def support(self) -> Any:
        """The trees that the distribution is over, apart from forbidden arcs."""
        return _AreTrees(self)

    def _ask(self, question: Any, **options: Any) -> Any:
        return question(
            self.scores,
            lengths=self.lengths,
            root=self.root,
            projective=self.projective,
            **options,
        )

    @property
    def log_partition(self) -> Tensor:
        """log Z, (batch,)."""
        result: Tensor = self._ask(questions.log_partition)
        return result

    @property
    def mean(self) -> Tensor:
        """The probability of each arc."""
        result: Tensor = self._ask(questions.marginals)
        return result

    @property
    def variance(self) -> Tensor:
        """The variance of each arc's indicator."""
        mean = self.mean
        return mean * (1.0 - mean)

    @property
    def mode(self) -> Tensor:
        """The best tree."""
        return indicators(self._ask(questions.argmax), self.scores.detach())

    def entropy(self) -> Tensor:
        """In nats, (batch,)."""
        result: Tensor = self._ask(questions.entropy)
        return result

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-probability of trees, (..., batch); -inf for a forbidden arc."""
        if self._validate_args:
            self._validate_sample(value)
        used = torch.where(value > 0, self.scores, torch.zeros_like(self.scores))
        return used.flatten(-len(self.event_shape)).sum(-1) - self.log_partition

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Trees drawn at random by PyTorch's generator; (sample_shape, batch, event)."""
        with torch.no_grad():
            trees: Trees = self._ask(questions.sample, k=max(1, prod(sample_shape)))
            drawn = indicators(trees, self.scores.detach())
        return drawn[: prod(sample_shape)].reshape(self._extended_shape(torch.Size(sample_shape)))


class _AreTrees(constraints.Constraint):  # type: ignore[misc]
    """Whether tensors of 0 and 1 are trees of the right kind."""

    is_discrete = True

    def __init__(self, trees: DependencyTrees) -> None:
        self._trees = trees
        self.event_dim = len(trees.event_shape)
        super().__init__()

    def check(self, value: Tensor) -> Tensor:
        """One truth value for each tree."""
        shape = value.shape[: value.ndim - self.event_dim]
        events = value.reshape(-1, *value.shape[len(shape) :])
        lengths = self._trees.lengths
        good = [self._is_tree(one, lengths[i % len(lengths)]) for i, one in enumerate(events)]
        return torch.tensor(good, device=value.device).reshape(shape)

    def _is_tree(self, value: Tensor, n: int) -> bool:
        arcs = value.reshape(*value.shape[:2], -1).sum(-1)
        inner = arcs[: n + 1, 1 : n + 1]
        is_plain = bool(((value == 0) | (value == 1)).all())
        if not is_plain or arcs.sum() != n or not (inner.sum(0) == 1).all():
            return False
        try:
            tree = Tree(inner.argmax(0).cpu().numpy())
        except ValueError:
            return False
        return (self._trees.root == "multi" or tree.is_single_root) and (
            not self._trees.projective or tree.is_projective
        )

"""Trees as a distribution in the manner of `torch.distributions`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints, register_kl

from crossarc.errors import ScoreError
from crossarc.inference.distribution import Root
from crossarc.inference.torch import questions
from crossarc.inference.torch.backends import Lengths, word_counts
from crossarc.inference.torch.factors import (
    FactorTensor,
    align,
    checked_factors,
    factor_scores,
    fixed_where_forbidden,
)
from crossarc.inference.torch.gradients import Divergence
from crossarc.inference.torch.trees import Trees, indicators, tree_heads
from crossarc.trees import Tree

__all__ = ["DependencyTrees"]


class DependencyTrees(Distribution):  # type: ignore[misc]  # torch is not there for every check
    """Dependency trees with probability proportional to the exponential of their score.

    An event is a tree as a tensor of 0 and 1 in the shape of a sentence's scores, 1 for its
    (labelled) arcs; so `mean` is the marginals. `log_prob`, `entropy`, `cross_entropy`, `kl`,
    `mean`, `marginals` and `log_partition` have gradients, also in the scores of factors.

    Args:
        scores: (batch, n+1, n+1) or (batch, n+1, n+1, labels); -inf forbids an arc.
        lengths, root, projective, factors: as for `log_partition`.
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
        **factors: FactorTensor,
    ) -> None:
        self.scores = scores
        self.lengths: list[int] = word_counts(scores, lengths)
        self.root: Root = root
        self.projective = projective
        self.factors = checked_factors(factors, projective)
        super().__init__(scores.shape[:1], scores.shape[1:], validate_args=validate_args)

    # Scores are checked where they are used: the padding may hold anything.
    arg_constraints = {"scores": constraints.dependent}  # noqa: RUF012  # as torch has it

    @constraints.dependent_property(is_discrete=True)  # type: ignore[untyped-decorator]
    def support(self) -> Any:
        """The trees that the distribution is over, apart from forbidden arcs and parts."""
        return _AreTrees(self)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> DependencyTrees:
        """The same distribution repeated to a batch shape that ends in that of the scores.

        Sums over trees are computed once for all copies; samples of copies differ.
        """
        new: DependencyTrees = self._get_checked_instance(DependencyTrees, _instance)
        for name in ("scores", "lengths", "root", "projective", "factors"):
            setattr(new, name, getattr(self, name))
        shape = torch.Size(batch_shape)
        self.scores.new_empty(self.batch_shape).expand(shape)  # refuses what does not fit
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _ask(self, question: Any, **options: Any) -> Any:
        return question(
            self.scores,
            lengths=self.lengths,
            root=self.root,
            projective=self.projective,
            **self.factors,
            **options,
        )

    def _repeated(self, values: Tensor) -> Tensor:
        """Values of the sentences, for all of the batch."""
        return values.expand(*self.batch_shape, *values.shape[1:])

    @property
    def log_partition(self) -> Tensor:
        """log Z, in the shape of the batch."""
        return self._repeated(self._ask(questions.log_partition))

    @property
    def mean(self) -> Tensor:
        """The probability of each arc."""
        return self._repeated(self._ask(questions.marginals))

    def marginals(self, part: str = "arc") -> Tensor:
        """The probability of each arc, or of each part of a factor, in the shape of its scores."""
        found: Tensor = self._ask(questions.marginals, part=part)
        return found

    @property
    def variance(self) -> Tensor:
        """The variance of each arc's indicator."""
        mean = self.mean
        return mean * (1.0 - mean)

    @property
    def mode(self) -> Tensor:
        """The best tree."""
        best: Trees = self._ask(questions.argmax)
        return self._repeated(indicators(best, self.scores.detach()))

    def kbest(self, k: int) -> Tensor:
        """The k best trees, best first, (k, batch, event); all 0 for a tree that is missing."""
        trees: Trees = self._ask(questions.kbest, k=k)
        events = indicators(trees, self.scores.detach())
        shape = (k, *[1] * (len(self.batch_shape) - 1), *events.shape[1:])
        return events.reshape(shape).expand(k, *self.batch_shape, *self.event_shape)

    def entropy(self) -> Tensor:
        """In nats, in the shape of the batch."""
        return self._repeated(self._ask(questions.entropy))

    def cross_entropy(self, other: DependencyTrees) -> Tensor:
        """-E log p_other, the expectation under this distribution, in nats."""
        return _divergence(self, other, is_kl=False)

    def kl(self, other: DependencyTrees) -> Tensor:
        """KL(self || other) in nats, as by `torch.distributions.kl_divergence`.

        Infinite, with gradient 0, where other forbids what this one allows.
        """
        return _divergence(self, other, is_kl=True)

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-probability of trees, (..., batch); -inf with a forbidden arc or part."""
        if self._validate_args:
            self._validate_sample(value)
        scores = fixed_where_forbidden(self.scores)
        used = torch.where(value > 0, scores, torch.zeros_like(scores))
        total = used.flatten(-len(self.event_shape)).sum(-1)
        if self.factors:
            events = value.expand(torch.broadcast_shapes(value.shape, self.scores.shape))
            heads = tree_heads(events, len(self.event_shape) == 3)
            total = total + factor_scores(self.factors, heads, self.lengths)
        return total - self.log_partition

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Trees drawn at random by PyTorch's generator; (sample_shape, batch, event)."""
        shape = self._extended_shape(torch.Size(sample_shape))
        count = prod(sample_shape) * (prod(self.batch_shape) // len(self.scores))
        with torch.no_grad():
            trees: Trees = self._ask(questions.sample, k=max(1, count))
            drawn = indicators(trees, self.scores.detach())
        return drawn[:count].reshape(shape)


@register_kl(DependencyTrees, DependencyTrees)  # type: ignore[untyped-decorator]
def _kl_divergence(p: DependencyTrees, q: DependencyTrees) -> Tensor:
    return p.kl(q)


def _divergence(p: DependencyTrees, q: DependencyTrees, *, is_kl: bool) -> Tensor:
    if p.scores.shape != q.scores.shape:
        raise ScoreError(
            "two distributions can be compared when their scores have the same shape: got "
            f"{tuple(p.scores.shape)} and {tuple(q.scores.shape)}"
        )
    factors = align(p.factors, q.factors, *p.scores.shape[:2])
    pairs = [
        questions.prepared(one.scores, one.lengths, one.root, one.projective, own)
        for one, own in zip((p, q), factors, strict=True)
    ]
    (ours, our_scores), (theirs, their_scores) = pairs
    value = Divergence.apply(ours, theirs, is_kl, *our_scores, *their_scores)
    return value.expand(torch.broadcast_shapes(p.batch_shape, q.batch_shape))


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
        is_binary = bool(((value == 0) | (value == 1)).all())
        if not is_binary or arcs.sum() != n or not (inner.sum(0) == 1).all():
            return False
        try:
            tree = Tree(inner.argmax(0).cpu().numpy())
        except ValueError:
            return False
        return (self._trees.root == "multi" or tree.is_single_root) and (
            not self._trees.projective or tree.is_projective
        )

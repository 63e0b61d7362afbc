"""Factors beyond arcs as tensors, dense or as lists of parts, and the layout of a batch of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from crossarc.errors import ScoreError
from crossarc.inference import factors as arrays
from crossarc.inference.projective import ProjectiveTrees
from crossarc.once import once

__all__ = [
    "FactorTensor",
    "Layout",
    "Listed",
    "Padded",
    "Parts",
    "align",
    "checked_factors",
    "factor_scores",
    "fixed_where_forbidden",
    "known_factors",
    "score_tensor",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Parts:
    """A sparse factor of a batch: the scores of some parts; those not listed score 0.

    Args:
        index: (p, 1 + k), whole numbers: of each part the sentence, then its index in the dense
            array of that sentence; none twice, in any order.
        score: (p,), natural logarithms, -inf forbids a part; gradients are those of this tensor.

    Raises:
        ScoreError: tensors of a wrong shape or dtype.
    """

    def __init__(self, index: Tensor, score: Tensor) -> None:
        if index.ndim != 2 or index.shape[1] < 2 or index.is_floating_point():
            raise ScoreError(
                "Parts: index must be whole numbers (parts, 1 + k), the sentence first: got "
                f"{index.dtype} {tuple(index.shape)}"
            )
        if tuple(score.shape) != (len(index),):
            raise ScoreError(
                f"Parts: score must be ({len(index)},), one number a part: got {tuple(score.shape)}"
            )
        self.index, self.score = index.detach().to(torch.int64), score

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"Parts({len(self)} of order {self.index.shape[1] - 1})"

    def dense(self, batch: int, width: int) -> Tensor:
        """The same factor as a dense tensor, with gradients."""
        whole = self.score.new_zeros((batch, *[width] * (self.index.shape[1] - 1)))
        return whole.index_put(tuple(self.index.T), self.score)


def fixed_where_forbidden(scores: Tensor) -> Tensor:
    """The same scores; those of -inf are constants, so that their gradients are 0."""
    return scores.masked_fill(scores == -torch.inf, -torch.inf)


FactorTensor: TypeAlias = "Tensor | Parts | None"


def score_tensor(factor: Any) -> Tensor:
    """The scores of a factor, which gradients are for."""
    return factor.score if isinstance(factor, Parts) else factor


def known_factors() -> dict[str, arrays.Factor]:
    """All factors that some model of `ProjectiveTrees` scores, by name."""
    return {one.name: one for model in ProjectiveTrees.models for one in model.factors}


def checked_factors(given: Mapping[str, Any], projective: bool) -> dict[str, Any]:
    """The factors that are not None, in the order in which models have them.

    Raises:
        TypeError: a name that is not a factor's, or a factor of another type.
        ScoreError: factors without `projective=True`.
    """
    known = known_factors()
    for name, one in given.items():
        if name not in known:
            raise TypeError(f"no factor has the name {name!r}: there are {', '.join(known)}")
        if one is not None and not isinstance(one, Tensor | Parts):
            raise TypeError(f"{name} must be a tensor or Parts of this module: got {type(one)}")
    some = {name: given[name] for name in known if given.get(name) is not None}
    if some and not projective:
        raise ScoreError(f"{', '.join(some)}: factors are for projective trees: projective=True")
    return some


class Layout(Protocol):
    """How the numbers of one kind of parts, for all sentences, lie in a tensor."""

    def split(self, whole: NDArray[Any]) -> list[NDArray[Any]]:
        """The numbers of each sentence, in the shape that inference over arrays knows."""

    def join(self, arrays: Sequence[Floats]) -> Floats:
        """The inverse of `split`; 0 in the padding."""

    def factor(self, values: Sequence[NDArray[Any]]) -> list[Any]:
        """Scores of each sentence, shaped as by `split`, as arguments of `ProjectiveTrees`."""

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the numbers of each sentence."""

    def by_sentence(self, values: Tensor) -> Tensor:
        """One value a sentence, to be multiplied with a tensor of this layout."""


class Padded:
    """Dense arrays padded to one width: arcs, with labels or without, or a dense factor.

    Args:
        shape: of the tensor.
        words: of each sentence.
        order: how many axes range over words.

    Attributes:
        shape: of the tensor.
    """

    def __init__(self, shape: Sequence[int], words: Sequence[int], order: int) -> None:
        self.shape, self._order, self._words = tuple(shape), order, words

    @once
    def _slices(self) -> list[tuple[slice, ...]]:
        """Where the numbers of each sentence lie in its part of the tensor."""
        return [(slice(n + 1),) * self._order for n in self._words]

    def own(self, index: int) -> tuple[slice, ...]:
        """Where the numbers of a sentence lie in its part of the tensor."""
        return self._slices[index]

    def split(self, whole: NDArray[Any]) -> list[NDArray[Any]]:
        """See `Layout`."""
        return [one[own] for one, own in zip(whole, self._slices, strict=True)]

    def join(self, arrays: Sequence[Floats]) -> Floats:
        """See `Layout`."""
        whole = np.zeros(self.shape)
        for one, own, array in zip(whole, self._slices, arrays, strict=True):
            one[own] = array
        return whole

    def factor(self, values: Sequence[NDArray[Any]]) -> list[Any]:
        """See `Layout`."""
        return list(values)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """See `Layout`."""
        labels = self.shape[1 + self._order :]
        return [(*(own[0].stop,) * self._order, *labels) for own in self._slices]

    def by_sentence(self, values: Tensor) -> Tensor:
        """See `Layout`."""
        return values.reshape(-1, *[1] * (len(self.shape) - 1))


class Listed:
    """The parts of a `Parts`.

    Raises:
        ScoreError: a sentence that is not in the batch.
    """

    def __init__(self, name: str, index: Tensor, batch: int) -> None:
        self._sentence = index[:, 0]
        own: Ints = index.cpu().numpy()
        if len(own) and not 0 <= own[:, 0].min() <= own[:, 0].max() < batch:
            wrong = own[(own[:, 0] < 0) | (own[:, 0] >= batch)][0].tolist()
            raise ScoreError(f"{name} part {wrong}: its sentence is not in 0..{batch - 1}")
        self._order = np.argsort(own[:, 0], kind="stable")
        self._ends = np.cumsum(np.bincount(own[:, 0], minlength=batch)).tolist()
        self._index = self.split(own[:, 1:])

    def split(self, whole: NDArray[Any]) -> list[NDArray[Any]]:
        """See `Layout`."""
        return np.split(whole[self._order], self._ends[:-1])

    def join(self, arrays: Sequence[Floats]) -> Floats:
        """See `Layout`."""
        whole = np.empty(len(self._order))
        whole[self._order] = np.concatenate(arrays)
        return whole

    def factor(self, values: Sequence[NDArray[Any]]) -> list[Any]:
        """See `Layout`."""
        return [arrays.Parts(*own) for own in zip(self._index, values, strict=True)]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """See `Layout`."""
        return [(len(own),) for own in self._index]

    def by_sentence(self, values: Tensor) -> Tensor:
        """See `Layout`."""
        return values[self._sentence]


def align(
    first: Mapping[str, Any], second: Mapping[str, Any], batch: int, width: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both sets of factors with the same names and layouts: a missing factor scores 0.

    Lists of different parts become dense tensors.
    """
    names = [name for name in known_factors() if name in first or name in second]
    pairs = {name: _aligned(first.get(name), second.get(name), batch, width) for name in names}
    return {name: a for name, (a, _) in pairs.items()}, {name: b for name, (_, b) in pairs.items()}


def _aligned(first: Any, second: Any, batch: int, width: int) -> tuple[Any, Any]:
    if first is None or second is None:
        given = second if first is None else first
        is_listed = isinstance(given, Parts)
        zeros = torch.zeros_like(given.score if is_listed else given)
        none = Parts(given.index, zeros) if is_listed else zeros
        return (none, given) if first is None else (given, none)
    if isinstance(first, Parts) and isinstance(second, Parts):
        if torch.equal(first.index, second.index):
            return first, second
    elif isinstance(first, Tensor) and isinstance(second, Tensor):
        return first, second
    dense = [one.dense(batch, width) if isinstance(one, Parts) else one for one in (first, second)]
    return dense[0], dense[1]


def factor_scores(factors: Mapping[str, Any], heads: Tensor, words: Sequence[int]) -> Tensor:
    """What the parts of trees score, (..., batch), with gradients.

    Args:
        heads: (..., batch, n), -1 in the padding.
        words: of each sentence.
    """
    rows = heads.reshape(-1, heads.shape[-1]).cpu().numpy()
    total: Tensor = sum(
        (_part_scores(name, factor, rows, words) for name, factor in factors.items()),
        start=torch.zeros(()),
    )
    return total.reshape(heads.shape[:-1])


def _part_scores(name: str, factor: Any, heads: Ints, words: Sequence[int]) -> Tensor:
    """Of each row of heads, that of sentence 0 first and again after that of the last one."""
    trees, parts = [], []
    for tree, row in enumerate(heads):
        found = known_factors()[name].parts_of(row[: words[tree % len(words)]])
        trees.append(np.full(len(found), tree))
        parts.append(found)
    owner, part = np.concatenate(trees), np.concatenate(parts)
    index = np.column_stack([owner % len(words), part])
    scores = score_tensor(factor)
    if isinstance(factor, Parts):
        owner, position = _look_up(index, owner, factor.index.cpu().numpy())
        chosen = scores[torch.from_numpy(position)]
    else:
        chosen = scores[tuple(torch.from_numpy(index).T)]
    return scores.new_zeros(len(heads)).index_add(
        0, torch.from_numpy(owner).to(scores.device), fixed_where_forbidden(chosen)
    )


def _look_up(index: Ints, owner: Ints, listed: Ints) -> tuple[Ints, Ints]:
    """The owners of those parts that are listed, and where in the list."""
    if not len(listed):
        return owner[:0], owner[:0]
    shape = np.maximum(index.max(axis=0), listed.max(axis=0)) + 1
    keys, known = (np.ravel_multi_index(tuple(one.T), tuple(shape)) for one in (index, listed))
    order = np.argsort(known)
    rank = np.minimum(np.searchsorted(known, keys, sorter=order), len(known) - 1)
    found = known[order[rank]] == keys
    return owner[found], order[rank[found]]

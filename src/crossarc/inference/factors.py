"""Factors beyond arcs: scores of parts that have several arcs, dense or as a list."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crossarc.errors import ScoreError
from crossarc.inference.runtime.batch import Batch

__all__ = [
    "GRANDCHILD",
    "GRAND_SIBLING",
    "SIBLING",
    "TRI_SIBLING",
    "Factor",
    "FactorScores",
    "Given",
    "Parts",
    "weighted",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]


class Parts:
    """A sparse factor: the scores of some parts; those not listed score 0.

    Args:
        index: (p, k), the index of each part in the dense array of the factor; none twice.
        score: (p,), natural logarithms; -inf forbids a part.

    Raises:
        ScoreError: arrays of a wrong shape or kind.
    """

    def __init__(self, index: ArrayLike, score: ArrayLike) -> None:
        indices, scores = np.asarray(index), np.asarray(score)
        if indices.size == 0 and indices.dtype.kind == "f":
            indices = indices.astype(np.int32)
        if indices.ndim != 2 or indices.dtype.kind not in "iu":
            raise ScoreError(
                f"Parts: index must be whole numbers (parts, k): got {indices.dtype} "
                f"{indices.shape}"
            )
        if scores.shape != (len(indices),) or scores.dtype.kind not in "fiu":
            raise ScoreError(
                f"Parts: score must be ({len(indices)},), one number a part: got {scores.dtype} "
                f"{scores.shape}"
            )
        if indices.size and (indices.min() < 0 or indices.max() >= 1 << 30):
            raise ScoreError("Parts: index must not be negative or beyond 2^30")
        self.index: Shorts = indices.astype(np.int32)
        self.score: Floats = scores.astype(np.float64)
        self.index.flags.writeable = self.score.flags.writeable = False

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"Parts({len(self)} of order {self.index.shape[1]})"


Given = NDArray[Any] | Parts


@dataclass(frozen=True, eq=False)
class Factor:
    """What a factor scores.

    Attributes:
        name: the constructors' argument, and the `part` of marginals.
        axes: a letter for each axis of the dense array; the last one is the modifier.
        usable: given which arcs [h, m] are allowed and whether the root has one modifier, where
            trees may have parts; entries elsewhere are never read.
        parts_of: given the heads of a tree, the index of each of its parts, (p, axes).
        one_per_word: whether each word of a tree is the modifier of exactly one part.
    """

    name: str
    axes: str
    usable: Callable[[Bools, bool], Bools]
    parts_of: Callable[[Ints], Ints]
    one_per_word: bool = False

    def shape(self, width: int) -> tuple[int, ...]:
        """Of the dense array of a sentence with `width` - 1 words."""
        return (width,) * len(self.axes)


def weighted(scores: Floats, weight: float) -> Floats:
    """Scores times a weight from 0 on; a forbidden part stays forbidden."""
    return scores * weight if weight > 0.0 else np.where(scores > -np.inf, 0.0, -np.inf)


class FactorScores:
    """A factor of every sentence of a batch, checked and copied.

    -inf forbids a part: no tree has it.

    Args:
        factor: what is scored.
        given: an array or Parts; for a batch a list, for padded scores also a padded array.
        batch: the scores of the same sentences.
        single: whether the root has one modifier.

    Attributes:
        listed: for each sentence None, or of listed parts the scores and indices in the flat dense
            array, -1 for a part that no tree has.
        restricted: the sentences of which some part that trees over the allowed arcs have is
            forbidden.

    Raises:
        ScoreError: a wrong shape or index, NaN, or plus infinity.
    """

    def __init__(
        self, factor: Factor, given: Given | Sequence[Given], batch: Batch, single: bool
    ) -> None:
        self.factor = factor
        self._batch = batch
        self._single = single
        arrays = self._by_sentence(given)
        self.listed: list[tuple[Floats, Ints] | None] = [None] * len(arrays)
        self.restricted: set[int] = set()
        self._allocate()
        for index, one in enumerate(arrays):
            if isinstance(one, Parts):
                self._accept_parts(index, one)
            else:
                self._keep_array(index, self._checked_array(index, one))

    # How scores are kept: here as dense arrays; kernels may need them otherwise.

    def _allocate(self) -> None:
        self._arrays: dict[int, Floats] = {}

    def _accept_parts(self, index: int, given: Parts) -> None:
        self.listed[index] = self._checked_parts(index, given)

    def _keep_array(self, index: int, given: NDArray[Any]) -> None:
        array = np.array(given, np.float64, order="C")
        is_finite = np.isfinite(array).all()
        self._arrays[index] = array if is_finite else self._usable_only(index, array)

    def forbids(self, index: int) -> bool:
        """Whether a sentence is restricted."""
        return index in self.restricted

    def dense(self, index: int) -> Floats:
        """The scores of a sentence as a dense array; what trees cannot use means nothing."""
        listed = self.listed[index]
        return self._arrays[index] if listed is None else self._unlisted(index, *listed)

    # What is asked of them.

    def count(self, index: int) -> int:
        """How many parts `scores` has."""
        listed = self.listed[index]
        width = self._batch.width(index)
        return int(width ** len(self.factor.axes)) if listed is None else len(listed[0])

    def scores(self, index: int) -> Floats:
        """The scores of all parts, flat, or of those that are listed."""
        listed = self.listed[index]
        return self.dense(index).reshape(-1) if listed is None else listed[0]

    def part_numbers(self, index: int, first: int) -> Shorts | None:
        """The numbers in a forest of all parts, flat, where those of `scores` begin with `first`.

        -1 for parts that are not among them; None where they follow each other.
        """
        listed = self.listed[index]
        if listed is None:
            return None
        numbers = np.full(math.prod(self.factor.shape(self._batch.width(index))), -1, np.int32)
        used = np.flatnonzero(listed[1] >= 0)
        numbers[listed[1][used]] = first + used
        return numbers

    def shaped(self, index: int, values: Floats, missing: float) -> Floats:
        """One value for each of `scores`, in the shape that was given.

        Args:
            missing: the value of parts that `scores` lacks, because no tree has them.
        """
        if self.listed[index] is not None:
            return values
        return values.reshape(self.factor.shape(self._batch.width(index)))

    def given(self, index: int, weight: float = 1.0) -> Any:
        """The factor of one sentence, as an argument of a constructor, times a weight."""
        listed = self.listed[index]
        if listed is None:
            return weighted(self.dense(index), weight)
        scores, indices = listed
        used = indices >= 0
        shape = self.factor.shape(self._batch.width(index))
        return Parts(
            np.stack(np.unravel_index(indices[used], shape), axis=1),
            weighted(scores[used], weight),
        )

    def of_tree(self, index: int, heads: Ints) -> list[float]:
        """The scores of the parts of a tree."""
        parts, listed = self.factor.parts_of(heads), self.listed[index]
        if listed is None:
            found: list[float] = self.dense(index)[tuple(parts.T)].tolist()
            return found
        scores = dict(zip(listed[1].tolist(), listed[0].tolist(), strict=True))
        flat = np.ravel_multi_index(tuple(parts.T), self.factor.shape(len(heads) + 1))
        return [scores.get(one, 0.0) for one in flat.tolist()]

    # Checks.

    def _by_sentence(self, given: Any) -> list[Any]:
        batch, name = self._batch, self.factor.name
        if not batch.is_batch:
            return [given]
        if isinstance(given, Parts) or len(given) != len(batch):
            raise ScoreError(
                f"{name} must be a list of {len(batch)} arrays or Parts, as there are sentences"
            )
        order = len(self.factor.axes)
        if isinstance(given, np.ndarray) and given.ndim == order + 1:
            widths = (batch.sizes + 1).tolist()
            return [one[(slice(w),) * order] for one, w in zip(given, widths, strict=True)]
        return list(given)

    def _checked_array(self, index: int, given: Any) -> NDArray[Any]:
        array, shape = np.asarray(given), self.factor.shape(self._batch.width(index))
        if array.shape != shape or array.dtype.kind not in "fiu":
            raise ScoreError(
                f"{self._batch.name(index)}{self.factor.name} must be real numbers {shape}, "
                f"[{', '.join(self.factor.axes)}]: got {array.dtype} {array.shape}"
            )
        return array

    def _checked_parts(self, index: int, given: Parts) -> tuple[Floats, Ints]:
        indices = self._flat_indices(index, given)
        self._check_distinct(index, indices)
        usable = self._usable(index).reshape(-1)[indices]
        return self._read_scores(index, given, usable), np.where(usable, indices, -1)

    def _flat_indices(self, index: int, given: Parts) -> Ints:
        """The indices of listed parts in the flat dense array."""
        width, name = self._batch.width(index), f"{self._batch.name(index)}{self.factor.name}"
        order, shape = len(self.factor.axes), self.factor.shape(width)
        if given.index.shape[1] != order:
            raise ScoreError(
                f"{name} parts have {order} indices, [{', '.join(self.factor.axes)}]: got "
                f"{given.index.shape[1]}"
            )
        if given.index.max(initial=0) >= width:
            where = given.index[(given.index >= width).any(axis=1)][0].tolist()
            raise ScoreError(f"{name} part {where} is not in a sentence of {width - 1}")
        found = np.ravel_multi_index(tuple(given.index.T.astype(np.int64)), shape)
        return np.atleast_1d(found)

    def _check_distinct(self, index: int, indices: Ints) -> None:
        ordered = np.sort(indices)
        twice = ordered[:-1][ordered[1:] == ordered[:-1]]
        if len(twice):
            shape = self.factor.shape(self._batch.width(index))
            where = [int(i) for i in np.unravel_index(twice[0], shape)]
            name = f"{self._batch.name(index)}{self.factor.name}"
            raise ScoreError(f"{name} part {where} is listed twice")

    def _read_scores(self, index: int, given: Parts, usable: Bools) -> Floats:
        """The scores of listed parts, 0 where no tree has them."""
        scores = np.where(usable, given.score, 0.0)
        if not np.isfinite(scores).all():
            self._note_forbidden(index, scores, lambda first: given.index[first])
        return scores

    def _note_forbidden(self, index: int, scores: Floats, part_of: Callable[[int], Any]) -> None:
        """Refuse NaN and +inf among scores of parts that trees may have; note -inf.

        Args:
            part_of: the indices of the part with this position in the flat scores.
        """
        flat = scores.reshape(-1)
        bad = ~(flat < np.inf)
        if bad.any():
            first = int(bad.argmax())
            self._refuse(index, [int(i) for i in part_of(first)], float(flat[first]))
        if (flat == -np.inf).any():
            self.restricted.add(index)

    def _usable(self, index: int) -> Bools:
        return self.factor.usable(self._batch.square(index) > -np.inf, self._single)

    def _usable_only(self, index: int, array: Floats) -> Floats:
        """A copy with 0 where no tree has a part, of an array that is not finite everywhere."""
        usable = np.where(self._usable(index), array, 0.0)
        self._note_forbidden(index, usable, lambda first: np.unravel_index(first, array.shape))
        return usable

    def _unlisted(self, index: int, scores: Floats, indices: Ints) -> Floats:
        """Listed parts as a dense array."""
        full = np.zeros(self.factor.shape(self._batch.width(index)))
        full.reshape(-1)[indices[indices >= 0]] = scores[indices >= 0]
        return full

    def _refuse(self, index: int, where: list[int], value: float) -> None:
        raise ScoreError(
            f"{self._batch.name(index)}{self.factor.name}[{', '.join(map(str, where))}] is "
            f"{value}: use finite numbers; -inf forbids a part"
        )


@lru_cache(maxsize=8)
def _between(width: int) -> Bools:
    """[h, s, m]: where s is strictly between h and m, or h itself."""
    h, s, m = np.ogrid[:width, :width, :width]
    between: Bools = ((h < s) & (s < m)) | ((m < s) & (s < h))
    between |= (s == h) & (h != m)
    return between


def _usable_siblings(allowed: Bools, single: bool) -> Bools:
    """Where both arcs are allowed; a single root has no siblings."""
    siblings = allowed | np.eye(len(allowed), dtype=bool)
    if single:
        siblings[0, 1:] = False
    usable: Bools = _between(len(allowed)) & allowed[:, None, :] & siblings[:, :, None]
    return usable


def _sibling_parts(heads: Ints) -> Ints:
    """(h, s, m) for every arc of a tree, words in order."""
    words = np.arange(1, len(heads) + 1)
    right = words > heads
    # Modifiers of one head and side follow each other from the inside out.
    order = np.lexsort((np.abs(words - heads), right, heads))
    before, after = order[:-1], order[1:]
    follows = (heads[before] == heads[after]) & (right[before] == right[after])
    siblings = heads.copy()
    siblings[after[follows]] = words[before[follows]]
    return np.stack([heads, siblings, words], axis=1)


#: sibling[h, s, m], one for every arc h -> m: s is the modifier of h nearest to m between h and m,
#: or s = h when there is none.
SIBLING = Factor("sibling", "hsm", _usable_siblings, _sibling_parts, one_per_word=True)


def _usable_grandchildren(allowed: Bools, single: bool) -> Bools:
    """Where both arcs are allowed and have three words."""
    usable: Bools = allowed[:, :, None] & allowed[None, :, :]
    usable &= ~np.eye(len(allowed), dtype=bool)[:, None, :]
    return usable


def _grandchild_parts(heads: Ints) -> Ints:
    """(g, h, m) for every arc of a tree whose head is not the root."""
    words = np.flatnonzero(heads > 0) + 1
    middle = heads[words - 1]
    return np.stack([heads[middle - 1], middle, words], axis=1)


def _usable_grand_siblings(allowed: Bools, single: bool) -> Bools:
    distinct = ~np.eye(len(allowed), dtype=bool)
    usable: Bools = (
        _usable_grandchildren(allowed, single)[:, :, None, :]
        & _usable_siblings(allowed, single)[None]
        & distinct[:, None, :, None]
    )
    return usable


def _grand_sibling_parts(heads: Ints) -> Ints:
    """(g, h, s, m) for every arc of a tree whose head is not the root."""
    parts = _sibling_parts(heads)[heads > 0]
    return np.column_stack([heads[parts[:, 0] - 1], parts])


def _usable_tri_siblings(allowed: Bools, single: bool) -> Bools:
    two = _usable_siblings(allowed, single)
    nodes = np.arange(len(allowed))
    two[nodes, nodes] = False
    usable: Bools = two[:, :, :, None] & two[:, None, :, :]
    return usable


def _tri_sibling_parts(heads: Ints) -> Ints:
    """(h, t, s, m) for three modifiers of a tree that follow each other on one side."""
    parts = _sibling_parts(heads)
    parts = parts[parts[:, 0] != parts[:, 1]]
    before = _sibling_parts(heads)[parts[:, 1] - 1, 1]
    found: Ints = np.column_stack([parts[:, 0], before, parts[:, 1:]])[before != parts[:, 0]]
    return found


#: grandchild[g, h, m], one for every arc h -> m with h != 0: g is the head of h.
GRANDCHILD = Factor("grandchild", "ghm", _usable_grandchildren, _grandchild_parts)

#: grand_sibling[g, h, s, m], one for every arc h -> m with h != 0: g and s as above.
GRAND_SIBLING = Factor("grand_sibling", "ghsm", _usable_grand_siblings, _grand_sibling_parts)

#: tri_sibling[h, t, s, m], one for every three modifiers of h that follow each other on one side, t
#: the innermost.
TRI_SIBLING = Factor("tri_sibling", "htsm", _usable_tri_siblings, _tri_sibling_parts)

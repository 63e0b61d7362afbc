"""How the heads of words depend on each other: what follows when some of them are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ScoreError
from crossarc.inference.constraints import constrain
from crossarc.inference.questions.arcs import label_shares, read_arcs
from crossarc.inference.runtime.answers import Answers
from crossarc.inference.runtime.batch import Batch

__all__ = ["Dependence"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")

# So many constrained copies of a sentence are summed over together.
_TOGETHER = 64


class Dependence(ABC):
    """The questions about a distribution in which some heads are given."""

    root: Any
    _batch: Batch
    _threads: int | None

    @property
    @abstractmethod
    def _answers(self) -> Answers: ...

    @abstractmethod
    def _each(self, answer: Callable[[int], T]) -> T | list[T]: ...

    @abstractmethod
    def _given(self, values: Any, kind: type[Any]) -> list[Any]: ...

    @abstractmethod
    def _factors(self, index: int) -> dict[str, Any]: ...

    @abstractmethod
    def _feasible_marginals(self, index: int, logs: bool) -> Floats: ...

    @abstractmethod
    def marginals(self) -> Any:
        """Probability of each arc, in the shape of the scores; read-only."""

    def given(self, heads: Any, *, labels: Any = None) -> Self:
        """The distribution over the trees that have these heads (and labels), in proportion.

        Everything can be asked of it: its marginals are conditional probabilities. Without such a
        tree its log_partition() is -inf, and other questions raise InfeasibleError.

        Args:
            heads: {m: h}; for a batch a list of them.
            labels: {m: l}, likewise; labelled scores only.
        """
        some = self._given(heads, Mapping)
        names = [None] * len(some) if labels is None else self._given(labels, Mapping)
        arrays = [
            constrain(self._batch.scores(index), heads=own, labels=names[index])
            for index, own in enumerate(some)
        ]
        places = range(len(arrays))
        return self._over(arrays if self._batch.is_batch else arrays[0], places, self._threads)

    def joint(self, first: Any, second: Any) -> Any:
        """The probability that a tree has both of two arcs.

        Args:
            first, second: arcs (h, m), or (h, m, l) under labelled scores; or arrays of them,
                whose last axis is an arc, and which are paired as NumPy broadcasts the other axes.
                For a batch, lists of these. Without l, labels are summed over.

        Returns:
            A float, or an array for arrays of arcs.
        """
        left, right = self._arcs(first), self._arcs(second)
        return self._apart(lambda index: self._joint(index, left[index], right[index]))

    def conditional(self, arc: Any, given: Any) -> Any:
        """The probability of an arc in the trees that have another; arguments as for `joint`.

        NaN where the given arc has no probability.
        """
        left, right = self._arcs(arc), self._arcs(given)

        def share(index: int) -> Any:
            both = self._joint(index, left[index], right[index])
            alone = self._joint(index, right[index], right[index])
            with np.errstate(invalid="ignore"):
                return _plain(np.minimum(np.divide(both, alone), 1.0))

        return self._apart(share)

    def entropy_drop(self, *, labels: bool = True) -> Any:
        """By how much the entropy falls, in the mean, when a word's head becomes known.

        An array with one number a word, in nats. This is the entropy of the word's head itself,
        for a tree says all about it (docs/inference.md).

        Args:
            labels: whether labelled words become known with their labels.
        """

        def drop(index: int) -> Floats:
            chances = self._feasible_marginals(index, False)
            if chances.ndim == 3 and not labels:
                chances = chances.sum(axis=2)
            by_word = np.moveaxis(chances, 1, 0)[1:].reshape(len(chances) - 1, -1)
            logs = np.log(by_word, out=np.zeros_like(by_word), where=by_word > 0.0)
            return cast(Floats, np.maximum(0.0, -(by_word * logs).sum(axis=1)))

        return self._each(drop)

    def mutual_information(self, *, negligible: float = 1e-14) -> Any:
        """What each word's head says about each other word's, in nats: an (n, n) array.

        On the diagonal the entropies of the heads alone. Labels add nothing elsewhere: given its
        arc, a label depends on no other word.

        Args:
            negligible: heads up to this probability are left out. Each takes at most d log(1 / d)
                with it, d being this number; a larger one saves time.
        """
        if not 0.0 <= negligible < 1.0:
            raise ValueError(f"negligible must be from 0 to below 1: got {negligible}")
        return self._apart(lambda index: self._information(index, negligible))

    def _apart(self, answer: Callable[[int], Any]) -> Any:
        """The answers, over threads; marginals, which all of them need, come first."""
        self._each(self._head_chances)
        found = self._answers.all(answer)
        return found if self._batch.is_batch else found[0]

    # Sums over the constrained trees; a sub-class may know a shorter way.

    def _joint_heads(self, index: int, left: Ints, right: Ints) -> Floats:
        """The probability of each pair of arcs of two words, rows (h, m); O(n^3) for a new arc."""
        distinct, kinds = np.unique(right, axis=0, return_inverse=True)
        tables = self._conditionals(index, distinct)
        chances = self._head_chances(index)[distinct[:, 0], distinct[:, 1]]
        found = tables[kinds.reshape(-1), left[:, 0], left[:, 1]]
        return found * chances[kinds.reshape(-1)]

    def _information(self, index: int, negligible: float) -> Floats:
        n = int(self._batch.sizes[index])
        table = np.diag(self._each_entropy(index))
        for m in range(1, n):
            rest = self._information_of(index, m, negligible)[m:]
            table[m - 1, m:] = table[m:, m - 1] = rest
        return table

    def _each_entropy(self, index: int) -> Floats:
        chances = self._head_chances(index)[:, 1:]
        logs = np.log(chances, out=np.zeros_like(chances), where=chances > 0.0)
        return cast(Floats, np.maximum(0.0, -(chances * logs).sum(axis=0)))

    def _information_of(self, index: int, m: int, negligible: float) -> Floats:
        """What the head of word m says about those of words 1..n."""
        chances = self._head_chances(index)
        heads = np.flatnonzero(chances[:, m] > negligible)
        arcs = np.stack([heads, np.full(len(heads), m)], axis=1)
        given = self._conditionals(index, arcs)[:, :, 1:]
        free = np.broadcast_to(chances[:, 1:], given.shape)
        used = (given > 0.0) & (free > 0.0)
        logs = np.log(np.divide(given, free, out=np.ones_like(given), where=used))
        # p log(p / q) - p + q is never negative.
        gains = (given * logs - given + free).sum(axis=1)
        return cast(Floats, chances[heads, m] @ gains)

    def _conditionals(self, index: int, arcs: Ints) -> Floats:
        """Marginals [h, m], labels summed over, given each of some arcs; 0 if impossible."""
        scores = self._batch.scores(index)
        out = np.zeros((len(arcs), *scores.shape[:2]))
        possible = np.flatnonzero(self._head_chances(index)[arcs[:, 0], arcs[:, 1]] > 0.0)
        for begin in range(0, len(possible), _TOGETHER):
            some = possible[begin : begin + _TOGETHER]
            arrays = [constrain(scores, heads={int(m): int(h)}) for h, m in arcs[some]]
            tables = self._over(arrays, [index] * len(some), 1).marginals()
            for place, table in zip(some, tables, strict=True):
                out[place] = table if table.ndim == 2 else table.sum(axis=2)
        return out

    def _over(self, scores: Any, places: Sequence[int], threads: int | None) -> Self:
        """The same kind of distribution over other scores, with the factors of some sentences."""
        factors = [self._factors(index) for index in places]
        batched = isinstance(scores, list)
        named = {
            name: [own[name] for own in factors] if batched else factors[0][name]
            for name in (factors[0] if factors else {})
        }
        kind = cast(Callable[..., Self], type(self))
        return kind(scores, root=self.root, threads=threads, **named)

    # Arcs.

    def _head_chances(self, index: int) -> Floats:
        """Marginals [h, m], labels summed over."""
        table = self._feasible_marginals(index, False)
        return table if table.ndim == 2 else table.sum(axis=2)

    def _arcs(self, arcs: Any) -> list[Ints]:
        batch = self._batch
        listed = list(arcs) if batch.is_batch else [arcs]
        if len(listed) != len(batch):
            raise ScoreError(f"arcs for {len(listed)} sentences were given, there are {len(batch)}")
        return [
            read_arcs(own, batch.scores(i).shape, batch.name(i)) for i, own in enumerate(listed)
        ]

    def _joint(self, index: int, left: Ints, right: Ints) -> Any:
        chances = self._head_chances(index)
        shape = np.broadcast_shapes(left.shape[:-1], right.shape[:-1])
        first = np.broadcast_to(left, (*shape, left.shape[-1])).reshape(-1, left.shape[-1])
        second = np.broadcast_to(right, (*shape, right.shape[-1])).reshape(-1, right.shape[-1])
        found = np.zeros(len(first))
        apart = first[:, 1] != second[:, 1]
        same = (first[:, :2] == second[:, :2]).all(axis=1)
        found[same] = chances[first[same, 0], first[same, 1]]
        if apart.any():
            left_arcs, right_arcs = first[apart, :2], second[apart, :2]
            found[apart] = self._joint_heads(index, left_arcs, right_arcs)
        return _plain(
            (found * label_shares(self._batch, index, first, second, same)).reshape(shape)
        )


def _plain(values: Any) -> Any:
    """A float where there is no axis."""
    return float(values) if np.ndim(values) == 0 else values

"""Conditional probabilities from counts, smoothed by those of ever coarser contexts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.models.checks import Fields, tensor

__all__ = ["BackoffTable"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# Contexts become coarser only so often.
_MOST_LEVELS = 16


@dataclass(frozen=True, slots=True)
class _Level:
    """Counts in the contexts of one level.

    Attributes:
        events, counts: sorted keys context * outcomes + outcome, and how often each was seen.
        contexts, totals, types: sorted contexts, the sums of their counts, and their events.
    """

    events: Ints
    counts: Floats
    contexts: Ints
    totals: Floats
    types: Floats

    @classmethod
    def of_events(cls, events: Ints, counts: Floats, outcomes: int) -> _Level:
        contexts, owner = np.unique(events // outcomes, return_inverse=True)
        totals = np.bincount(owner, counts, len(contexts))
        types = np.bincount(owner, counts > 0.0, len(contexts))
        return cls(events, counts, contexts, totals.astype(float), types.astype(float))


class BackoffTable:
    """p(outcome | context), from the coarsest of several contexts to the finest:

        p_k(y | c_k) = (count(c_k, y) + s p_{k+1}(y | c_{k+1})) / (count(c_k) + s)

    and p = 1 / outcomes beyond the coarsest. With one level this is additive smoothing by
    s / outcomes; with several, interpolation, where by default s is the number of different
    outcomes seen in the context (Witten & Bell 1991). A context without counts leaves the decision
    to the next coarser one.

    Args:
        outcomes: how many there are.
        strength: s, 0 for no smoothing; None for Witten & Bell's.
    """

    def __init__(self, outcomes: int, strength: float | None, levels: Sequence[_Level]) -> None:
        self.outcomes, self.strength, self._levels = outcomes, strength, tuple(levels)

    @classmethod
    def count(
        cls,
        contexts: Sequence[Ints],
        observed: Ints,
        outcomes: int,
        strength: float | None,
        weights: Floats | None = None,
    ) -> BackoffTable:
        """From observations.

        Args:
            contexts: for each level, the finest first, the context of each observation: numbers
                from 0 on.
            observed: the outcome of each observation.
            weights: how often each was made; once if None.
        """
        levels = []
        for one in contexts:
            events, owner = np.unique(one * outcomes + observed, return_inverse=True)
            counts = np.bincount(owner.reshape(-1), weights, len(events)).astype(np.float64)
            levels.append(_Level.of_events(events, counts, outcomes))
        return cls(outcomes, strength, levels)

    @classmethod
    def of_events(
        cls, events: Ints, counts: Floats, outcomes: int, strength: float
    ) -> BackoffTable:
        """One level, from sorted event keys context * outcomes + outcome and their counts."""
        return cls(outcomes, strength, [_Level.of_events(events, counts, outcomes)])

    def log_probs(self, contexts: Sequence[Ints], observed: Ints) -> Floats:
        """log p(outcome | context) for arrays of any shape; -inf for probability 0.

        Args:
            contexts: as of `count`; coarser ones than the table has are not read.
        """
        contexts = contexts[: len(self._levels)]
        keys = contexts[0].reshape(-1) * self.outcomes + observed.reshape(-1)
        # The finest context implies the others. Of equal questions one is answered.
        _, first, back = np.unique(keys, return_index=True, return_inverse=True)
        found = self._log_probs(
            [one.reshape(-1)[first] for one in contexts], observed.reshape(-1)[first]
        )
        logs: Floats = found[back.reshape(-1)].reshape(observed.shape)
        return logs

    def rows(self, contexts: Sequence[Ints]) -> Floats:
        """log p of every outcome: an array with one more axis than the contexts."""
        contexts = contexts[: len(self._levels)]
        _, first, back = np.unique(contexts[0].reshape(-1), return_index=True, return_inverse=True)
        outcomes = np.tile(np.arange(self.outcomes), len(first))
        repeated = [np.repeat(one.reshape(-1)[first], self.outcomes) for one in contexts]
        found = self._log_probs(repeated, outcomes).reshape(len(first), self.outcomes)
        rows: Floats = found[back.reshape(-1)].reshape(*contexts[0].shape, self.outcomes)
        return rows

    def _log_probs(self, contexts: Sequence[Ints], observed: Ints) -> Floats:
        p = np.full(len(observed), 1.0 / self.outcomes)
        for level, own in zip(self._levels[::-1], contexts[::-1], strict=True):
            totals = _looked_up(level.contexts, level.totals, own)
            counts = _looked_up(level.events, level.counts, own * self.outcomes + observed)
            strength = self.strength
            s = _looked_up(level.contexts, level.types, own) if strength is None else strength
            divisor = totals + s
            known = (totals > 0.0) & (divisor > 0.0)
            p = np.where(known, (counts + s * p) / np.where(known, divisor, 1.0), p)
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(p)
        return logs

    @property
    def depth(self) -> int:
        """How many contexts it looks at."""
        return len(self._levels)

    def tensors(self, name: str) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""
        found: dict[str, NDArray[Any]] = {}
        for number, level in enumerate(self._levels):
            found[f"{name}.{number}.events"] = level.events
            found[f"{name}.{number}.counts"] = level.counts
        return found

    def metadata(self) -> dict[str, Any]:
        """The rest of it, as JSON can hold it."""
        return {
            "outcomes": self.outcomes,
            "strength": self.strength,
            "levels": len(self._levels),
        }

    @classmethod
    def restore(
        cls, name: str, tensors: dict[str, NDArray[Any]], metadata: Any, *outcomes: int
    ) -> BackoffTable:
        """The table that `tensors` and `metadata` were taken from.

        Args:
            outcomes: how many there are, or the least and the most.

        Raises:
            ModelError: something is missing; counts that are negative or not finite.
        """
        about = Fields(metadata, name)
        count = about.whole("outcomes", min(outcomes), max(outcomes))
        levels = []
        for number in range(about.whole("levels", 1, _MOST_LEVELS)):
            events = tensor(tensors, f"{name}.{number}.events", np.int64, (None,))
            counts = tensor(tensors, f"{name}.{number}.counts", np.float64, (len(events),))
            if (counts < 0.0).any() or (np.diff(events) <= 0).any() or (events < 0).any():
                raise ModelError(f"counts of {name} are negative or not in order: train it again")
            levels.append(_Level.of_events(events, counts, count))
        is_none = about.is_none("strength")
        strength = None if is_none else about.number("strength", -math.ulp(0.0))
        return cls(count, strength, levels)


def _looked_up(keys: Ints, values: Floats, queries: Ints) -> Floats:
    """The value of each key, 0 where it is not there."""
    if not len(keys):
        return np.zeros(queries.shape)
    index = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[index] == queries, values[index], 0.0)

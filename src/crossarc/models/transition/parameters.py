"""Parameters of the generative transition model: dense tables, or counts with back-off.

With b1 the symbol on top of the stack, b2 and b3 those below (Cohen et al. 2011, section 3),

    p(sh_b | b1)         = sh[b1, b]
    p(la1 | b2, b1)      = rd[b1] la1[b2, b1]                       and so for ra1
    p(la2 | b3, b2, b1)  = rd[b1] rd2[b2, b1] la2[b3, b2, b1]       and so for ra2

where sh[b1] and rd[b1], la1, ra1 and rd2 given b2 b1, la2 and ra2 given b3 b2 b1 sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.transition.attardi import TransitionScores
from crossarc.models.transition.symbols import BOTTOM, ROOT, WORDS

__all__ = [
    "MAX_DENSE",
    "NAMES",
    "Counts",
    "DenseTables",
    "Tables",
    "checked",
    "normalised",
    "proper",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The tables by name, and the number of symbols that index each.
NAMES = {"sh": 2, "rd": 1, "la1": 2, "ra1": 2, "rd2": 2, "la2": 3, "ra2": 3}
#: Dense tables of more symbols take more than 64 MB each.
MAX_DENSE = 200
_TOLERANCE = 1e-6


class Counts(NamedTuple):
    """How often each transition was made, or is expected to be, by symbols; and stops at [0, 1]."""

    sh: Floats
    la1: Floats
    ra1: Floats
    la2: Floats
    ra2: Floats
    #: (1,)
    stop: Floats

    @classmethod
    def zeros(cls, size: int) -> Counts:
        """No count yet, of so many symbols."""
        sh, la1, ra1, la2, ra2 = (np.zeros((size,) * rank) for rank in (2, 2, 2, 3, 3))
        return cls(sh, la1, ra1, la2, ra2, np.zeros(1))

    def add(self, ids: Ints, times: TransitionScores, weight: float = 1.0) -> None:
        """Add counts of transitions between the nodes of a sentence, with its first shift."""
        self.sh[BOTTOM, ROOT] += weight
        self.stop[0] += weight
        for table, own in zip(self[:5], times, strict=True):
            nodes = np.nonzero(own)
            np.add.at(table, tuple(ids[one] for one in nodes), weight * own[nodes])

    def tables(self) -> dict[str, Floats]:
        """By the names of the parameters."""
        rd2 = (self.la2 + self.ra2).sum(axis=0)
        rd = (self.la1 + self.ra1 + rd2).sum(axis=0)
        return {
            "sh": self.sh,
            "rd": rd,
            "la1": self.la1,
            "ra1": self.ra1,
            "rd2": rd2,
            "la2": self.la2,
            "ra2": self.ra2,
        }


class Tables(Protocol):
    """Where the log-weights of a sentence's transitions come from."""

    def scores(self, ids: Ints) -> TransitionScores:
        """Of the nodes with these symbols, `$` first."""

    @property
    def start(self) -> float:
        """log sh[0, 1]."""

    @property
    def stop(self) -> float:
        """log rd[1]."""


class DenseTables:
    """Tables of parameters over all symbols."""

    def __init__(self, parameters: Mapping[str, Floats]) -> None:
        self.parameters = dict(parameters)
        for table in self.parameters.values():
            table.flags.writeable = False
        with np.errstate(divide="ignore"):
            self._logs = {name: np.log(table) for name, table in self.parameters.items()}

    def scores(self, ids: Ints) -> TransitionScores:
        """See `Tables`."""
        logs, pairs = self._logs, np.ix_(ids, ids)
        rd = logs["rd"][ids]
        rd2 = rd + logs["rd2"][pairs]
        triples = np.ix_(ids, ids, ids)
        return TransitionScores(
            logs["sh"][pairs],
            logs["la1"][pairs] + rd,
            logs["ra1"][pairs] + rd,
            logs["la2"][triples] + rd2,
            logs["ra2"][triples] + rd2,
        )

    @property
    def start(self) -> float:
        """See `Tables`."""
        return float(self._logs["sh"][BOTTOM, ROOT])

    @property
    def stop(self) -> float:
        """See `Tables`."""
        return float(self._logs["rd"][ROOT])


def checked(parameters: Mapping[str, Any], size: int) -> dict[str, Floats]:
    """Copies of the tables, in float64.

    Raises:
        ModelError: a table that is missing or of a wrong shape, a number that is no probability, or
            probabilities that sum to more than 1.
    """
    if set(parameters) != set(NAMES):
        wrong = sorted(set(parameters) ^ set(NAMES))
        raise ModelError(f"parameters must be {', '.join(NAMES)}: missing or not known: {wrong}")
    if size > MAX_DENSE:
        raise ModelError(
            f"dense tables hold {MAX_DENSE} symbols: got {size}; use tags, or fit with back-off"
        )
    tables = {}
    for name, rank in NAMES.items():
        table = np.array(parameters[name], np.float64)
        if table.shape != (size,) * rank:
            raise ModelError(
                f"parameters[{name!r}] must have shape {(size,) * rank} (bottom marker, $, then "
                f"the vocabulary): got {table.shape}"
            )
        if not ((table >= 0.0) & (table <= 1.0 + _TOLERANCE)).all():
            raise ModelError(f"parameters[{name!r}] must be probabilities from 0 to 1")
        tables[name] = table
    sums = {
        "sh[b1].sum() + rd[b1]": tables["sh"].sum(axis=1) + tables["rd"],
        "la1 + ra1 + rd2": tables["la1"] + tables["ra1"] + tables["rd2"],
        "la2 + ra2": tables["la2"] + tables["ra2"],
    }
    for name, total in sums.items():
        if (total > 1.0 + _TOLERANCE).any():
            where = tuple(map(int, np.unravel_index(np.argmax(total), total.shape)))
            raise ModelError(f"{name} is {total.max():.6g} at {where}: it must not exceed 1")
    return tables


def proper(parameters: Mapping[str, Floats]) -> dict[str, Floats]:
    """Parameters that lose no mass: p(w) becomes a distribution over strings if it terminates.

    rd[1] is the stop at [bottom, $]; `$` is shifted first and only then, and is never removed.
    """
    p = {name: np.array(table) for name, table in parameters.items()}
    p["sh"][:, [BOTTOM, ROOT]] = 0.0
    p["sh"][BOTTOM], p["rd"][BOTTOM] = 0.0, 0.0
    p["sh"][BOTTOM, ROOT] = 1.0
    totals = p["sh"].sum(axis=1) + p["rd"]
    empty = totals == 0.0
    p["rd"][empty] = totals[empty] = 1.0
    p["sh"] /= totals[:, None]
    p["rd"] /= totals
    p["la1"][ROOT], p["rd2"][ROOT], p["ra1"][ROOT] = 0.0, 0.0, 1.0
    p["la2"][ROOT], p["ra2"][ROOT] = 0.0, 1.0
    return p


def _estimate(counts: Floats, strength: float, levels: int) -> Floats:
    """Probabilities of outcomes, the last axis, given contexts: first with b3, last with b1."""
    below = np.full(counts.shape[-1], 1.0 / counts.shape[-1])
    if levels > 0 and counts.ndim > 1:
        below = _estimate(counts.sum(axis=0), strength, levels - 1)
    total = counts.sum(axis=-1, keepdims=True) + strength
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0.0, (counts + strength * below) / total, below)


def normalised(
    counts: Counts, *, strength: float, with_stop: bool, back_off: bool = True
) -> dict[str, Floats]:
    """Parameters from counts: those of the paper's re-estimation formulas for strength 0.

    Args:
        strength: s in (count + s q) / (total + s). q is the estimate in the next coarser context,
            from b3 b2 b1 down to none, and uniform beyond.
        with_stop: whether stops count as reductions of `$`.
        back_off: if False, q is uniform throughout: the mode under a Dirichlet prior.
    """
    c, levels = counts.tables(), 3 if back_off else 0
    rd = c["rd"].copy()
    rd[ROOT] += counts.stop[0] if with_stop else 0.0
    first = _estimate(np.column_stack([counts.sh[:, WORDS:], rd]), strength, levels)
    sh = np.zeros_like(counts.sh)
    sh[:, WORDS:], rd = first[:, :-1], first[:, -1].copy()
    sh[BOTTOM], rd[BOTTOM] = 0.0, 0.0
    sh[BOTTOM, ROOT] = 1.0
    one = _estimate(np.stack([c["la1"], c["ra1"], c["rd2"]], -1), strength, levels)
    two = _estimate(np.stack([c["la2"], c["ra2"]], -1), strength, levels)
    names = dict(zip(("la1", "ra1", "rd2"), np.moveaxis(one, -1, 0), strict=True))
    names |= dict(zip(("la2", "ra2"), np.moveaxis(two, -1, 0), strict=True))
    return {"sh": sh, "rd": rd} | {name: np.ascontiguousarray(names[name]) for name in names}

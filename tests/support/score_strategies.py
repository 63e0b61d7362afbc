"""Score arrays for laws: moderate and extreme, tied, pruned, labelled, in single precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Scores = NDArray[np.floating[Any]]

#: Independent scores of standard deviation 1.
NORMAL = "normal"
#: Multiples of 1/4 up to 2: many trees with equal scores, and every sum is exact.
TIES = "ties"
#: Some arcs forbidden, at least one tree left (over arcs that may cross).
FORBIDDEN = "forbidden"
#: Standard deviation 1000: nearly all marginals underflow.
EXTREME = "extreme"
#: The same, with forbidden arcs.
EXTREME_FORBIDDEN = "extreme forbidden"
#: Moderate scores on top of up to a million for each column.
OFFSETS = "offsets"
#: An array of dtype float32.
SINGLE_PRECISION = "float32"

MODERATE = (NORMAL, TIES, FORBIDDEN, SINGLE_PRECISION)
FINITE = (NORMAL, TIES, EXTREME, OFFSETS)
EVERY_KIND = (*MODERATE, EXTREME, EXTREME_FORBIDDEN, OFFSETS)


@dataclass(frozen=True)
class Case:
    """Scores and root rule; column 0 and the diagonal hold something that must not be read."""

    scores: Scores
    root: str
    kind: str

    @property
    def n(self) -> int:
        return len(self.scores) - 1

    @property
    def labelled(self) -> bool:
        return self.scores.ndim == 3


def roots() -> st.SearchStrategy[str]:
    return st.sampled_from(["single", "multi"])


@st.composite
def shapes(
    draw: st.DrawFn, max_words: int, max_labelled_words: int, labels: bool
) -> tuple[int, ...]:
    """(n + 1, n + 1), or with 1 to 3 labels behind."""
    if labels and draw(st.booleans()):
        n = draw(st.integers(1, max_labelled_words))
        return n + 1, n + 1, draw(st.integers(1, 3))
    n = draw(st.integers(1, max_words))
    return n + 1, n + 1


@st.composite
def score_arrays(draw: st.DrawFn, shape: tuple[int, ...], kind: str) -> Scores:
    chance = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == TIES:
        scores = chance.integers(-8, 9, size=shape) / 4.0
    elif kind in (EXTREME, EXTREME_FORBIDDEN):
        scores = chance.normal(scale=1000.0, size=shape)
    else:
        scores = chance.normal(size=shape)
    if kind == OFFSETS:
        offsets = chance.uniform(-1e6, 1e6, size=shape[1])
        scores += offsets.reshape((1, -1) + (1,) * (len(shape) - 2))
    if kind in (FORBIDDEN, EXTREME_FORBIDDEN):
        _forbid(scores, chance, draw(st.sampled_from([0.2, 0.5, 0.8])))
    if kind == SINGLE_PRECISION:
        scores = scores.astype(np.float32)
    _spoil(scores, draw(st.sampled_from([0.0, np.nan, np.inf, -np.inf, 1e300])))
    return scores


def _forbid(scores: Scores, chance: np.random.Generator, share: float) -> None:
    """Forbid this share of arcs, but none of a random single-root tree."""
    n = len(scores) - 1
    kept = np.zeros((n + 1, n + 1), dtype=bool)
    order = chance.permutation(np.arange(1, n + 1))
    if chance.random() < 0.5:
        order.sort()  # often a projective tree, too
    kept[0, order[0]] = True
    for place in range(1, n):
        kept[order[chance.integers(place)], order[place]] = True
    forbidden = chance.random(scores.shape) < share
    forbidden[kept] = False
    scores[forbidden] = -np.inf


def _spoil(scores: Scores, value: float) -> None:
    """Column 0 and the diagonal are never read, so they may hold anything."""
    words = np.arange(len(scores))
    with np.errstate(over="ignore"):
        scores[:, 0] = value
        scores[words, words] = value


@st.composite
def cases(
    draw: st.DrawFn,
    kinds: tuple[str, ...] = EVERY_KIND,
    max_words: int = 5,
    max_labelled_words: int = 3,
    labels: bool = True,
) -> Case:
    shape = draw(shapes(max_words, max_labelled_words, labels))
    kind = draw(st.sampled_from(kinds))
    return Case(draw(score_arrays(shape, kind)), draw(roots()), kind)


@st.composite
def partial_heads(draw: st.DrawFn, n: int) -> dict[int, int]:
    """Heads for some words; together they may be impossible."""
    words = draw(st.lists(st.integers(1, n), unique=True))
    return {m: draw(st.integers(0, n).filter(lambda h, m=m: h != m)) for m in words}

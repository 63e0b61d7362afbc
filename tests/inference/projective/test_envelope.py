"""Potentials that keep items near 1: no partial tree above it, and float64 enough for more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.drawn_scores import drawn
from support.law_base import assert_accurate, assert_marginals

from crossarc.inference.projective.first_order import sums
from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import MARGINALS

Floats = NDArray[np.float64]


def potentials(batch: Batch, single: bool) -> Floats:
    return sums._envelope(batch, single, np.arange(len(batch)), 1)


def partial_trees(scores: Floats, words: range) -> list[float]:
    """The scores of all ways to give heads to some neighbouring words such that they are one item:
    all are governed by the word before the first, or all by the word behind the last."""
    found = []
    for top in (words[0] - 1, words[-1] + 1):
        if not 0 < top < len(scores):
            continue
        nodes = [top, *words]
        for heads in itertools.product(nodes, repeat=len(words)):
            arcs = dict(zip(words, heads, strict=True))
            if is_projective_under(top, arcs):
                found.append(sum(scores[h, m] for m, h in arcs.items()))
    return found


def is_projective_under(top: int, arcs: dict[int, int]) -> bool:
    """Whether every word hangs from `top`, and every word between two ends of an arc does so from
    its head."""

    def chain(m: int) -> list[int]:
        up = [m]
        while up[-1] != top and len(up) <= len(arcs) + 1:
            up.append(arcs[up[-1]])
        return up

    if any(chain(m)[-1] != top for m in arcs):
        return False
    return all(
        h in chain(between)
        for m, h in arcs.items()
        for between in range(min(h, m) + 1, max(h, m))
        if between != top
    ) and all(not min(h, m) < top < max(h, m) for m, h in arcs.items())


@given(st.integers(2, 5), st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.booleans())
def test_no_item_weighs_more_than_1(n: int, seed: int, forbidden: float, single: bool) -> None:
    """Against all partial trees, one by one."""
    scores = drawn(n, 5.0, seed, forbidden)
    batch = Batch([scores])
    p = potentials(batch, single)
    for first, last in itertools.combinations(range(1, n + 2), 2):
        best = max(partial_trees(batch.square(0), range(first, last)), default=-np.inf)
        assert best <= p[first - 1 : last - 1].sum() + 1e-9


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(("n", "scale"), [(100, 30.0), (200, 30.0)])
def test_float64_is_enough_with_them(n: int, scale: float, single: bool) -> None:
    """Where potentials that look at single words are not, and with the results of wide numbers."""
    batch = Batch([drawn(n, scale, 1)])
    outs, totals, members = np.zeros((3, len(batch.arcs))), np.empty((3, 2, 1)), np.zeros(1, int)
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets, single, MARGINALS)
    arguments = [(*arrays, outs[way], totals[way]) for way in range(3)]
    sums._in_blocks(batch, members, arguments[0], np.empty(0), 1)
    sums._in_blocks(batch, members, arguments[1], potentials(batch, single), 1)
    sums._in_lockstep(batch, members, arguments[2], True, 1)
    assert np.isposinf(totals[0, 0, 0])
    assert_accurate(float(totals[1].sum()), float(totals[2].sum()))
    assert_marginals(outs[1], outs[2])


def test_words_that_only_the_root_governs() -> None:
    scores = np.full((4, 4), -np.inf)
    scores[0, 1:] = [100.0, 200.0, -300.0]
    np.testing.assert_array_equal(potentials(Batch([scores]), False), [100.0, 200.0, -300.0])


def test_no_tree() -> None:
    assert np.isnan(potentials(Batch([np.full((3, 3), -np.inf)]), True)).all()

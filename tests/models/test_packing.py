"""Weights in 16 bits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from crossarc.models.packing import pack, prune, quantised, unpack

WEIGHTS = nps.arrays(np.float32, st.integers(1, 40), elements=st.floats(-9, 9, width=32))


@given(WEIGHTS)
def test_packed_weights_come_back_rounded(weights: np.ndarray) -> None:
    numbers, scale = quantised(weights)
    assert numbers.dtype == np.int16
    error = np.abs(weights).max() / 65534 * (1 + 1e-3)
    np.testing.assert_allclose(numbers * scale, weights, atol=error)
    bits, values = pack(numbers)
    assert len(values) == np.count_nonzero(numbers)
    assert (unpack(bits, values, len(weights)) == numbers).all()


@given(WEIGHTS, st.integers(0, 45))
def test_pruning_keeps_the_largest(weights: np.ndarray, most: int) -> None:
    kept = prune(weights, most)
    assert np.count_nonzero(kept) <= most
    assert ((kept == weights) | (kept == 0)).all()
    dropped = np.abs(weights[(kept == 0) & (weights != 0)])
    if len(dropped) and np.count_nonzero(kept):
        assert dropped.max() < np.abs(kept[kept != 0]).min()

"""The fit of a curve: exact where it is exact, NumPy's least squares elsewhere."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crossarc.analysis import QuadraticFit, fit_quadratic


def test_all_pairs() -> None:
    """Without a constraint there are n (n - 1) / 2 pairs: a = -0.5, b = 0.5, r2 = 1 in print."""
    fit = fit_quadratic({(n, n * (n - 1) // 2): n % 3 + 1 for n in range(1, 90)})
    assert fit == QuadraticFit(-0.5, 0.5, 1.0, 1.0)
    assert fit.linear_up_to is None


@given(
    st.lists(
        st.tuples(st.integers(1, 100), st.integers(0, 5000), st.integers(1, 4)),
        min_size=3,
        max_size=30,
    )
)
def test_against_numpy(cases: list[tuple[int, int, int]]) -> None:
    points: Counter[tuple[int, int]] = Counter()
    for x, y, times in cases:
        points[x, y] += times
    assume(len({x for x, _ in points}) >= 3 and len({y for _, y in points}) >= 2)
    rows = np.array([row for row, times in points.items() for _ in range(times)], float)
    x, y = rows.T
    design = np.stack([x, x * x], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, y)
    left = ((y - a * x - b * x * x) ** 2).sum()
    fit = fit_quadratic(points)
    assert fit.a == pytest.approx(a, rel=1e-6, abs=1e-6)
    assert fit.b == pytest.approx(b, rel=1e-6, abs=1e-8)
    assert fit.r2 == pytest.approx(1 - left / (y**2).sum(), abs=1e-8)
    assert fit.r2_centred == pytest.approx(1 - left / ((y - y.mean()) ** 2).sum(), abs=1e-7)


def test_the_printed_turning_points() -> None:
    """The coefficients of Table 2 for DDT put ax = bx^2 at 56 words (d<=1) and 29.8 (d<=2)."""
    assert QuadraticFit(2.2049, 0.0391, 0.969, None).linear_up_to == pytest.approx(56.39, abs=0.01)
    assert QuadraticFit(2.0273, 0.0680, 0.964, None).linear_up_to == pytest.approx(29.81, abs=0.01)


@pytest.mark.parametrize("points", [{}, {(5, 3): 2}, {(5, 3): 2, (5, 9): 1}])
def test_one_length_fixes_no_curve(points: dict[tuple[int, int], int]) -> None:
    assert fit_quadratic(points) == QuadraticFit(None, None, None, None)


def test_no_pair_at_all() -> None:
    assert fit_quadratic({(1, 0): 3, (2, 0): 1}) == QuadraticFit(0.0, 0.0, None, None)

"""A curve through the origin, y = a x + b x^2, by least squares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["QuadraticFit", "fit_quadratic"]


@dataclass(frozen=True, slots=True)
class QuadraticFit:
    """The curve and how well it fits; None where the points do not determine it.

    Attributes:
        a: linear coefficient.
        b: quadratic coefficient.
        r2: uncentred, 1 - sum (y - f)^2 / sum y^2, which statistics programs print for a model
            without an intercept, and Nivre (2006) with them.
        r2_centred: 1 - sum (y - f)^2 / sum (y - mean)^2, as for a model with an intercept.
    """

    a: float | None
    b: float | None
    r2: float | None
    r2_centred: float | None

    @property
    def linear_up_to(self) -> float | None:
        """Where b x^2 overtakes a x; None if it never does."""
        if self.a is None or self.b is None or self.a <= 0 or self.b <= 0:
            return None
        return self.a / self.b


def fit_quadratic(points: Mapping[tuple[int, int], int]) -> QuadraticFit:
    """Fit whole-numbered points (x, y), each with a count.

    The normal equations are solved in whole numbers, so their condition costs no digit.
    """
    count = x2 = x3 = x4 = xy = x2y = y1 = y2 = 0
    for (x, y), times in points.items():
        square = x * x * times
        count += times
        x2 += square
        x3 += square * x
        x4 += square * x * x
        xy += x * y * times
        x2y += square * y
        y1 += y * times
        y2 += y * y * times
    # | x2 x3 | a   xy
    # | x3 x4 | b = x2y
    determinant = x2 * x4 - x3 * x3
    if determinant == 0:
        return QuadraticFit(None, None, None, None)
    a = Fraction(xy * x4 - x2y * x3, determinant)
    b = Fraction(x2y * x2 - xy * x3, determinant)
    residual = y2 - a * xy - b * x2y
    variation = count * y2 - y1 * y1
    return QuadraticFit(
        a=float(a),
        b=float(b),
        r2=float(1 - residual / y2) if y2 else None,
        r2_centred=float(1 - residual * count / variation) if variation else None,
    )

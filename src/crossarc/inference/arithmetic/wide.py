"""Numbers with a wide exponent: a float64 mantissa times 2 to an int64 power.

No weight of a tree over- or underflows in them, and the arithmetic costs no exp or log. Zero is
(0.0, ZERO), with an exponent so low that it never decides a comparison. Mantissas may leave [1, 2)
while terms are added and are brought back by `normalised`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = [
    "EXP_COEFFICIENTS",
    "INVERSE_LN2",
    "LARGEST_SCORE",
    "LN2",
    "LN2_HIGH",
    "LN2_LOW",
    "LN2_REST",
    "LOWEST_WEIGHT",
    "SMALLEST",
    "ZERO",
    "add_at",
    "add_product",
    "exp_parts",
    "exp_parts_wide",
    "log_of",
    "narrowed",
    "normalised",
    "normalised_along",
    "plus",
    "power_of_two",
    "times_ln2",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Exponent of the number zero.
ZERO = -(1 << 60)
#: Sums are right for scores up to this size; beyond, exponents could meet the root's or overflow.
LARGEST_SCORE = 1e12
#: Exponents of weights are cut off here, below all that scores of that size can have.
SMALLEST = -(1 << 44)

#: In float64, weights whose logarithms are above this are safe: 2^-894.
LOWEST_WEIGHT = -620.0

# ln 2 in two parts; the first has 33 bits, so that its product with k < 2**20 is exact.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
_EXACT = 1 << 20
#: ln 2 as the float nearest to it and what that lacks.
LN2 = 0.6931471805599453
LN2_REST = 2.319046813846299558e-17
#: Of the polynomial of degree 11 that is nearest to exp up to ln(2) / 2 (by Remez exchange, in
#: the largest relative error: 3e-18, and 2.2e-17 once they are floats); the highest degree first.
EXP_COEFFICIENTS = (
    2.4994292398208396e-08,
    2.7632308242619155e-07,
    2.75576226549448e-06,
    2.4801486481235387e-05,
    0.00019841269432431223,
    0.0013888888951261245,
    0.008333333333559453,
    0.04166666666649263,
    0.1666666666666617,
    0.5000000000000018,
    1.0,
    1.0,
)
_SPLIT = 134217729.0  # 2^27 + 1
INVERSE_LN2 = 1.4426950408889634
_BIAS = 1023
_FRACTION = (1 << 52) - 1


@subkernel()
def power_of_two(k: int) -> float:
    """2 to the power k for k <= 1023; 0 for k <= -1023."""
    return float(np.int64((max(k, -_BIAS) + _BIAS) << 52).view(np.float64))


@subkernel()
def normalised(mantissa: float, exponent: int) -> tuple[float, int]:
    """The same number with its mantissa in [1, 2)."""
    if mantissa == 0.0:
        return 0.0, ZERO
    bits = np.float64(mantissa).view(np.int64)
    shift = (bits >> 52) - _BIAS
    fraction = np.int64((bits & _FRACTION) | (_BIAS << 52)).view(np.float64)
    return float(fraction), int(exponent + shift)


@subkernel()
def normalised_along(mantissa: float, derivative: float, exponent: int) -> tuple[float, float, int]:
    """A number and its derivative, which share an exponent, with the mantissa in [1, 2)."""
    fraction, power = normalised(mantissa, exponent)
    if fraction == 0.0:
        return 0.0, 0.0, ZERO
    return fraction, derivative * power_of_two(exponent - power), power


@subkernel()
def times_ln2(k: float) -> tuple[float, float]:
    """k ln 2 for a whole number k below 2^53, as a sum of two floats, to about 32 digits.

    The product of two floats and its rounding error, by splitting both in halves (Dekker 1971).
    """
    product = k * LN2
    a = _SPLIT * k
    a_high = a - (a - k)
    a_low = k - a_high
    b = _SPLIT * LN2
    b_high = b - (b - LN2)
    b_low = LN2 - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error + k * LN2_REST


@subkernel()
def exp_parts_wide(x: float, tail: float) -> tuple[float, int]:
    """`exp_parts` for arguments of any size: k ln 2 to twice the digits."""
    k = math.floor(x * INVERSE_LN2 + 0.5)
    if abs(k) < _EXACT:
        return exp_parts(x, tail)
    high, low = times_ln2(k)
    mantissa, exponent = exp_parts((x - high) - low + tail, 0.0)
    return mantissa, max(exponent + int(k), SMALLEST)


@subkernel()
def exp_parts(x: float, tail: float) -> tuple[float, int]:
    """exp(x + tail) as mantissa and exponent, for |x| < 7e5 and a tail that is small beside x.

    exp(x) = 2^k exp(r) with r = x - k ln 2.
    """
    k = math.floor(x * INVERSE_LN2 + 0.5)
    r = ((x - k * LN2_HIGH) - k * LN2_LOW) + tail
    p = EXP_COEFFICIENTS[0]
    for place in range(1, len(EXP_COEFFICIENTS)):
        p = p * r + EXP_COEFFICIENTS[place]
    return p, max(int(k), SMALLEST)


@subkernel()
def log_of(mantissa: float, exponent: int) -> tuple[float, float]:
    """The logarithm of a positive number, as an unevaluated sum of two floats."""
    log = math.log(mantissa)
    power, rest = times_ln2(float(exponent))
    high = power + log
    back = high - power
    low = (power - (high - back)) + (log - back) + rest
    return high + low, low - ((high + low) - high)


@subkernel()
def narrowed(mantissa: float, exponent: int) -> float:
    """The number as a float: rounded once where it is subnormal, 0 below."""
    half = min(max(exponent // 2, -_BIAS), _BIAS)
    return mantissa * power_of_two(half) * power_of_two(min(exponent - half, _BIAS))


@subkernel()
def plus(a: float, a_power: int, b: float, b_power: int) -> tuple[float, int]:
    """The sum of two numbers, without a branch, as `add_product` does."""
    gain = b_power - a_power
    up = max(gain, 0)
    return a * power_of_two(-up) + b * power_of_two(gain - up), a_power + up


@subkernel()
def add_at(sums: Floats, powers: Ints, place: int, mantissa: float, exponent: int) -> None:
    """Add a number to the one at `place`."""
    sums[place], powers[place] = plus(sums[place], powers[place], mantissa, exponent)


@subkernel(reorder=True)
def add_product(
    sums: Floats, sum_powers: Ints, terms: Floats, term_powers: Ints, factor: float, power: int
) -> None:
    """sums += terms * factor, elementwise, without a branch.

    Of two numbers the one with the lower exponent is scaled down; below 2^-1023 it vanishes,
    far under the rounding of the other.
    """
    for i in range(sums.shape[0]):
        exponent = term_powers[i] + power
        gain = exponent - sum_powers[i]
        down = min(max(gain, 0), _BIAS)
        up = max(-gain, 0)
        scaled = sums[i] * np.int64((_BIAS - down) << 52).view(np.float64)
        added = (terms[i] * factor) * np.int64((_BIAS - min(up, _BIAS)) << 52).view(np.float64)
        sums[i] = scaled + added
        sum_powers[i] = exponent + up

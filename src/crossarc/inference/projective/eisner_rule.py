"""The rule by which float64 is enough for the sums of Eisner's algorithm (docs/numerics.md)."""

from __future__ import annotations

from crossarc.inference.arithmetic.wide import normalised
from crossarc.inference.runtime.quantities import LOG_PARTITION
from crossarc.kernels import subkernel

__all__ = ["judge"]

# In powers of two. Items are at least LOWEST, at least LOWEST_PRODUCT if arcs are forbidden, at
# most HIGHEST, and their ratio at most RANGE.
_LOWEST, _LOWEST_PRODUCT, _HIGHEST, _RANGE = 2.0**-960, 2.0**-500, 2.0**960, 2.0**930
_HEADROOM = 900


@subkernel()
def judge(
    least: float, most: float, total: float, forbidden: bool, quantity: int
) -> tuple[bool, int, float]:
    """Whether float64 is certainly enough; the headroom, and the least product that is right.

    Args:
        least, most: of the inside items that are not 0.
        total: Z relative to the potentials.
        forbidden: whether some arc is.
    """
    least = min(1.0, least, total if total > 0.0 else 1.0)
    if not (least >= (_LOWEST_PRODUCT if forbidden else _LOWEST) and most <= _HIGHEST):
        return False, 0, 0.0
    if total == 0.0:
        return forbidden, 0, 0.0
    if quantity != LOG_PARTITION and most / least > _RANGE:
        return False, 0, 0.0
    return True, _HEADROOM + normalised(least, 0)[1], most * _LOWEST

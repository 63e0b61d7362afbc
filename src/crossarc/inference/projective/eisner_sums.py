"""log Z and marginals of all projective trees: what is computed how.

Eisner's algorithm (1996) as inside and outside pass (Koo et al. 2007, section 2.2), O(n^3), in
float64 after taking a potential from the scores into each word: first their maximum; if items then
lie too far apart for float64, that of `eisner_envelope`. Otherwise in numbers with a wide
exponent. docs/numerics.md proves the rule. Each kernel is loaded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.runtime.batch import Batch
from crossarc.inference.runtime.lockstep import in_lockstep
from crossarc.parallel import over_ranges

__all__ = ["sum_over_trees"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Arrays = tuple[Floats, Floats, Ints, Ints]
Infer = Callable[[Arrays, bool, int, Floats], Floats]

# In lockstep, eight sentences of up to so many words are faster than one after the other by panels:
# 2.5 times at 20, 1.7 times at 50. One by itself is not, but has the same result in this way.
_SHORT = 50


def sum_over_trees(
    batch: Batch, single: bool, quantity: int, out: Floats, threads: int | None
) -> Floats:
    """log Z, (2, sentences), as a sum of two floats; NaN where scores are too large.

    Args:
        quantity: LOG_PARTITION, MARGINALS or LOG_MARGINALS.
        out: marginals or their logarithms, flat as the scores are; column 0 and the diagonal are
            left alone.
    """
    totals = np.empty((2, len(batch)))

    def run(infer: Infer, members: Ints) -> None:
        def work(begin: int, end: int) -> None:
            some = members[begin:end]
            own = (batch.arcs, batch.label_sums, batch.sizes[some], batch.offsets[some])
            totals[:, some] = infer(own, single, quantity, out)

        over_ranges(work, batch.sizes[members] ** 3 + 1000, threads)

    is_short = batch.sizes <= _SHORT
    arrays = (batch.arcs, batch.label_sums, batch.sizes, batch.offsets)
    after = (single, quantity, out, totals)
    short = np.flatnonzero(is_short)
    in_lockstep(_short_kernel, batch.sizes, short, _SHORT, arrays, after, threads)
    run(_by_panels, np.flatnonzero(~is_short))
    run(_with_care, np.flatnonzero(np.isposinf(totals[0])))
    return totals


def _short_kernel(together: bool) -> Any:
    if together:
        from crossarc.inference.projective.short_together import short_together

        return short_together
    from crossarc.inference.projective.short_alone import short_alone

    return short_alone


def _by_panels(arrays: Arrays, single: bool, quantity: int, out: Floats) -> Floats:
    from crossarc.inference.projective.eisner_plain import infer_plain

    totals = np.empty((2, len(arrays[2])))
    infer_plain(*arrays, single, quantity, np.empty(0), out, totals)
    return totals


def _with_care(arrays: Arrays, single: bool, quantity: int, out: Floats) -> Floats:
    """The same where simple potentials are not enough for float64."""
    from crossarc.inference.projective.eisner_envelope import envelope
    from crossarc.inference.projective.eisner_plain import infer_plain

    scores, label_sums, sizes, offsets = arrays
    totals, potentials = np.empty((2, len(sizes))), np.empty(int(sizes.sum()))
    envelope(scores, sizes, offsets, single, potentials)
    infer_plain(*arrays, single, quantity, potentials, out, totals)
    left = np.flatnonzero(np.isposinf(totals[0]))
    if len(left):
        from crossarc.inference.projective.eisner_wide import infer_wide

        found = np.empty((2, len(left)))
        infer_wide(scores, label_sums, sizes[left], offsets[left], single, quantity, out, found)
        totals[:, left] = found
    return totals

"""Draws without replacement: each time in proportion to probability among those left.

Give every outcome d the number G(d) = log p(d) + a standard Gumbel variable. The order of falling G
is that of draws without replacement (Yellott 1977). The outcomes need not be listed for that (Kool,
van Hoof & Welling 2019): write an outcome as a sequence of choices, and let G(prefix) be the
largest G of the outcomes that begin with a prefix. It is a Gumbel variable located at
log p(prefix), so

    G(()) is standard Gumbel, and given G(prefix) = t, the G of its continuations are independent
    Gumbel variables located at their log p, given that the largest of them is t.

Such variables are drawn freely as g_i, and moved to the given maximum t by

    G_i = -log(exp(-t) - exp(-max g) + exp(-g_i))

(their ranks are unchanged, and the largest becomes t). A best-first search over prefixes by G thus
finds outcomes one after another, and only opens the prefixes it needs. No mass is subtracted from
what is left, so that draws are right also when the first one had nearly all of it.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crossarc.kernels import subkernel

__all__ = ["Found", "draw_distinct", "perturb"]

Floats = NDArray[np.float64]
Shorts = NDArray[np.int32]
#: The choices of an outcome; (step, choice) of each alternative passed by, and its (log p, G).
Found = tuple[Shorts, Shorts, Floats]

# Stands for an exponential variable of 0, whose logarithm has no place among the others.
_SMALLEST = 1e-300


@subkernel()
def perturb(logs: Floats, noise: Floats, count: int, top: float, moved: Floats) -> int:
    """Gumbel variables at `logs`, given that their largest is `top`; returns its index.

    Args:
        noise: standard exponential variables.
    """
    largest, best = -np.inf, 0
    for i in range(count):
        moved[i] = logs[i] - math.log(max(noise[i], _SMALLEST))
        if moved[i] > largest:
            largest, best = moved[i], i
    for i in range(count):
        if i == best:
            moved[i] = top
        else:
            # depth = top + log(exp(-g) - exp(-largest)), and G = top - log(1 + exp(depth))
            below = math.log(-math.expm1(moved[i] - largest)) if moved[i] < largest else -np.inf
            depth = top - moved[i] + below
            moved[i] = top - max(0.0, depth) - math.log1p(math.exp(-abs(depth)))
    return best


@dataclass(slots=True)
class _Descent:
    """An outcome, and what was passed by on the way to it, the largest G first."""

    choices: Shorts
    places: Shorts
    values: Floats
    taken: int = 0

    def prefix(self) -> tuple[Shorts, float, float]:
        """The next alternative: its choices, log-probability and G."""
        step, choice = self.places[self.taken]
        prefix = np.append(self.choices[:step], choice).astype(np.int32)
        log, top = self.values[self.taken]
        return prefix, float(log), float(top)


def draw_distinct(
    descend: Callable[[Shorts, float, float], Found], rng: np.random.Generator
) -> Iterator[Shorts]:
    """The choices of all outcomes, in the order of draws without replacement.

    Args:
        descend: from a prefix, its log-probability and its G to the outcome with that G.
    """
    queue: list[tuple[float, int, _Descent]] = []
    prefix, log = np.empty(0, np.int32), 0.0
    top = -math.log(max(rng.standard_exponential(), _SMALLEST))
    for rank in itertools.count():
        choices, places, values = descend(prefix, log, top)
        order = np.argsort(-values[:, 1], kind="stable")
        new = _Descent(choices, places[order], values[order])
        yield choices
        if len(order):
            heapq.heappush(queue, (-float(new.values[0, 1]), rank, new))
        if not queue:
            return
        _, source, descent = queue[0]
        prefix, log, top = descent.prefix()
        descent.taken += 1
        if descent.taken < len(descent.places):
            following = -float(descent.values[descent.taken, 1])
            heapq.heapreplace(queue, (following, source, descent))
        else:
            heapq.heappop(queue)

"""Derivations drawn without replacement: each time in proportion to probability among those left.

Give every derivation d the number G(d) = log p(d) + a standard Gumbel variable. The order of
falling G is that of draws without replacement (Yellott 1977). The derivations need not be listed
for that (Kool, van Hoof & Welling 2019): write a derivation as its choices in depth-first order,
and let G(prefix) be the largest G of the derivations that begin with a prefix. It is a Gumbel
variable located at log p(prefix), so

    G(()) is standard Gumbel, and given G(prefix) = t, the G of its continuations are independent
    Gumbel variables located at their log p, given that the largest of them is t.

Such variables are drawn freely as g_i, and moved to the given maximum t by

    G_i = -log(exp(-t) - exp(-max g) + exp(-g_i))

(their ranks are unchanged, and the largest becomes t). A best-first search over prefixes by G thus
finds derivations one after another, and only opens the prefixes it needs. No mass is subtracted
from what is left, so that draws are right also when the first one had nearly all of it.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import NDArray

from crossarc.inference.extended import log_of
from crossarc.inference.forest.arrays import FOREST, Forest
from crossarc.inference.forest.inside import inside_weights, instance_weights, most_instances
from crossarc.inference.forest.sampling import largest_derivation
from crossarc.kernels import READ_FLOAT, READ_INT, kernel, subkernel

__all__ = ["sample_distinct"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_F2, _S1, _S2 = types.float64[:, ::1], types.int32[::1], types.int32[:, ::1]
# Stands for an exponential variable of 0, whose logarithm has no place among the others.
_SMALLEST = 1e-300
_READ_SHORT = types.Array(types.int32, 1, "C", readonly=True)


@kernel(types.int64(FOREST))
def _most_seen(forest: Forest) -> int:
    """The most instances that the items of one derivation have in all."""
    items = forest.first.shape[0] - 1
    seen = np.zeros(items + 1, np.int64)
    for v in range(items):
        begin, end = forest.first[v], forest.first[v + 1]
        for e in range(begin, end):
            # A tail of -1 reads the last entry, which stays 0.
            below = seen[forest.left[e]] + seen[forest.right[e]]
            seen[v] = max(seen[v], end - begin + below)
    return int(seen[items - 1]) if items > 0 else 0


@subkernel()
def _perturb(logs: Floats, noise: Floats, count: int, top: float, moved: Floats) -> int:
    """Gumbel variables at `logs`, given that their largest is `top`; returns its place."""
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


@kernel(
    types.UniTuple(types.int64, 2)(
        FOREST,
        READ_FLOAT,
        READ_INT,
        _READ_SHORT,
        types.float64,
        types.float64,
        READ_FLOAT,
        _S1,
        _S2,
        _F2,
    )
)
def _descend(
    forest: Forest,
    inside: Floats,
    powers: Ints,
    prefix: Shorts,
    log: float,
    top: float,
    noise: Floats,
    choices: Shorts,
    places: Shorts,
    values: Floats,
) -> tuple[int, int]:
    """From a prefix to the derivation with the largest G, noting what was passed by.

    Args:
        prefix: the first choices; `log` its log-probability, `top` its G.
        noise: standard exponential variables, enough of them.
        choices: becomes all choices of the derivation.
        places: becomes (step, instance) of each alternative, `values` its (log p, G).

    Returns:
        The numbers of choices and of alternatives.
    """
    most = most_instances(forest)
    weights, exponents = np.empty(most), np.empty(most, np.int64)
    logs, moved = np.empty(most), np.empty(most)
    agenda, waiting, step, passed, drawn = np.empty(choices.shape[0] + 2, np.int32), 1, 0, 0, 0
    agenda[0] = inside.shape[0] - 1
    while waiting > 0:
        waiting -= 1
        v = agenda[waiting]
        begin, count = forest.first[v], forest.first[v + 1] - forest.first[v]
        if step < prefix.shape[0]:
            e = prefix[step]
        elif count == 1:
            e = begin
        else:
            instance_weights(forest, inside, powers, v, weights, exponents)
            for i in range(count):
                logs[i] = log + log_of(weights[i] / inside[v], exponents[i] - powers[v])[0]
            best = _perturb(logs, noise[drawn:], count, top, moved)
            drawn += count
            for i in range(count):
                if i != best:
                    places[passed, 0], places[passed, 1] = step, begin + i
                    values[passed, 0], values[passed, 1] = logs[i], moved[i]
                    passed += 1
            log, e = logs[best], begin + best
        choices[step] = e
        step += 1
        for tail in (forest.right[e], forest.left[e]):
            if tail >= 0:
                agenda[waiting] = tail
                waiting += 1
    return step, passed


@dataclass(slots=True)
class _Descent:
    """A derivation, and what was passed by on the way to it, the largest G first."""

    choices: Shorts
    places: Shorts
    values: Floats
    taken: int = 0

    def prefix(self) -> tuple[Shorts, float, float]:
        """The next alternative: its choices, log-probability and G."""
        step, instance = self.places[self.taken]
        prefix = np.append(self.choices[:step], instance).astype(np.int32)
        log, top = self.values[self.taken]
        return prefix, float(log), float(top)


def sample_distinct(forest: Forest, chance: np.random.Generator) -> Iterator[Shorts]:
    """The parts of all derivations, in the order of draws without replacement; O(n^2) each."""
    if forest.items == 0:
        return
    inside, powers = inside_weights(forest)
    steps, seen = largest_derivation(forest), _most_seen(forest)
    queue: list[tuple[float, int, _Descent]] = []
    prefix, log = np.empty(0, np.int32), 0.0
    top = -math.log(max(chance.standard_exponential(), _SMALLEST))
    for rank in itertools.count():
        choices, places = np.empty(steps, np.int32), np.empty((seen, 2), np.int32)
        values, noise = np.empty((seen, 2)), chance.standard_exponential(seen)
        taken, passed = _descend(
            forest, inside, powers, prefix, log, top, noise, choices, places, values
        )
        order = np.argsort(-values[:passed, 1], kind="stable")
        new = _Descent(choices[:taken], places[order], values[order])
        parts = forest.part[new.choices]
        yield parts[parts >= 0]
        if passed:
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

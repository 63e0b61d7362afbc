"""Parameters of many symbols: counts of what was seen, and coarser contexts elsewhere."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.inference.transition.attardi import TransitionScores
from crossarc.models.generative.backoff import BackoffTable
from crossarc.models.transition.symbols import ROOT, WORDS

__all__ = ["BackoffTables", "Stacks", "node_scores", "stacks"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Outcomes of a reduction: la1, ra1, rd2; and of rd2: la2, ra2.
ONE, TWO = 3, 2


class Stacks(NamedTuple):
    """All nodes that may be next to each other on a stack, of a sentence of so many nodes."""

    #: b2 < b1
    pairs: tuple[Ints, Ints]
    #: b3 < b2 < b1
    triples: tuple[Ints, Ints, Ints]


@lru_cache(maxsize=128)
def stacks(nodes: int) -> Stacks:
    """Pairs and triples of nodes in order."""
    pairs, triples = (
        np.array(list(combinations(range(nodes), rank)), np.int64).reshape(-1, rank).T
        for rank in (2, 3)
    )
    return Stacks((pairs[0], pairs[1]), (triples[0], triples[1], triples[2]))


def node_scores(shifts: Floats, rd: Floats, one: Floats, two: Floats) -> TransitionScores:
    """Log-weights of transitions between the nodes of a sentence.

    Args:
        shifts: log sh[b2, b1] of all pairs of nodes, b2 being the top.
        rd: log rd of each node.
        one: log la1, ra1 and rd2 of all pairs.
        two: log la2 and ra2 of all triples.
    """
    nodes = len(rd)
    (b2, b1), (t3, t2, t1) = stacks(nodes)
    sh, la1, ra1, rd2 = np.full((4, nodes, nodes), -np.inf)
    la2, ra2 = np.full((2, nodes, nodes, nodes), -np.inf)
    sh[b2, b1] = shifts
    la1[b2, b1], ra1[b2, b1], rd2[b2, b1] = (one + rd[b1][:, None]).T
    la2[t3, t2, t1], ra2[t3, t2, t1] = (two + rd2[t2, t1][:, None]).T
    return TransitionScores(sh, la1, ra1, la2, ra2)


class BackoffTables:
    """`Tables` from counts; memory and time follow what was observed, not the vocabulary's cube.

    Args:
        first: words, and the reduction as the last outcome, given b1.
        one, two: la1, ra1, rd2 given b2 b1; la2, ra2 given b3 b2 b1.
        size: of the symbols.
    """

    def __init__(
        self, first: BackoffTable, one: BackoffTable, two: BackoffTable, size: int, proper: bool
    ) -> None:
        self.first, self.one, self.two = first, one, two
        self._size, self._proper = size, proper

    @classmethod
    def count(
        cls, rows: Ints, weights: Floats, sentences: float, size: int, strength: float, proper: bool
    ) -> BackoffTables:
        """From transitions.

        Args:
            rows: table, b3, b2, b1 of each, as `estimation.transitions` has them.
            weights: how often each was made, or is expected to be.
            sentences: how many there were.
            strength: as of `normalised`, with the same coarser contexts.
        """
        table, b3, b2, b1 = rows.T
        shifts, ones, twos = table == 0, table > 0, table > 2
        # Of a shift, b2 is the top of the stack and b1 the word; `$` stops as if it was reduced.
        tops = np.concatenate([b2[shifts], b1[ones], [ROOT]])
        reductions = np.full(int(ones.sum()) + 1, size - WORDS)
        observed = np.concatenate([b1[shifts] - WORDS, reductions])
        times = np.concatenate([weights[shifts], weights[ones], [sentences if proper else 0.0]])
        first = BackoffTable.count([tops, tops * 0], observed, size - WORDS + 1, strength, times)
        pair, triple = b2 * size + b1, (b3 * size + b2) * size + b1
        contexts = [key[ones] for key in (pair, b1, b1 * 0)]
        outcomes = np.minimum(table - 1, ONE - 1)[ones]
        one = BackoffTable.count(contexts, outcomes, ONE, strength, weights[ones])
        contexts = [key[twos] for key in (triple, pair, b1, b1 * 0)]
        two = BackoffTable.count(contexts, table[twos] - 3, TWO, strength, weights[twos])
        return cls(first, one, two, size, proper)

    def scores(self, ids: Ints) -> TransitionScores:
        """See `Tables`."""
        size = self._size
        (i, j), (t3, t2, t1) = stacks(len(ids))
        b2, b1 = ids[i], ids[j]
        shifts = self.first.log_probs([b2, b2 * 0], b1 - WORDS)
        one = self.one.rows([b2 * size + b1, b1, b1 * 0])
        c3, c2, c1 = ids[t3], ids[t2], ids[t1]
        pair = c2 * size + c1
        two = self.two.rows([c3 * size * size + pair, pair, c1, c1 * 0])
        if self._proper:
            one[i == 0], two[t3 == 0] = [-np.inf, 0.0, -np.inf], [-np.inf, 0.0]
        return node_scores(shifts, self._reductions(ids), one, two)

    def _reductions(self, tops: Ints) -> Floats:
        """log rd[b1]."""
        return self.first.log_probs([tops, tops * 0], np.full_like(tops, self._size - WORDS))

    @property
    def start(self) -> float:
        """See `Tables`."""
        return 0.0

    @property
    def stop(self) -> float:
        """See `Tables`."""
        return float(self._reductions(np.array([ROOT]))[0])

    # Files.

    def tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a model file."""
        return {
            key: array
            for name in ("first", "one", "two")
            for key, array in getattr(self, name).tensors(name).items()
        }

    def metadata(self) -> dict[str, Any]:
        """What is to be known about them."""
        return {name: getattr(self, name).metadata() for name in ("first", "one", "two")}

    @classmethod
    def restore(
        cls, tensors: dict[str, NDArray[Any]], metadata: dict[str, Any], size: int, proper: bool
    ) -> BackoffTables:
        """The tables that `tensors` and `metadata` were taken from."""
        outcomes = {"first": size - WORDS + 1, "one": ONE, "two": TWO}
        first, one, two = (
            BackoffTable.restore(name, tensors, metadata.get(name), most)
            for name, most in outcomes.items()
        )
        return cls(first, one, two, size, proper)

"""Supervised estimation: counts of the oracle's transitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import ModelError
from crossarc.inference.transition.attardi import oracle, tree_computations
from crossarc.inference.transition.attardi.machine import RIGHT, SHIFT
from crossarc.models.transition.backoff import BackoffTables
from crossarc.models.transition.parameters import (
    MAX_DENSE,
    Counts,
    DenseTables,
    Tables,
    normalised,
)
from crossarc.models.transition.parameters import (
    proper as made_proper,
)
from crossarc.models.transition.symbols import BOTTOM, Annotated, Symbols, Unit, read_tree

__all__ = ["SetAside", "estimate", "transitions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SetAside(NamedTuple):
    """Sentences, of all that were given, whose trees degree 2 does not derive, or no degree."""

    sentences: int
    higher_degree: int
    no_degree: int


def transitions(codes: Ints) -> Iterator[tuple[int, int, int, int]]:
    """Table, b3, b2 and b1 of each transition of a degree-2 computation, after the first shift.

    Tables are numbered as in `Counts`. b1 of a shift is the node shifted, b2 the top of the stack.
    """
    stack, node = [-1, 0], 1
    for code in codes[1:].tolist():
        if code == SHIFT:
            yield 0, -1, stack[-1], node
            stack.append(node)
            node += 1
            continue
        d = code - RIGHT if code > RIGHT else code
        yield 2 * d - 1 + (code > RIGHT), stack[-3], stack[-2], stack[-1]
        del stack[-1 if code > RIGHT else -1 - d]


def estimate(
    sentences: Iterable[Annotated],
    vocabulary: Iterable[str] | None,
    *,
    unit: Unit,
    min_count: int,
    unknown: str | None,
    strength: float,
    iterations: int,
    proper: bool,
) -> tuple[Symbols, Tables, SetAside]:
    """The symbols and tables of `TransitionModel.fit`, and what was set aside."""
    if strength < 0.0:
        raise ValueError(f"strength must not be negative: got {strength}")
    pairs = [read_tree(sentence, unit) for sentence in sentences]
    symbols = Symbols.of_sentences(
        (words for words, _ in pairs), vocabulary, unit=unit, min_count=min_count, unknown=unknown
    )
    usable: list[tuple[Ints, Ints]] = []
    rows: list[tuple[int, int, int, int]] = []
    higher = none = 0
    for words, heads in pairs:
        found = oracle(heads, 2)
        if found is None:
            none += oracle(heads) is None
            higher += 1
            continue
        ids = symbols.encode(words)
        usable.append((ids, heads))
        numbers = [*ids.tolist(), BOTTOM]  # the bottom marker is node -1
        rows.extend((t, *(numbers[b] for b in nodes)) for t, *nodes in transitions(found[0]))
    set_aside = SetAside(len(pairs), higher - none, none)
    if not usable:
        raise ModelError(f"none of {len(pairs)} sentences has a tree of degree 2: give some")
    learnt = _Estimate(len(usable), len(symbols), strength, proper)
    table = np.array(rows, np.int64).reshape(-1, 4)
    tables = learnt.tables(table, np.ones(len(table)))
    keys = Counter((ids.tobytes(), heads.tobytes()) for ids, heads in usable)
    different = [
        (np.frombuffer(ids, np.int64), np.frombuffer(heads, np.int64), float(times))
        for (ids, heads), times in keys.items()
    ]
    for _ in range(iterations):
        tables = learnt.tables(*_expected(tables, different))
    return symbols, tables, set_aside


class _Estimate(NamedTuple):
    """Tables from transitions: dense if there are few symbols."""

    sentences: int
    size: int
    strength: float
    proper: bool

    def tables(self, rows: Ints, weights: Floats) -> Tables:
        """From the table, b3, b2 and b1 of each transition, and how often it was made."""
        if self.size > MAX_DENSE:
            return BackoffTables.count(rows, weights, *self)
        counts = Counts.zeros(self.size)
        counts.sh[0, 1] = counts.stop[0] = self.sentences
        for number, table in enumerate(counts[:5]):
            own = rows[:, 0] == number
            np.add.at(table, tuple(rows[own, 4 - table.ndim :].T), weights[own])
        parameters = normalised(counts, strength=self.strength, with_stop=self.proper)
        return DenseTables(made_proper(parameters) if self.proper else parameters)


def _expected(tables: Tables, trees: Iterable[tuple[Ints, Ints, float]]) -> tuple[Ints, Floats]:
    """Transitions in all computations of trees, and how often each is expected."""
    rows, weights = [np.empty((0, 4), np.int64)], [np.empty(0)]
    for ids, heads, times in trees:
        expected = tree_computations(tables.scores(ids), heads).expectations()
        for number, table in enumerate(expected):
            nodes = np.nonzero(table)
            own = np.zeros((len(nodes[0]), 4), np.int64)
            own[:, 0] = number
            own[:, 4 - table.ndim :] = ids[np.stack(nodes, axis=1)]
            rows.append(own)
            weights.append(times * table[nodes])
    return np.concatenate(rows), np.concatenate(weights)

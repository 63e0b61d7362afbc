"""Transition models of any degree, and the first parametrisation of section 3, on short sentences.

Their computations are those of the literal deduction, O(n^(3D+2)) rule instances for degree D. A
model says what each transition's probability is, given the symbols on top of the stack.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crossarc.errors import InfeasibleError, ModelError
from crossarc.inference.forest.arrays import Forest
from crossarc.inference.transition.attardi import deduce
from crossarc.inference.transition.attardi.machine import RIGHT, SHIFT, arc_of
from crossarc.models.transition.symbols import BOTTOM, ROOT, WORDS, Symbols, Words
from crossarc.trees import Tree

__all__ = ["DegreeModel", "WindowModel"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Key = tuple[int, tuple[int, ...], int]


class _ForestModel(ABC):
    """A model whose sums are taken over a packed forest.

    Attributes:
        degree: the largest one of transitions.
        context: how many symbols on top of the stack a shift depends on.
        max_words: longer sentences are refused.
    """

    degree: int
    context: int
    max_words: int

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.symbols = Symbols(vocabulary, unit="form", unknown=None)

    @abstractmethod
    def _probability(self, code: int, stack: tuple[int, ...], word: int) -> float:
        """Of a transition, given symbols on top of the stack, and the one that sh shifts."""

    def _forest(self, words: Words, tree: Tree | None = None) -> tuple[Forest, list[_Key]]:
        """All computations, and what each part is: a transition, nodes of the stack, the next.

        With a tree, the computations that make it.
        """
        ids = self.symbols.encode(words).tolist()
        if len(ids) - 1 > self.max_words:
            raise ModelError(
                f"{len(ids) - 1} words are too many for the deduction of degree {self.degree}: "
                f"{self.max_words} at most"
            )
        numbers: dict[_Key, int] = {}
        scores: list[float] = []

        def parts(code: int, stack: tuple[int, ...], node: int) -> tuple[int, ...]:
            if tree is not None and code != SHIFT:
                h, m = arc_of(code, stack)
                if tree.heads[m - 1] != h:
                    return ()
            key = code, stack, node if code == SHIFT else -1
            if key not in numbers:
                top = tuple(BOTTOM if one < 0 else ids[one] for one in stack)
                p = self._probability(code, top, ids[node] if code == SHIFT else -1)
                numbers[key] = len(scores)
                scores.append(math.log(p) if p > 0.0 else -math.inf)
            number = numbers[key]
            return (number,) if scores[number] > -math.inf else ()

        arrays = deduce(len(ids) - 1, parts, degree=self.degree, context=self.context)
        values = np.array(scores)
        values.flags.writeable = False
        return Forest(*arrays, values), list(numbers)

    @property
    def _start(self) -> float:
        """The log-probability of the first shift."""
        p = self._probability(SHIFT, (BOTTOM,) * max(self.context, self.degree), ROOT)
        return math.log(p) if p > 0.0 else -math.inf

    def log_prob(self, words: Words) -> float:
        """log p(w), summed over all computations; the first shift counts, and there is no end."""
        return self._log_total(self._forest(words)[0])

    def tree_log_prob(self, words: Words, tree: Tree) -> float:
        """log p(w, tree), summed over all computations of the tree; -inf for 0."""
        if len(tree) != len(self.symbols.encode(words)) - 1:
            raise ModelError(f"a tree of {len(tree)} words for other words: give its own")
        return self._log_total(self._forest(words, tree)[0])

    def _log_total(self, forest: Forest) -> float:
        from crossarc.inference.forest.inside import log_total

        return float(sum(log_total(forest))) + self._start

    def parse(self, words: Words) -> Tree:
        """The tree of the most probable computation; its score is that log-probability.

        Raises:
            InfeasibleError: a sentence of probability 0.
        """
        from crossarc.inference.forest.viterbi import best_parts

        forest, keys = self._forest(words)
        if not forest.items:
            raise InfeasibleError("no computation has a positive weight")
        heads = np.zeros(len(words), np.int64)
        found = best_parts(forest)
        for code, stack, _ in (keys[part] for part in found):
            if code != SHIFT:
                h, m = arc_of(code, stack)
                heads[m - 1] = h
        tree = Tree(heads)
        tree.score = math.fsum(forest.score[found]) + self._start
        return tree


class DegreeModel(_ForestModel):
    """The generative model with reductions of up to degree D (section 6).

    A reduction of degree d has the probability rd[b1] rd2[b2, b1] ... rd_d[...] la_d[b(d+1) .. b1];
    la_d, ra_d and rd_(d+1) sum to 1 given the same symbols, at d = D la_d and ra_d.
    `TransitionModel` is the case D = 2.

    Args:
        parameters: sh[b1, b], rd[b1], and for each d from 1 to D la_d, ra_d and, for d > 1, rd_d
            (which has one symbol less); names such as "la3", "rd3".
    """

    def __init__(
        self, vocabulary: Iterable[str], parameters: Mapping[str, Any], *, degree: int
    ) -> None:
        super().__init__(vocabulary)
        if degree < 1:
            raise ValueError(f"degree must be at least 1: got {degree}")
        self.degree, self.context = degree, max(degree - 1, 1)
        self.max_words = {1: 30, 2: 16, 3: 9}.get(degree, 7)
        ranks = {"sh": 2, "rd": 1}
        for d in range(1, degree + 1):
            ranks |= {f"la{d}": d + 1, f"ra{d}": d + 1} | ({f"rd{d}": d} if d > 1 else {})
        self.parameters = _tables(parameters, ranks, len(self.symbols))

    @classmethod
    def random(cls, vocabulary: Iterable[str], *, degree: int, seed: int = 0) -> DegreeModel:
        """A model whose every distribution is drawn uniformly."""
        words = tuple(vocabulary)
        size, rng = len(words) + WORDS, np.random.default_rng(seed)
        tables: dict[str, Floats] = {"sh": np.zeros((size, size))}
        first = rng.dirichlet(np.ones(size - 1), size)
        tables["sh"][:, WORDS:], tables["rd"] = first[:, :-1], first[:, -1].copy()
        tables["sh"][BOTTOM], tables["rd"][BOTTOM] = np.arange(size) == ROOT, 0.0
        for d in range(1, degree + 1):
            names = [f"la{d}", f"ra{d}", *([f"rd{d + 1}"] if d < degree else [])]
            drawn = rng.dirichlet(np.ones(len(names)), (size,) * (d + 1))
            tables |= dict(zip(names, np.moveaxis(drawn, -1, 0), strict=True))
        return cls(words, tables, degree=degree)

    def _probability(self, code: int, stack: tuple[int, ...], word: int) -> float:
        p = self.parameters
        if code == SHIFT:
            return float(p["sh"][stack[-1], word])
        d = code - RIGHT if code > RIGHT else code
        product = p["rd"][stack[-1]]
        for lower in range(2, d + 1):
            product = product * p[f"rd{lower}"][stack[-lower:]]
        return float(product * p[f"{'ra' if code > RIGHT else 'la'}{d}"][stack[-1 - d :]])


class WindowModel(_ForestModel):
    """The first parametrisation of section 3: every transition depends on b3, b2 and b1.

    Args:
        parameters: sh[b3, b2, b1, b] and la1, ra1, la2, ra2 [b3, b2, b1], which sum to 1 together.
    """

    degree, context, max_words = 2, 3, 8

    def __init__(self, vocabulary: Iterable[str], parameters: Mapping[str, Any]) -> None:
        super().__init__(vocabulary)
        ranks = {"sh": 4, "la1": 3, "ra1": 3, "la2": 3, "ra2": 3}
        self.parameters = _tables(parameters, ranks, len(self.symbols))

    @classmethod
    def random(cls, vocabulary: Iterable[str], *, seed: int = 0) -> WindowModel:
        """A model whose every distribution is drawn uniformly; `$` is shifted first, and once."""
        words = tuple(vocabulary)
        size, rng = len(words) + WORDS, np.random.default_rng(seed)
        drawn = rng.dirichlet(np.ones(size - WORDS + 4), (size,) * 3)
        sh = np.zeros((size,) * 4)
        sh[..., WORDS:] = drawn[..., 4:]
        reductions = np.moveaxis(drawn[..., :4], -1, 0)
        sh[:, :, BOTTOM], reductions[:, :, :, BOTTOM] = np.arange(size) == ROOT, 0.0
        tables = dict(zip(("la1", "ra1", "la2", "ra2"), reductions, strict=True))
        return cls(words, {"sh": sh, **tables})

    def _probability(self, code: int, stack: tuple[int, ...], word: int) -> float:
        if code == SHIFT:
            return float(self.parameters["sh"][(*stack[-3:], word)])
        d = code - RIGHT if code > RIGHT else code
        return float(self.parameters[f"{'ra' if code > RIGHT else 'la'}{d}"][stack[-3:]])


def _tables(
    parameters: Mapping[str, Any], ranks: Mapping[str, int], size: int
) -> dict[str, Floats]:
    if set(parameters) != set(ranks):
        wrong = sorted(set(parameters) ^ set(ranks))
        raise ModelError(f"parameters must be {', '.join(ranks)}: missing or not known: {wrong}")
    tables = {name: np.array(parameters[name], np.float64) for name in ranks}
    for name, table in tables.items():
        shape = (size,) * ranks[name]
        if table.shape != shape or not ((table >= 0.0) & (table <= 1.0 + 1e-6)).all():
            raise ModelError(f"parameters[{name!r}] must be probabilities of shape {shape}")
    return tables
